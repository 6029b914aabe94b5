//! The loops of predefined reductions: `inout[i] = in[i] op inout[i]`.
//!
//! Each loop is made for one operation and one type of element, so that the compiler turns it
//! into vector instructions; a second copy is compiled for AVX2 and chosen where the processor
//! has it. Buffers come from programs and need no alignment.
#![allow(unsafe_code)]

use std::ops::{BitAnd, BitOr, BitXor};

use half::{bf16, f16};

use super::Builtin;
use super::arithmetic::{Complex, Number, Ordered, Truth};
use super::booleans::{Fortran, booleans};
use super::element::{Element, Pair};
#[cfg(target_arch = "x86_64")]
use super::wide::{LongDouble, Quad};
use crate::datatype::Datatype;
use crate::datatype::basic::{Basic, Row, row_of};
use crate::error::Result;

/// The loops of one operation on one type.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Reduces so many elements at the first address into those at the second.
    into: unsafe fn(*const u8, *mut u8, usize),
    /// The same with the result at the third address, disjoint from the operands.
    apart: unsafe fn(*const u8, *const u8, *mut u8, usize),
}

/// What carries out one operation on elements of one datatype. Of their memory it touches what the
/// type map has, and not the gap of a pair (MPI-5.0 §5.1).
#[derive(Clone, Copy, Debug)]
pub struct Kernel(Run);

impl Kernel {
    /// `inout[i] = from[i] op inout[i]` for `count` elements.
    ///
    /// # Safety
    /// Both addresses have `count` elements of the kernel's datatype, one extent apart, the
    /// second ones writable, and the two ranges are disjoint or the same.
    #[inline]
    pub unsafe fn reduce(self, from: *const u8, inout: *mut u8, count: usize) {
        // SAFETY: the caller's promise is handed on.
        unsafe { (self.0.into)(from, inout, count) }
    }

    /// `out[i] = a[i] op b[i]` for `count` elements.
    ///
    /// # Safety
    /// All three addresses have `count` elements of the kernel's datatype, one extent apart, the
    /// last ones writable and disjoint from the others, but that they may overlap those of `b` if they begin
    /// before them: an element is written after all up to its own place are read.
    #[inline]
    pub unsafe fn combine(self, a: *const u8, b: *const u8, out: *mut u8, count: usize) {
        // SAFETY: the caller's promise is handed on.
        unsafe { (self.0.apart)(a, b, out, count) }
    }
}

/// `inout[i] = from[i] op inout[i]` for `count` elements of `datatype`. Who reduces more than
/// once chooses the kernel once, by [`Builtin::kernel`].
///
/// # Errors
/// The operation is not defined on that datatype.
///
/// # Safety
/// As for [`Kernel::reduce`].
pub unsafe fn reduce(
    op: Builtin,
    datatype: &Datatype,
    from: *const u8,
    inout: *mut u8,
    count: usize,
) -> Result<()> {
    let kernel = op.kernel(datatype)?;
    // SAFETY: the caller's promise is handed on.
    unsafe { kernel.reduce(from, inout, count) };
    Ok(())
}

/// One operation on one type of element; `a` is from the first buffer.
trait Combine<T> {
    fn combine(a: T, b: T) -> T;
}

/// Defines operations as types, so that a loop can be made for each.
macro_rules! operations {
    ($($name:ident <$t:ident: $($bound:path),+> |$a:ident, $b:ident| $result:expr;)*) => {$(
        struct $name;
        impl<$t: Copy $(+ $bound)+> Combine<$t> for $name {
            #[inline(always)]
            fn combine($a: $t, $b: $t) -> $t { $result }
        }
    )*};
}

operations! {
    Sum<T: Number> |a, b| a.plus(b);
    Prod<T: Number> |a, b| a.times(b);
    Max<T: Ordered> |a, b| a.larger(b);
    Min<T: Ordered> |a, b| a.smaller(b);
    Land<T: Truth> |a, b| T::of(a.is_true() & b.is_true());
    Lor<T: Truth> |a, b| T::of(a.is_true() | b.is_true());
    Lxor<T: Truth> |a, b| T::of(a.is_true() ^ b.is_true());
}

macro_rules! bit_operations {
    ($($name:ident $bound:ident $method:ident;)*) => {$(
        struct $name;
        impl<T: $bound<Output = T>> Combine<T> for $name {
            #[inline(always)]
            fn combine(a: T, b: T) -> T { a.$method(b) }
        }
    )*};
}

bit_operations! { Band BitAnd bitand; Bor BitOr bitor; Bxor BitXor bitxor; }

struct Maxloc;
struct Minloc;

