//! Reducing long vectors of two ranks at a root, with the aid of the other one, which would only wait:
//! where caches are far from each other both reduce a share out of each other's memory, and the other one puts
//! what it has made where the root wants it (MPI-5.0 §6.9.1).
//!
//! The other one shows its contribution, and the root answers: by showing the share of its own that it lets
//! be reduced, and where the result goes, or by an empty piece if it reduces everything. Who cannot fetch what it
//! was lent says so before it has written anything, and sends its share of the contribution instead.
//!
//! Enters: the contributions. Leaves: the result at the root.
#![allow(unsafe_code)]

use super::fold::{Fold, section};
use super::operand::differs;
use super::pattern::Pattern;
use super::reduce::whole_share;
use super::seat::Seat;
use super::task::{Job, Order, Streams, Task};
use super::transfer::Transfer;
use super::work::{Step, WaitFor, Work};
use crate::boards::{Audience, Boards, Shown, Source};
use crate::buffer::{RawBytes, UserBuffer};
use crate::coll::execute::Reducer;
use crate::coll::menu::Algorithm;
use crate::coll::plan::Problem;
use crate::coll::prepared::{Data, Prepared};
use crate::datatype::Unpacker;
use crate::entry::Entry;
use crate::error::{Error, ErrorClass, Result};
use crate::lost::failed_elsewhere;
use crate::port::Port;

/// The share of a vector that the root reduces itself, in eighths: the other one has to write its own
/// as well, to memory that is far from it. Two bare processes, 64 KiB: 6.6 µs by halves, 5.2 so, 5.5
/// by three quarters, and 6.4 by the root alone; 1 MiB: 129, 142, 195 and 291.
const ROOT_EIGHTHS: usize = 5;
/// From this many bytes on the root is aided; up to there it fetches the contribution and reduces it alone.
const AIDED_BYTES: usize = 256 << 10;
/// Bytes that are fetched, reduced and written at a time: they stay in the processor's own cache.
const PART_BYTES: usize = 128 << 10;

/// Where the root's share ends.
fn root_share(len: usize, unit: usize) -> usize {
    whole_share(len.div_ceil(8) * ROOT_EIGHTHS, unit).min(len)
}

