//! Nonblocking collectives over a board (MPI-5.0 §6.12): a call writes what there is room for, and
//! whenever the process polls those under way write, read and reduce what can be.
//!
//! Enters: a call that the table gives to a board which is open, so that all processes take it
//! there. Leaves: its request. All processes begin the operations of a communicator in the same
//! order, and what a stream carries keeps it; so of one board the first operation goes on alone,
//! and those behind it only write, each when all before it have written. A blocking operation on the
//! same board lets them end first, which the others, who have begun them too, make possible.

use std::collections::VecDeque;

use super::fold::{Fold, Order, Streams, section};
use super::message::{Incoming, Outgoing};
use super::quick;
use super::run::Job;
use super::seat::{BoardState, Seat, failed_before};
use super::transfer::Transfer;
use super::work::{LOOKS_PER_POLL, POLLS_PER_CHECK, Step, Work};
use crate::boards::{Audience, BoardId, Source};
use crate::coll::execute::Reducer;
use crate::coll::menu::Algorithm;
use crate::coll::place::Places;
use crate::coll::plan::Problem;
use crate::coll::prepared::{Data, Operands, Prepared};
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::handle::{CommHandle, RequestHandle};
use crate::port::Port;
use crate::process::Process;
use crate::request::{Operation, Owner, Request};

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
    starting: bool,
    /// What it could not do at once.
    rest: Option<Transfer>,
    /// The lists of one that has ended.
    spare: Option<Transfer>,
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

/// Looks in vain from one look at who is gone to the next, unless the process has slept.
const LOOKS_PER_CHECK: u32 = POLLS_PER_CHECK * LOOKS_PER_POLL;

/// One operation.
struct Errand {
    transfer: Transfer,
    /// A contribution that the result overwrites; the transfer reads it.
    _kept: Vec<u8>,
    request: RequestHandle,
    /// The context and the number by which its messages would be known.
    what: (u64, i32),
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

