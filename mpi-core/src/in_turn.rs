//! A call in a process that several threads share: it gives its turn away where it waits, and while the program's code
//! runs (see [`threads`](crate::threads)).
#![allow(unsafe_code)]

use std::ptr::NonNull;

use crate::entry::{Backoff, Entry};
use crate::port::Port;
use crate::process::Process;
use crate::rest::Rest;
use crate::threads::{Over, Shared, Sharer, Threads, Turns, sleep};

impl<P: Port> Shared for Process<P> {
    type Bed = P::Bed;

    #[inline]
    fn threads(&mut self) -> Option<&mut Threads<Self>> {
        self.threads.as_mut()
    }

    fn lie_down(&mut self) -> Option<P::Bed> {
        self.port.lie_down(true)
    }

    fn get_up(&mut self, others: bool) {
        self.port.get_up(others);
    }

    fn take_in(&mut self) -> bool {
        self.progress()
    }

    fn oversleeps(&self) -> bool {
        self.port.is_open() && self.port.oversleeps()
    }
}

impl<P: Port> Process<P> {
    /// From now on threads use this process by these turns, and the caller has one; or one thread alone does.
    ///
    /// # Panics
    /// A thread sleeps in the process.
    pub fn set_turns(&mut self, turns: Option<&'static dyn Turns>) {
        let sleeps = self.threads.as_ref().is_some_and(Threads::has_sleepers);
        assert!(!sleeps, "no other thread is in a call of MPI");
        self.threads = turns.map(Threads::new);
        if let Some(port) = self.port.get() {
            port.set_threads(turns.is_some());
        }
    }

    /// Whether threads use it by turns.
    pub fn has_turns(&self) -> bool {
        self.threads.is_some()
    }

    /// Whether other threads are in calls, in waits or in functions of the program.
    pub fn has_others_inside(&self) -> bool {
        self.threads.as_ref().is_some_and(|threads| threads.inside > 0)
    }

    /// Whether a thread of which nothing is known may do what this process waits for.
    pub(crate) fn has_several_threads(&self) -> bool {
        self.threads.as_ref().is_some_and(|threads| threads.turns.are_several())
    }

    /// What a thread has to do before it gives its turn back and goes on outside of the library.
    #[inline]
    pub fn end_turn(&mut self) {
        Sharer::end_turn(self);
    }

    /// So many calls more, or fewer, are in the process without a turn.
    fn note_inside(&mut self, calls: i32) {
        if let Some(threads) = &mut self.threads {
            threads.inside = threads.inside.wrapping_add_signed(calls);
        }
    }
}

/// A thread that is outside of the process, in the middle of a call. It comes back when this is dropped, also by an
/// exception of the program's, which ends the call.
pub(crate) struct Outside<P: Port> {
    process: NonNull<Process<P>>,
    turns: &'static dyn Turns,
}

impl<P: Port> Drop for Outside<P> {
    fn drop(&mut self) {
        self.turns.come();
        // SAFETY: it lives as long as the call, and this thread has the turn.
        unsafe { self.process.as_mut() }.note_inside(-1);
    }
}

impl<P: Port> Entry<'_, P> {
    /// Gives the turn back, if threads take turns, until what this returns is dropped.
    pub(crate) fn step_outside(&mut self) -> Option<Outside<P>> {
        self.end_turn();
        self.note_inside(1);
        let turns = self.threads.as_ref()?.turns;
        turns.leave();
        Some(Outside { process: self.process(), turns })
    }

    /// Rests as one of several threads: first of all others have their turns.
    pub(crate) fn rest_in_turn(
        &mut self,
        turns: &'static dyn Turns,
        backoff: &Backoff,
        over: &mut Over<'_, Process<P>>,
    ) -> Rest {
        let procedure = self.procedure;
        self.note_inside(1);
        self.wake_sleepers();
        turns.pass();
        let rest = self.port.rest_in_turn(backoff.polls, backoff.rests);
        match rest {
            Rest::Look => {}
            Rest::GiveWay => turns.give_way(),
            // SAFETY: this thread has the turn, and nothing of the process is borrowed.
            Rest::Sleep => unsafe { sleep(self.process(), over) },
        }
        self.note_inside(-1);
        self.procedure = procedure;
        rest
    }

    /// Goes on with what is under way, for a thread of the library's own, until it `ends`. What functions of the program
    /// are to reduce it leaves to the program.
    pub fn watch(&mut self, mut ends: impl FnMut() -> bool) {
        let Some(turns) = self.threads.as_ref().map(|threads| threads.turns) else { return };
        while !ends() {
            match self.progress() {
                true => turns.pass(),
                // SAFETY: as above.
                false => unsafe { sleep(self.process(), &mut |_| ends()) },
            }
        }
    }
}