impl<P: Port> Entry<'_, P> {
    /// The reduction to a root of a call that runs to its end, its bytes and its root, if its two ranks may aid each
    /// other.
    pub(super) fn aided(
        &self,
        seat: Seat,
        call: &Prepared,
        algorithm: Algorithm,
    ) -> Option<(Job, usize, u32)> {
        let (Problem::Reduce { root, len, .. }, Data::Reduced(data), Algorithm::Board) =
            (&call.problem, &call.data, algorithm)
        else {
            return None;
        };
        let Reducer::Kernel(kernel) = data.reducer else { return None };
        let (len, to) = (*len as usize * data.unit as usize, Audience::One(1 - seat.rank.min(1)));
        let may =
            len >= AIDED_BYTES && !self.begun.is_starting() && self.is_shared(seat, to, len as u64);
        may.then(|| (Job::new(seat, kernel, data), len, *root as u32))
    }

    /// Reduces `len` bytes of two ranks at `root`.
    pub(super) fn reduce_aided(&mut self, (job, len, root): (Job, usize, u32)) -> Result<()> {
        self.share_caches(job.seat, usize::MAX, Pattern::Rooted);
        match root == job.seat.rank {
            true => self.reduce_at_root(job, len),
            false => self.reduce_for_root(job, len, root),
        }
    }

    fn reduce_by_tiles(&mut self, seat: Seat, task: Task) -> Result<()> {
        let mut transfer = Transfer::new(seat);
        transfer.reduce(Fold::new(self, seat, task));
        transfer.run(self)
    }

    /// Reduces here, at the root.
    fn reduce_at_root(&mut self, job: Job, len: usize) -> Result<()> {
        let (seat, streams) = (job.seat, Streams::Private);
        let other = 1 - seat.rank;
        let piece = self.await_piece(seat, streams.of(other), streams.of_each())?;
        if piece.apart != len as u64 {
            return self.reduce_by_tiles(seat, job.all(len, streams));
        }
        let (to, share) = (Audience::One(other), root_share(len, job.unit));
        let (own, into) = (job.own.offset(share as i64), job.recv.offset(share as i64));
        let rest = (len - share) as u64;
        let lent = self.port.memory_mut().is_better_shown(seat.board, to, len as u64)
            && self.port.memory_mut().show_piece(seat.board, to, own.0, rest, into.0);
        if !lent {
            self.write_signal(seat, to)?;
            return self.reduce_by_tiles(seat, job.all(len, streams));
        }
        let mut task = job.task(0, share, Order::Down(1), streams);
        task.message = (0, len);
        self.reduce_by_tiles(seat, task)?;
        let mut answer = Answer { seat, refused: false };
        if answer.step(self)? != Step::Done {
            self.drive(seat, &mut answer)?;
        }
        match answer.refused {
            true => {
                self.reduce_by_tiles(seat, job.task(share, len - share, Order::Down(1), streams))
            }
            false => Ok(()),
        }
    }

    /// Contributes `len` bytes to what `root`, another process, reduces.
    fn reduce_for_root(&mut self, job: Job, len: usize, root: u32) -> Result<()> {
        let (seat, from) = (job.seat, Source::Private(root));
        let to = Audience::One(root);
        let mut out = section(self, seat, to, job.own, len, job.unit);
        out.let_fetch(self, seat);
        out.push(self, seat);
        let aids = out.is_shown();
        let mut transfer = Transfer::new(seat);
        transfer.send(out);
        if aids {
            let lent = self.await_piece(seat, from, WaitFor::Answer)?.apart;
            let share = root_share(len, job.unit);
            if lent > 0 && !self.reduce_lent(job, share, len, lent)? {
                let at = job.own.offset(share as i64);
                transfer.send_last(section(self, seat, to, at, len - share, job.unit));
            }
            self.port.memory_mut().consume_piece(seat.board, from);
        }
        transfer.run(self)
    }

    /// Reduces what the root has lent of its contribution, from `begin` to `len`, and puts the result where it
    /// belongs; does nothing and returns `false` if the root's memory cannot be read.
    fn reduce_lent(&mut self, job: Job, begin: usize, len: usize, lent: u64) -> Result<bool> {
        let root = 1 - job.seat.rank;
        if lent != (len - begin) as u64 {
            return Err(differs(root, lent.saturating_sub((len - begin) as u64)));
        }
        let part = (PART_BYTES / job.unit).max(1) * job.unit;
        let mut scratch = std::mem::take(&mut self.board_scratch);
        let rooms = [&mut scratch.fetched, &mut scratch.own].map(|room| room.of(part));
        let mut at = begin;
        let outcome = loop {
            if at == len {
                break Ok(true);
            }
            let n = part.min(len - at);
            match self.reduce_part(job, rooms, (begin, at), n) {
                Ok(true) => at += n,
                other => break other,
            }
        };
        self.board_scratch = scratch;
        outcome
    }

    /// The same for the `n` bytes at one place, in two pieces of memory with as much room: one for what is
    /// fetched, and one for a result that may not lie there.
    fn reduce_part(
        &mut self,
        job: Job,
        [fetched, apart]: [*mut u8; 2],
        (begin, at): (usize, usize),
        n: usize,
    ) -> Result<bool> {
        let (board, root) = (job.seat.board, 1 - job.seat.rank);
        let (from, offset) = (Source::Private(root), (at - begin) as u64);
        let mut into = Unpacker::contiguous(UserBuffer(fetched), n as u64);
        let is_fetched = self.port.memory_mut().fetch_part(board, from, offset, &mut into);
        if !is_fetched && at == begin {
            return Ok(false);
        }
        // A root that fails gives its memory back to the program.
        if let Some(class) = self.port.memory_mut().renounced(board, root) {
            return Err(failed_elsewhere(root, ErrorClass::from_wire(class)));
        }
        let (own, count) = (job.own.offset(at as i64).0, n / job.unit);
        // The lower rank's operand stands on the left (see `Order`).
        let result = match root {
            // SAFETY: operands and result have `count` elements, and the room of the result is neither's.
            0 => unsafe {
                job.kernel.combine(fetched, own, apart, count);
                apart
            },
            // SAFETY: both operands have `count` elements.
            _ => unsafe {
                job.kernel.reduce(own, fetched, count);
                fetched
            },
        };
        // SAFETY: the result has `n` bytes.
        let bytes = unsafe { RawBytes::new(result, n) };
        match is_fetched && self.port.memory_mut().give_back_part(board, from, offset, bytes) {
            true => Ok(true),
            false => Err(unreachable_root(root)),
        }
    }
}

/// The root's memory was there, and is no more.
#[cold]
fn unreachable_root(root: u32) -> Error {
    let what = format!("the memory of rank {root}, the root, can be reached only in part");
    Error::new(ErrorClass::OTHER, what)
        .hint("Make sure that the root's buffers have as many elements as it says.")
}

/// The wait for what the other one did with what it was lent.
struct Answer {
    seat: Seat,
    refused: bool,
}

impl<P: Port> Work<P> for Answer {
    fn step(&mut self, entry: &mut Entry<'_, P>) -> Result<Step> {
        let other = 1 - self.seat.rank;
        self.refused = match entry.port.memory_mut().shown(self.seat.board, Audience::One(other)) {
            Shown::Waits => return Ok(Step::Stuck),
            Shown::Refused(_) => true,
            Shown::Taken => false,
        };
        Ok(Step::Done)
    }

    fn awaited(&self) -> Option<u32> {
        Some(1 - self.seat.rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_takes_the_longer_share_in_whole_elements() {
        for (len, unit, share) in
            [(64 << 10, 4, 40 << 10), (120_000, 12, 75_000), (65_560, 8, 41_472)]
        {
            assert_eq!(root_share(len, unit), share, "{len} bytes by {unit}");
        }
    }
}
