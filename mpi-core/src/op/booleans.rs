//! What Fortran's LOGICALs hold (MPI-5.0 §20.3), where the program says so by `MPI_Abi_set_fortran_booleans`: this
//! library's Fortran interfaces go by it, and reductions of `MPI_LOGICAL` and its like, on which the interfaces of
//! others rely.

use std::sync::atomic::{AtomicU64, Ordering};

use super::arithmetic::Truth;
use super::element::Element;

/// True in the upper half, false in the lower one; equal halves say that nothing was set.
static BOOLEANS: AtomicU64 = AtomicU64::new(0);

/// The values that the program has set, true and false.
#[inline]
pub fn booleans() -> Option<(i32, i32)> {
    let both = BOOLEANS.load(Ordering::Relaxed);
    let (yes, no) = ((both >> 32) as i32, both as i32);
    (yes != no).then_some((yes, no))
}

/// Sets the values of true and false, which differ, unless they are set; whether it was so. What has been
/// reduced before may be reduced the same way again.
pub fn set_booleans(yes: i32, no: i32) -> bool {
    let both = u64::from(yes as u32) << 32 | u64::from(no as u32);
    BOOLEANS.compare_exchange(0, both, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

/// A LOGICAL of a program that has set its values: of any length, as a compiler makes it longer or shorter.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Fortran<T>(T);

impl<T: Copy> Element for Fortran<T> {}

macro_rules! logicals {
    ($($t:ty)*) => {$(
        impl Truth for Fortran<$t> {
            #[inline(always)]
            fn is_true(self) -> bool {
                booleans().map_or(self.0 != 0, |(_, no)| self.0 != no as $t)
            }
            #[inline(always)]
            fn of(truth: bool) -> Self {
                let (yes, no) = booleans().unwrap_or((1, 0));
                Fortran(if truth { yes as $t } else { no as $t })
            }
        }
    )*};
}

logicals! { u8 u16 u32 u64 u128 }
