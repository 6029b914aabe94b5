//! Nonblocking collectives over a segment (MPI-5.0 §6.12): a call writes what there is room for, and
//! whenever the process polls those under way write, read and reduce what can be.
//!
//! Enters: a call that the table gives to a segment which is open, so that all processes take it
//! there. Leaves: its request. All processes begin the operations of a communicator in the same
//! order, and what a stream carries keeps it; so of one segment the first operation goes on alone,
//! and those behind it only write, each when all before it have written. A blocking operation on the
//! same segment lets them end first, which the others, who have begun them too, make possible.

use std::collections::VecDeque;

use super::member::{AtSegment, Member, failed_before};
use super::transfer::Transfer;
use super::work::{Step, Work, polls};
use crate::coll::menu::Algorithm;
use crate::coll::prepared::Prepared;
use crate::collectives::Collectives;
use crate::comm::SegmentState;
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::handle::RequestHandle;
use crate::node_memory::SegmentId;
use crate::port::Port;
use crate::process::Process;
use crate::request::{Operation, Owner, Request};
use crate::tuning::{LOOKS_PER_POLL, POLLS_PER_CHECK};

/// What is under way, by segment.
#[derive(Default)]
pub(crate) struct Pending {
    /// Of every segment that had some.
    queues: Vec<Queue>,
    /// Operations in all queues.
    count: usize,
    /// Notes that the process has slept. who is gone meanwhile has to be seen before it sleeps again.
    slept: bool,
    /// What runs now only begins: nothing may be waited for.
    pub(super) starting: bool,
    /// What that has left.
    pub(super) left: Option<(Member, Box<Transfer>)>,
    /// One that has ended, for its lists.
    spare: Option<Box<Transfer>>,
}

/// The operations under way on one segment.
struct Queue {
    member: Member,
    calls: VecDeque<PendingCall>,
    /// How many from the front on have nothing more to write.
    written: usize,
    /// Polls since anything moved.
    idle: u32,
}

/// One operation.
pub(super) struct PendingCall {
    pub(super) transfer: Box<Transfer>,
    pub(super) request: RequestHandle,
    /// The context and the number by which its messages would be known.
    pub(super) what: (u64, i32),
}

impl Pending {
    /// Whether there is nothing under way.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether an operation that runs now only begins, so that it leaves what it would wait for.
    #[inline]
    pub(super) fn is_starting(&self) -> bool {
        self.starting
    }

    /// Notes that the process has slept.
    #[inline]
    pub(crate) fn note_sleep(&mut self) {
        self.slept = true;
    }

    /// Context and number of the operation that a request stands for.
    pub(crate) fn what(&self, request: RequestHandle) -> Option<(u64, i32)> {
        let mut calls = self.queues.iter().flat_map(|queue| &queue.calls);
        calls.find(|call| call.request == request).map(|call| call.what)
    }

    /// The rank, on its communicator, without which the operation that a request stands for does not go on. Those
    /// behind the first of a segment wait for what that one waits for.
    pub(crate) fn awaited<P: Port>(
        &self,
        process: &Process<P>,
        request: RequestHandle,
    ) -> Option<u32> {
        let has = |queue: &&Queue| queue.calls.iter().any(|call| call.request == request);
        let queue = self.queues.iter().find(has)?;
        queue.calls.front()?.transfer.held_up_by(queue.member, process)
    }

    fn queue(&mut self, segment: SegmentId) -> Option<&mut Queue> {
        self.queues.iter_mut().find(|queue| queue.member.segment == segment)
    }

    /// Forgets a segment on which nothing is under way any more.
    pub(super) fn forget(&mut self, segment: SegmentId) {
        self.queues.retain(|queue| queue.member.segment != segment);
    }

    /// Room for what an operation does.
    pub(super) fn transfer(&mut self) -> Box<Transfer> {
        let mut spare = self.spare.take().unwrap_or_default();
        spare.begin_anew();
        spare
    }

    /// Keeps an operation that has ended, for its lists.
    pub(super) fn keep(&mut self, transfer: Box<Transfer>) {
        self.spare = Some(transfer);
    }

    pub(super) fn first(&self, segment: SegmentId) -> Option<RequestHandle> {
        let queue = self.queues.iter().find(|queue| queue.member.segment == segment)?;
        queue.calls.front().map(|call| call.request)
    }
}

impl<P: Port> Process<P> {
    /// Goes on with what is under way; whether anything moved.
    pub(crate) fn go_on(&mut self) -> bool {
        let mut queues = std::mem::take(&mut self.pending.queues);
        let slept = std::mem::take(&mut self.pending.slept);
        let mut entry = Entry::new(self);
        let mut moved = false;
        for queue in queues.iter_mut().filter(|queue| !queue.calls.is_empty()) {
            let before = queue.calls.len();
            let mut at = entry.at(queue.member);
            match queue.advance(&mut at, slept) {
                Ok(any) => moved |= any,
                Err(error) => {
                    moved = true;
                    queue.abandon(&mut at, &error);
                }
            }
            entry.pending.count -= before - queue.calls.len();
        }
        self.pending.queues = queues;
        moved
    }
}

