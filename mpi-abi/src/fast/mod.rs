//! The fast paths: what the glue tries before it enters the library in full.
//!
//! Enters: the C arguments as they are. Leaves: whether the whole call is done. A fast path knows no errors and calls
//! nothing of the program's: whatever is not plain it leaves untouched to the procedure's body, which checks and words
//! everything. What it does with a message is `mpi-core`'s affair (`p2p/fast.rs`).

use std::ptr::NonNull;

use mpi_core::entry::Entry;
use mpi_core::status::Status;

use crate::face::Face;
use crate::node;
use transports::node::LocalPort;

pub mod any_time;
pub mod completion;
pub mod p2p;
pub mod packing;

/// A way into an initialised library.
pub trait Way {
    /// Goes it, if it is open.
    ///
    /// # Safety
    /// As for `entry::call`: one thread at a time calls, or from within a call-out.
    unsafe fn enter<'a>() -> Option<Entry<'a, LocalPort>>;
}

/// The way of a process that one thread at a time calls from.
pub struct Alone;

impl Way for Alone {
    #[inline]
    unsafe fn enter<'a>() -> Option<Entry<'a, LocalPort>> {
        // SAFETY: the node lives as long as the process, and the caller promises the rest.
        NonNull::new(node::running()).map(|node| unsafe { Entry::from_raw(node) })
    }
}

/// The way of a thread that has a turn.
pub struct InTurn;

impl Way for InTurn {
    #[inline]
    unsafe fn enter<'a>() -> Option<Entry<'a, LocalPort>> {
        // SAFETY: as above.
        node::shared().map(|node| unsafe { Entry::from_raw(node) })
    }
}

/// Whether a status goes nowhere or to a place that can be written.
#[inline]
fn is_sound<F: Face>(status: *const F::Status) -> bool {
    !status.is_null() || F::is_status_ignore(status)
}

/// Writes a status unless it is to be ignored.
///
/// # Safety
/// It [`is_sound`], and the program promised that it can be written.
#[inline(always)]
unsafe fn put<F: Face>(to: *mut F::Status, status: &Status, with_error: bool) {
    if !F::is_status_ignore(to) {
        // SAFETY: by the caller's promise.
        unsafe { F::status_out(to, status, with_error) };
    }
}