    /// Whether it has left something already.
    #[inline]
    pub(super) fn lags(&self) -> bool {
        self.rest.is_some()
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

    fn queue(&mut self, board: BoardId) -> Option<&mut Queue> {
        self.queues.iter_mut().find(|queue| queue.seat.board == board)
    }

    /// Forgets a board on which nothing is under way any more.
    pub(super) fn forget(&mut self, board: BoardId) {
        self.queues.retain(|queue| queue.seat.board != board);
    }

    /// Room for what an operation does.
    fn transfer(&mut self, seat: Seat) -> Transfer {
        self.spare.take().map_or_else(|| Transfer::new(seat), |spare| spare.anew(seat))
    }

    /// Keeps the lists of an operation that has ended.
    pub(super) fn keep(&mut self, transfer: Transfer) {
        self.spare = Some(transfer);
    }

    fn first(&self, board: BoardId) -> Option<RequestHandle> {
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
            match entry.advance(queue, slept) {
                Ok(any) => moved |= any,
                Err(error) => {
                    moved = true;
                    entry.abandon(queue, &error);
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
        let mut looks = 0;
        while looks < LOOKS_PER_POLL && self.port.spins(idle_polls + 1) {
            looks += 1;
            if self.go_on() && done(self) {
                return true;
            }
        }
        false
    }

    /// Begins a collective operation over the board of its communicator.
    pub(in crate::coll) fn begin_on_board(
        &mut self,
        call: &Prepared,
        algorithm: Algorithm,
    ) -> Result<RequestHandle> {
        let state = self.comm(call.comm)?;
        let board = match state.board {
            BoardState::Open(board) => board,
            BoardState::Failed(class) => return Err(failed_before(class)),
            _ => unreachable!("a board is chosen where there is one"),
        };
        let (seat, number) = (Seat::new(board, call.comm, state), state.collective_number);
        let what = (state.context + 1, number as i32);
        if quick::polls(number) {
            self.poll();
        }
        self.next_call(call.comm)?;
        // Behind others it waits for its turn.
        let behind = self.begun.first(board).is_some();
        let mut errand = Errand {
            transfer: self.begun.transfer(seat),
            _kept: Vec::new(),
            request: self.vci.sent,
            what,
        };
        match self.set_out(&mut errand, call, algorithm, behind) {
            Ok(true) => {
                errand.transfer.end(self);
                Ok(self.vci.sent)
            }
            Ok(false) => {
                let request = Request::active(Operation::Collective, Owner::Program, call.comm);
                errand.request = self.vci.requests.insert(request)?;
                Ok(self.enqueue(seat, errand, behind))
            }
            Err(error) => {
                self.renounce(seat, error.class())?;
                Err(error)
            }
        }
    }

    /// Fills in what an operation does and begins with it; whether it has ended.
    fn set_out(
        &mut self,
        errand: &mut Errand,
        call: &Prepared,
        algorithm: Algorithm,
        behind: bool,
    ) -> Result<bool> {
        let transfer = &mut errand.transfer;
        match &call.data {
            Data::Moved { send, recv } => {
                self.move_by(transfer, &call.problem, send, recv, behind)?;
            }
            Data::Reduced(data) => {
                let shares = algorithm != Algorithm::Board;
                self.reduce_by(errand, &call.problem, data, shares);
            }
        }
        Ok(!behind && self.as_far_as_it_goes(&mut errand.transfer)? == Step::Done)
    }

    /// Does all that can be done now.
    fn as_far_as_it_goes(&mut self, transfer: &mut Transfer) -> Result<Step> {
        let mut outcome = Step::Stuck;
        loop {
            match transfer.step(self)? {
                Step::Done => return Ok(Step::Done),
                Step::Moved => outcome = Step::Moved,
                Step::Stuck => return Ok(outcome),
            }
        }
    }

    fn enqueue(&mut self, seat: Seat, errand: Errand, behind: bool) -> RequestHandle {
        let request = errand.request;
        self.begun.count += 1;
        match self.begun.queue(seat.board) {
            Some(queue) => queue.errands.push_back(errand),
            None => {
                let errands = VecDeque::from([errand]);
                self.begun.queues.push(Queue { seat, errands, written: 0, idle: 0 });
            }
        }
        if behind {
            self.go_on();
        }
        request
    }

    /// What runs from here to [`Entry::begun_quickly`] is the short way of a blocking operation
    /// whose nonblocking form has been called: what would have to be waited for there is left.
    #[inline]
    pub fn begin_quickly(&mut self) {
        self.begun.starting = true;
    }

    /// The request of an operation that has begun on the short way, where the outcome was this;
    /// `None` if nothing happened. What was left goes on when the process polls.
    #[inline]
    pub fn begun_quickly(
        &mut self,
        comm: CommHandle,
        outcome: Result<bool>,
    ) -> Result<Option<RequestHandle>> {
        self.begun.starting = false;
        if self.begun.lags() {
            return self.keep_rest(comm, outcome);
        }
        outcome.map(|done| done.then_some(self.vci.sent))
    }

    /// The request of an operation that has begun and left something.
    fn keep_rest(
        &mut self,
        comm: CommHandle,
        outcome: Result<bool>,
    ) -> Result<Option<RequestHandle>> {
        let Some(transfer) = self.begun.rest.take() else { return Ok(None) };
        if let Err(error) = outcome {
            transfer.end(self);
            return Err(error);
        }
        let state = self.comm(comm)?;
        let number = state.collective_number.wrapping_sub(1) & i32::MAX as u32;
        let what = (state.context + 1, number as i32);
        let request = Request::active(Operation::Collective, Owner::Program, comm);
        let request = self.vci.requests.insert(request)?;
        let seat = transfer.seat();
        let errand = Errand { transfer, _kept: Vec::new(), request, what };
        Ok(Some(self.enqueue(seat, errand, false)))
    }

    /// Leaves something of an operation that begins for later.
    #[inline]
    pub(super) fn leave_rest(
        &mut self,
        seat: Seat,
        what: impl FnOnce(&mut Transfer),
    ) -> Result<()> {
        let mut rest = self.begun.rest.take().unwrap_or_else(|| self.begun.transfer(seat));
        what(&mut rest);
        self.begun.rest = Some(rest);
        Ok(())
    }

    /// Does what can be done now of an operation that begins, and leaves the rest.
    #[cold]
    pub(super) fn set_off(&mut self, transfer: Transfer) -> Result<()> {
        let mut all = transfer;
        if let Some(rest) = self.begun.rest.take() {
            all.join(rest);
        }
        let outcome = self.as_far_as_it_goes(&mut all);
        if let Ok(Step::Moved | Step::Stuck) = outcome {
            self.begun.rest = Some(all);
            return Ok(());
        }
        all.end(self);
        outcome.map(drop)
    }

    /// Whether a board is free for an operation that is to run now: a blocking one lets all end
    /// that is under way there.
    #[cold]
    pub(super) fn is_free(&mut self, seat: Seat) -> Result<bool> {
        if self.begun.starting {
            return Ok(self.begun.first(seat.board).is_none());
        }
        self.finish_begun(seat).map(|()| true)
    }

    /// Lets everything end that is under way on a board.
    #[cold]
    pub(super) fn finish_begun(&mut self, seat: Seat) -> Result<()> {
        let first = |process: &Process<P>| process.begun.first(seat.board);
        let call = |process: &Process<P>| process.waits_for_requests(first(process));
        self.block_in(call, |process| first(process).is_none());
        match self.comm(seat.comm)?.board {
            BoardState::Failed(class) => Err(failed_before(class)),
            _ => Ok(()),
        }
    }

    /// Does what can be done now on one board; whether that was anything.
    fn advance(&mut self, queue: &mut Queue, slept: bool) -> Result<bool> {
        let mut moved = false;
        while let Some(first) = queue.errands.front_mut() {
            let outcome = self.as_far_as_it_goes(&mut first.transfer)?;
            moved |= outcome != Step::Stuck;
            if outcome != Step::Done {
                break;
            }
            if let Some(done) = queue.errands.pop_front() {
                queue.written = queue.written.saturating_sub(1);
                done.transfer.end(self);
                self.vci.complete(done.request, None);
            }
        }
        while let Some(next) = queue.errands.get_mut(queue.written) {
            moved |= queue.written > 0 && next.transfer.write(self);
            if !next.transfer.has_written() {
                break;
            }
            queue.written += 1;
        }
        if moved {
            queue.idle = 0;
        } else if let Some(first) = queue.errands.front_mut() {
            queue.idle = queue.idle.wrapping_add(1);
            if slept || queue.idle.is_multiple_of(LOOKS_PER_CHECK) {
                self.check_members(queue.seat, &mut first.transfer)?;
            }
        }
        Ok(moved)
    }

    /// An operation failed, and so do all behind it.
    #[cold]
    fn abandon(&mut self, queue: &mut Queue, error: &Error) {
        // Where the communicator is gone nobody is left to be told.
        let _ = self.renounce(queue.seat, error.class());
        for errand in queue.errands.drain(..) {
            errand.transfer.end(self);
            self.vci.complete(errand.request, Some(error.clone()));
        }
    }

    fn move_by(
        &mut self,
        transfer: &mut Transfer,
        problem: &Problem,
        send: &Places,
        recv: &Places,
        behind: bool,
    ) -> Result<()> {
        let seat = transfer.seat();
        let me = seat.rank as usize;
        match problem {
            Problem::Barrier => {
                transfer.send(Outgoing::signal(Audience::Everyone));
                for rank in seat.others() {
                    transfer.receive(Incoming::signal(Source::Public(rank)));
                }
            }
            Problem::Bcast { root, .. } if *root == me => {
                self.send_one(transfer, Audience::Everyone, recv, 0)?;
            }
            Problem::Bcast { root, .. } => {
                let into = self.unpacker_of(recv.first())?;
                transfer.receive(Incoming::new(Source::Public(*root as u32), into));
            }
            Problem::Gather { root, .. } | Problem::Gatherv { root, .. } if *root != me => {
                self.send_one(transfer, Audience::One(*root as u32), send, 0)?;
            }
            Problem::Gather { .. } | Problem::Gatherv { .. } => {
                self.copy_own(send.first(), recv.get(me))?;
                self.receive_all(transfer, seat, recv, Source::Private)?;
            }
            Problem::Scatter { root, .. } | Problem::Scatterv { root, .. } if *root != me => {
                let into = self.unpacker_of(recv.first())?;
                transfer.receive(Incoming::new(Source::Private(*root as u32), into));
            }
            Problem::Scatter { .. } | Problem::Scatterv { .. } => {
                self.send_each(transfer, seat, send)?;
                // The others wait for this, not for the own copy.
                let _ = !behind && transfer.write(self);
                self.copy_own(send.get(me), recv.first())?;
            }
            Problem::Allgather { in_place, .. } => {
                let (own, at) = if *in_place { (recv, me) } else { (send, 0) };
                self.send_one(transfer, Audience::Everyone, own, at)?;
                let _ = !behind && transfer.write(self);
                self.receive_all(transfer, seat, recv, Source::Public)?;
                self.copy_own(send.first(), recv.get(me))?;
            }
            Problem::Alltoall { in_place, .. } | Problem::Alltoallv { in_place, .. } => {
                transfer.swap(*in_place);
                self.send_each(transfer, seat, if *in_place { recv } else { send })?;
                let _ = !behind && transfer.write(self);
                self.receive_all(transfer, seat, recv, Source::Private)?;
                if !*in_place {
                    self.copy_own(send.get(me), recv.get(me))?;
                }
            }
            _ => unreachable!("the other problems reduce"),
        }
        Ok(())
    }

    fn send_one(
        &mut self,
        transfer: &mut Transfer,
        to: Audience,
        blocks: &Places,
        at: usize,
    ) -> Result<()> {
        let source = self.packer_of(blocks.get(at))?;
        transfer.send(Outgoing::new(self, transfer.seat(), to, source, 1));
        Ok(())
    }

    fn send_each(&mut self, transfer: &mut Transfer, seat: Seat, blocks: &Places) -> Result<()> {
        for rank in seat.others() {
            self.send_one(transfer, Audience::One(rank), blocks, rank as usize)?;
        }
        Ok(())
    }

    fn reduce_by(&mut self, errand: &mut Errand, problem: &Problem, data: &Operands, shares: bool) {
        let Reducer::Kernel(kernel) = data.reducer else {
            unreachable!("functions of the program are no choice of the table");
        };
        let Errand { transfer, _kept: kept, .. } = errand;
        let seat = transfer.seat();
        let job = Job::new(seat, kernel, data);
        let me = seat.rank;
        let bytes = |len: i64| len as usize * data.unit as usize;
        match problem {
            Problem::Reduce { root, len, .. } if shares => {
                let root = *root as u32;
                let mine = (root == me).then_some(job.recv);
                *transfer = self.shares(job, bytes(*len), Some(root), mine);
            }
            Problem::Reduce { root, len, .. } if *root as u32 != me => {
                let to = Audience::One(*root as u32);
                transfer.send(section(self, seat, to, job.own, bytes(*len), job.unit));
            }
            Problem::Reduce { len, .. } => {
                let order = Order::Down(seat.size - 1);
                let task = job.task(0, bytes(*len), order, Streams::Private);
                transfer.reduce(Fold::new(self, seat, task));
            }
            Problem::Allreduce { len, .. } if shares => {
                *transfer = self.shares(job, bytes(*len), None, Some(job.recv));
            }
            Problem::Allreduce { len, .. } => {
                let order = Order::Down(seat.size - 1);
                let mut task = job.task(0, bytes(*len), order, Streams::Public);
                task.follows = job.own == job.recv;
                let to = Audience::Everyone;
                transfer.send(section(self, seat, to, job.own, bytes(*len), job.unit));
                transfer.reduce(Fold::new(self, seat, task));
            }
            Problem::ReduceScatter { blocks, .. } => {
                *transfer = self.blocks_reduced(job, blocks, kept);
            }
            Problem::Scan { len, .. } => *transfer = self.prefix(job, bytes(*len), Some(me)),
            Problem::Exscan { len, .. } => {
                *transfer = self.prefix(job, bytes(*len), me.checked_sub(1));
            }
            _ => unreachable!("the other problems move"),
        }
    }
}
