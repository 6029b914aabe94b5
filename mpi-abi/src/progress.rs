//! The progress thread (`FERRITE_PROGRESS=thread`): goes on with what is under way while the program does something
//! else (MPI-5.0 §2.9, §3.7.4, §6.12), where without it whatever needs this process waits for its next call.
//!
//! It takes turns with the program's threads (see `turns`) as one more of them, whose wait is never over: it sleeps
//! until something comes, or a call leaves something that needs it. What functions of the program are to reduce it
//! leaves to the program.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use mpi_core::entry::Entry;
use mpi_core::threads::Turns as _;
use parking_lot::Mutex;

use crate::node::Node;
use crate::turns::Lock;

/// The thread, if there is one.
static THREAD: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);
/// It is to end.
static ENDS: AtomicBool = AtomicBool::new(false);

/// Starts the thread, unless there is one; in a turn. It takes no signal of the program's.
pub(crate) fn start(node: NonNull<Node>) -> io::Result<()> {
    let mut running = THREAD.lock();
    if running.is_some() {
        return Ok(());
    }
    ENDS.store(false, Ordering::Relaxed);
    let node = Shared(node);
    let builder = thread::Builder::new().name("ferrite-progress".into());
    *running = Some(without_signals(|| builder.spawn(move || look_after(node)))?);
    Ok(())
}

/// Ends it, if there is one; in a turn, which it has last.
pub(crate) fn stop(node: &mut Node) {
    let Some(running) = THREAD.lock().take() else { return };
    ENDS.store(true, Ordering::Relaxed);
    node.call_own();
    node.end_turn();
    Lock.leave();
    let ended = running.join();
    Lock.come();
    if ended.is_err() {
        tracing::warn!("the progress thread ended early");
    }
}

/// The process, for the thread.
struct Shared(NonNull<Node>);

// SAFETY: the node lives as long as the process, and whoever uses it has a turn.
unsafe impl Send for Shared {}

/// What the thread does.
fn look_after(node: Shared) {
    let Shared(node) = node;
    Lock.come();
    // SAFETY: the node lives as long as the process, and it is this thread's turn wherever it is used.
    unsafe { Entry::from_raw(node) }.watch(|| ENDS.load(Ordering::Relaxed));
    Lock.leave();
}

/// Does something with all signals blocked, as threads that are started then have them.
fn without_signals<T>(what: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are local and are filled before they are read.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let done = what();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        done
    }
}
