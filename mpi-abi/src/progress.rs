//! The progress thread (`FERRITE_PROGRESS=thread`): goes on with what is under way while the program does something
//! else (MPI-5.0 §2.9, §3.7.4, §6.12), where without it whatever needs this process waits for its next call.
//!
//! The library serves one thread at a time, so program and thread take turns. A call finds that it has to ask for one
//! where it would else find MPI closed: without a thread nobody pays for this. The thread does not wait for turns: a
//! program that is in a call polls itself. While there is nothing to go on with, it sleeps until a call leaves
//! something; while there is, it looks again after pauses that grow as long as nothing moves. What functions of the
//! program are to reduce it leaves to the program.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Mutex, ReentrantMutex, ReentrantMutexGuard};

use crate::node::{self, Node};

/// The pause after a look that finds nothing, and the longest one, with which a thread that waits for long takes less
/// than a hundredth of a processor.
const PAUSE_FIRST: Duration = Duration::from_micros(20);
const PAUSE_MOST: Duration = Duration::from_millis(4);

/// Who is in the library: the program, which may come again from within its own functions, or the thread; without a
/// thread only who begins to use MPI.
static TURNS: ReentrantMutex<()> = ReentrantMutex::new(());
/// The thread, if there is one.
static THREAD: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);
/// It sleeps, or is about to, until it is woken.
static ASLEEP: AtomicBool = AtomicBool::new(false);
/// It is to end.
static ENDS: AtomicBool = AtomicBool::new(false);

/// A call's turn, with the process that it is in.
pub(crate) struct Turn {
    node: NonNull<Node>,
    guard: Option<ReentrantMutexGuard<'static, ()>>,
}

impl Turn {
    pub(crate) fn node(&self) -> NonNull<Node> {
        self.node
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // SAFETY: the node lives as long as the process, and it is this thread's turn; a call around this one holds
        // no borrow of it while its program's code runs.
        let goes_on = node::watched().is_some() && unsafe { self.node.as_ref() }.has_work();
        // Before the look at whether it sleeps: who goes to sleep looks behind that whether a turn is free.
        self.guard = None;
        if goes_on && ASLEEP.swap(false, Ordering::SeqCst) {
            wake();
        }
    }
}

/// A turn for a call, if a thread looks after this process.
#[cold]
pub(crate) fn turn() -> Option<Turn> {
    node::watched()?;
    let guard = TURNS.lock();
    // The call before may have been MPI_Finalize.
    node::watched().map(|node| Turn { node, guard: Some(guard) })
}

/// Keeps everyone else out who begins to use MPI, and the thread, which a call that does may start.
pub(crate) fn alone() -> ReentrantMutexGuard<'static, ()> {
    TURNS.lock()
}

/// Starts the thread, unless there is one. It takes no signal of the program's.
pub(crate) fn start(node: NonNull<Node>) -> io::Result<()> {
    let mut running = THREAD.lock();
    if running.is_some() {
        return Ok(());
    }
    ENDS.store(false, Ordering::SeqCst);
    let node = Shared(node);
    let builder = thread::Builder::new().name("ferrite-progress".into());
    *running = Some(without_signals(|| builder.spawn(move || look_after(node)))?);
    Ok(())
}

/// Ends it, if there is one; in a turn, so that it is not in the library.
pub(crate) fn stop() {
    let Some(running) = THREAD.lock().take() else { return };
    ENDS.store(true, Ordering::SeqCst);
    running.thread().unpark();
    if running.join().is_err() {
        tracing::warn!("the progress thread ended early");
    }
}

fn wake() {
    if let Some(running) = &*THREAD.lock() {
        running.thread().unpark();
    }
}

/// The process, for the thread.
struct Shared(NonNull<Node>);

// SAFETY: the node lives as long as the process, and whoever uses it has a turn.
unsafe impl Send for Shared {}

/// What the thread does.
fn look_after(node: Shared) {
    let Shared(mut node) = node;
    // Else the kernel makes each pause longer, by its timer slack.
    // SAFETY: of the calling thread alone; no memory is touched.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1000) };
    let mut pause = PAUSE_FIRST;
    while !ENDS.load(Ordering::SeqCst) {
        let Some(turn) = TURNS.try_lock().or_else(sleepily) else {
            thread::park();
            continue;
        };
        ASLEEP.store(false, Ordering::SeqCst);
        // SAFETY: as above, in a turn; nobody else is in the library.
        let process = unsafe { node.as_mut() };
        let moved = process.progress();
        let goes_on = process.has_work();
        ASLEEP.store(!goes_on, Ordering::SeqCst);
        drop(turn);
        pause = if moved { PAUSE_FIRST } else { (2 * pause).min(PAUSE_MOST) };
        match (goes_on, moved) {
            (false, _) => thread::park(),
            (true, false) => thread::park_timeout(pause),
            (true, true) => thread::yield_now(),
        }
    }
}

/// A turn after all, once the thread has said that it goes to sleep: the call that has it now wakes it up if need be.
fn sleepily() -> Option<ReentrantMutexGuard<'static, ()>> {
    ASLEEP.store(true, Ordering::SeqCst);
    TURNS.try_lock()
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
