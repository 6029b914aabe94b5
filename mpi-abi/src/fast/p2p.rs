//! The fast paths of sends and receives (MPI-5.0 §3.2, §3.7, §3.10).
//!
//! # Safety
//! Of every function: the arguments are what MPI requires of the C program.
#![allow(clippy::too_many_arguments, clippy::missing_safety_doc)]

use std::ffi::{c_int, c_void};

use mpi_core::p2p::Message;

use super::{Way, is_sound, put};
use crate::device;
use crate::face::Face;
use crate::procedure::Procedure;

/// The message of these arguments.
#[inline(always)]
fn message<F: Face>(
    buf: *const c_void,
    count: i64,
    datatype: F::Datatype,
    rank: c_int,
    tag: c_int,
    comm: F::Comm,
) -> Message {
    Message {
        buf: F::buffer_in(buf),
        count,
        datatype: F::datatype_in(datatype),
        rank: F::rank_in(rank),
        tag: F::tag_in(tag),
        comm: F::comm_in(comm),
    }
}

/// `MPI_Send`.
#[inline(always)]
pub unsafe fn send<F: Face, W: Way>(
    buf: *const c_void,
    count: i64,
    datatype: F::Datatype,
    dest: c_int,
    tag: c_int,
    comm: F::Comm,
) -> bool {
    // SAFETY: the program's promise.
    let Some(mut entry) = (unsafe { W::enter() }) else { return false };
    if !device::is_known(buf) {
        return false;
    }
    // Made twice: `send_fast` is inlined and keeps the first in registers; `send_eager_now` is not, and needs one in
    // memory.
    entry.messages().send_fast(&message::<F>(buf, count, datatype, dest, tag, comm))
        || entry.messages().send_eager_now(&message::<F>(buf, count, datatype, dest, tag, comm))
}

/// `MPI_Isend`.
#[inline(always)]
pub unsafe fn isend<F: Face, W: Way>(
    buf: *const c_void,
    count: i64,
    datatype: F::Datatype,
    dest: c_int,
    tag: c_int,
    comm: F::Comm,
    request: *mut F::Request,
) -> bool {
    // SAFETY: the program's promise.
    let Some(mut entry) = (unsafe { W::enter() }) else { return false };
    if request.is_null() || !device::is_known(buf) {
        return false;
    }
    let message = message::<F>(buf, count, datatype, dest, tag, comm);
    let Some(sent) = entry.messages().isend_fast(&message) else {
        return false;
    };
    // SAFETY: the program's promise, and not null.
    unsafe { *request = F::request_out(sent) };
    true
}

/// `MPI_Recv`.
#[inline(always)]
pub unsafe fn recv<F: Face, W: Way>(
    buf: *mut c_void,
    count: i64,
    datatype: F::Datatype,
    source: c_int,
    tag: c_int,
    comm: F::Comm,
    status: *mut F::Status,
) -> bool {
    // SAFETY: the program's promise.
    let Some(mut entry) = (unsafe { W::enter() }) else { return false };
    if !is_sound::<F>(status) || !device::is_known(buf) {
        return false;
    }
    entry.procedure = Procedure::Recv.number();
    let message = message::<F>(buf, count, datatype, source, tag, comm);
    let Some(received) = entry.messages().receive_fast(&message) else { return false };
    // SAFETY: the program's promise, and not null.
    unsafe { put::<F>(status, &received, false) };
    true
}

/// `MPI_Irecv`.
#[inline(always)]
pub unsafe fn irecv<F: Face, W: Way>(
    buf: *mut c_void,
    count: i64,
    datatype: F::Datatype,
    source: c_int,
    tag: c_int,
    comm: F::Comm,
    request: *mut F::Request,
) -> bool {
    // SAFETY: the program's promise.
    let Some(mut entry) = (unsafe { W::enter() }) else { return false };
    if request.is_null() || !device::is_known(buf) {
        return false;
    }
    let message = message::<F>(buf, count, datatype, source, tag, comm);
    let Some(received) = entry.messages().ireceive_fast(&message) else { return false };
    // SAFETY: the program's promise, and not null.
    unsafe { *request = F::request_out(received) };
    true
}

/// `MPI_Sendrecv`.
#[inline(always)]
pub unsafe fn sendrecv<F: Face, W: Way>(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: F::Datatype,
    dest: c_int,
    sendtag: c_int,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: F::Datatype,
    source: c_int,
    recvtag: c_int,
    comm: F::Comm,
    status: *mut F::Status,
) -> bool {
    // SAFETY: the program's promise.
    let Some(mut entry) = (unsafe { W::enter() }) else { return false };
    if !is_sound::<F>(status) || !device::is_known(sendbuf) || !device::is_known(recvbuf) {
        return false;
    }
    entry.procedure = Procedure::Sendrecv.number();
    let send = message::<F>(sendbuf, sendcount, sendtype, dest, sendtag, comm);
    let receive = message::<F>(recvbuf, recvcount, recvtype, source, recvtag, comm);
    let Some(received) = entry.messages().send_receive_fast(&send, &receive) else {
        return false;
    };
    // SAFETY: the program's promise, and not null.
    unsafe { put::<F>(status, &received, false) };
    true
}
