//! Handles: INTEGERs in Fortran (MPI-5.0 §19.3.4).

use std::ffi::c_int;
use std::mem::MaybeUninit;

use mpi_core::error::Result;
use mpi_core::handle::*;
use mpi_core::lists::listed;

use crate::face::Face;

/// Handles that fit beside the array without an allocation.
const FEW: usize = 16;

/// An array of handles in its C form.
pub struct Handles<H: Copy> {
    fortran: *mut c_int,
    length: usize,
    few: [MaybeUninit<H>; FEW],
    many: Vec<H>,
    out: fn(H) -> Option<c_int>,
}

impl<H: Copy> Handles<H> {
    unsafe fn make(
        fortran: *mut c_int,
        length: usize,
        convert: impl Fn(c_int) -> H,
        out: fn(H) -> Option<c_int>,
    ) -> Result<Handles<H>> {
        // SAFETY: the program's array has `length` elements.
        let at = |index| convert(unsafe { *fortran.add(index) });
        let mut few = [const { MaybeUninit::uninit() }; FEW];
        let many = if length > FEW { listed((0..length).map(at))? } else { Vec::new() };
        if length <= FEW {
            for (index, handle) in few.iter_mut().enumerate().take(length) {
                handle.write(at(index));
            }
        }
        Ok(Handles { fortran, length, few, many, out })
    }

    /// The array for C.
    pub fn as_mut_ptr(&mut self) -> *mut H {
        if self.length > FEW { self.many.as_mut_ptr() } else { self.few.as_mut_ptr().cast() }
    }

    /// Gives the program what C left in the array.
    pub unsafe fn write_back(&mut self) {
        let handles = self.as_mut_ptr();
        for index in 0..self.length {
            // SAFETY: all elements were filled when the array was made.
            if let Some(fint) = (self.out)(unsafe { *handles.add(index) }) {
                // SAFETY: the program's array has `length` elements.
                unsafe { give_back(self.fortran.add(index), fint) };
            }
        }
    }
}

/// Gives the program the INTEGER of a handle that a call may change. One that stayed the same is not
/// written: it may be a constant, such as `MPI_REQUEST_NULL`, and in memory that is read-only.
#[inline]
pub unsafe fn give_back(place: *mut c_int, fint: c_int) {
    // SAFETY: the program's argument.
    unsafe {
        if *place != fint {
            *place = fint;
        }
    }
}

macro_rules! handles {
    ($($word:ident $out:ident $null:ident $c:ident $handle:ident $kind:ident $kept:ident $from:ident;)*) => {$(
        #[doc = concat!("The C handle of an INTEGER that stands for an `MPI_", stringify!($c), "`.")]
        #[inline]
        pub fn $word<F: Face>(fint: c_int) -> F::$c {
            F::$kept(Handle::from_raw(F::handle_from_fint($kind::NUMBER, fint)))
        }

        #[doc = concat!("The INTEGER of an `MPI_", stringify!($c), "`.")]
        #[inline]
        pub fn $out<F: Face>(handle: F::$c) -> c_int {
            F::handle_to_fint(F::$from(handle).raw())
        }

        #[doc = concat!("The null handle of `MPI_", stringify!($c), "`.")]
        #[inline]
        pub fn $null<F: Face>() -> F::$c {
            F::$kept($handle::NULL)
        }
    )*};
}

handles! {
    comm comm_out comm_null Comm CommHandle CommKind comm_kept comm_in;
    group group_out group_null Group GroupHandle GroupKind group_kept group_in;
    datatype datatype_out datatype_null Datatype DatatypeHandle DatatypeKind datatype_kept datatype_in;
    op op_out op_null Op OpHandle OpKind op_kept op_in;
    request request_out request_null Request RequestHandle RequestKind request_kept request_in;
    errhandler errhandler_out errhandler_null Errhandler ErrhandlerHandle ErrhandlerKind errhandler_kept errhandler_in;
    info info_out info_null Info InfoHandle InfoKind info_kept info_in;
    win win_out win_null Win WinHandle WinKind win_kept win_in;
    file file_out file_null File FileHandle FileKind file_kept file_in;
    session session_out session_null Session SessionHandle SessionKind session_kept session_in;
    message message_out message_null Message MessageHandle MessageKind message_kept message_in;
}

macro_rules! arrays {
    ($($module:ident $word:ident $out:ident $null:ident $c:ident $from:ident;)*) => {$(
        #[doc = concat!("Arrays of `MPI_", stringify!($c), "`.")]
        pub mod $module {
            use super::{Face, Handles, Result, c_int};

            /// The handles of an array.
            ///
            /// # Errors
            /// As [`listed`](mpi_core::lists::listed).
            pub unsafe fn new<F: Face>(
                fortran: *mut c_int,
                length: usize,
            ) -> Result<Handles<F::$c>> {
                let out = |handle| Some(super::$out::<F>(handle));
                // SAFETY: the caller's promise is the same.
                unsafe { Handles::make(fortran, length, super::$word::<F>, out) }
            }

            /// Room for results; where C leaves a null handle, the program's array stays as it is.
            ///
            /// # Errors
            /// As [`listed`](mpi_core::lists::listed).
            pub unsafe fn nulls<F: Face>(
                fortran: *mut c_int,
                length: usize,
            ) -> Result<Handles<F::$c>> {
                let out = |handle| {
                    let is_result = !F::$from(handle).is_null();
                    is_result.then(|| super::$out::<F>(handle))
                };
                // SAFETY: as above.
                unsafe { Handles::make(fortran, length, |_| super::$null::<F>(), out) }
            }
        }
    )*};
}

arrays! {
    requests request request_out request_null Request request_in;
    datatypes datatype datatype_out datatype_null Datatype datatype_in;
    infos info info_out info_null Info info_in;
}
