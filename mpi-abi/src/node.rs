//! The one process behind the C interface: the core over the transports that `transports::node`
//! ties together, with what only this side knows beside them (decision 3).

use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};

use mpi_core::error::Error;
use mpi_core::port::PeerId;
use mpi_core::process::Process;
use mpi_core::roll_call::Answer;
use transports::node::{Host, LocalPort};

use crate::procedure::Procedure;

/// The process of this program.
pub type Node = Process<LocalPort>;

/// The node while MPI is initialised: what every ordinary procedure needs (decision 12).
static RUNNING: AtomicPtr<Node> = AtomicPtr::new(std::ptr::null_mut());
/// The same, in its place, where threads take turns in it (see `turns`).
static SHARED: AtomicPtr<Node> = AtomicPtr::new(std::ptr::null_mut());
/// The node from the first call of any procedure on.
static EXISTING: AtomicPtr<Node> = AtomicPtr::new(std::ptr::null_mut());

/// The node, if MPI is initialised and not finalized.
#[inline]
pub(crate) fn running() -> *mut Node {
    RUNNING.load(Ordering::Acquire)
}

/// The node, if MPI is initialised and threads take turns in it: then nobody finds it `running`.
#[inline]
pub(crate) fn shared() -> Option<NonNull<Node>> {
    NonNull::new(SHARED.load(Ordering::Acquire))
}

/// Whether MPI is initialised and not finalized.
pub(crate) fn is_open() -> bool {
    !running().is_null() || shared().is_some()
}

/// The node, if it exists and the library is closed.
pub(crate) fn idle() -> Option<NonNull<Node>> {
    NonNull::new(EXISTING.load(Ordering::Acquire)).filter(|_| !is_open())
}

/// The node; `make` is asked for one at the first call.
pub(crate) fn existing(make: impl FnOnce() -> Node) -> *mut Node {
    let node = EXISTING.load(Ordering::Acquire);
    if !node.is_null() {
        return node;
    }
    let made = Box::into_raw(Box::new(make()));
    let swapped =
        EXISTING.compare_exchange(std::ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
    match swapped {
        Ok(_) => made,
        Err(first) => {
            // SAFETY: `made` came from a box just now and nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
            first
        }
    }
}

/// Opens the ordinary procedures; to threads that take turns if so.
pub(crate) fn open(shared: bool) {
    let node = EXISTING.load(Ordering::Acquire);
    if shared { &SHARED } else { &RUNNING }.store(node, Ordering::Release);
}

/// Closes them.
pub(crate) fn close() {
    for open in [&RUNNING, &SHARED] {
        open.store(std::ptr::null_mut(), Ordering::Release);
    }
}

/// The program, its launcher and the interface, of which the ways to other processes know nothing.
pub(crate) struct Program;

impl Host for Program {
    fn is_asked(&self) -> bool {
        crate::library::is_asked()
    }

    fn procedure_name(&self, number: u16) -> Option<&'static str> {
        Procedure::name_of(number)
    }

    fn end_job(&self, procedure: u16, peer: PeerId, error: &Error) {
        crate::failure::end_job_over(Procedure::name_of(procedure), peer, error);
    }

    fn answer(&self, answer: &Answer, in_vain: Option<String>) {
        crate::library::tell(answer, in_vain);
    }
}
