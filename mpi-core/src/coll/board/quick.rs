//! The short way of small collectives over a board: plain data of at most [`QUICK_BYTES`] goes from
//! the arguments to the streams, without a description of the problem or a choice of algorithm.
//!
//! Enters: the arguments of a call. Leaves: the call is done, or nothing happened and the ordinary
//! way takes over, which words all errors of arguments: here a doubtful one is a reason to
//! decline. Both ways write and read the same pieces, so each process takes its own. All of it is
//! always inlined, since each function has two callers, the blocking and the nonblocking procedure.

use super::message::copy_run;
use super::pattern::Pattern;
use super::quick_left::{Blocks, EXCHANGE_BYTES, EXCHANGED_BYTES, LEFT_BYTES, SCATTERED_BYTES};
use super::seat::{BoardState, Seat};
use super::task::Job;
use super::work::WaitFor;
use crate::boards::{Audience, Boards, Source};
use crate::buffer::UserBuffer;
use crate::coll::calls::Typed;
use crate::coll::menu::Collective;
use crate::datatype::{Packer, Unpacker, dense_size};
use crate::entry::Entry;
use crate::error::Result;
use crate::handle::{CommHandle, DatatypeHandle, OpHandle};
use crate::op::{Kernel, Op};
use crate::port::Port;
use crate::process::Process;

/// Longest message or block that goes the short way, in bytes.
pub(super) const QUICK_BYTES: u64 = 32 << 10;
/// One call of so many polls first, so that everything else goes on (MPI-5.0 §3.7.4) although collectives find their
/// data without waiting.
const CALLS_PER_POLL: u32 = 64;
/// The highest of the addresses that stand for something else (`MPI_BOTTOM`, `MPI_IN_PLACE`,
/// `MPI_BUFFER_AUTOMATIC`).
pub(super) const UNREAL_ADDRESSES: usize = 2;

/// Whether a call has to let everything else go on.
pub(in crate::coll) fn polls(collective_number: u32) -> bool {
    collective_number.is_multiple_of(CALLS_PER_POLL)
}

/// The bytes of a message if they are few and one run of memory at its address, or none at all.
#[inline]
pub(super) fn plain(data: Typed) -> Option<usize> {
    plain_within(data, QUICK_BYTES)
}

/// Such a message's address and bytes.
#[inline]
pub(in crate::coll) fn run(data: Typed) -> Option<(UserBuffer, usize)> {
    Some((data.buf, plain(data)?))
}

/// The same of a message of at most so many bytes.
#[inline(always)]
pub(super) fn plain_within(data: Typed, most: u64) -> Option<usize> {
    let size = dense_size(data.datatype.raw());
    // A negative count is larger than any.
    let bytes = size.checked_mul(data.count as u64)?;
    let real = data.buf.0.addr() > UNREAL_ADDRESSES || bytes == 0;
    (size > 0 && real && bytes <= most).then_some(bytes as usize)
}

/// Whether a block begins within the blocks of all members, which begin at `all`: the ordinary way has to judge that.
#[inline(always)]
fn is_within(own: UserBuffer, all: UserBuffer, len: usize, size: u32) -> bool {
    own.0.addr().wrapping_sub(all.0.addr()) < len * size as usize
}

/// The bytes of two blocks if both are plain, as long as each other and at most so long.
#[inline]
fn plain_pair(send: Typed, recv: Typed, most: u64) -> Option<usize> {
    plain_within(send, most).filter(|len| plain_within(recv, most) == Some(*len))
}

/// The block of `rank`.
#[inline]
fn block(buf: UserBuffer, rank: u32, len: usize) -> UserBuffer {
    buf.offset(i64::from(rank) * len as i64)
}

impl<P: Port> Process<P> {
    /// This process's place at the board of `comm` if a call with so many bytes (as the table of
    /// rules counts them) goes the short way.
    #[inline]
    pub(super) fn quick_seat(
        &self,
        collective: Collective,
        comm: CommHandle,
        bytes: usize,
    ) -> Option<Seat> {
        let state = self.comms.find(comm)?;
        let BoardState::Open(board) = state.board else { return None };
        let quick = bytes as i64 <= self.selection.board_below(collective)
            && state.remote.is_none()
            // What only begins may not poll on its way.
            && !(polls(state.collective_number) && self.begun.is_starting());
        quick.then(|| Seat::new(board, comm, state))
    }

