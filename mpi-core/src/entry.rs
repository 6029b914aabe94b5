//! One call into the library: the only way to a [`Process`] while the program's code may run.
//!
//! User functions may call MPI again (MPI-5.0 §6.9.5, §7.7.2, §9.3), so while one runs nothing of
//! the process may be borrowed. An entry owns no borrow between its uses: the compiler refuses a
//! reference held across [`Entry::call_out`], because both need the entry mutably.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::callout::UserCode;
use crate::port::Port;
use crate::process::Process;
use crate::rest::Rest;
use crate::roll_call::Call;

/// How a wait has gone since something last moved in it.
#[derive(Default)]
pub(crate) struct Backoff {
    /// Rounds.
    pub(crate) polls: u32,
    /// When it left the spin phase, in microseconds of the port's clock, or 0.
    pub(crate) rests_since: u32,
}

/// A call in progress.
pub struct Entry<'a, P: Port> {
    process: NonNull<Process<P>>,
    borrowed: PhantomData<&'a mut Process<P>>,
}

impl<'a, P: Port> Entry<'a, P> {
    /// A call into `process`.
    pub fn new(process: &'a mut Process<P>) -> Entry<'a, P> {
        Entry { process: NonNull::from(process), borrowed: PhantomData }
    }

    /// A call into the process at `process`.
    ///
    /// # Safety
    /// It lives for `'a`, and whoever else uses it meanwhile does so on the same thread, through
    /// an entry, from within a [`Entry::call_out`] of this one.
    #[inline]
    pub unsafe fn from_raw(process: NonNull<Process<P>>) -> Entry<'a, P> {
        Entry { process, borrowed: PhantomData }
    }

    /// Where the process is.
    pub(crate) fn process(&self) -> NonNull<Process<P>> {
        self.process
    }

    /// The same call for a shorter time: what a view of it has.
    #[inline(always)]
    pub(crate) fn reborrow(&mut self) -> Entry<'_, P> {
        Entry { process: self.process, borrowed: PhantomData }
    }

    /// Runs the program's code. It may enter the library again, so every handle has to be looked
    /// up anew afterwards; only what was called is what it was before. Other threads have their turns meanwhile.
    pub fn call_out<R>(&mut self, code: impl FnOnce(&dyn UserCode) -> R) -> R {
        let (user, procedure) = (self.user, self.procedure);
        let outside = self.step_outside();
        let result = code(user);
        drop(outside);
        self.procedure = procedure;
        result
    }

    /// Polls, and calls out, until `done`; spins, yields and sleeps as the port sees fit.
    #[inline]
    pub fn block_until(&mut self, done: impl FnMut(&mut Process<P>) -> bool) {
        self.block_in(Process::roll_call, done);
    }

    /// As [`Entry::block_until`]; `call` words what this process waits for, if somebody asks. While this thread sleeps
    /// others ask whether it is `done`, and it asks again itself: what that does once it remembers.
    #[inline]
    pub fn block_in(
        &mut self,
        call: impl Fn(&Process<P>) -> Call,
        mut done: impl FnMut(&mut Process<P>) -> bool,
    ) {
        let mut backoff = Backoff::default();
        while !done(self) {
            if !self.pending.is_empty() && self.look_at_segments(backoff.polls, &mut done) {
                return;
            }
            if self.poll() {
                backoff = Backoff::default();
            } else {
                self.pause(&mut backoff, |entry| call(entry), &mut done);
            }
        }
    }

    /// Ends a round of a wait in which nothing moved: spins, yields or sleeps as the port sees fit, until the wait may
    /// be `over`. Who asks meanwhile hears of the `call` that this process is in.
    #[inline]
    pub(crate) fn pause(
        &mut self,
        backoff: &mut Backoff,
        call: impl FnOnce(&Self) -> Call,
        over: &mut impl FnMut(&mut Process<P>) -> bool,
    ) {
        backoff.polls += 1;
        if !self.port.spins(backoff.polls) {
            self.rest(backoff, call, over);
        }
    }

    /// As [`Entry::pause`], behind the spin phase.
    #[cold]
    fn rest(
        &mut self,
        backoff: &mut Backoff,
        call: impl FnOnce(&Self) -> Call,
        over: &mut impl FnMut(&mut Process<P>) -> bool,
    ) {
        if self.threads.is_none() {
            self.port.rest_alone(backoff.polls);
            return self.note_rest(backoff, call);
        }
        let how = self.how_to_rest(backoff);
        if how != Rest::Look {
            self.note_rest(backoff, call);
        }
        self.rest_in_turn(how, over);
    }

    /// Notes that a wait is behind its spin phase, and answers who asks for it.
    fn note_rest(&mut self, backoff: &mut Backoff, call: impl FnOnce(&Self) -> Call) {
        if backoff.rests_since == 0 {
            backoff.rests_since = self.port.now().as_micros() as u32 | 1;
            self.rests = self.rests.wrapping_add(1);
        }
        self.pending.note_sleep();
        if self.port.is_asked() {
            let answer = self.answer(call(self));
            self.port.answer(&answer);
        }
    }

    /// One round of progress, with the user code that it needs; whether anything moved.
    #[inline]
    pub fn poll(&mut self) -> bool {
        let busy = self.progress();
        let called = !self.reductions.is_empty() && self.run_reductions();
        busy || called
    }

    /// As [`Entry::poll`], for a call that does not wait, as `MPI_Test` and `MPI_Iprobe`. A program
    /// that goes on calling those waits all the same, which the port gets to know.
    #[inline]
    pub fn poll_in_passing(&mut self) {
        if !self.poll() {
            self.port.looked_in_vain();
        }
    }

    #[cold]
    fn run_reductions(&mut self) -> bool {
        while let Some((execution, step, mut reduction)) = self.reductions.pop_front() {
            let lent = self.executor().lend_datatype(execution, reduction.datatype);
            reduction.datatype = lent.unwrap_or(reduction.datatype);
            // SAFETY: the schedule's executor names two disjoint regions of memory that the
            // collective owns, each of `count` elements of the type.
            self.call_out(|user| unsafe { user.reduce(&reduction) });
            if let Some(lent) = lent {
                // The function cannot have freed it: it was told of no handle of its own.
                let _ = self.datatypes.free(lent);
            }
            self.executor().reduced(execution, step);
        }
        true
    }
}

impl<P: Port> Deref for Entry<'_, P> {
    type Target = Process<P>;

    #[inline]
    fn deref(&self) -> &Process<P> {
        // SAFETY: it lives for 'a, and no other borrow exists outside of `call_out`.
        unsafe { self.process.as_ref() }
    }
}

impl<P: Port> DerefMut for Entry<'_, P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Process<P> {
        // SAFETY: as for `deref`; the entry is borrowed mutably.
        unsafe { self.process.as_mut() }
    }
}
