//! Several threads in one process (`MPI_THREAD_MULTIPLE`, MPI-5.0 §11.6): they take turns, and who waits gives its
//! turn away.
//!
//! One thread has the turn, and with it the whole process. It keeps it for a call, except while it waits and while
//! the program's own code runs. Of those who wait one looks for all, and nobody needs to ring: it wakes those whose
//! waits it finds over. The others say when their waits are over, and sleep until they are called. When the one that
//! looks has waited for long it sleeps as well, on what news rings; whoever sends to the process rings, once. Who
//! leaves while all others sleep calls one of them to look on, unless one listens whom nobody has been kept from
//! ringing for.
//!
//! Nothing here knows what a process is: so that a model can try every order of events
//! (`transports/src/turns_model.rs`).
#![allow(unsafe_code)]

use std::ptr::NonNull;

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

/// What threads share: a process.
pub trait Shared: Sized {
    /// Where its threads sleep.
    type Bed: Bed;

    /// Its threads, if several may use it.
    fn threads(&mut self) -> Option<&mut Threads<Self>>;

    /// Makes a bed in which a thread sleeps until it is called.
    fn bed(&mut self) -> Self::Bed;

    /// Makes a bed in which news wakes too, and has all who send from now on ring once; none if something is here
    /// already.
    fn lie_down(&mut self) -> Option<Self::Bed>;

    /// Nobody needs to ring: a thread is awake and looks for all.
    fn look_after(&mut self);

    /// Whether somebody may have rung since this was last asked.
    fn was_rung(&mut self) -> bool;

    /// Whether what has begun meanwhile needs a look before any sleeper would get up by itself.
    fn oversleeps(&self) -> bool;
}

/// What says whether a wait is over.
pub(crate) type Over<'a, S> = dyn FnMut(&mut S) -> bool + 'a;

/// Whose a thread is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The program's.
    Program,
    /// The library's own, which looks only at what nobody else looks at.
    Library,
}

/// A thread that sleeps.
struct Asleep<S: Shared> {
    number: u64,
    of: Whose,
    over: NonNull<Over<'static, S>>,
    bed: S::Bed,
    woken: bool,
}

impl<S: Shared> Asleep<S> {
    fn wake(&mut self) {
        self.woken = true;
        self.bed.wake();
    }
}

/// The threads of a process.
pub struct Threads<S: Shared> {
    pub(crate) turns: &'static dyn Turns,
    asleep: Vec<Asleep<S>>,
    /// Sleeps so far.
    sleeps: u64,
    /// Threads of the program that wait without the turn, and look for all when they have it: one, but for moments.
    looking: usize,
    /// Those whose calls run functions of the program.
    pub(crate) outside: usize,
    /// Senders do not ring, or may have rung already.
    unannounced: bool,
}

impl<S: Shared> Threads<S> {
    /// Threads that take these turns, one of which the caller has.
    pub fn new(turns: &'static dyn Turns) -> Threads<S> {
        Threads { turns, asleep: Vec::new(), sleeps: 0, looking: 0, outside: 0, unannounced: false }
    }

    /// Whether other threads than the one that has the turn are in calls.
    pub(crate) fn are_inside(&self) -> bool {
        self.looking + self.outside + self.program_sleeps() > 0
    }

    /// Threads of the program that sleep in calls.
    pub(crate) fn program_sleeps(&self) -> usize {
        self.asleep.iter().filter(|one| one.of == Whose::Program).count()
    }

    /// Whether a thread of the program that waits looks for all: then others sleep.
    pub fn is_looked_for(&self) -> bool {
        self.looking > 0
    }

    /// Whether one that waits is awake, or will be.
    fn is_one_awake(&self) -> bool {
        self.is_looked_for() || self.asleep.iter().any(|one| one.woken)
    }

    /// Whether one of them sleeps.
    pub(crate) fn has_sleepers(&self) -> bool {
        !self.asleep.is_empty()
    }

