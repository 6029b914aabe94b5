//! The short ways of sends, receives and single waits (MPI-5.0 §3.2, §3.7).
//!
//! # Safety
//! Of every function: the arguments are what MPI requires of the C program.
#![allow(clippy::too_many_arguments, clippy::missing_safety_doc)]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use mpi_core::entry::Entry;
use mpi_core::p2p::Message;

use crate::device;
use crate::face::Face;
use crate::node::{self, NodePort};

/// The way into an initialised library.
///
/// # Safety
/// As for `entry::call`: one thread at a time calls, or from within a call-out.
#[inline]
unsafe fn enter<'a>() -> Option<Entry<'a, NodePort>> {
    // SAFETY: the node lives as long as the process, and the caller promises the rest.
    NonNull::new(node::running()).map(|node| unsafe { Entry::from_raw(node) })
}

/// The message of these arguments, if its memory is known to be the host's.
#[inline]
fn message<F: Face>(
    buf: *const c_void,
    count: i64,
    datatype: F::Datatype,
    rank: c_int,
    tag: c_int,
    comm: F::Comm,
) -> Option<Message> {
    device::is_known(buf).then(|| Message {
        buf: F::buffer_in(buf),
        count,
        datatype: F::datatype_in(datatype),
        rank: F::rank_in(rank),
        tag: F::tag_in(tag),
        comm: F::comm_in(comm),
    })
}

/// Whether a status goes nowhere or to a place that can be written.
#[inline]
fn is_sound<F: Face>(status: *const F::Status) -> bool {
    !status.is_null() || F::is_status_ignore(status)
}

/// `MPI_Send`.
#[inline(always)]
pub unsafe fn send<F: Face>(
    buf: *const c_void,
    count: i64,
    datatype: F::Datatype,
    dest: c_int,
    tag: c_int,
    comm: F::Comm,
) -> bool {
    // SAFETY: the program's promise.
    let Some(mut entry) = (unsafe { enter() }) else { return false };
    let message = message::<F>(buf, count, datatype, dest, tag, comm);
    message.is_some_and(|message| entry.send_quickly(&message))
}

/// `MPI_Isend`.
#[inline(always)]
pub unsafe fn isend<F: Face>(
    buf: *const c_void,
    count: i64,
    datatype: F::Datatype,
    dest: c_int,
    tag: c_int,
    comm: F::Comm,
    request: *mut F::Request,
) -> bool {
    // SAFETY: the program's promise.
    let Some(mut entry) = (unsafe { enter() }) else { return false };
    if request.is_null() {
        return false;
    }
    let message = message::<F>(buf, count, datatype, dest, tag, comm);
    let Some(sent) = message.and_then(|message| entry.isend_quickly(&message)) else {
        return false;
    };
    // SAFETY: the program's promise, and not null.
    unsafe { *request = F::request_out(sent) };
    true
}

/// `MPI_Recv`.
#[inline(always)]
pub unsafe fn recv<F: Face>(
    buf: *mut c_void,
    count: i64,
    datatype: F::Datatype,
    source: c_int,
    tag: c_int,
    comm: F::Comm,
    status: *mut F::Status,
) -> bool {
    // SAFETY: the program's promise.
    let Some(mut entry) = (unsafe { enter() }) else { return false };
    if !is_sound::<F>(status) {
        return false;
    }
    let message = message::<F>(buf, count, datatype, source, tag, comm);
    let received = message.and_then(|message| entry.receive_quickly(&message));
    let Some(received) = received else { return false };
    if !F::is_status_ignore(status) {
        // SAFETY: the program's promise, and neither null nor to be ignored.
        unsafe { F::status_out(status, &received, false) };
    }
    true
}

/// `MPI_Irecv`.
#[inline(always)]
pub unsafe fn irecv<F: Face>(
    buf: *mut c_void,
    count: i64,
    datatype: F::Datatype,
    source: c_int,
    tag: c_int,
    comm: F::Comm,
    request: *mut F::Request,
) -> bool {
    // SAFETY: the program's promise.
    let Some(mut entry) = (unsafe { enter() }) else { return false };
    if request.is_null() {
        return false;
    }
    let message = message::<F>(buf, count, datatype, source, tag, comm);
    let received = message.and_then(|message| entry.ireceive_quickly(&message));
    let Some(received) = received else { return false };
    // SAFETY: the program's promise, and not null.
    unsafe { *request = F::request_out(received) };
    true
}
