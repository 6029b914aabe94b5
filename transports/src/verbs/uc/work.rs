//! Work of the queue pairs: buffers that the device gets, datagrams that go out, and what comes back of both.

use std::io;

use rdma_sys::ibv_sge;

use super::lines::{End, Line, Lines, State};
use crate::rdma::fabric::Work;
use crate::sys::inet::Run;
use crate::verbs::connection::Account;
use crate::verbs::pool::Pool;
use crate::verbs::queue_pair::{Order, Plan, QueuePair, Uc};

/// Work requests that one queue pair holds.
const DEPTH: u32 = 64;
/// Places for datagrams on their way out, of all peers together.
const PLACES: usize = 128;
/// Marks numbers of work of send queues. In all follow the line and a number of its own.
pub(super) const SENT: u64 = 1 << 63;

impl Lines {
    /// Makes a queue pair with buffers for a line.
    pub(super) fn make_end(&mut self, line: u32) -> io::Result<End> {
        let claim = (DEPTH + self.buffers) as usize;
        if self.entries < claim {
            return Err(io::Error::other(
                "this process has too many connections; lower FERRITE_VERBS_UC_RECEIVE_BUFFERS",
            ));
        }
        if self.out.is_none() {
            self.out = Some(Pool::new(&self.pd, PLACES * self.stride())?);
            self.places = (0..PLACES as u32).collect();
        }
        let pool = Pool::new(&self.pd, self.buffers as usize * self.stride())?;
        let end = End {
            queue_pair: self.queue_pair()?,
            psn: getrandom::u32().map_err(io::Error::other)? & 0xff_ffff,
            path: None,
            account: Account::new(DEPTH as usize),
            pool: Some(pool),
            idle: 0,
        };
        self.open(&end, line)?;
        self.entries -= claim;
        Ok(end)
    }

    /// A queue pair, with as many bytes copied in the call as the device allows.
    fn queue_pair(&mut self) -> io::Result<QueuePair<Uc>> {
        loop {
            let (pd, cq, inline) = (&self.pd, &self.cq, self.inline);
            let plan = Plan { pd, cq, srq: None, depth: DEPTH, inline };
            match QueuePair::with_buffers(&plan, self.buffers) {
                Ok(made) => {
                    self.inline = inline.min(made.inline() as u32);
                    return Ok(made);
                }
                Err(_) if inline > 0 => self.inline = (inline / 2) & !7,
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes a new or reset queue pair ready to be connected: it gets all buffers.
    pub(super) fn open(&self, end: &End, line: u32) -> io::Result<()> {
        end.queue_pair.init(self.chosen.port, self.chosen.pkey_index, 0, 0)?;
        let Some(pool) = &end.pool else { return Ok(()) };
        (0..self.buffers).try_for_each(|buffer| self.listen(end, pool, line, buffer))
    }

    /// Gives the device a buffer.
    #[inline]
    fn listen(&self, end: &End, pool: &Pool, line: u32, buffer: u32) -> io::Result<()> {
        let piece = pool.piece(buffer as usize * self.stride(), self.datagram_bytes);
        let number = u64::from(line) << 32 | u64::from(buffer);
        // SAFETY: the buffer is the device's until it completes; nobody else uses it, and the pool goes after the
        // queue pair.
        unsafe { end.queue_pair.receive(number, piece) }
    }

    /// Whether one more datagram can go to a peer now.
    #[inline]
    pub(super) fn has_room(&self, line: u32) -> bool {
        let end = self.all[line as usize].end.as_deref();
        !self.places.is_empty() && end.is_some_and(|end| end.account.has_room())
    }

    /// Sends a datagram that lies in these runs, for which there is room.
    ///
    /// # Safety
    /// The runs are readable and not longer than a datagram.
    #[inline]
    pub(super) unsafe fn send(&mut self, line: u32, runs: &[Run]) -> io::Result<()> {
        let stride = self.stride();
        let end = self.all[line as usize].end.as_deref_mut();
        let (Some(end), Some(out)) = (end, &self.out) else {
            return Err(io::Error::other("no end"));
        };
        let (piece, place) = match runs {
            [one] if one.bytes() <= self.inline as usize => {
                let (addr, length) = (one.at() as u64, one.bytes() as u32);
                (ibv_sge { addr, length, lkey: 0 }, None)
            }
            _ => {
                let Some(place) = self.places.last().copied() else {
                    return Err(io::Error::from_raw_os_error(libc::ENOMEM));
                };
                let begin = place as usize * stride;
                let mut at = begin;
                for run in runs {
                    // SAFETY: readable by the caller's promise; the place has room for a datagram, and no work that
                    // is under way uses it, since it is free.
                    unsafe { out.at(at).copy_from_nonoverlapping(run.at(), run.bytes()) };
                    at += run.bytes();
                }
                (out.piece(begin, at - begin), Some(Work(place.into())))
            }
        };
        // Who has a place is told of, so that it is free again.
        let (number, is_signaled) = end.account.next(place, false);
        let number = SENT | u64::from(line) << 32 | u64::from(number);
        let order = Order { number, piece, is_signaled, is_inline: place.is_none() };
        // SAFETY: the place is left alone until this is done; inline memory is read in the call.
        unsafe { end.queue_pair.send(order)? };
        end.account.push(place, is_signaled);
        if place.is_some() {
            self.places.pop();
        }
        Ok(())
    }

    /// Work up to this number has ended, as it may: how many pieces, which are none where the queue pair has begun anew
    /// meanwhile.
    #[inline]
    pub(super) fn sent(&mut self, line: u32, number: u32) -> usize {
        let places = &mut self.places;
        let Some(Line { state, end: Some(end), .. }) = self.all.get_mut(line as usize) else {
            return 0;
        };
        let ended = end.account.retire(number, |Work(place)| places.push(place as u32));
        if let State::Failing(_) = state {
            self.revive(line);
        }
        ended
    }

    /// A datagram has come by a line.
    #[inline]
    pub(super) fn came(&mut self, line: u32) {
        if let Some(Line { state: State::Calling(_), rank, .. }) = self.all.get(line as usize) {
            self.heard.push(*rank);
        }
    }

    /// The buffers of a line in one of which something has come.
    #[inline]
    pub(super) fn lend(&mut self, line: u32) -> Option<Pool> {
        self.end(line)?.pool.take()
    }

    /// Buffers that were lent come back, and the device may have this one again.
    #[inline]
    pub(super) fn take_back(&mut self, line: u32, buffer: u32, pool: Pool) {
        let place = line as usize;
        let is_failing = matches!(self.all[place].state, State::Failing(_));
        let Some(end) = self.all[place].end.as_deref() else { return };
        let listens = !is_failing && self.listen(end, &pool, line, buffer).is_ok();
        if let Some(end) = self.end(line) {
            end.pool = Some(pool);
        }
        if !listens {
            self.put_by(line);
            self.fail(line, "it takes no buffers");
        }
    }

    /// A buffer of a line is neither the device's nor has anything come in it.
    pub(super) fn put_by(&mut self, line: u32) {
        if let Some(end) = self.end(line) {
            end.idle += 1;
        }
    }
}
