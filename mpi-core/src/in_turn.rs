//! A call in a process that several threads share: it gives its turn away where it waits, and while the program's code
//! runs (see [`threads`](crate::threads)).
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::time::Duration;

use crate::entry::{Backoff, Entry};
use crate::port::Port;
use crate::process::Process;
use crate::rest::Rest;
use crate::threads::{Over, Shared, Sharer, Threads, Turns, Whose, rest, sleep};

impl<P: Port> Shared for Process<P> {
    type Bed = P::Bed;

    #[inline]
    fn threads(&mut self) -> Option<&mut Threads<Self>> {
        self.threads.as_mut()
    }

    fn bed(&mut self) -> P::Bed {
        self.port.bed()
    }

    fn lie_down(&mut self) -> Option<P::Bed> {
        self.port.lie_down(true)
    }

    fn look_after(&mut self) {
        self.port.get_up();
    }

    fn was_rung(&mut self) -> bool {
        self.port.get().is_some_and(|port| port.was_rung())
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
        self.threads.as_ref().is_some_and(Threads::are_inside)
    }

    /// Whether a thread of which nothing is known may do what this process waits for.
    pub(crate) fn has_several_threads(&self) -> bool {
        self.threads.as_ref().is_some_and(|threads| threads.turns.are_several())
    }

    /// Calls the threads of the library's own, which may have to end.
    pub fn call_own(&mut self) {
        self.threads.iter_mut().for_each(Threads::call_own);
    }

    /// What a thread has to do before it gives its turn back and goes on outside of the library.
    #[inline]
    pub fn end_turn(&mut self) {
        Sharer::end_turn(self);
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
        if let Some(threads) = &mut unsafe { self.process.as_mut() }.threads {
            threads.outside -= 1;
        }
    }
}

impl<P: Port> Entry<'_, P> {
    /// Gives the turn back, if threads take turns, until what this returns is dropped.
    pub(crate) fn step_outside(&mut self) -> Option<Outside<P>> {
        self.end_turn();
        let threads = self.threads.as_mut()?;
        threads.outside += 1;
        let turns = threads.turns;
        turns.leave();
        Some(Outside { process: self.process(), turns })
    }

    /// What one of several threads is to do between two looks: sleep, if another one looks for all.
    pub(crate) fn how_to_rest(&mut self, backoff: &Backoff) -> Rest {
        let Some(threads) = self.threads.as_ref().filter(|threads| !threads.is_looked_for()) else {
            return Rest::Sleep;
        };
        let beside = threads.program_sleeps();
        let since = |now: Duration| (now.as_micros() as u32).wrapping_sub(backoff.rests_since);
        let has_rested = backoff.rests_since != 0;
        let rests_for = has_rested.then(|| Duration::from_micros(since(self.port.now()).into()));
        self.port.rest_in_turn(backoff.polls, rests_for, beside)
    }

    /// Rests as one of several threads.
    pub(crate) fn rest_in_turn(&mut self, how: Rest, over: &mut Over<'_, Process<P>>) {
        let procedure = self.procedure;
        // What functions of the program are to reduce is left to whoever is in a call.
        let over: &mut Over<'_, Process<P>> =
            &mut |process| over(process) || !process.reductions.is_empty();
        // SAFETY: this thread has the turn, and nothing of the process is borrowed.
        unsafe { rest(self.process(), how, over) };
        self.procedure = procedure;
    }

    /// Goes on with what is under way, for a thread of the library's own, until it `ends`, for which it looks when it
    /// is [called](Process::call_own). What functions of the program are to reduce it leaves to the program.
    pub fn watch(&mut self, mut ends: impl FnMut() -> bool) {
        while !ends() {
            if self.progress() {
                self.look_for_sleepers();
                self.threads.iter().for_each(|threads| threads.turns.pass());
            } else {
                // SAFETY: this thread has the turn, and nothing of the process is borrowed.
                unsafe { sleep(self.process(), Whose::Library, &mut |_| false) };
            }
        }
    }
}