    #[inline]
    fn quick_seat_of_blocks(
        &self,
        collective: Collective,
        comm: CommHandle,
        len: usize,
    ) -> Option<Seat> {
        let size = self.comms.find(comm)?.size() as usize;
        self.quick_seat(collective, comm, len * size)
    }

    /// What carries out a predefined operation on elements of a datatype: mostly the same as before.
    #[inline]
    pub(in crate::coll) fn quick_kernel(
        &self,
        op: OpHandle,
        datatype: DatatypeHandle,
    ) -> Option<Kernel> {
        match self.kernel_found.get() {
            Some((of, on, kernel)) if of == op && on == datatype => Some(kernel),
            _ => self.find_kernel(op, datatype),
        }
    }

    /// The same looked for; what handles name that the program may free is not kept.
    #[inline(never)]
    fn find_kernel(&self, op: OpHandle, datatype: DatatypeHandle) -> Option<Kernel> {
        let Op::Builtin(builtin) = self.op(op).ok()? else { return None };
        let kernel = builtin.kernel(self.committed(datatype).ok()?).ok()?;
        if op.is_predefined() && datatype.is_predefined() {
            self.kernel_found.set(Some((op, datatype, kernel)));
        }
        Some(kernel)
    }
}

/// Whether a root scatters blocks of so many bytes the short way, and is a member. Where ranks share
/// processors the longest of them are better fetched, which the ordinary way lets them be.
#[inline]
pub(super) fn scatters(seat: Seat, root: i32, len: usize) -> bool {
    is_member(seat, root) && !(seat.crowded && len as u64 >= QUICK_BYTES)
}

#[inline]
pub(super) fn is_member(seat: Seat, rank: i32) -> bool {
    (rank as u32) < seat.size
}

