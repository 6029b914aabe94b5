//! Nonblocking collectives over a board (MPI-5.0 §6.12): a call writes what there is room for, and
//! whenever the process polls those under way write, read and reduce what can be.
//!
//! Enters: a call that the table gives to a board which is open, so that all processes take it
//! there. Leaves: its request. All processes begin the operations of a communicator in the same
//! order, and what a stream carries keeps it; so of one board the first operation goes on alone,
//! and those behind it only write, each when all before it have written. A blocking operation on the
//! same board lets them end first, which the others, who have begun them too, make possible.

use std::collections::VecDeque;

use super::seat::{AtBoard, BoardState, Seat, failed_before};
use super::transfer::Transfer;
use super::work::{Step, Work, polls};
use crate::boards::BoardId;
use crate::coll::Collectives;
use crate::coll::menu::Algorithm;
use crate::coll::prepared::Prepared;
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::handle::RequestHandle;
use crate::port::Port;
use crate::process::Process;
use crate::request::{Operation, Owner, Request};
use crate::tuning::{LOOKS_PER_POLL, POLLS_PER_CHECK};

/// What is under way, by board.
#[derive(Default)]
pub(crate) struct Begun {
    /// Of every board that had some.
    queues: Vec<Queue>,
    /// Operations in all queues.
    count: usize,
    /// The process has slept: who is gone meanwhile has to be seen before it sleeps again.
    slept: bool,
    /// What runs now only begins: nothing may be waited for.
    pub(super) starting: bool,
    /// What that has left.
    pub(super) left: Option<(Seat, Box<Transfer>)>,
    /// One that has ended, for its lists.
    spare: Option<Box<Transfer>>,
}

/// The operations under way on one board.
struct Queue {
    seat: Seat,
    errands: VecDeque<Errand>,
    /// How many from the front on have nothing more to write.
    written: usize,
    /// Polls since anything moved.
    idle: u32,
}

/// One operation.
pub(super) struct Errand {
    pub(super) transfer: Box<Transfer>,
    pub(super) request: RequestHandle,
    /// The context and the number by which its messages would be known.
    pub(super) what: (u64, i32),
}

impl Begun {
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

    /// The process has slept.
    #[inline]
    pub(crate) fn has_slept(&mut self) {
        self.slept = true;
    }

    /// Context and number of the operation that a request stands for.
    pub(crate) fn what(&self, request: RequestHandle) -> Option<(u64, i32)> {
        let mut errands = self.queues.iter().flat_map(|queue| &queue.errands);
        errands.find(|errand| errand.request == request).map(|errand| errand.what)
    }

    /// The rank, on its communicator, without which the operation that a request stands for does not go on. Those
    /// behind the first of a board wait for what that one waits for.
    pub(crate) fn awaited<P: Port>(
        &self,
        process: &Process<P>,
        request: RequestHandle,
    ) -> Option<u32> {
        let has = |queue: &&Queue| queue.errands.iter().any(|errand| errand.request == request);
        let queue = self.queues.iter().find(has)?;
        queue.errands.front()?.transfer.held_up_by(queue.seat, process)
    }

    fn queue(&mut self, board: BoardId) -> Option<&mut Queue> {
        self.queues.iter_mut().find(|queue| queue.seat.board == board)
    }

