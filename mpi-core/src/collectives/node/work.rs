//! Waiting at a segment: what an operation can do is done, and in between the process polls, so that
//! messages, nonblocking operations and the ends of peers go on as in any other wait.

use super::member::{AtSegment, Member};
use crate::entry::Backoff;
use crate::error::{ErrorClass, Result};
use crate::lost::{failed_elsewhere, lost_peer};
use crate::node_memory::{Audience, Fragment, NodeMemory, Source};
use crate::port::{Port, Why};
use crate::process::Process;
use crate::roll_call::{Call, Peer};
use crate::tuning::{
    CALLS_PER_POLL, LOOKS_FOR_LAST, LOOKS_FOR_ROOT, LOOKS_PER_POLL, LOOKS_PER_YIELD,
    POLLS_PER_CHECK,
};

/// How far a step has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Nothing is left to do.
    Done,
    /// Something was done.
    Moved,
    /// Nothing can be done now.
    Stuck,
}

/// What is known of those who share a processor with one that waits, which tells whether they should have a turn.
#[derive(Clone, Copy)]
pub(super) enum WaitFor {
    /// A root that has something for all and waits for nobody: it may be about to write.
    Root,
    /// One that waits itself, for what the others still have to do.
    Answer,
    /// A fragment from each other member in turn, in the order of [`Member::others`]: who has written has done its
    /// part.
    Each(fn(u32) -> Source),
}

/// Something that is done as far as fragments and room have come.
pub(super) trait Work<P: Port> {
    /// Does what can be done now, or some of it.
    fn step(&mut self, at: &mut AtSegment<'_, P>) -> Result<Step>;

    /// A member whose doing it waits for; any of them.
    fn awaited(&self) -> Option<u32>;

    /// A member without which it does not go on: one that is awaited, or has not read what was written to it.
    fn held_up_by(&self, member: Member, process: &Process<P>) -> Option<u32> {
        let _ = (member, process);
        self.awaited()
    }

    /// What kind of wait it is.
    fn wait_for(&self) -> WaitFor {
        WaitFor::Answer
    }

    /// Whether it has what this member writes, of those from each of which it takes a fragment: as a rule in their
    /// order.
    fn has(&self, member: Member, rank: u32) -> bool {
        self.awaited().is_none_or(|awaited| member.place(rank) < member.place(awaited))
    }

    /// Whether it cannot end unless this member does something yet.
    fn awaits(&self, at: &mut AtSegment<'_, P>, rank: u32) -> bool {
        let _ = at;
        self.awaited() == Some(rank)
    }
}

/// Whether a call of this number lets all else go on first (MPI-5.0 §3.7.4), although it may find its data at once.
#[inline]
pub(in crate::collectives) fn polls(collective_number: u32) -> bool {
    collective_number.is_multiple_of(CALLS_PER_POLL)
}

impl Member {
    /// Whether this member is to read what is written to an audience without room for more, and has not read all.
    pub(super) fn is_slow(self, memory: &impl NodeMemory, to: Audience, rank: u32) -> bool {
        match to {
            Audience::One(reader) => reader == rank,
            Audience::Everyone => memory.lags(self.segment, rank),
        }
    }

    /// The first such member.
    pub(super) fn slow_reader(self, memory: &impl NodeMemory, to: Audience) -> Option<u32> {
        self.others().find(|rank| self.is_slow(memory, to, *rank))
    }

    /// The call that `work` is done for.
    #[cold]
    fn call<P: Port>(self, process: &Process<P>, work: &impl Work<P>) -> Call {
        let mut call = Call { procedure: process.procedure, ..Call::default() };
        if let Some(rank) = work.held_up_by(self, process) {
            call.peer = Peer::Source(rank as i32);
        }
        if let Ok(comm) = process.comm(self.comm) {
            call.context = comm.context;
            call.comm = comm.name.to_string();
            call.collective = Some(comm.collective_number.wrapping_sub(1));
        }
        call
    }
}

impl<P: Port> AtSegment<'_, P> {
    /// Works until all is done. It comes here only when the first step was stuck.
    pub(super) fn drive(&mut self, work: &mut impl Work<P>) -> Result<()> {
        let member = self.member;
        let mut backoff = Backoff::default();
        let mut rounds: u32 = 0;
        loop {
            if member.oversubscribed {
                let looks = self.looks_before_yield(work, backoff.polls > 0);
                match self.look_on(work, looks)? {
                    Step::Done => return Ok(()),
                    Step::Moved => backoff = Backoff::default(),
                    Step::Stuck => {}
                }
            }
            let mut looks = 0;
            while looks < LOOKS_PER_POLL && self.entry.port.spins(backoff.polls + 1) {
                looks += 1;
                match work.step(self)? {
                    Step::Done => return Ok(()),
                    Step::Moved => backoff = Backoff::default(),
                    Step::Stuck => {}
                }
            }
            if self.entry.poll() {
                backoff = Backoff::default();
            }
            // After the poll, so that what is missed now is what a sleep looks for.
            match work.step(self)? {
                Step::Done => return Ok(()),
                Step::Moved => {
                    backoff = Backoff::default();
                    continue;
                }
                Step::Stuck => {}
            }
            rounds += 1;
            if backoff.rests_since > 0 || rounds == POLLS_PER_CHECK {
                self.check_members(work)?;
                rounds = 0;
            }
            let mut missed = None;
            let mut over = |process: &mut Process<P>| {
                let memory = process.port.memory_mut();
                let missed = missed.get_or_insert_with(|| memory.missed());
                memory.has_come(missed)
            };
            self.entry.pause(&mut backoff, |entry| member.call(entry, work), &mut over);
        }
    }

