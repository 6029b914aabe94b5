//! What the types of elements can do: the arithmetic, order and truth of MPI's predefined operations (MPI-5.0 §6.9.2).

use std::ops::{Add, Mul, Sub};

use half::{bf16, f16};

use super::element::Element;

/// Arithmetic as MPI needs it: integers wrap around.
pub(super) trait Number: Element {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

/// Maximum and minimum. What is no number loses, so that the order of operands does not matter.
pub(super) trait Ordered: Copy {
    /// Whether the loops gain from AVX2. For floating-point numbers the compiler then makes
    /// masked stores of them, which are several times slower than SSE's maximum.
    const WIDE: bool = false;

    fn larger(self, other: Self) -> Self;
    fn smaller(self, other: Self) -> Self;
}

macro_rules! ordered_numbers {
    ($wide:literal: $($t:ty)*) => {$(
        impl Ordered for $t {
            const WIDE: bool = $wide;
            #[inline(always)]
            fn larger(self, other: $t) -> $t { self.max(other) }
            #[inline(always)]
            fn smaller(self, other: $t) -> $t { self.min(other) }
        }
    )*};
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Number for $t {
            #[inline(always)]
            fn plus(self, other: $t) -> $t { self.wrapping_add(other) }
            #[inline(always)]
            fn minus(self, other: $t) -> $t { self.wrapping_sub(other) }
            #[inline(always)]
            fn times(self, other: $t) -> $t { self.wrapping_mul(other) }
        }
        impl Truth for $t {
            #[inline(always)]
            fn is_true(self) -> bool { self != 0 }
            #[inline(always)]
            fn of(truth: bool) -> $t { <$t>::from(truth) }
        }
    )*};
}

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Number for $t {
            #[inline(always)]
            fn plus(self, other: $t) -> $t { self.add(other) }
            #[inline(always)]
            fn minus(self, other: $t) -> $t { self.sub(other) }
            #[inline(always)]
            fn times(self, other: $t) -> $t { self.mul(other) }
        }
    )*};
}

/// A truth value: unless it is Fortran's, zero is false, and true is written as one.
pub(super) trait Truth: Element {
    fn is_true(self) -> bool;
    fn of(truth: bool) -> Self;
}

integers! { i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 }
floats! { f16 bf16 f32 f64 }
ordered_numbers! { true: i8 i16 i32 i64 i128 u8 u16 u32 u64 }
ordered_numbers! { false: f16 bf16 f32 f64 }

/// A complex number as C and Fortran lay it out.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Complex<T> {
    re: T,
    im: T,
}

impl<T: Copy> Element for Complex<T> {}

impl<T: Number> Number for Complex<T> {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Complex { re: self.re.plus(other.re), im: self.im.plus(other.im) }
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Complex { re: self.re.minus(other.re), im: self.im.minus(other.im) }
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Complex {
            re: self.re.times(other.re).minus(self.im.times(other.im)),
            im: self.re.times(other.im).plus(self.im.times(other.re)),
        }
    }
}
