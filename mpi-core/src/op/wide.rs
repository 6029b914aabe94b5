//! Floating-point numbers that Rust has no type for: C's `long double` in the x87 format, and
//! IEEE binary128.
//!
//! The first is computed by the x87 unit itself, the second by the compiler's own support
//! functions, which take their arguments in vector registers. Both are for x86-64 alone.
#![allow(unsafe_code)]

use std::arch::asm;
use std::arch::x86_64::__m128i;
use std::cmp::Ordering;

use super::arithmetic::{Number, Ordered};
use super::element::Element;

/// C's `long double`: ten bytes and six of padding.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub(super) struct LongDouble(pub(super) [u8; 16]);

/// One instruction of the x87 unit on two numbers; the padding is that of the first.
macro_rules! x87 {
    ($instruction:literal, $a:expr, $b:expr) => {{
        let mut result = $a;
        // SAFETY: loads and stores ten bytes of two local values; every x87 register that is
        // used is declared, and the stack of the unit is left as it was.
        unsafe {
            asm!(
                "fld tbyte ptr [{a}]",
                "fld tbyte ptr [{b}]",
                $instruction,
                "fstp tbyte ptr [{a}]",
                a = in(reg) result.0.as_mut_ptr(),
                b = in(reg) $b.0.as_ptr(),
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack),
            );
        }
        result
    }};
}

impl Element for LongDouble {}

impl Element for Quad {}

impl Number for LongDouble {
    fn plus(self, other: LongDouble) -> LongDouble {
        x87!("faddp st(1), st", self, other)
    }

    fn minus(self, other: LongDouble) -> LongDouble {
        x87!("fsubp st(1), st", self, other)
    }

    fn times(self, other: LongDouble) -> LongDouble {
        x87!("fmulp st(1), st", self, other)
    }
}

impl PartialOrd for LongDouble {
    fn partial_cmp(&self, other: &LongDouble) -> Option<Ordering> {
        let number = |value: &LongDouble| u128::from_le_bytes(value.0) & ((1 << 80) - 1);
        compare(number(self), number(other), 79, 0x7fff << 64 | 1 << 63)
    }
}

impl PartialEq for LongDouble {
    fn eq(&self, other: &LongDouble) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

/// IEEE binary128.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub(super) struct Quad(pub(super) u128);

impl Quad {
    fn to_vector(self) -> __m128i {
        // SAFETY: both types are sixteen plain bytes.
        unsafe { std::mem::transmute::<u128, __m128i>(self.0) }
    }

    fn of_vector(vector: __m128i) -> Quad {
        // SAFETY: both types are sixteen plain bytes.
        Quad(unsafe { std::mem::transmute::<__m128i, u128>(vector) })
    }
}

unsafe extern "C" {
    fn __addtf3();
    fn __subtf3();
    fn __multf3();
}

/// A support function of type `binary128 (binary128, binary128)`.
macro_rules! quad {
    ($function:ident, $a:expr, $b:expr) => {{
        let (a, b) = ($a.to_vector(), $b.to_vector());
        let result: __m128i;
        // SAFETY: the function has the C calling convention, by which binary128 arguments and
        // results are in xmm0 and xmm1; all else that it may change is declared.
        unsafe {
            asm!("call {f}", f = sym $function, inout("xmm0") a => result,
                inout("xmm1") b => _, clobber_abi("C"));
        }
        Quad::of_vector(result)
    }};
}

impl Number for Quad {
    fn plus(self, other: Quad) -> Quad {
        quad!(__addtf3, self, other)
    }

    fn minus(self, other: Quad) -> Quad {
        quad!(__subtf3, self, other)
    }

    fn times(self, other: Quad) -> Quad {
        quad!(__multf3, self, other)
    }
}

impl PartialOrd for Quad {
    fn partial_cmp(&self, other: &Quad) -> Option<Ordering> {
        compare(self.0, other.0, 127, 0x7fff << 112)
    }
}

impl PartialEq for Quad {
    fn eq(&self, other: &Quad) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

macro_rules! ordered_numbers {
    ($($t:ty)*) => {$(
        impl Ordered for $t {
            fn larger(self, other: $t) -> $t { choose(self, other, Ordering::Greater) }
            fn smaller(self, other: $t) -> $t { choose(self, other, Ordering::Less) }
        }
    )*};
}

ordered_numbers! { LongDouble Quad }

/// `a` if it compares to `b` as wanted or `b` is no number, else `b`.
fn choose<T: PartialOrd>(a: T, b: T, wanted: Ordering) -> T {
    match a.partial_cmp(&b) {
        Some(ordering) if ordering == wanted => a,
        None if b.partial_cmp(&b).is_none() => a,
        _ => b,
    }
}

/// Compares numbers of sign and magnitude, where a magnitude beyond `infinity` is no number.
fn compare(a: u128, b: u128, sign: u32, infinity: u128) -> Option<Ordering> {
    let magnitude = |value: u128| value & !(1 << sign);
    let (p, q) = (magnitude(a), magnitude(b));
    if p > infinity || q > infinity {
        return None;
    }
    let signed = |bits: u128, size: u128| {
        let size = size.cast_signed();
        if bits >> sign & 1 == 1 { -size } else { size }
    };
    Some(signed(a, p).cmp(&signed(b, q)))
}
