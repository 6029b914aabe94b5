//! Several threads in one process (`MPI_THREAD_MULTIPLE`, MPI-5.0 §11.6): they take turns, and who waits gives its
//! turn away.
//!
//! One thread has the turn, and with it the whole process. It keeps it for a call, except while it waits and while the
//! program's own code runs. A thread that waits for long lies down: it says when its wait is over, and sleeps without
//! the turn. Whatever comes for the process wakes all who sleep. What comes while one is awake is taken by that one,
//! which wakes those whose waits it finds over before it sleeps itself or leaves.
//!
//! Nothing here knows what a process is: so that a model can try every order of events (`transports/src/turns_model.rs`).
#![allow(unsafe_code)]

use std::ptr::NonNull;

use crate::rest::Bed;

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

/// What threads share: a process.
pub trait Shared: Sized {
    /// Where its threads sleep.
    type Bed: Bed;

    /// Its threads, if several may use it.
    fn threads(&mut self) -> Option<&mut Threads<Self>>;

    /// Makes a bed, and has all who send from now on wake who sleeps in it; none if something is here already.
    fn lie_down(&mut self) -> Option<Self::Bed>;

    /// One sleeper is up. If `others` sleep on they are woken as before.
    fn get_up(&mut self, others: bool);

    /// Takes in what has come; whether anything has.
    fn take_in(&mut self) -> bool;

    /// Whether what has begun meanwhile needs a look before any sleeper would get up by itself.
    fn oversleeps(&self) -> bool;
}

/// What says whether a wait is over.
pub(crate) type Over<'a, S> = dyn FnMut(&mut S) -> bool + 'a;

/// A thread that sleeps.
struct Asleep<S: Shared> {
    number: u64,
    over: NonNull<Over<'static, S>>,
    bed: S::Bed,
    woken: bool,
}

/// The threads of a process.
pub struct Threads<S: Shared> {
    pub(crate) turns: &'static dyn Turns,
    asleep: Vec<Asleep<S>>,
    /// Sleeps so far.
    sleeps: u64,
    /// Calls that have given their turn away and will take it again.
    pub(crate) inside: u32,
}

impl<S: Shared> Threads<S> {
    /// Threads that take these turns, one of which the caller has.
    pub fn new(turns: &'static dyn Turns) -> Threads<S> {
        Threads { turns, asleep: Vec::new(), sleeps: 0, inside: 0 }
    }

    /// Whether one of them sleeps.
    pub(crate) fn has_sleepers(&self) -> bool {
        !self.asleep.is_empty()
    }

    /// Notes a sleeper; its number.
    fn lie_in(&mut self, bed: S::Bed, over: &mut Over<'_, S>) -> u64 {
        // SAFETY: only the lifetime is forgotten. The sleeper takes this out before `over` ends.
        let over = unsafe {
            std::mem::transmute::<NonNull<Over<'_, S>>, NonNull<Over<'static, S>>>(over.into())
        };
        self.sleeps += 1;
        self.asleep.push(Asleep { number: self.sleeps, over, bed, woken: false });
        self.sleeps
    }
}

/// Who shares a process.
pub trait Sharer: Shared {
    /// What a thread has to do before it gives its turn back and goes on outside of the library.
    #[inline]
    fn end_turn(&mut self) {
        if self.threads().is_some_and(|threads| threads.has_sleepers()) {
            self.wake_sleepers();
            self.wake_if_late();
        }
    }

    /// Wakes those whose waits are over.
    fn wake_sleepers(&mut self) {
        let Some(threads) = self.threads() else { return };
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
        if let Some(threads) = self.threads() {
            threads.asleep = asleep;
        }
    }

    /// Wakes one if what has begun meanwhile needs a poll sooner than any of them would look.
    fn wake_if_late(&mut self) {
        let late = self.oversleeps();
        let Some(threads) = self.threads().filter(|_| late) else { return };
        if threads.asleep.iter().all(|one| !one.woken)
            && let Some(first) = threads.asleep.first_mut()
        {
            first.woken = true;
            first.bed.wake();
        }
    }
}

impl<S: Shared> Sharer for S {}

/// Sleeps without the turn, unless there is news or the wait is `over`.
///
/// # Safety
/// The caller has the turn and holds no borrow of `shared`, which lives until this returns.
pub unsafe fn sleep<S: Shared>(mut shared: NonNull<S>, over: &mut Over<'_, S>) {
    // SAFETY: the caller's promise; borrowed anew after each time without the turn.
    let process = unsafe { shared.as_mut() };
    if let Some(bed) = process.lie_down() {
        // What came while nobody was to be woken has woken nobody.
        process.wake_sleepers();
        if !over(process)
            && let Some(threads) = process.threads()
        {
            let (turns, number) = (threads.turns, threads.lie_in(bed.clone(), over));
            turns.leave();
            bed.sleep();
            turns.come();
            // SAFETY: as above.
            if let Some(threads) = unsafe { shared.as_mut() }.threads() {
                threads.asleep.retain(|one| one.number != number);
            }
        }
    }
    // SAFETY: as above.
    let process = unsafe { shared.as_mut() };
    let others = process.threads().is_some_and(|threads| threads.has_sleepers());
    process.get_up(others);
    if others {
        // What they were not told of is here.
        process.take_in();
    }
}