    /// Forgets a board on which nothing is under way any more.
    pub(super) fn forget(&mut self, board: BoardId) {
        self.queues.retain(|queue| queue.seat.board != board);
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

    pub(super) fn first(&self, board: BoardId) -> Option<RequestHandle> {
        let queue = self.queues.iter().find(|queue| queue.seat.board == board)?;
        queue.errands.front().map(|errand| errand.request)
    }
}

impl<P: Port> Process<P> {
    /// Goes on with what is under way; whether anything moved.
    pub(crate) fn go_on(&mut self) -> bool {
        let mut queues = std::mem::take(&mut self.begun.queues);
        let slept = std::mem::take(&mut self.begun.slept);
        let mut entry = Entry::new(self);
        let mut moved = false;
        for queue in queues.iter_mut().filter(|queue| !queue.errands.is_empty()) {
            let before = queue.errands.len();
            let mut at = entry.at(queue.seat);
            match queue.advance(&mut at, slept) {
                Ok(any) => moved |= any,
                Err(error) => {
                    moved = true;
                    queue.abandon(&mut at, &error);
                }
            }
            entry.begun.count -= before - queue.errands.len();
        }
        self.begun.queues = queues;
        moved
    }
}

impl<P: Port> Entry<'_, P> {
    /// Looks only at the boards, as long as that finds nothing that ends the wait and nobody else
    /// needs the processor, from one poll to the next; whether the wait has ended.
    pub(crate) fn look_at_boards(
        &mut self,
        idle_polls: u32,
        done: &mut impl FnMut(&mut Process<P>) -> bool,
    ) -> bool {
        let in_turn = self.looks_in_turn_of_begun(idle_polls > 0);
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
    fn looks_in_turn_of_begun(&mut self, yielded: bool) -> u32 {
        let queues = std::mem::take(&mut self.begun.queues);
        let firsts = queues.iter().filter_map(|queue| Some((queue.seat, queue.errands.front()?)));
        let looks = firsts.map(|(seat, first)| match seat.crowded {
            true => self.at(seat).looks_in_turn(&*first.transfer, yielded),
            false => 0,
        });
        let looks = looks.min().unwrap_or(0);
        self.begun.queues = queues;
        looks
    }
}

impl<P: Port> Collectives<'_, P> {
    /// Begins a collective operation over the board of its communicator.
    pub(in crate::coll) fn begin_on_board(
        &mut self,
        call: &Prepared,
        algorithm: Algorithm,
    ) -> Result<RequestHandle> {
        let state = self.comm(call.comm)?;
        let board = match state.board {
            BoardState::Open(board) | BoardState::Divided(board) => board,
            BoardState::Failed(class) => return Err(failed_before(class)),
            _ => unreachable!("a board is chosen where there is one"),
        };
        let (seat, number) = (Seat::new(board, call.comm, state), state.collective_number);
        let what = (state.context + 1, number as i32);
        if polls(number) {
            self.poll();
        }
        self.next_call(call.comm)?;
        // Behind others it waits for its turn.
        let behind = self.begun.first(board).is_some();
        let mut at = self.at(seat);
        match at.set_out(call, algorithm, behind) {
            Ok(Some((transfer, request))) => {
                Ok(at.enqueue(Errand { transfer, request, what }, behind))
            }
            Ok(None) => Ok(self.vci.requests.sent),
            Err(error) => {
                at.renounce(error.class())?;
                Err(error)
            }
        }
    }
}

impl<P: Port> AtBoard<'_, P> {
    /// Does all of an operation that can be done now; what is left of it, and its request.
    fn set_out(
        &mut self,
        call: &Prepared,
        algorithm: Algorithm,
        behind: bool,
    ) -> Result<Option<(Box<Transfer>, RequestHandle)>> {
        self.entry.begun.starting = true;
        let described = self.describe(call, algorithm);
        self.entry.begun.starting = false;
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
        let request = Request::active(Operation::Collective, Owner::Program, self.seat.comm);
        self.entry.vci.requests.insert(request)
    }

    pub(super) fn enqueue(&mut self, errand: Errand, behind: bool) -> RequestHandle {
        let (seat, request) = (self.seat, errand.request);
        let begun = &mut self.entry.begun;
        begun.count += 1;
        match begun.queue(seat.board) {
            Some(queue) => queue.errands.push_back(errand),
            None => {
                let errands = VecDeque::from([errand]);
                begun.queues.push(Queue { seat, errands, written: 0, idle: 0 });
            }
        }
        if behind {
            self.entry.go_on();
        }
        request
    }

    /// Lets everything end that is under way on a board.
    #[cold]
    pub(super) fn finish_begun(&mut self) -> Result<()> {
        let seat = self.seat;
        let first = |process: &Process<P>| process.begun.first(seat.board);
        let call = |process: &Process<P>| process.waits_for_requests(first(process));
        self.entry.block_in(call, |process| first(process).is_none());
        match self.entry.comm(seat.comm)?.board {
            BoardState::Failed(class) => Err(failed_before(class)),
            _ => Ok(()),
        }
    }
}

impl Queue {
    /// Does what can be done now on one board; whether that was anything.
    fn advance<P: Port>(&mut self, at: &mut AtBoard<'_, P>, slept: bool) -> Result<bool> {
        let mut moved = false;
        while let Some(first) = self.errands.front_mut() {
            let outcome = first.transfer.go_on(at)?;
            moved |= outcome != Step::Stuck;
            if outcome != Step::Done {
                break;
            }
            if let Some(done) = self.errands.pop_front() {
                self.written = self.written.saturating_sub(1);
                done.transfer.end(at);
                at.entry.vci.complete(done.request, None);
            }
        }
        while let Some(next) = self.errands.get_mut(self.written) {
            moved |= self.written > 0 && next.transfer.write(at);
            if !next.transfer.has_written() {
                break;
            }
            self.written += 1;
        }
        if moved {
            self.idle = 0;
        } else if let Some(first) = self.errands.front_mut() {
            self.idle = self.idle.wrapping_add(1);
            if slept || self.idle.is_multiple_of(POLLS_PER_CHECK * LOOKS_PER_POLL) {
                at.check_members(&mut *first.transfer)?;
            }
        }
        Ok(moved)
    }

    /// An operation failed, and so do all behind it.
    #[cold]
    fn abandon<P: Port>(&mut self, at: &mut AtBoard<'_, P>, error: &Error) {
        // Where the communicator is gone nobody is left to be told.
        let _ = at.renounce(error.class());
        for errand in self.errands.drain(..) {
            errand.transfer.end(at);
            at.entry.vci.complete(errand.request, Some(error.clone()));
        }
    }
}
