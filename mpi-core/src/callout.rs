//! What the core asks of the program's own code (decision 13).
//!
//! User functions may call MPI again, so they run only through `Entry::call_out`, which borrows
//! nothing of the process while they do.

use crate::attributes::Convention;
use crate::handle::{DatatypeHandle, OpHandle};

/// A reduction function of the program, as it was given to `MPI_Op_create(_c)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UserFunction {
    /// Its address.
    pub address: usize,
    /// Whether it takes an `MPI_Count` instead of an `int`.
    pub large: bool,
    /// The language it is written in.
    pub convention: Convention,
}

/// One pending call of a reduction function: `inout = input ∘ inout`, element by element.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    /// The function.
    pub function: UserFunction,
    /// The operation it belongs to.
    pub op: OpHandle,
    /// Left operands.
    pub input: *const u8,
    /// Right operands and results.
    pub inout: *mut u8,
    /// Number of elements.
    pub count: i64,
    /// Their type, as the program knows it.
    pub datatype: DatatypeHandle,
    /// Its extent in bytes.
    pub extent: i64,
}

/// How the functions of this program are called; a face implements it for its ABI.
pub trait UserCode {
    /// Calls a reduction function.
    ///
    /// # Safety
    /// The buffers hold `count` elements each and do not overlap.
    #[allow(unsafe_code)]
    unsafe fn reduce(&self, reduction: &Reduction);
}

/// For processes without a program: tests, and ranks before `MPI_Init`.
pub struct NoUserCode;

impl UserCode for NoUserCode {
    #[allow(unsafe_code)]
    unsafe fn reduce(&self, _: &Reduction) {
        unreachable!("an operation with a user function exists only where user code does");
    }
}