impl<V: PartialOrd + Copy, I: PartialOrd + Copy> Combine<Pair<V, I>> for Maxloc {
    #[inline(always)]
    fn combine(a: Pair<V, I>, b: Pair<V, I>) -> Pair<V, I> {
        if a.value > b.value || a.value == b.value && a.index < b.index { a } else { b }
    }
}

impl<V: PartialOrd + Copy, I: PartialOrd + Copy> Combine<Pair<V, I>> for Minloc {
    #[inline(always)]
    fn combine(a: Pair<V, I>, b: Pair<V, I>) -> Pair<V, I> {
        if a.value < b.value || a.value == b.value && a.index < b.index { a } else { b }
    }
}

/// The loop itself.
///
/// # Safety
/// As for [`Kernel::reduce`] with elements of type `T`.
#[inline(always)]
unsafe fn each<T: Element, O: Combine<T>>(from: *const u8, inout: *mut u8, count: usize) {
    let (from, inout) = (from.cast::<T>(), inout.cast::<T>());
    for index in 0..count {
        // SAFETY: the caller has `count` elements in both places, at any alignment.
        unsafe {
            let to = inout.add(index);
            O::combine(T::load(from.add(index)), T::load(to)).store(to);
        }
    }
}

/// The same with the result elsewhere.
///
/// # Safety
/// As for [`Kernel::combine`] with elements of type `T`.
#[inline(always)]
unsafe fn each_apart<T: Element, O: Combine<T>>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    count: usize,
) {
    let (a, b, out) = (a.cast::<T>(), b.cast::<T>(), out.cast::<T>());
    for index in 0..count {
        // SAFETY: the caller has `count` elements in all places, at any alignment.
        unsafe {
            let (left, right) = (T::load(a.add(index)), T::load(b.wrapping_add(index)));
            O::combine(left, right).store(out.add(index));
        }
    }
}

/// # Safety
/// As for [`each`].
unsafe fn plain<T: Element, O: Combine<T>>(from: *const u8, inout: *mut u8, count: usize) {
    // SAFETY: the caller's promise is handed on.
    unsafe { each::<T, O>(from, inout, count) }
}

/// # Safety
/// As for [`each_apart`].
unsafe fn plain_apart<T: Element, O: Combine<T>>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    count: usize,
) {
    // SAFETY: the caller's promise is handed on.
    unsafe { each_apart::<T, O>(a, b, out, count) }
}

/// # Safety
/// As for [`each`]; the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2<T: Element, O: Combine<T>>(from: *const u8, inout: *mut u8, count: usize) {
    // SAFETY: the caller's promise is handed on.
    unsafe { each::<T, O>(from, inout, count) }
}

/// # Safety
/// As for [`each_apart`]; the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2_apart<T: Element, O: Combine<T>>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    count: usize,
) {
    // SAFETY: the caller's promise is handed on.
    unsafe { each_apart::<T, O>(a, b, out, count) }
}

/// The loops for any processor.
fn simple<T: Element, O: Combine<T>>() -> Run {
    Run { into: plain::<T, O>, apart: plain_apart::<T, O> }
}

/// The best copies of the loops for this processor.
fn best<T: Element, O: Combine<T>>() -> Run {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return Run { into: avx2::<T, O>, apart: avx2_apart::<T, O> };
    }
    simple::<T, O>()
}

fn arithmetic<T: Number>(op: Builtin) -> Option<Run> {
    match op {
        Builtin::Sum => Some(best::<T, Sum>()),
        Builtin::Prod => Some(best::<T, Prod>()),
        _ => None,
    }
}

fn ordered<T: Number + Ordered>(op: Builtin) -> Option<Run> {
    match op {
        Builtin::Max if T::WIDE => Some(best::<T, Max>()),
        Builtin::Min if T::WIDE => Some(best::<T, Min>()),
        Builtin::Max => Some(simple::<T, Max>()),
        Builtin::Min => Some(simple::<T, Min>()),
        _ => arithmetic::<T>(op),
    }
}

fn logical<T: Truth>(op: Builtin) -> Option<Run> {
    match op {
        Builtin::Land => Some(best::<T, Land>()),
        Builtin::Lor => Some(best::<T, Lor>()),
        Builtin::Lxor => Some(best::<T, Lxor>()),
        _ => None,
    }
}

/// The loops for LOGICALs, of bytes or words like `T`.
fn fortran<T: Truth>(op: Builtin) -> Option<Run>
where
    Fortran<T>: Truth,
{
    match booleans() {
        None => logical::<T>(op),
        Some(_) => logical::<Fortran<T>>(op),
    }
}

fn bitwise<T>(op: Builtin) -> Option<Run>
where
    T: Element + BitAnd<Output = T> + BitOr<Output = T> + BitXor<Output = T>,
{
    match op {
        Builtin::Band => Some(best::<T, Band>()),
        Builtin::Bor => Some(best::<T, Bor>()),
        Builtin::Bxor => Some(best::<T, Bxor>()),
        _ => None,
    }
}