impl<P: Port> Entry<'_, P> {
    /// `MPI_BARRIER` (§6.3); `false` if it has to go the ordinary way, as for all that follow.
    #[inline(always)]
    pub fn barrier_quickly(&mut self, comm: CommHandle) -> Result<bool> {
        let Some(seat) = self.quick_seat(Collective::Barrier, comm, 0) else {
            return self.done_alone(comm);
        };
        self.over_board(seat, |entry| entry.meet_at_board(seat))
    }

    /// `MPI_BCAST` (§6.4).
    #[inline(always)]
    pub fn bcast_quickly(&mut self, data: Typed, root: i32, comm: CommHandle) -> Result<bool> {
        let Some(len) = plain(data) else { return Ok(false) };
        let Some(seat) = self.quick_seat(Collective::Bcast, comm, len) else {
            return Ok(root == 0 && self.done_alone(comm)?);
        };
        if !is_member(seat, root) {
            return Ok(false);
        }
        let root = root as u32;
        let all = Audience::Everyone;
        self.share_caches(seat, len, Pattern::OneToAll);
        if root == seat.rank && self.leaves_and_waits(seat, all, (data.buf, len), LEFT_BYTES) {
            return Ok(false);
        }
        self.over_board(seat, |entry| {
            entry.gives(seat, root)?;
            match root == seat.rank {
                true => entry.write_run(seat, Audience::Everyone, data.buf, len, 1),
                false => entry.read_run(seat, Source::Public(root), data.buf, len, WaitFor::Root),
            }
        })
    }

    /// `MPI_GATHER` (§6.5).
    #[inline(always)]
    pub fn gather_quickly(
        &mut self,
        send: Typed,
        recv: Typed,
        root: i32,
        comm: CommHandle,
    ) -> Result<bool> {
        let Some(len) = plain(send) else { return Ok(false) };
        let seat = self.quick_seat_of_blocks(Collective::Gather, comm, len);
        let Some(seat) = seat.filter(|seat| is_member(*seat, root)) else {
            return Ok(root == 0 && self.copied_alone(comm, || Some([run(send)?, run(recv)?]))?);
        };
        let root = root as u32;
        self.share_caches(seat, len, Pattern::Rooted);
        let declines = match root == seat.rank {
            true => plain(recv) != Some(len) || is_within(send.buf, recv.buf, len, seat.size),
            false => self.leaves_and_waits(seat, Audience::One(root), (send.buf, len), LEFT_BYTES),
        };
        if declines {
            return Ok(false);
        }
        self.over_board(seat, |entry| {
            if root != seat.rank {
                return entry.write_run(seat, Audience::One(root), send.buf, len, 1);
            }
            entry.takes(seat)?;
            copy_run(send.buf, block(recv.buf, root, len), len);
            entry.read_blocks(seat, Source::Private, recv.buf, len)
        })
    }

    /// `MPI_SCATTER` (§6.6).
    #[inline(always)]
    pub fn scatter_quickly(
        &mut self,
        send: Typed,
        recv: Typed,
        root: i32,
        comm: CommHandle,
    ) -> Result<bool> {
        let Some(len) = plain(recv) else { return Ok(false) };
        let seat = self.quick_seat_of_blocks(Collective::Scatter, comm, len);
        let Some(seat) = seat.filter(|seat| scatters(*seat, root, len)) else {
            return Ok(root == 0 && self.copied_alone(comm, || Some([run(send)?, run(recv)?]))?);
        };
        let root = root as u32;
        let to = Audience::One(seat.neighbour());
        let is_root = root == seat.rank;
        self.share_caches(seat, len, Pattern::Rooted);
        let declines = is_root
            && (plain(send) != Some(len)
                || is_within(recv.buf, send.buf, len, seat.size)
                || self.leaves(seat, to, (send.buf, len), SCATTERED_BYTES));
        if declines {
            return Ok(false);
        }
        self.over_board(seat, |entry| {
            entry.gives(seat, root)?;
            if root != seat.rank {
                return entry.read_run(seat, Source::Private(root), recv.buf, len, WaitFor::Root);
            }
            entry.write_blocks(seat, send.buf, len)?;
            copy_run(block(send.buf, root, len), recv.buf, len);
            Ok(())
        })
    }

    /// `MPI_ALLGATHER` (§6.7).
    #[inline(always)]
    pub fn allgather_quickly(
        &mut self,
        send: Typed,
        recv: Typed,
        comm: CommHandle,
    ) -> Result<bool> {
        let Some(len) = plain_pair(send, recv, EXCHANGE_BYTES) else { return Ok(false) };
        let Some(seat) = self.quick_seat_of_blocks(Collective::Allgather, comm, len) else {
            return self.copied_alone(comm, || Some([run(send)?, run(recv)?]));
        };
        if is_within(send.buf, recv.buf, len, seat.size) {
            return Ok(false);
        }
        self.share_caches(seat, len, Pattern::EachToAll);
        if self.is_left_or_long(seat, Audience::Everyone, (send.buf, len)) {
            let into = |rank| Some((block(recv.buf, rank, len), len));
            let left = Blocks::between(seat, |_| Some((send.buf, len)), into);
            return self.exchange_left(seat, Pattern::EachToAll, left);
        }
        self.over_board(seat, |entry| {
            entry.write_run(seat, Audience::Everyone, send.buf, len, 1)?;
            copy_run(send.buf, block(recv.buf, seat.rank, len), len);
            entry.read_blocks(seat, Source::Public, recv.buf, len)
        })
    }

    /// `MPI_ALLTOALL` (§6.8).
    #[inline(always)]
    pub fn alltoall_quickly(&mut self, send: Typed, recv: Typed, comm: CommHandle) -> Result<bool> {
        let Some(len) = plain_pair(send, recv, EXCHANGE_BYTES) else { return Ok(false) };
        let Some(seat) = self.quick_seat_of_blocks(Collective::Alltoall, comm, len) else {
            return self.copied_alone(comm, || Some([run(send)?, run(recv)?]));
        };
        if send.buf == recv.buf {
            return Ok(false);
        }
        let other = Audience::One(seat.neighbour());
        let of = |buf| move |rank| Some((block(buf, rank, len), len));
        self.share_caches(seat, len, Pattern::EachToEach);
        let left = self.is_left_or_long(seat, other, (send.buf, len));
        if left && !self.are_written(seat, of(send.buf)) {
            let left = Blocks::between(seat, of(send.buf), of(recv.buf));
            return self.exchange_left(seat, Pattern::EachToEach, left);
        }
        if self.is_cut(seat, || len) {
            return Ok(false);
        }
        self.over_board(seat, |entry| {
            entry.write_blocks(seat, send.buf, len)?;
            copy_run(block(send.buf, seat.rank, len), block(recv.buf, seat.rank, len), len);
            entry.read_blocks(seat, Source::Private, recv.buf, len)
        })
    }

    /// `MPI_REDUCE` (§6.9.1).
    #[inline(always)]
    pub fn reduce_quickly(
        &mut self,
        send: Typed,
        recv: UserBuffer,
        op: OpHandle,
        root: i32,
        comm: CommHandle,
    ) -> Result<bool> {
        let into = Typed { buf: recv, ..send };
        let own = if send.buf.is_in_place() { into } else { send };
        let Some(len) = plain(own) else { return Ok(false) };
        let seat = self.quick_seat(Collective::Reduce, comm, len);
        let Some(seat) = seat.filter(|seat| is_member(*seat, root)) else {
            return Ok(root == 0 && self.reduced_alone(comm, op, send.buf, || [own, into])?);
        };
        let root = root as u32;
        self.share_caches(seat, len, Pattern::Rooted);
        let declines = match root == seat.rank {
            true => plain(into).is_none() || send.buf == recv,
            false => {
                let (to, message) = (Audience::One(root), (own.buf, len));
                send.buf.is_in_place() || self.leaves_and_waits(seat, to, message, EXCHANGED_BYTES)
            }
        };
        let kernel = self.quick_kernel(op, send.datatype).filter(|_| !declines);
        let Some(kernel) = kernel else { return Ok(false) };
        let unit = dense_size(send.datatype.raw()) as usize;
        let job = Job { seat, kernel, unit, own: own.buf, recv };
        self.over_board(seat, |entry| match root == seat.rank {
            true => {
                entry.takes(seat)?;
                entry.fold_all(job, len)
            }
            false => entry.write_run(seat, Audience::One(root), own.buf, len, unit),
        })
    }

    /// `MPI_ALLREDUCE` (§6.9.6).
    #[inline(always)]
    pub fn allreduce_quickly(
        &mut self,
        send: Typed,
        recv: UserBuffer,
        op: OpHandle,
        comm: CommHandle,
    ) -> Result<bool> {
        let into = Typed { buf: recv, ..send };
        let own = if send.buf.is_in_place() { into } else { send };
        let Some(len) = plain_pair(own, into, QUICK_BYTES) else { return Ok(false) };
        let Some(seat) = self.quick_seat(Collective::Allreduce, comm, len) else {
            return self.reduced_alone(comm, op, send.buf, || [own, into]);
        };
        let kernel = self.quick_kernel(op, send.datatype).filter(|_| send.buf != recv);
        let Some(kernel) = kernel else { return Ok(false) };
        let unit = dense_size(send.datatype.raw()) as usize;
        let job = Job { seat, kernel, unit, own: own.buf, recv };
        self.share_caches(seat, len, Pattern::EachToAll);
        self.over_board(seat, |entry| entry.reduce_everywhere(job, len))
    }

    #[inline(always)]
    pub(super) fn write_run(
        &mut self,
        seat: Seat,
        to: Audience,
        at: UserBuffer,
        len: usize,
        unit: usize,
    ) -> Result<()> {
        if len == 0 || self.write_whole(seat, to, at, len) {
            return Ok(());
        }
        self.write_pieces(seat, to, Packer::contiguous(at, len as u64), unit)
    }

    #[inline(always)]
    pub(super) fn read_run(
        &mut self,
        seat: Seat,
        from: Source,
        at: UserBuffer,
        len: usize,
        wait_for: WaitFor,
    ) -> Result<()> {
        if len == 0 || len <= QUICK_BYTES as usize && self.read_whole(seat, from, at, len) {
            return Ok(());
        }
        self.read_pieces(seat, from, Unpacker::contiguous(at, len as u64), wait_for)
    }

    /// Whether the longest block for another member is more than a piece, as it may be where there are many members.
    /// Who writes to everybody before it reads may find no room for what is left of such a one, and so may all
    /// others; the ordinary way reads meanwhile.
    #[inline]
    pub(super) fn is_cut(&self, seat: Seat, longest: impl FnOnce() -> usize) -> bool {
        let most = self.port.memory().piece_max(seat.board, Audience::One(seat.neighbour()));
        (most as u64) < QUICK_BYTES && longest() > most
    }

    #[inline]
    fn write_blocks(&mut self, seat: Seat, at: UserBuffer, len: usize) -> Result<()> {
        for rank in seat.others() {
            self.write_run(seat, Audience::One(rank), block(at, rank, len), len, 1)?;
        }
        Ok(())
    }

    #[inline]
    fn read_blocks(
        &mut self,
        seat: Seat,
        from: fn(u32) -> Source,
        at: UserBuffer,
        len: usize,
    ) -> Result<()> {
        for rank in seat.others() {
            self.read_run(seat, from(rank), block(at, rank, len), len, WaitFor::Each(from))?;
        }
        Ok(())
    }
}
