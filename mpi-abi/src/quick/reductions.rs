//! The short way of a reduction that has nothing to reduce (MPI-5.0 §6.10.1).
//!
//! # Safety
//! Of every function: the arguments are what MPI requires of the C program.
#![allow(clippy::missing_safety_doc)]

use std::ffi::c_void;

use super::enter;
use crate::face::Face;
use crate::procedure::Procedure;

/// `MPI_Reduce_scatter_block` of blocks without elements, whose buffers nobody looks at.
#[inline(always)]
pub unsafe fn reduce_scatter_block<F: Face>(
    _sendbuf: *const c_void,
    _recvbuf: *mut c_void,
    recvcount: i64,
    datatype: F::Datatype,
    op: F::Op,
    comm: F::Comm,
) -> bool {
    if recvcount != 0 {
        return false;
    }
    // SAFETY: the program's promise.
    let Some(mut entry) = (unsafe { enter() }) else { return false };
    entry.procedure = Procedure::ReduceScatterBlock.number();
    entry.reduce_nothing(F::datatype_in(datatype), F::op_in(op), F::comm_in(comm))
}