fn integer<T>(op: Builtin) -> Option<Run>
where
    T: Number + Ordered + Truth + BitAnd<Output = T> + BitOr<Output = T> + BitXor<Output = T>,
{
    ordered::<T>(op).or_else(|| bitwise::<T>(op)).or_else(|| logical::<T>(op))
}

/// The kernel for a named datatype on which the operation is defined; `None` where this
/// platform has no arithmetic for it.
pub(super) fn of_row(op: Builtin, row: &Row) -> Option<Kernel> {
    let run = match row.basic {
        Basic::I8 | Basic::Char => integer::<i8>(op),
        Basic::I16 => integer::<i16>(op),
        Basic::I32 => integer::<i32>(op),
        Basic::I64 => integer::<i64>(op),
        Basic::I128 => integer::<i128>(op),
        Basic::U8 => integer::<u8>(op),
        Basic::U16 => integer::<u16>(op),
        Basic::U32 => integer::<u32>(op),
        Basic::U64 => integer::<u64>(op),
        Basic::F16 => ordered::<f16>(op),
        Basic::Bf16 => ordered::<bf16>(op),
        Basic::F32 => ordered::<f32>(op),
        Basic::F64 => ordered::<f64>(op),
        Basic::ComplexF16 => arithmetic::<Complex<f16>>(op),
        Basic::ComplexF32 => arithmetic::<Complex<f32>>(op),
        Basic::ComplexF64 => arithmetic::<Complex<f64>>(op),
        #[cfg(target_arch = "x86_64")]
        Basic::LongDouble => ordered::<LongDouble>(op),
        #[cfg(target_arch = "x86_64")]
        Basic::F128 => ordered::<Quad>(op),
        #[cfg(target_arch = "x86_64")]
        Basic::ComplexLongDouble => arithmetic::<Complex<LongDouble>>(op),
        #[cfg(target_arch = "x86_64")]
        Basic::ComplexF128 => arithmetic::<Complex<Quad>>(op),
        Basic::Bool8 if row.is_c_bool() => logical::<u8>(op),
        Basic::Bool8 => fortran::<u8>(op),
        Basic::Bool16 => fortran::<u16>(op),
        Basic::Bool32 => fortran::<u32>(op),
        Basic::Bool64 => fortran::<u64>(op),
        Basic::Bool128 => fortran::<u128>(op),
        Basic::Byte => bitwise::<u8>(op),
        Basic::Pair => {
            let (value, index) = row.pair?;
            return of_pair(op, row_of(value)?, row_of(index)?);
        }
        _ => None,
    };
    run.map(Kernel)
}

/// The kernel for pairs of a value and an index.
pub(super) fn of_pair(op: Builtin, value: &Row, index: &Row) -> Option<Kernel> {
    let run = match value.basic {
        Basic::I8 => indexed::<i8>(op, index.basic),
        Basic::I16 => indexed::<i16>(op, index.basic),
        Basic::I32 => indexed::<i32>(op, index.basic),
        Basic::I64 => indexed::<i64>(op, index.basic),
        Basic::I128 => indexed::<i128>(op, index.basic),
        Basic::U8 => indexed::<u8>(op, index.basic),
        Basic::U16 => indexed::<u16>(op, index.basic),
        Basic::U32 => indexed::<u32>(op, index.basic),
        Basic::U64 => indexed::<u64>(op, index.basic),
        Basic::F16 => indexed::<f16>(op, index.basic),
        Basic::Bf16 => indexed::<bf16>(op, index.basic),
        Basic::F32 if index.basic == Basic::F32 => located::<f32, f32>(op),
        Basic::F32 => indexed::<f32>(op, index.basic),
        Basic::F64 if index.basic == Basic::F64 => located::<f64, f64>(op),
        Basic::F64 => indexed::<f64>(op, index.basic),
        #[cfg(target_arch = "x86_64")]
        Basic::LongDouble => indexed::<LongDouble>(op, index.basic),
        _ => None,
    };
    run.map(Kernel)
}

fn indexed<V: PartialOrd + Element>(op: Builtin, index: Basic) -> Option<Run> {
    match index {
        Basic::I32 => located::<V, i32>(op),
        Basic::I64 => located::<V, i64>(op),
        Basic::U32 => located::<V, u32>(op),
        Basic::U64 => located::<V, u64>(op),
        _ => None,
    }
}

fn located<V: PartialOrd + Element, I: PartialOrd + Element>(op: Builtin) -> Option<Run> {
    match op {
        Builtin::Maxloc => Some(simple::<Pair<V, I>, Maxloc>()),
        Builtin::Minloc => Some(simple::<Pair<V, I>, Minloc>()),
        _ => None,
    }
}
