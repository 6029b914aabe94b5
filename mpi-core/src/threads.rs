//! Several threads in one process (`MPI_THREAD_MULTIPLE`, MPI-5.0 §11.6): they take turns, and who waits gives its
//! turn away.
//!
//! One thread has the turn, and with it the whole process. It keeps it for a call, except while it waits and while the
//! program's own code runs. A thread that waits for long lies down: it says when its wait is over, and sleeps without
//! the turn. Whatever comes for the process wakes all who sleep. What comes while one is awake is taken by that one,
//! which wakes those whose waits it finds over before it sleeps itself or leaves.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use crate::entry::{Backoff, Entry};
use crate::port::Port;
use crate::process::Process;
use crate::rest::{Bed, Rest};

/// How the threads of a process pass their turn on.
pub trait Turns {
    /// Gives the turn to a thread that waits for it, if one does, and takes it again behind that one.
    fn pass(&self);

    /// Gives the turn back for a moment in which others may have the processor too.
    fn give_way(&self);

    /// Gives the turn back.
    fn leave(&self);

    /// Takes it again.
    fn come(&self);

    /// Whether several threads have had a turn yet.
    fn are_several(&self) -> bool;
}

/// What says whether a wait is over.
type Over<'a, P> = dyn FnMut(&mut Process<P>) -> bool + 'a;

/// A thread that sleeps.
struct Asleep<P: Port> {
    number: u64,
    over: NonNull<Over<'static, P>>,
    bed: P::Bed,
    woken: bool,
}

/// The threads of a process.
pub(crate) struct Threads<P: Port> {
    turns: &'static dyn Turns,
    asleep: Vec<Asleep<P>>,
    /// Sleeps so far.
    sleeps: u64,
    /// Calls that have given their turn away and will take it again.
    inside: u32,
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

impl<P: Port> Process<P> {
    /// From now on threads use this process by these turns, and the caller has one; or one thread alone does.
    ///
    /// # Panics
    /// A thread sleeps in the process.
    pub fn set_turns(&mut self, turns: Option<&'static dyn Turns>) {
        assert!(self.threads.as_ref().is_none_or(|threads| threads.asleep.is_empty()), "{INSIDE}");
        self.threads =
            turns.map(|turns| Threads { turns, asleep: Vec::new(), sleeps: 0, inside: 0 });
        if let Some(port) = self.port.get() {
            port.set_threads(turns.is_some());
        }
    }

    /// Whether threads use it by turns.
    pub fn has_turns(&self) -> bool {
        self.threads.is_some()
    }

    /// What a thread has to do before it gives its turn back and goes on outside of the library.
    #[inline]
    pub fn end_turn(&mut self) {
        if self.has_sleepers() {
            self.wake_sleepers();
            self.wake_if_late();
        }
    }

    /// Whether other threads are in calls, in waits or in functions of the program.
    pub fn has_others_inside(&self) -> bool {
        self.threads.as_ref().is_some_and(|threads| threads.inside > 0)
    }

    fn has_sleepers(&self) -> bool {
        self.threads.as_ref().is_some_and(|threads| !threads.asleep.is_empty())
    }

    /// So many calls more, or fewer, are in the process without a turn.
    pub(crate) fn note_inside(&mut self, calls: i32) {
        if let Some(threads) = &mut self.threads {
            threads.inside = threads.inside.wrapping_add_signed(calls);
        }
    }

    /// Whether a thread of which nothing is known may do what this process waits for.
    pub(crate) fn has_several_threads(&self) -> bool {
        self.threads.as_ref().is_some_and(|threads| threads.turns.are_several())
    }

    /// Wakes those whose waits are over.
    fn wake_sleepers(&mut self) {
        let Some(threads) = &mut self.threads else { return };
        let mut asleep = std::mem::take(&mut threads.asleep);
        for one in asleep.iter_mut().filter(|one| !one.woken) {
            // SAFETY: it lies on the stack of a thread that sleeps and comes back only with the turn, which this one
            // has; there it takes its entry out.
            let over = unsafe { one.over.as_mut() };
            if over(self) {
                one.woken = true;
                one.bed.wake();
            }
        }
        if let Some(threads) = &mut self.threads {
            threads.asleep = asleep;
        }
    }

    /// Wakes one if what has begun meanwhile needs a poll sooner than any of them would look.
    fn wake_if_late(&mut self) {
        let late = self.port.get().is_some_and(|port| port.oversleeps());
        let Some(threads) = self.threads.as_mut().filter(|_| late) else { return };
        if threads.asleep.iter().all(|one| !one.woken)
            && let Some(first) = threads.asleep.first_mut()
        {
            first.woken = true;
            first.bed.wake();
        }
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
    pub(crate) fn rest_in_turn(&mut self, backoff: &Backoff, over: &mut Over<'_, P>) -> Rest {
        let Some(Threads { turns, .. }) = self.threads else { return Rest::Look };
        let procedure = self.procedure;
        self.note_inside(1);
        self.wake_sleepers();
        turns.pass();
        let rest = self.port.rest_in_turn(backoff.polls, backoff.rests);
        match rest {
            Rest::Look => {}
            Rest::GiveWay => turns.give_way(),
            Rest::Sleep => self.sleep(turns, over),
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
                false => self.sleep(turns, &mut |_| ends()),
            }
        }
    }

    /// Sleeps without the turn, unless there is news.
    fn sleep(&mut self, turns: &'static dyn Turns, over: &mut Over<'_, P>) {
        if let Some(bed) = self.port.lie_down(true) {
            // What came while nobody was to be woken has woken nobody.
            self.wake_sleepers();
            if !over(self) {
                let number = self.lie_in(bed.clone(), over);
                turns.leave();
                bed.sleep();
                turns.come();
                let threads = self.threads.iter_mut();
                threads.for_each(|threads| threads.asleep.retain(|one| one.number != number));
            }
        }
        let others = self.has_sleepers();
        self.port.get_up(others);
        if others {
            self.progress();
        }
    }

    /// Lets others know of this sleeper; its number.
    fn lie_in(&mut self, bed: P::Bed, over: &mut Over<'_, P>) -> u64 {
        // SAFETY: only the lifetime is forgotten. The sleeper takes this out before `over` ends.
        let over = unsafe {
            std::mem::transmute::<NonNull<Over<'_, P>>, NonNull<Over<'static, P>>>(over.into())
        };
        let Some(threads) = &mut self.threads else { return 0 };
        threads.sleeps += 1;
        let number = threads.sleeps;
        threads.asleep.push(Asleep { number, over, bed, woken: false });
        number
    }
}

/// Said when threads are left behind.
const INSIDE: &str = "no other thread is in a call of MPI";
