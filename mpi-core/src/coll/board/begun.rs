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
use super::work::{POLLS_PER_CHECK, Step, Work};
use crate::boards::{Audience, BoardId, Source};
use crate::coll::execute::Reducer;
use crate::coll::menu::Algorithm;
use crate::coll::place::Places;
use crate::coll::plan::Problem;
use crate::coll::prepared::{Data, Operands, Prepared};
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::handle::RequestHandle;
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

    fn first(&self, board: BoardId) -> Option<RequestHandle> {
        let queue = self.queues.iter().find(|queue| queue.seat.board == board)?;
        queue.errands.front().map(|errand| errand.request)
    }
}

impl<P: Port> Process<P> {
    /// Goes on with what is under way; whether anything moved.
    pub(crate) fn go_on(&mut self) -> bool {
        let mut begun = std::mem::take(&mut self.begun);
        let mut entry = Entry::new(self);
        let (slept, mut moved) = (begun.slept, false);
        for queue in begun.queues.iter_mut().filter(|queue| !queue.errands.is_empty()) {
            let before = queue.errands.len();
            match entry.advance(queue, slept) {
                Ok(any) => moved |= any,
                Err(error) => {
                    moved = true;
                    entry.abandon(queue, &error);
                }
            }
            begun.count -= before - queue.errands.len();
        }
        begun.slept = false;
        self.begun = begun;
        moved
    }
}

impl<P: Port> Entry<'_, P> {
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
        let behind = self.begun.queue(board).is_some_and(|queue| !queue.errands.is_empty());
        let mut errand = Errand {
            transfer: Transfer::new(seat),
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
            Data::Moved { send, recv } => self.move_by(transfer, &call.problem, send, recv)?,
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
            if slept || queue.idle.is_multiple_of(POLLS_PER_CHECK) {
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
                self.copy_own(send.get(me), recv.first())?;
            }
            Problem::Allgather { in_place, .. } => {
                let (own, at) = if *in_place { (recv, me) } else { (send, 0) };
                self.send_one(transfer, Audience::Everyone, own, at)?;
                self.receive_all(transfer, seat, recv, Source::Public)?;
                self.copy_own(send.first(), recv.get(me))?;
            }
            Problem::Alltoall { in_place, .. } | Problem::Alltoallv { in_place, .. } => {
                transfer.swap(*in_place);
                self.send_each(transfer, seat, if *in_place { recv } else { send })?;
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
