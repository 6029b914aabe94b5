//! Who is in the library, where several threads may be: with a level of `MPI_THREAD_MULTIPLE` (MPI-5.0 §11.6), or
//! beside the progress thread.
//!
//! Without them nobody pays: a call looks for a turn where it would else find MPI closed. The lock is not fair at the
//! end of a call, where a thread that goes on calling would else wait for another to wake up, and fair within waits,
//! where it is passed on (see `mpi_core::threads`).

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mpi_core::threads::Turns;
use parking_lot::lock_api::{GuardNoSend, RawMutex as _, RawMutexFair as _};
use parking_lot::{RawMutex, ReentrantMutex, ReentrantMutexGuard};

use crate::node::{self, Node};

static LOCK: RawMutex = RawMutex::INIT;
/// Who begins a session in a world that serves one thread at a time; its error handler may begin another one.
static BEGINNERS: ReentrantMutex<()> = ReentrantMutex::new(());
/// The first thread that has had a turn, by the address of something of its own, and whether another one has.
static FIRST: AtomicUsize = AtomicUsize::new(0);
static SEVERAL: AtomicBool = AtomicBool::new(false);

thread_local! {
    static OWN: u8 = const { 0 };
}

/// A call's turn, with the process that it is in.
pub(crate) struct Turn {
    node: NonNull<Node>,
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
        unsafe { self.node.as_mut() }.end_turn();
        // SAFETY: it was locked for this turn, and whoever has given it back within has taken it again.
        unsafe { LOCK.unlock(GuardNoSend::new()) };
    }
}

/// A turn for a call, if threads take turns in this process.
pub(crate) fn turn() -> Option<Turn> {
    node::shared()?;
    let own = OWN.with(|own| std::ptr::from_ref(own).addr());
    if FIRST.load(Ordering::Relaxed) != own {
        note_thread(own);
    }
    LOCK.lock();
    // The call before may have been MPI_Finalize.
    match node::shared() {
        Some(node) => Some(Turn { node }),
        None => {
            // SAFETY: it was locked just now.
            unsafe { LOCK.unlock(GuardNoSend::new()) };
            None
        }
    }
}

#[cold]
fn note_thread(own: usize) {
    if FIRST.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        SEVERAL.store(true, Ordering::Relaxed);
    }
}

/// A turn for a call that may begin to use MPI, with the node: others who begin, and the progress thread, wait. Where
/// the library serves one thread at a time nobody else takes turns, and those who begin wait for each other alone.
pub(crate) fn first_turn(node: NonNull<Node>) -> FirstTurn {
    if !node::running().is_null() {
        return FirstTurn { turn: None, begins: false, _alone: Some(BEGINNERS.lock()) };
    }
    LOCK.lock();
    let mut turn = Turn { node };
    if !node::running().is_null() {
        drop(turn);
        return first_turn(node);
    }
    // SAFETY: as in `Turn::drop`.
    let node = unsafe { turn.node.as_mut() };
    let begins = !node.has_turns();
    if begins {
        node.set_turns(Some(&Lock));
    }
    FirstTurn { turn: Some(turn), begins, _alone: None }
}

/// See [`first_turn`]. Unless the call has opened the library to several threads, one is alone again behind it.
pub(crate) struct FirstTurn {
    turn: Option<Turn>,
    begins: bool,
    _alone: Option<ReentrantMutexGuard<'static, ()>>,
}

impl Drop for FirstTurn {
    fn drop(&mut self) {
        if let Some(turn) = &mut self.turn
            && self.begins
            && node::shared().is_none()
        {
            // SAFETY: as in `Turn::drop`.
            unsafe { turn.node.as_mut() }.set_turns(None);
        }
    }
}

/// How turns are passed on.
pub(crate) struct Lock;

impl Turns for Lock {
    fn pass(&self) {
        // SAFETY: who waits has the turn, and so the lock.
        unsafe { LOCK.bump(&mut GuardNoSend::new()) };
    }

    fn give_way(&self) {
        self.leave();
        std::thread::yield_now();
        self.come();
    }

    fn leave(&self) {
        // SAFETY: as in `pass`.
        unsafe { LOCK.unlock(GuardNoSend::new()) };
    }

    fn come(&self) {
        LOCK.lock();
    }

    fn are_several(&self) -> bool {
        SEVERAL.load(Ordering::Relaxed)
    }
}
