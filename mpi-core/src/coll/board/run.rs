//! Who writes what to whom, collective by collective.

use super::fold::{Fold, Order, Streams, Task, keep, section};
use super::message::{Incoming, Outgoing, copy};
use super::pattern::Pattern;
use super::quick;
use super::seat::{BoardState, Seat};
use super::shown::is_shared;
use super::transfer::Transfer;
use super::work::WaitFor;
use crate::boards::{Audience, Source};
use crate::buffer::UserBuffer;
use crate::coll::execute::Reducer;
use crate::coll::layout::Layout;
use crate::coll::menu::Algorithm;
use crate::coll::place::{Place, Places};
use crate::coll::plan::Problem;
use crate::coll::prepared::{Data, Operands, Prepared};
use crate::datatype::{Packer, Unpacker};
use crate::entry::Entry;
use crate::error::{ErrorClass, Result};
use crate::op::Kernel;
use crate::port::Port;

/// Shares are cut at multiples of so many bytes, so that no two processes write to one line.
const SHARE_BYTES: usize = 512;

impl<P: Port> Entry<'_, P> {
    /// Runs a collective operation over the board of its communicator.
    #[inline]
    pub(in crate::coll) fn run_on_board(
        &mut self,
        seat: Seat,
        call: &Prepared,
        algorithm: Algorithm,
    ) -> Result<()> {
        if quick::polls(self.comm(seat.comm)?.collective_number) {
            self.poll();
        }
        let run = |entry: &mut Self| match &call.data {
            Data::Moved { send, recv } => entry.move_over_board(seat, &call.problem, send, recv),
            Data::Reduced(data) => entry.reduce_over_board(seat, &call.problem, data, algorithm),
        };
        self.over_board(seat, run).map(drop)
    }

    /// Runs something on the board as one collective operation. It is always inlined: what the short
    /// ways run takes their arguments with it.
    #[inline(always)]
    pub(in crate::coll) fn over_board(
        &mut self,
        seat: Seat,
        run: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<bool> {
        if !self.begun.is_empty() && !self.is_free(seat)? {
            return Ok(false);
        }
        let state = self.comm_mut(seat.comm)?;
        state.collective_number = (state.collective_number + 1) & i32::MAX as u32;
        match run(self) {
            Ok(()) => Ok(true),
            Err(error) => {
                self.renounce(seat, error.class())?;
                Err(error)
            }
        }
    }

    /// An operation failed here.
    #[cold]
    pub(super) fn renounce(&mut self, seat: Seat, class: ErrorClass) -> Result<()> {
        self.port.renounce(seat.board, class.0);
        self.comm_mut(seat.comm)?.board = BoardState::Failed(class);
        Ok(())
    }

    fn move_over_board(
        &mut self,
        seat: Seat,
        problem: &Problem,
        send: &Places,
        recv: &Places,
    ) -> Result<()> {
        let me = seat.rank as usize;
        self.share_caches(seat, usize::MAX, Pattern::of(problem));
        match problem {
            Problem::Barrier => self.meet_at_board(seat),
            Problem::Bcast { root, .. } => {
                self.gives(seat, *root as u32)?;
                let Some(place) = recv.first() else { return Ok(()) };
                if *root == me {
                    let source = self.packer(place)?;
                    return self.write_or_show(seat, Audience::Everyone, source);
                }
                let (from, into) = (Source::Public(*root as u32), self.unpacker(place)?);
                if is_shared(seat, into.remaining()) {
                    return self.read_shared(seat, from, into, WaitFor::Root, None);
                }
                self.read_message(seat, from, into, WaitFor::Root)
            }
            Problem::Gather { root, .. } | Problem::Gatherv { root, .. } => {
                if *root != me {
                    let source = self.packer_of(send.first())?;
                    return self.write_or_show(seat, Audience::One(*root as u32), source);
                }
                let other = recv.get(1 - me.min(1));
                if is_shared(seat, other.map_or(0, |place| place.bytes() as u64)) {
                    return self.collect_shared(seat, other, (send.first(), recv.get(me)));
                }
                self.copy_own(send.first(), recv.get(me))?;
                self.collect(seat, recv, Pattern::Rooted)
            }
            Problem::Scatter { root, .. } | Problem::Scatterv { root, .. } => {
                self.gives(seat, *root as u32)?;
                if *root != me {
                    let into = self.unpacker_of(recv.first())?;
                    let from = Source::Private(*root as u32);
                    return self.read_message(seat, from, into, WaitFor::Root);
                }
                self.distribute(seat, send, (send.get(me), recv.first()))
            }
            Problem::Allgather { in_place, .. } => {
                let own = if *in_place { recv.get(me) } else { send.first() };
                let out = self.packer_of(own)?;
                if self.is_short(seat, Audience::Everyone, out.remaining()) {
                    self.write_message(seat, Audience::Everyone, out, 1)?;
                    self.copy_own(send.first(), recv.get(me))?;
                    return self.collect(seat, recv, Pattern::EachToAll);
                }
                let mut transfer = Transfer::new(seat);
                transfer.send(Outgoing::new(self, seat, Audience::Everyone, out, 1));
                transfer.let_fetch();
                transfer.write(self);
                self.receive_all(&mut transfer, seat, recv, Pattern::EachToAll)?;
                self.copy_own(send.first(), recv.get(me))?;
                transfer.run(self)
            }
            Problem::Alltoall { in_place, .. } | Problem::Alltoallv { in_place, .. } => {
                let from = if *in_place { recv } else { send };
                self.swap(seat, from, recv, *in_place)
            }
            _ => unreachable!("the other problems reduce"),
        }
    }

    pub(super) fn packer_of(&self, place: Option<Place>) -> Result<Packer> {
        place.map_or(Ok(Packer::contiguous(UserBuffer::BOTTOM, 0)), |place| self.packer(place))
    }

    pub(super) fn unpacker_of(&self, place: Option<Place>) -> Result<Unpacker> {
        place.map_or(Ok(Unpacker::contiguous(UserBuffer::BOTTOM, 0)), |place| self.unpacker(place))
    }

    /// Copies what a process has for itself; nothing where it is in place already.
    pub(super) fn copy_own(&self, from: Option<Place>, into: Option<Place>) -> Result<()> {
        if let (Some(from), Some(into)) = (from, into) {
            copy(self.packer(from)?, self.unpacker(into)?);
        }
        Ok(())
    }

    fn is_short(&self, seat: Seat, to: Audience, len: u64) -> bool {
        len <= self.port.piece_max(seat.board, to) as u64
    }

    /// Reads the only other member's block, which both move.
    fn collect_shared(
        &mut self,
        seat: Seat,
        other: Option<Place>,
        own: (Option<Place>, Option<Place>),
    ) -> Result<()> {
        let own = match own {
            (Some(from), Some(into)) => Some((self.packer(from)?, self.unpacker(into)?)),
            _ => None,
        };
        let from = Pattern::Rooted.source();
        let into = self.unpacker_of(other)?;
        self.read_shared(seat, from(1 - seat.rank), into, WaitFor::Each(from), own)
    }

    /// Reads every other member's block; short ones as they come, in order.
    fn collect(&mut self, seat: Seat, recv: &Places, pattern: Pattern) -> Result<()> {
        let short = (0..seat.size as usize)
            .filter_map(|rank| recv.get(rank))
            .all(|place| self.is_short(seat, Audience::One(seat.rank), place.bytes() as u64));
        if !short && seat.size > 2 {
            let mut transfer = Transfer::new(seat);
            self.receive_all(&mut transfer, seat, recv, pattern)?;
            return transfer.run(self);
        }
        let from = pattern.source();
        for rank in seat.others() {
            let into = self.unpacker_of(recv.get(rank as usize))?;
            self.read_message(seat, from(rank), into, WaitFor::Each(from))?;
        }
        Ok(())
    }

    pub(super) fn receive_all(
        &mut self,
        transfer: &mut Transfer,
        seat: Seat,
        recv: &Places,
        pattern: Pattern,
    ) -> Result<()> {
        let past = self.is_beyond_caches(seat, recv, pattern);
        let from = pattern.source();
        for rank in seat.others() {
            let into = self.unpacker_of(recv.get(rank as usize))?;
            transfer.receive(Incoming::new(from(rank), into).past_caches(past));
        }
        Ok(())
    }

    /// Writes every other member its block, and copies what is this process's own.
    fn distribute(
        &mut self,
        seat: Seat,
        send: &Places,
        (own, into): (Option<Place>, Option<Place>),
    ) -> Result<()> {
        let mut transfer = None;
        for rank in seat.others() {
            let to = Audience::One(rank);
            let source = self.packer_of(send.get(rank as usize))?;
            if self.is_short(seat, to, source.remaining()) {
                self.write_message(seat, to, source, 1)?;
            } else {
                let out = Outgoing::new(self, seat, to, source, 1);
                transfer.get_or_insert_with(|| Transfer::new(seat)).send(out);
            }
        }
        if let Some(transfer) = &mut transfer {
            transfer.let_fetch();
            transfer.write(self);
        }
        self.copy_own(own, into)?;
        transfer.map_or(Ok(()), |transfer| transfer.run(self))
    }

    /// The all-to-all exchanges.
    fn swap(&mut self, seat: Seat, from: &Places, recv: &Places, in_place: bool) -> Result<()> {
        let me = seat.rank as usize;
        let short = (0..seat.size as usize)
            .filter_map(|rank| from.get(rank))
            .all(|place| self.is_short(seat, Audience::One(seat.rank), place.bytes() as u64));
        if short {
            let own = if in_place { (None, None) } else { (from.get(me), recv.get(me)) };
            self.distribute(seat, from, own)?;
            return self.collect(seat, recv, Pattern::EachToEach);
        }
        let mut transfer = Transfer::new(seat);
        transfer.swap(in_place);
        for rank in seat.others() {
            let source = self.packer_of(from.get(rank as usize))?;
            transfer.send(Outgoing::new(self, seat, Audience::One(rank), source, 1));
        }
        self.receive_all(&mut transfer, seat, recv, Pattern::EachToEach)?;
        if !in_place {
            transfer.let_fetch();
            transfer.write(self);
            self.copy_own(from.get(me), recv.get(me))?;
        }
        transfer.run(self)
    }

    fn reduce_over_board(
        &mut self,
        seat: Seat,
        problem: &Problem,
        data: &Operands,
        algorithm: Algorithm,
    ) -> Result<()> {
        let Reducer::Kernel(kernel) = data.reducer else {
            unreachable!("functions of the program are no choice of the table");
        };
        let shares = algorithm == Algorithm::BoardShares;
        let me = seat.rank;
        let pattern = Pattern::of_reduction(problem, shares);
        self.share_caches(seat, usize::MAX, pattern);
        let job = Job::new(seat, kernel, data);
        let own = job.own;
        let bytes = |len: i64| len as usize * data.unit as usize;
        match problem {
            Problem::Reduce { root, len, .. } => {
                let root = *root as u32;
                let mine = (root == me).then_some(job.recv);
                if shares {
                    return self.shares(job, bytes(*len), Some(root), mine).run(self);
                }
                if root != me {
                    let source = Packer::contiguous(own, bytes(*len) as u64);
                    return self.write_message(seat, Audience::One(root), source, job.unit);
                }
                self.fold_all(job, bytes(*len))
            }
            Problem::Allreduce { len, .. } if shares => {
                self.shares(job, bytes(*len), None, Some(job.recv)).run(self)
            }
            Problem::Allreduce { len, .. } if algorithm == Algorithm::BoardChains => {
                self.reduce_by_chains(job, bytes(*len))
            }
            Problem::Allreduce { len, .. } => self.reduce_everywhere(job, bytes(*len)),
            Problem::ReduceScatter { blocks, .. } => {
                let mut kept = Vec::new();
                self.blocks_reduced(job, blocks, &mut kept).run(self)
            }
            Problem::Scan { len, .. } => self.prefix(job, bytes(*len), Some(me)).run(self),
            Problem::Exscan { len, .. } => {
                self.prefix(job, bytes(*len), me.checked_sub(1)).run(self)
            }
            _ => unreachable!("the other problems move"),
        }
    }

    /// Reduces everything at the root.
    pub(super) fn fold_all(&mut self, job: Job, len: usize) -> Result<()> {
        let task = job.task(0, len, Order::Down(job.seat.size - 1), Streams::Private);
        self.fold_in(job.seat, task, job.recv)
    }

    /// Reduces the operands of everyone into `recv`.
    #[inline]
    pub(super) fn fold_in(&mut self, seat: Seat, task: Task, recv: UserBuffer) -> Result<()> {
        if self.fold_short(seat, &task, recv)? {
            return Ok(());
        }
        let fold = Fold::new(self, seat, task);
        let mut transfer = Transfer::new(seat);
        transfer.reduce(fold);
        transfer.run(self)
    }

    /// Everyone tells everyone and reduces everything.
    pub(super) fn reduce_everywhere(&mut self, job: Job, len: usize) -> Result<()> {
        let seat = job.seat;
        let mut task = job.task(0, len, Order::Down(seat.size - 1), Streams::Public);
        let mut transfer = Transfer::new(seat);
        if self.is_short(seat, Audience::Everyone, len as u64) {
            let source = Packer::contiguous(job.own, len as u64);
            self.write_message(seat, Audience::Everyone, source, job.unit)?;
            if !self.begun.lags() && self.fold_short(seat, &task, job.recv)? {
                return Ok(());
            }
            transfer = transfer.folding_last(job.own == job.recv);
        } else {
            let mut out = section(self, seat, Audience::Everyone, job.own, len, job.unit);
            if seat.size == 2 && !self.begun.is_starting() && self.show_operand(seat, &mut out) {
                return self.reduce_across(job, len, out);
            }
            task.follows = job.own == job.recv;
            transfer.send(out);
        }
        transfer.reduce(Fold::new(self, seat, task));
        transfer.run(self)
    }

    /// Each process reduces one share of the elements; the results go to the root, or to all.
    pub(super) fn shares(
        &mut self,
        job: Job,
        len: usize,
        root: Option<u32>,
        result: Option<UserBuffer>,
    ) -> Transfer {
        let seat = job.seat;
        let share = share_bytes(len, seat.size as usize, job.unit);
        let range = |rank: u32| {
            let begin = (rank as usize * share).min(len);
            (begin, share.min(len - begin))
        };
        let to = root.map_or(Some(Audience::Everyone), |root| {
            (root != seat.rank).then_some(Audience::One(root))
        });
        let mut transfer = Transfer::new(seat);
        for rank in seat.others() {
            let (begin, part) = range(rank);
            let at = job.own.offset(begin as i64);
            transfer.send(section(self, seat, Audience::One(rank), at, part, job.unit));
            if let Some(result) = result {
                let from = match root {
                    Some(_) => Source::Private(rank),
                    None => Source::Public(rank),
                };
                let into = Unpacker::contiguous(result.offset(begin as i64), part as u64);
                transfer.receive(Incoming::new(from, into));
            }
        }
        let (begin, part) = range(seat.rank);
        let order = Order::Round(seat.size);
        let mut task = job.task(begin, part, order, Streams::Private);
        task.to = to;
        if result.is_none() {
            task.into = None;
        }
        transfer.reduce(Fold::new(self, seat, task));
        transfer
    }

    /// `MPI_REDUCE_SCATTER`: each process reduces its own block. What has to be saved of the
    /// contribution goes to `kept`, which lasts as long as the transfer.
    pub(super) fn blocks_reduced(
        &mut self,
        mut job: Job,
        blocks: &Layout,
        kept: &mut Vec<u8>,
    ) -> Transfer {
        let seat = job.seat;
        let whole = blocks.total() as usize * job.unit;
        if !self.is_short(seat, Audience::One(seat.rank), whole as u64) {
            job.keep(kept, whole);
        }
        let range = |rank: u32| {
            let begin = blocks.start(rank as usize) as usize * job.unit;
            (begin, blocks.len(rank as usize) as usize * job.unit)
        };
        let mut transfer = Transfer::new(seat).folding_last(job.own == job.recv);
        for rank in seat.others() {
            let (begin, part) = range(rank);
            let at = job.own.offset(begin as i64);
            transfer.send(section(self, seat, Audience::One(rank), at, part, job.unit));
        }
        let (begin, part) = range(seat.rank);
        let order = Order::Round(seat.size);
        let mut task = job.task(begin, part, order, Streams::Private);
        task.into = Some(job.recv.0);
        transfer.reduce(Fold::new(self, seat, task));
        transfer
    }

    /// `MPI_SCAN` and `MPI_EXSCAN`: everyone tells those behind it, and reduces from `first` down.
    pub(super) fn prefix(&mut self, job: Job, len: usize, first: Option<u32>) -> Transfer {
        let seat = job.seat;
        let exclusive = first != Some(seat.rank);
        let mut transfer = Transfer::new(seat).folding_last(job.own == job.recv);
        for rank in seat.rank + 1..seat.size {
            transfer.send(section(self, seat, Audience::One(rank), job.own, len, job.unit));
        }
        if let Some(first) = first {
            let mut task = job.task(0, len, Order::Down(first), Streams::Private);
            if exclusive {
                // Not one of the operands.
                task.own = std::ptr::null();
            }
            transfer.reduce(Fold::new(self, seat, task));
        }
        transfer
    }
}

