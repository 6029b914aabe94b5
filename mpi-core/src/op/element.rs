//! How the loops of reductions load and store one element, in memory of any alignment.
//!
//! Of a pair of a value and an index (MPI-5.0 §6.9.4) only the two are touched. What lies in the gap between
//! or behind them is not in the type map (§5.1): a program may keep something else there, and behind the last
//! pair the memory may end.
#![allow(unsafe_code)]

use half::{bf16, f16};

/// An element of a datatype as it lies in memory.
pub(super) trait Element: Copy {
    /// The element at this address.
    ///
    /// # Safety
    /// The bytes there that belong to the element are readable.
    #[inline(always)]
    unsafe fn load(from: *const Self) -> Self {
        // SAFETY: the caller's promise; all of its bytes belong to the element.
        unsafe { from.read_unaligned() }
    }

    /// Writes the element to this address.
    ///
    /// # Safety
    /// The bytes there that belong to the element are writable.
    #[inline(always)]
    unsafe fn store(self, to: *mut Self) {
        // SAFETY: the caller's promise; all of its bytes belong to the element.
        unsafe { to.write_unaligned(self) }
    }
}

macro_rules! without_gaps {
    ($($t:ty)*) => {$( impl Element for $t {} )*};
}

without_gaps! { i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f16 bf16 f32 f64 }

/// A value and its index (§6.9.4).
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Pair<V, I> {
    pub(super) value: V,
    pub(super) index: I,
}

impl<V, I> Pair<V, I> {
    /// Where there is no gap, a pair is loaded and stored in one piece, which is faster.
    const IS_WHOLE: bool = size_of::<V>() + size_of::<I>() == size_of::<Self>();
    const INDEX: usize = std::mem::offset_of!(Self, index);
}

impl<V: Element, I: Element> Element for Pair<V, I> {
    #[inline(always)]
    unsafe fn load(from: *const Self) -> Self {
        if Self::IS_WHOLE {
            // SAFETY: the caller's promise.
            return unsafe { from.read_unaligned() };
        }
        // SAFETY: the caller's promise for the two parts.
        unsafe {
            let index = from.byte_add(Self::INDEX);
            Pair { value: V::load(from.cast()), index: I::load(index.cast()) }
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut Self) {
        if Self::IS_WHOLE {
            // SAFETY: the caller's promise.
            return unsafe { to.write_unaligned(self) };
        }
        // SAFETY: the caller's promise for the two parts.
        unsafe {
            self.value.store(to.cast());
            self.index.store(to.byte_add(Self::INDEX).cast());
        }
    }
}
