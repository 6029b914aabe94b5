//! The fast paths of packing and unpacking (MPI-5.0 §5.2): of a few elements that lie in the caches
//! the way into the library takes longer than their copy.
//!
//! # Safety
//! Of every function: the arguments are what MPI requires of the C program.
#![allow(clippy::too_many_arguments, clippy::missing_safety_doc)]

use std::ffi::c_void;

use mpi_core::datatype::pack::PackBuffer;

use super::Way;
use crate::args::IntOut;
use crate::device;
use crate::face::Face;

/// `MPI_Pack`.
#[inline(always)]
pub unsafe fn pack<F: Face, W: Way>(
    inbuf: *const c_void,
    incount: i64,
    datatype: F::Datatype,
    outbuf: *mut c_void,
    outsize: i64,
    position: IntOut,
    comm: F::Comm,
) -> bool {
    // SAFETY: the program's promise.
    unsafe { copy::<F, W, true>(inbuf, incount, datatype, outbuf, outsize, position, comm) }
}

/// `MPI_Unpack`.
#[inline(always)]
pub unsafe fn unpack<F: Face, W: Way>(
    inbuf: *const c_void,
    insize: i64,
    position: IntOut,
    outbuf: *mut c_void,
    outcount: i64,
    datatype: F::Datatype,
    comm: F::Comm,
) -> bool {
    // SAFETY: the program's promise.
    unsafe { copy::<F, W, false>(outbuf, outcount, datatype, inbuf, insize, position, comm) }
}

/// Packs `count` elements at `buf`, or unpacks them.
#[inline(always)]
unsafe fn copy<F: Face, W: Way, const PACK: bool>(
    buf: *const c_void,
    count: i64,
    datatype: F::Datatype,
    packed: *const c_void,
    size: i64,
    position: IntOut,
    comm: F::Comm,
) -> bool {
    // SAFETY: the program's promise.
    let Some(entry) = (unsafe { W::enter() }) else { return false };
    if position.is_null() || !device::is_known(buf) || !device::is_known(packed) {
        return false;
    }
    // SAFETY: the program's promise, and not null. The new position is at most `size`, which has the same width.
    unsafe {
        let packed = PackBuffer { at: F::buffer_in(packed), size, position: position.load() };
        let datatype = F::datatype_in(datatype);
        if entry.comms.find(F::comm_in(comm)).is_none() {
            return false;
        }
        let end = entry.datatypes.pack_fast::<PACK>(F::buffer_in(buf), count, datatype, packed);
        end.is_some_and(|end| position.store("position", end).is_ok())
    }
}