/// A reduction as one process sees it.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub seat: Seat,
    pub kernel: Kernel,
    /// Bytes of an element.
    pub unit: usize,
    /// The contribution.
    pub own: UserBuffer,
    /// Where the result goes.
    pub recv: UserBuffer,
}

impl Job {
    pub(super) fn new(seat: Seat, kernel: Kernel, data: &Operands) -> Job {
        let own = if data.send.is_in_place() { data.recv } else { data.send };
        Job { seat, kernel, unit: data.unit.max(1) as usize, own, recv: data.recv }
    }

    /// Saves a contribution in place, where pieces of it are still to be sent when the first
    /// results overwrite it.
    fn keep(&mut self, kept: &mut Vec<u8>, len: usize) {
        if self.own == self.recv {
            *kept = keep(self.own, len);
            self.own = UserBuffer(kept.as_mut_ptr());
        }
    }

    /// To reduce `len` bytes of the vector, from `begin` on.
    pub(super) fn task(self, begin: usize, len: usize, order: Order, streams: Streams) -> Task {
        Task {
            kernel: self.kernel,
            unit: self.unit,
            own: self.own.offset(begin as i64).0,
            into: Some(self.recv.offset(begin as i64).0),
            len,
            order,
            streams,
            message: (0, len),
            to: None,
            follows: false,
        }
    }
}

/// Bytes of the share of each of `size` processes: whole elements and, if it can be, whole lines.
pub(super) fn share_bytes(len: usize, size: usize, unit: usize) -> usize {
    let even = len.div_ceil(size);
    let grain = if SHARE_BYTES.is_multiple_of(unit) { SHARE_BYTES } else { unit };
    even.next_multiple_of(grain)
}
