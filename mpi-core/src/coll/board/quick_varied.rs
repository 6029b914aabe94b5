//! The short way of small collectives whose blocks differ (see [`quick`](super::quick)): the
//! v-variants. Lengths are read from the program's own arrays, nothing is
//! copied of these.
//!
//! Enters: the arguments of a call. Leaves: the call is done, or nothing happened. An empty message is
//! none here as on the ordinary way, so each process may take its own.

use super::listed::List;
use super::message::copy_run;
use super::pattern::Pattern;
use super::quick::{QUICK_BYTES, UNREAL_ADDRESSES, is_member, plain, plain_within, scatters};
use super::quick_left::{
    Block, Blocks, EXCHANGE_BYTES, EXCHANGED_BYTES, LEFT_BYTES, SCATTERED_BYTES,
};
use super::seat::Seat;
use super::work::WaitFor;
use crate::boards::{Audience, Source};
use crate::buffer::UserBuffer;
use crate::coll::calls::Typed;
use crate::coll::menu::Collective;
use crate::datatype::dense_size;
use crate::entry::Entry;
use crate::error::Result;
use crate::handle::{CommHandle, DatatypeHandle};
use crate::port::Port;

/// A buffer of blocks that differ, whose arrays the program has.
#[derive(Clone, Copy)]
pub struct Uneven<B> {
    /// Address.
    pub buf: UserBuffer,
    /// What the arrays say of a rank's block.
    pub block: B,
}

/// A block of such a buffer.
#[derive(Clone, Copy)]
pub struct Elements {
    /// How many.
    pub count: i64,
    /// Their type.
    pub datatype: DatatypeHandle,
    /// Where the block begins.
    pub displ: i64,
    /// Whether that is told in bytes, and not in extents of the type.
    pub in_bytes: bool,
}

/// The bytes of the own block.
#[inline]
fn own(data: Typed) -> Option<usize> {
    plain(data).filter(|_| data.buf.0.addr() > UNREAL_ADDRESSES)
}

impl<B: Fn(usize) -> Elements> Uneven<B> {
    /// Address and bytes of the block of `rank`.
    #[inline]
    fn block(&self, rank: u32) -> Option<(UserBuffer, usize)> {
        self.block_within(rank, QUICK_BYTES)
    }

    /// The same of one of at most so many bytes.
    #[inline(always)]
    fn block_within(&self, rank: u32, most: u64) -> Option<(UserBuffer, usize)> {
        let Elements { count, datatype, displ, in_bytes } = (self.block)(rank as usize);
        let len = plain_within(Typed { buf: self.buf, count, datatype }, most)?;
        let unit = if in_bytes { 1 } else { dense_size(datatype.raw()) as i64 };
        let at = displ.checked_mul(unit)?;
        Some((self.buf.offset(at), len))
    }

    /// The blocks of members that may be long.
    #[inline]
    fn long_blocks(&self) -> impl Fn(u32) -> Option<Block> + Copy {
        |rank| self.block_within(rank, EXCHANGE_BYTES)
    }

    /// The bytes of the longest block for another member.
    fn longest(&self, seat: Seat) -> usize {
        let blocks = seat.others().filter_map(self.long_blocks());
        blocks.map(|(_, len)| len).max().unwrap_or(0)
    }

    /// The bytes of all blocks, each of which is few.
    #[inline]
    fn total(&self, seat: Seat) -> Option<usize> {
        (0..seat.size).try_fold(0, |sum, rank| Some(sum + self.block(rank)?.1))
    }

    /// The same; lists the blocks as well.
    #[inline]
    fn list(&self, seat: Seat, list: &mut List<'_>) -> Option<usize> {
        let mut total = 0;
        for rank in 0..seat.size {
            let block = self.block(rank)?;
            total += block.1;
            list.put(rank, block);
        }
        Some(total)
    }
}