    /// How often to look before others on this processor have a turn: never if what is awaited may come from one.
    pub(super) fn looks_before_yield(&mut self, work: &impl Work<P>, yielded: bool) -> u32 {
        let Some(awaited) = work.awaited() else { return 0 };
        let (process, member): (&mut Process<P>, Member) = (&mut self.entry, self.member);
        let Some(state) = process.objects.comms.find(member.comm) else { return 0 };
        if state.beside.contains(&awaited) {
            return 0;
        }
        match work.wait_for() {
            WaitFor::Each(_) if state.beside.is_empty() => LOOKS_FOR_LAST,
            WaitFor::Each(of) => {
                let port = &mut *process.port;
                let mut open = state.beside.iter().filter(|rank| !work.has(member, **rank));
                match open.all(|rank| {
                    port.memory_mut().read_fragment(member.segment, of(*rank)).is_some()
                }) {
                    true => LOOKS_FOR_LAST,
                    false => 0,
                }
            }
            WaitFor::Root if !yielded => LOOKS_FOR_ROOT,
            WaitFor::Answer if !yielded => 0,
            WaitFor::Root | WaitFor::Answer => LOOKS_PER_YIELD,
        }
    }

    /// Looks so often.
    fn look_on(&mut self, work: &mut impl Work<P>, looks: u32) -> Result<Step> {
        for _ in 0..looks {
            match work.step(self)? {
                Step::Stuck => std::hint::spin_loop(),
                other => return Ok(other),
            }
        }
        Ok(Step::Stuck)
    }

    /// Fails if an operation failed at a member, or if one died, or left although it is waited for.
    #[cold]
    pub(super) fn check_members(&mut self, work: &mut impl Work<P>) -> Result<()> {
        for rank in 0..self.member.size {
            if let Some(class) = self.abort_class(rank) {
                return Err(failed_elsewhere(rank, ErrorClass::from_wire(class)));
            }
            let Some(peer) = self.entry.comm(self.member.comm)?.group.peer(rank) else { continue };
            match self.entry.vci.peers[peer.0 as usize].down().cloned() {
                Some(Why::Finalized) if !work.awaits(self, rank) => {}
                Some(why) => return Err(lost_peer(peer, &why)),
                None => {}
            }
        }
        Ok(())
    }

    /// Waits for the next fragment of a stream, and shows it.
    #[inline]
    pub(super) fn await_fragment(&mut self, from: Source, wait_for: WaitFor) -> Result<Fragment> {
        if let Some(fragment) = self.read_fragment(from) {
            return Ok(fragment);
        }
        let mut arrival = Arrival { from, wait_for, fragment: NOTHING };
        self.reborrow().drive(&mut arrival)?;
        Ok(arrival.fragment)
    }
}

/// Waiting for a fragment.
struct Arrival {
    from: Source,
    wait_for: WaitFor,
    fragment: Fragment,
}

/// In place of a fragment that has not come.
const NOTHING: Fragment = Fragment { at: std::ptr::null(), len: 0, last: false, exposed: 0 };

impl<P: Port> Work<P> for Arrival {
    #[inline]
    fn step(&mut self, at: &mut AtSegment<'_, P>) -> Result<Step> {
        let Some(fragment) = at.read_fragment(self.from) else {
            return Ok(Step::Stuck);
        };
        self.fragment = fragment;
        Ok(Step::Done)
    }

    fn awaited(&self) -> Option<u32> {
        Some(self.from.rank())
    }

    fn wait_for(&self) -> WaitFor {
        self.wait_for
    }
}
