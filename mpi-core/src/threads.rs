//! Several threads in one process (`MPI_THREAD_MULTIPLE`, MPI-5.0 §11.6): they take turns, and who waits gives its
//! turn away.
//!
//! One thread has the turn, and with it the whole process. It keeps it for a call, except while it waits and while the
//! program's own code runs. A thread that waits for long lies down: it says when its wait is over, and sleeps without
//! the turn; then whoever sends to the process rings, once, which wakes all who sleep. A thread that waits awake looks
//! for all: nobody needs to ring, and it wakes those whose waits it finds over. The last one awake, before it sleeps
//! itself or leaves, sees to it that senders ring again, and looks once more for what came before they knew.
//!
//! Nothing here knows what a process is: so that a model can try every order of events
//! (`transports/src/turns_model.rs`).
#![allow(unsafe_code)]

use std::ptr::NonNull;

use crate::rest::{Bed, Rest};

/// Rounds of progress in which a thread that leaves others asleep takes in what is there, before it wakes one for more.
const ROUNDS_BEFORE_LEAVING: u32 = 8;

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

    /// Makes a bed, and has all who send from now on ring once; none if something is here already.
    fn lie_down(&mut self) -> Option<Self::Bed>;

    /// Has all who send from now on ring once, for those who sleep on.
    fn announce(&mut self);

    /// Nobody needs to ring: a thread is awake and looks for all.
    fn look_after(&mut self);

    /// Whether somebody may have rung since this was last asked.
    fn was_rung(&mut self) -> bool;

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
    /// Those who wait without the turn, awake or asleep.
    waiting: usize,
    /// Those whose calls run functions of the program.
    pub(crate) outside: usize,
    /// One of those who wait is a thread of the library's own.
    pub(crate) has_own: bool,
    /// Senders do not ring, or may have rung already.
    unannounced: bool,
}

impl<S: Shared> Threads<S> {
    /// Threads that take these turns, one of which the caller has.
    pub fn new(turns: &'static dyn Turns) -> Threads<S> {
        Threads {
            turns,
            asleep: Vec::new(),
            sleeps: 0,
            waiting: 0,
            outside: 0,
            has_own: false,
            unannounced: false,
        }
    }

    /// Whether other threads than the one that has the turn are in calls.
    pub(crate) fn are_inside(&self) -> bool {
        self.waiting + self.outside > usize::from(self.has_own)
    }

    /// Whether one that waits is awake, or will be.
    fn is_one_awake(&self) -> bool {
        self.waiting > self.asleep.iter().filter(|one| !one.woken).count()
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

/// What threads do with what they share.
pub trait Sharer: Shared {
    /// What a thread has to do before it gives its turn back and goes on outside of the library.
    #[inline]
    fn end_turn(&mut self) {
        if self.threads().is_some_and(|threads| threads.has_sleepers()) {
            self.leave_sleepers();
        }
    }

    /// As [`Sharer::end_turn`], where some sleep.
    #[cold]
    fn leave_sleepers(&mut self) {
        self.wake_sleepers();
        let rung = self.was_rung();
        let Some(threads) = self.threads() else { return };
        threads.unannounced |= rung;
        if threads.is_one_awake() {
            return;
        }
        let (mut anew, mut more) = (std::mem::take(&mut threads.unannounced), false);
        while anew {
            self.announce();
            // A round takes in so much at most, and nobody rings for the rest.
            more = (0..ROUNDS_BEFORE_LEAVING).all(|_| self.take_in());
            self.wake_sleepers();
            anew = self.was_rung();
        }
        let late = more || self.oversleeps();
        let threads = self.threads().filter(|threads| late && !threads.is_one_awake());
        if let Some(first) = threads.and_then(|threads| threads.asleep.first_mut()) {
            first.woken = true;
            first.bed.wake();
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

    /// This thread is awake, and others sleep: it looks for all.
    fn look_for_sleepers(&mut self) {
        let Some(threads) = self.threads().filter(|threads| threads.has_sleepers()) else { return };
        if !std::mem::replace(&mut threads.unannounced, true) {
            self.look_after();
        }
        self.wake_sleepers();
    }
}

impl<S: Shared> Sharer for S {}

/// Rests from waiting without the turn: lets others have it, gives way, or sleeps until the wait may be `over`.
///
/// # Safety
/// The caller has the turn and holds no borrow of `shared`, which lives until this returns.
pub unsafe fn rest<S: Shared>(mut shared: NonNull<S>, how: Rest, over: &mut Over<'_, S>) {
    // SAFETY: the caller's promise; borrowed anew after each time without the turn.
    let process = unsafe { shared.as_mut() };
    // Before others have their turns: a wait may look at what this thread has just asked for in vain.
    if how == Rest::Sleep && over(process) {
        return;
    }
    let Some(threads) = process.threads() else { return };
    threads.waiting += 1;
    let turns = threads.turns;
    process.look_for_sleepers();
    turns.pass();
    match how {
        Rest::Look => {}
        Rest::GiveWay => turns.give_way(),
        // SAFETY: the caller's promise.
        Rest::Sleep => unsafe { sleep(shared, turns, over) },
    }
    // SAFETY: as above.
    if let Some(threads) = unsafe { shared.as_mut() }.threads() {
        threads.waiting -= 1;
    }
}

/// Sleeps, unless there is news or the wait is `over`.
///
/// # Safety
/// As for [`rest`].
unsafe fn sleep<S: Shared>(
    mut shared: NonNull<S>,
    turns: &'static dyn Turns,
    over: &mut Over<'_, S>,
) {
    // SAFETY: the caller's promise; borrowed anew after the time without the turn.
    let process = unsafe { shared.as_mut() };
    let bed = process.lie_down();
    // What came while nobody was to ring has woken nobody.
    process.wake_sleepers();
    if let Some(bed) = bed
        && !over(process)
        && let Some(threads) = process.threads()
    {
        threads.unannounced = false;
        let number = threads.lie_in(bed.clone(), over);
        turns.leave();
        bed.sleep();
        turns.come();
        // SAFETY: as above.
        if let Some(threads) = unsafe { shared.as_mut() }.threads() {
            threads.asleep.retain(|one| one.number != number);
        }
    }
    // SAFETY: as above.
    let process = unsafe { shared.as_mut() };
    process.look_after();
    if let Some(threads) = process.threads() {
        threads.unannounced = true;
    }
}