impl<P: Port> Entry<'_, P> {
    /// Looks only at the segments, as long as that finds nothing that ends the wait and nobody else
    /// needs the processor, from one poll to the next; whether the wait has ended.
    pub(crate) fn look_at_segments(
        &mut self,
        idle_polls: u32,
        done: &mut impl FnMut(&mut Process<P>) -> bool,
    ) -> bool {
        let in_turn = self.looks_before_yield_of_pending(idle_polls > 0);
        let mut looks = 0;
        while looks < in_turn || looks < LOOKS_PER_POLL && self.port.spins(idle_polls + 1) {
            looks += 1;
            if self.go_on() && done(self) {
                return true;
            }
        }
        false
    }

    /// How often to look before others on this processor have a turn: as a blocking call of each first operation would.
    fn looks_before_yield_of_pending(&mut self, yielded: bool) -> u32 {
        let queues = std::mem::take(&mut self.pending.queues);
        let firsts = queues.iter().filter_map(|queue| Some((queue.member, queue.calls.front()?)));
        let looks = firsts.map(|(member, first)| match member.oversubscribed {
            true => self.at(member).looks_before_yield(&*first.transfer, yielded),
            false => 0,
        });
        let looks = looks.min().unwrap_or(0);
        self.pending.queues = queues;
        looks
    }
}

impl<P: Port> Collectives<'_, P> {
    /// Begins a collective operation over the segment of its communicator.
    pub(in crate::collectives) fn begin_on_segment(
        &mut self,
        call: &Prepared,
        algorithm: Algorithm,
    ) -> Result<RequestHandle> {
        let state = self.comm(call.comm)?;
        let segment = match state.segment {
            SegmentState::Open(segment) | SegmentState::Divided(segment) => segment,
            SegmentState::Failed(class) => return Err(failed_before(class)),
            _ => unreachable!("a segment is chosen where there is one"),
        };
        let (member, number) = (Member::new(segment, call.comm, state), state.collective_number);
        let what = (state.context + 1, number as i32);
        if polls(number) {
            self.poll();
        }
        self.next_call(call.comm)?;
        // Behind others it waits for its turn.
        let behind = self.pending.first(segment).is_some();
        let mut at = self.at(member);
        match at.set_out(call, algorithm, behind) {
            Ok(Some((transfer, request))) => {
                Ok(at.enqueue(PendingCall { transfer, request, what }, behind))
            }
            Ok(None) => Ok(self.vci.requests.sent),
            Err(error) => {
                at.abort_segment(error.class())?;
                Err(error)
            }
        }
    }
}

impl<P: Port> AtSegment<'_, P> {
    /// Does all of an operation that can be done now; what is left of it, and its request.
    fn set_out(
        &mut self,
        call: &Prepared,
        algorithm: Algorithm,
        behind: bool,
    ) -> Result<Option<(Box<Transfer>, RequestHandle)>> {
        self.entry.pending.starting = true;
        let described = self.describe(call, algorithm);
        self.entry.pending.starting = false;
        let mut transfer = described?;
        transfer.begin(self, behind);
        let outcome = if behind { Ok(Step::Stuck) } else { transfer.go_on(self) };
        let request = match outcome {
            Ok(Step::Done) => {
                transfer.end(self);
                return Ok(None);
            }
            Ok(_) => self.new_request(),
            Err(error) => Err(error),
        };
        match request {
            Ok(request) => Ok(Some((transfer, request))),
            Err(error) => {
                transfer.end(self);
                Err(error)
            }
        }
    }

    /// A request for an operation that has begun and not ended.
    pub(super) fn new_request(&mut self) -> Result<RequestHandle> {
        let request = Request::active(Operation::Collective, Owner::Program, self.member.comm);
        self.entry.vci.requests.insert(request)
    }

    pub(super) fn enqueue(&mut self, call: PendingCall, behind: bool) -> RequestHandle {
        let (member, request) = (self.member, call.request);
        let pending = &mut self.entry.pending;
        pending.count += 1;
        match pending.queue(member.segment) {
            Some(queue) => queue.calls.push_back(call),
            None => {
                let calls = VecDeque::from([call]);
                pending.queues.push(Queue { member, calls, written: 0, idle: 0 });
            }
        }
        if behind {
            self.entry.go_on();
        }
        request
    }

    /// Lets everything end that is under way on a segment.
    #[cold]
    pub(super) fn finish_pending(&mut self) -> Result<()> {
        let member = self.member;
        let first = |process: &Process<P>| process.pending.first(member.segment);
        let call = |process: &Process<P>| process.waits_for_requests(first(process));
        self.entry.block_in(call, |process| first(process).is_none());
        match self.entry.comm(member.comm)?.segment {
            SegmentState::Failed(class) => Err(failed_before(class)),
            _ => Ok(()),
        }
    }
}

impl Queue {
    /// Does what can be done now on one segment; whether that was anything.
    fn advance<P: Port>(&mut self, at: &mut AtSegment<'_, P>, slept: bool) -> Result<bool> {
        let mut moved = false;
        while let Some(first) = self.calls.front_mut() {
            let outcome = first.transfer.go_on(at)?;
            moved |= outcome != Step::Stuck;
            if outcome != Step::Done {
                break;
            }
            if let Some(done) = self.calls.pop_front() {
                self.written = self.written.saturating_sub(1);
                done.transfer.end(at);
                at.entry.vci.complete(done.request, None);
            }
        }
        while let Some(next) = self.calls.get_mut(self.written) {
            moved |= self.written > 0 && next.transfer.write(at);
            if !next.transfer.has_written() {
                break;
            }
            self.written += 1;
        }
        if moved {
            self.idle = 0;
        } else if let Some(first) = self.calls.front_mut() {
            self.idle = self.idle.wrapping_add(1);
            if slept || self.idle.is_multiple_of(POLLS_PER_CHECK * LOOKS_PER_POLL) {
                at.check_members(&mut *first.transfer)?;
            }
        }
        Ok(moved)
    }

    /// An operation failed, and so do all behind it.
    #[cold]
    fn abandon<P: Port>(&mut self, at: &mut AtSegment<'_, P>, error: &Error) {
        // Where the communicator is gone nobody is left to be told.
        let _ = at.abort_segment(error.class());
        for call in self.calls.drain(..) {
            call.transfer.end(at);
            at.entry.vci.complete(call.request, Some(error.clone()));
        }
    }
}