    /// Notes a sleeper; its number.
    fn lie_in(&mut self, of: Whose, bed: S::Bed, over: &mut Over<'_, S>) -> u64 {
        // SAFETY: only the lifetime is forgotten. The sleeper takes this out before `over` ends.
        let over = unsafe {
            std::mem::transmute::<NonNull<Over<'_, S>>, NonNull<Over<'static, S>>>(over.into())
        };
        self.sleeps += 1;
        self.asleep.push(Asleep { number: self.sleeps, of, over, bed, woken: false });
        self.sleeps
    }

    /// Calls those of the library's own, which then see whether they are to end.
    pub(crate) fn call_own(&mut self) {
        let own = self.asleep.iter_mut().filter(|one| one.of == Whose::Library);
        own.for_each(Asleep::wake);
    }

    /// Calls one to look on, of the program's if there is one.
    fn call_one(&mut self) {
        let of_the_program = self.asleep.iter().position(|one| one.of == Whose::Program);
        if let Some(one) = self.asleep.get_mut(of_the_program.unwrap_or(0)) {
            one.wake();
        }
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
        let missed = self.was_rung() | self.oversleeps();
        let Some(threads) = self.threads() else { return };
        threads.unannounced |= missed;
        if threads.unannounced && !threads.is_one_awake() {
            threads.call_one();
        }
    }

    /// Wakes those whose waits are over.
    fn wake_sleepers(&mut self) {
        let mut at = 0;
        while let Some(one) = self.threads().and_then(|threads| threads.asleep.get_mut(at)) {
            // SAFETY: it lies on the stack of a thread that sleeps and comes back only with the turn, which this one
            // has; there it takes its entry out.
            let over = unsafe { one.over.as_mut() };
            if !one.woken
                && over(self)
                && let Some(threads) = self.threads()
            {
                threads.asleep[at].wake();
            }
            at += 1;
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
    // SAFETY: the caller's promise; borrowed anew after the time without the turn.
    let process = unsafe { shared.as_mut() };
    let Some(threads) = process.threads() else { return };
    if how == Rest::Sleep {
        // SAFETY: the caller's promise.
        return unsafe { sleep(shared, Whose::Program, over) };
    }
    threads.looking += 1;
    let turns = threads.turns;
    process.look_for_sleepers();
    match how {
        Rest::GiveWay => turns.give_way(),
        Rest::Look | Rest::Sleep => turns.pass(),
    }
    // SAFETY: as above.
    if let Some(threads) = unsafe { shared.as_mut() }.threads() {
        threads.looking -= 1;
    }
}

/// Sleeps without the turn until another thread calls or the wait is `over`, and until there is news if no other thread
/// looks.
///
/// # Safety
/// As for [`rest`].
pub(crate) unsafe fn sleep<S: Shared>(mut shared: NonNull<S>, of: Whose, over: &mut Over<'_, S>) {
    // SAFETY: the caller's promise; borrowed anew after the time without the turn.
    let process = unsafe { shared.as_mut() };
    // Before others have their turns: a wait may look at what this thread has just asked for in vain.
    if over(process) {
        return;
    }
    let Some(threads) = process.threads() else { return };
    let (turns, listens) = (threads.turns, !threads.is_looked_for());
    let bed = if listens { process.lie_down() } else { Some(process.bed()) };
    // What came while nobody was to ring has woken nobody.
    process.wake_sleepers();
    if let Some(bed) = bed
        && !over(process)
        && let Some(threads) = process.threads()
    {
        threads.unannounced = !listens;
        let number = threads.lie_in(of, bed.clone(), over);
        turns.leave();
        bed.sleep();
        turns.come();
        // SAFETY: as above.
        if let Some(threads) = unsafe { shared.as_mut() }.threads() {
            threads.asleep.retain(|one| one.number != number);
        }
    } else {
        // What is here may be for another one.
        turns.pass();
    }
    if listens {
        // SAFETY: as above.
        let process = unsafe { shared.as_mut() };
        process.look_after();
        if let Some(threads) = process.threads() {
            threads.unannounced = true;
        }
    }
}
