//! The short ways of sends, receives and waits (MPI-5.0 §3.2, §3.7).
//!
//! # Safety
//! Of every function: the arguments are what MPI requires of the C program.
#![allow(clippy::too_many_arguments, clippy::missing_safety_doc)]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use mpi_core::entry::Entry;
use mpi_core::handle::RequestHandle;
use mpi_core::p2p::Message;
use mpi_core::request::quick::Glance;
use mpi_core::status::Status;

use crate::device;
use crate::face::Face;
use crate::node::{self, NodePort};
use crate::procedure::Procedure;

/// The way into an initialised library.
///
/// # Safety
/// As for `entry::call`: one thread at a time calls, or from within a call-out.
#[inline]
unsafe fn enter<'a>() -> Option<Entry<'a, NodePort>> {
    // SAFETY: the node lives as long as the process, and the caller promises the rest.
    NonNull::new(node::running()).map(|node| unsafe { Entry::from_raw(node) })
}

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
    if !device::is_known(buf) {
        return false;
    }
    // Made twice, so that the first, of which no reference is taken, never lies in memory.
    entry.send_quickly(&message::<F>(buf, count, datatype, dest, tag, comm))
        || entry.send_soon(&message::<F>(buf, count, datatype, dest, tag, comm))
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
    if request.is_null() || !device::is_known(buf) {
        return false;
    }
    let message = message::<F>(buf, count, datatype, dest, tag, comm);
    let Some(sent) = entry.isend_quickly(&message) else {
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
    if !is_sound::<F>(status) || !device::is_known(buf) {
        return false;
    }
    entry.procedure = Procedure::Recv.number();
    let message = message::<F>(buf, count, datatype, source, tag, comm);
    let Some(received) = entry.receive_quickly(&message) else { return false };
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
    if request.is_null() || !device::is_known(buf) {
        return false;
    }
    let message = message::<F>(buf, count, datatype, source, tag, comm);
    let Some(received) = entry.ireceive_quickly(&message) else { return false };
    // SAFETY: the program's promise, and not null.
    unsafe { *request = F::request_out(received) };
    true
}

/// `MPI_Wait`.
#[inline(always)]
pub unsafe fn wait<F: Face>(request: *mut F::Request, status: *mut F::Status) -> bool {
    // SAFETY: the program's promise.
    let Some(mut entry) = (unsafe { enter() }) else { return false };
    if request.is_null() || !is_sound::<F>(status) {
        return false;
    }
    entry.procedure = Procedure::Wait.number();
    // SAFETY: the program's promise, and not null.
    let handle = F::request_in(unsafe { *request });
    let (known, stays) = match entry.settled(handle) {
        Glance::Empty => (Some(Status::EMPTY), false),
        Glance::Round => (entry.collect_round(handle), true),
        _ => (entry.collect(handle), false),
    };
    let Some(known) = known else { return false };
    // SAFETY: as above; the status is neither null nor to be ignored.
    unsafe {
        if !stays {
            *request = F::request_out(RequestHandle::NULL);
        }
        if !F::is_status_ignore(status) {
            F::status_out(status, &known, false);
        }
    }
    true
}

/// `MPI_Waitall`: reports none before all have completed well.
#[inline(always)]
pub unsafe fn waitall<F: Face>(
    count: c_int,
    array_of_requests: *mut F::Request,
    array_of_statuses: *mut F::Status,
) -> bool {
    // SAFETY: the program's promise.
    let Some(mut entry) = (unsafe { enter() }) else { return false };
    let Ok(count) = usize::try_from(count) else { return false };
    if array_of_requests.is_null() || !is_sound::<F>(array_of_statuses) {
        return false;
    }
    entry.procedure = Procedure::Waitall.number();
    for index in 0..count {
        // SAFETY: the program's array has `count` requests.
        let handle = F::request_in(unsafe { *array_of_requests.add(index) });
        if !matches!(entry.settled(handle), Glance::Empty | Glance::Complete) {
            return false;
        }
    }
    let ignored = F::is_status_ignore(array_of_statuses);
    for index in 0..count {
        // SAFETY: as above; so has the array of statuses, if they are not to be ignored.
        unsafe {
            let request = array_of_requests.add(index);
            let handle = F::request_in(*request);
            let known = match entry.is_empty_request(handle) {
                true => Some(Status::EMPTY),
                false => entry.collect(handle),
            };
            // None where one request stands twice in the array.
            let Some(known) = known else { return false };
            *request = F::request_out(RequestHandle::NULL);
            if !ignored {
                F::status_out(array_of_statuses.add(index), &known, true);
            }
        }
    }
    true
}