impl<P: Port> Entry<'_, P> {
    /// Whether there are too many bytes, or blocks of at least so many that are rather left where they lie (see
    /// `leaves`). Lists the blocks.
    #[inline]
    fn leaves_any<B: Fn(usize) -> Elements>(
        &mut self,
        seat: Seat,
        send: &Uneven<B>,
        least: usize,
        list: &mut List<'_>,
    ) -> bool {
        let Some(total) = send.list(seat, list) else { return true };
        let mut leaves = |rank| {
            let block = send.block(rank);
            block.is_some_and(|block| self.leaves(seat, Audience::One(rank), block, least))
        };
        total >= least && seat.others().any(&mut leaves)
    }

    /// `MPI_ALLGATHERV` (§6.7).
    #[inline(always)]
    pub fn allgatherv_quickly<B: Fn(usize) -> Elements>(
        &mut self,
        send: Typed,
        recv: Uneven<B>,
        comm: CommHandle,
    ) -> Result<bool> {
        let Some(len) = own(send) else { return Ok(false) };
        let Some(seat) = self.quick_seat(Collective::Allgatherv, comm, 0) else {
            return self.copied_alone(comm, || Some([(send.buf, len), recv.block(0)?]));
        };
        let Some(total) = recv.total(seat) else { return Ok(false) };
        let kept = recv.block(seat.rank).filter(|(at, kept)| *kept == len && *at != send.buf);
        let served =
            self.quick_seat(Collective::Allgatherv, comm, total).is_some() && send.buf != recv.buf;
        let Some((at, _)) = kept.filter(|_| served) else { return Ok(false) };
        let out = (send.buf, len);
        self.share_caches(seat, len, Pattern::EachToAll);
        if self.leaves(seat, Audience::Everyone, out, EXCHANGED_BYTES) {
            let left = Blocks::between(seat, |_| Some(out), |rank| recv.block(rank));
            return self.exchange_left(seat, Pattern::EachToAll, left);
        }
        self.over_board(seat, |entry| {
            entry.write_run(seat, Audience::Everyone, send.buf, len, 1)?;
            copy_run(send.buf, at, len);
            entry.read_uneven(seat, Source::Public, &recv)
        })
    }

    /// `MPI_GATHERV` (§6.5); only the root needs `recv`.
    #[inline(always)]
    pub fn gatherv_quickly<B: Fn(usize) -> Elements>(
        &mut self,
        send: Typed,
        recv: Option<Uneven<B>>,
        root: i32,
        comm: CommHandle,
    ) -> Result<bool> {
        let Some(len) = own(send) else { return Ok(false) };
        let seat = self.quick_seat(Collective::Gatherv, comm, 0);
        let Some(seat) = seat.filter(|seat| is_member(*seat, root)) else {
            let runs = || Some([(send.buf, len), recv?.block(0)?]);
            return Ok(root == 0 && self.copied_alone(comm, runs)?);
        };
        let root = root as u32;
        self.share_caches(seat, len, Pattern::Rooted);
        if root != seat.rank {
            if self.leaves_and_waits(seat, Audience::One(root), (send.buf, len), LEFT_BYTES) {
                return Ok(false);
            }
            return self.over_board(seat, |entry| {
                entry.write_run(seat, Audience::One(root), send.buf, len, 1)
            });
        }
        let Some(recv) = recv else { return Ok(false) };
        let kept = recv.block(root).filter(|(at, kept)| *kept == len && *at != send.buf);
        let served = recv.total(seat).is_some() && send.buf != recv.buf;
        let Some((at, _)) = kept.filter(|_| served) else { return Ok(false) };
        self.over_board(seat, |entry| {
            entry.takes(seat)?;
            copy_run(send.buf, at, len);
            entry.read_uneven(seat, Source::Private, &recv)
        })
    }

    /// `MPI_SCATTERV` (§6.6); only the root needs `send`.
    #[inline(always)]
    pub fn scatterv_quickly<B: Fn(usize) -> Elements>(
        &mut self,
        send: Option<Uneven<B>>,
        recv: Typed,
        root: i32,
        comm: CommHandle,
    ) -> Result<bool> {
        let Some(len) = own(recv) else { return Ok(false) };
        let seat = self.quick_seat(Collective::Scatterv, comm, 0);
        let Some(seat) = seat.filter(|seat| scatters(*seat, root, len)) else {
            let runs = || Some([send?.block(0)?, (recv.buf, len)]);
            return Ok(root == 0 && self.copied_alone(comm, runs)?);
        };
        let root = root as u32;
        self.share_caches(seat, len, Pattern::Rooted);
        if root != seat.rank {
            return self.over_board(seat, |entry| {
                entry.gives(seat, root)?;
                entry.read_run(seat, Source::Private(root), recv.buf, len, WaitFor::Root)
            });
        }
        let Some(send) = send else { return Ok(false) };
        let mut list = List::default();
        if send.buf == recv.buf || self.leaves_any(seat, &send, SCATTERED_BYTES, &mut list) {
            return Ok(false);
        }
        let own = list.get(root).or_else(|| send.block(root));
        let own = own.filter(|(at, kept)| *kept == len && *at != recv.buf);
        let Some((at, _)) = own else { return Ok(false) };
        self.over_board(seat, |entry| {
            entry.gives(seat, root)?;
            entry.write_listed(seat, &list, |entry| entry.write_uneven(seat, &send))?;
            copy_run(at, recv.buf, len);
            Ok(())
        })
    }

    /// `MPI_ALLTOALLV` (§6.8).
    #[inline(always)]
    pub fn alltoallv_quickly<B: Fn(usize) -> Elements>(
        &mut self,
        send: Uneven<B>,
        recv: Uneven<B>,
        comm: CommHandle,
    ) -> Result<bool> {
        self.swap_quickly(Collective::Alltoallv, send, recv, comm)
    }

    /// `MPI_ALLTOALLW` (§6.8).
    #[inline(always)]
    pub fn alltoallw_quickly<B: Fn(usize) -> Elements>(
        &mut self,
        send: Uneven<B>,
        recv: Uneven<B>,
        comm: CommHandle,
    ) -> Result<bool> {
        self.swap_quickly(Collective::Alltoallw, send, recv, comm)
    }

    #[inline]
    fn swap_quickly<B: Fn(usize) -> Elements>(
        &mut self,
        collective: Collective,
        send: Uneven<B>,
        recv: Uneven<B>,
        comm: CommHandle,
    ) -> Result<bool> {
        // What is sent in place has arrays that mean nothing, and may not be there. Blocks of one buffer may be apart.
        if send.buf.0.addr() <= UNREAL_ADDRESSES || send.buf == recv.buf {
            return Ok(false);
        }
        let Some(seat) = self.quick_seat(collective, comm, 0) else {
            return self.copied_alone(comm, || Some([send.block(0)?, recv.block(0)?]));
        };
        let (out, into) = (send.long_blocks(), recv.long_blocks());
        self.share_caches(seat, usize::MAX, Pattern::EachToEach);
        let mut list = List::default();
        let is_left = self.leaves_any(seat, &send, EXCHANGED_BYTES, &mut list);
        if is_left && !self.are_written(seat, out) {
            let left = Blocks::between(seat, out, into);
            return self.exchange_left(seat, Pattern::EachToEach, left);
        }
        let (Some((from, len)), Some((at, kept))) = (out(seat.rank), into(seat.rank)) else {
            return Ok(false);
        };
        if len != kept || !seat.others().all(|rank| into(rank).is_some()) {
            return Ok(false);
        }
        if self.is_cut(seat, || send.longest(seat)) {
            return Ok(false);
        }
        self.over_board(seat, |entry| {
            let one_by_one = |entry: &mut Self| entry.write_uneven(seat, &send);
            match is_left {
                true => one_by_one(entry)?,
                false => entry.write_listed(seat, &list, one_by_one)?,
            }
            copy_run(from, at, len);
            entry.read_uneven(seat, Source::Private, &recv)
        })
    }

    #[inline]
    fn write_uneven<B: Fn(usize) -> Elements>(
        &mut self,
        seat: Seat,
        send: &Uneven<B>,
    ) -> Result<()> {
        let block = send.long_blocks();
        for rank in seat.others() {
            if let Some((at, len)) = block(rank) {
                self.write_run(seat, Audience::One(rank), at, len, 1)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn read_uneven<B: Fn(usize) -> Elements>(
        &mut self,
        seat: Seat,
        from: fn(u32) -> Source,
        recv: &Uneven<B>,
    ) -> Result<()> {
        let block = recv.long_blocks();
        for rank in seat.others() {
            if let Some((at, len)) = block(rank) {
                self.read_run(seat, from(rank), at, len, WaitFor::Each(from))?;
            }
        }
        Ok(())
    }
}
