//! The way out of datagrams: several queue pairs that send in turn (four are best, paper 001), each with a ring of
//! registered memory for what is too long to be copied in the call.
//!
//! In: datagrams, and completions. Out: whether there was room. Every few work requests one asks for a completion,
//! which is also that of those before it.

use std::io;
use std::sync::Arc;

use rdma_sys::ibv_sge;

use crate::sys::inet::Run;
use crate::verbs::choice::Chosen;
use crate::verbs::objects::{Ah, Cq, Pd};
use crate::verbs::pool::Pool;
use crate::verbs::queue_pair::{Order, Plan, QueuePair, Ud};

/// Work requests that one queue pair holds.
pub(super) const DEPTH: u32 = 64;
/// One in so many asks for a completion.
const ASKS: u32 = DEPTH / 4;
/// Bytes that are copied in the call, if the device allows it.
const INLINE: u32 = 256;
/// Marks numbers of work of send queues: then follow the queue pair and how many it had before.
pub(super) const SENT: u64 = 1 << 63;

/// A queue pair that sends.
#[derive(Debug)]
struct Sender {
    queue_pair: QueuePair<Ud>,
    /// Work requests that it was given, and those that are known to be done.
    given: u32,
    done: u32,
    /// Its device takes no more of it.
    is_broken: bool,
}

impl Sender {
    #[inline]
    fn has_room(&self) -> bool {
        self.given.wrapping_sub(self.done) < DEPTH && !self.is_broken
    }
}

/// All of them. The memory goes after the queue pairs.
#[derive(Debug)]
pub(super) struct Senders {
    all: Vec<Sender>,
    /// Which is next.
    turn: usize,
    inline: usize,
    /// Bytes of one place in the ring.
    datagram_bytes: usize,
    ring: Pool,
}

/// Where a datagram goes.
#[derive(Clone, Copy)]
pub(super) struct Receiver<'a> {
    pub(super) way: &'a Ah,
    pub(super) queue_pair: u32,
    pub(super) qkey: u32,
}

impl Senders {
    pub(super) fn new(
        pd: &Arc<Pd>,
        cq: &Arc<Cq>,
        chosen: &Chosen,
        count: usize,
    ) -> io::Result<Senders> {
        let datagram_bytes = usize::from(chosen.mtu);
        let ring = Pool::new(pd, count * DEPTH as usize * datagram_bytes)?;
        let mut inline = INLINE;
        let mut all = Vec::with_capacity(count);
        while all.len() < count {
            let plan = Plan { pd, cq, srq: None, depth: DEPTH, inline };
            let queue_pair = match QueuePair::<Ud>::with_buffers(&plan, 0) {
                Ok(made) => made,
                // A device may refuse to copy so many bytes.
                Err(_) if inline > 0 => {
                    inline = (inline / 2) & !7;
                    continue;
                }
                Err(error) => return Err(error),
            };
            queue_pair.init(chosen.port, chosen.pkey_index, 0, 0)?;
            queue_pair.begin()?;
            all.push(Sender { queue_pair, given: 0, done: 0, is_broken: false });
        }
        let least = all.iter().map(|sender| sender.queue_pair.inline()).min().unwrap_or(0);
        let inline = least.min(inline as usize);
        Ok(Senders { all, turn: 0, inline, datagram_bytes, ring })
    }

    /// Whether the next queue pairs in turn have room; the turn is at one that has.
    #[inline]
    pub(super) fn find_room(&mut self) -> bool {
        for _ in 0..self.all.len() {
            if self.all[self.turn].has_room() {
                return true;
            }
            self.turn = (self.turn + 1) % self.all.len();
        }
        false
    }

    /// Whether there is nobody left who could send.
    pub(super) fn are_broken(&self) -> bool {
        self.all.iter().all(|sender| sender.is_broken)
    }

    /// Nobody sends any more.
    pub(super) fn break_off(&mut self) {
        self.all.iter_mut().for_each(|sender| sender.is_broken = true);
    }

    /// Sends a datagram that lies in these runs by the queue pair whose turn it is, which has room.
    ///
    /// # Safety
    /// The runs are readable and not longer than a datagram; the way lives until the queue pairs are gone.
    #[inline]
    pub(super) unsafe fn send(&mut self, to: Receiver<'_>, runs: &[Run]) -> io::Result<()> {
        let turn = self.turn;
        self.turn = (turn + 1) % self.all.len();
        let sender = &mut self.all[turn];
        let (piece, is_inline) = match runs {
            [one] if one.bytes() <= self.inline => {
                let (addr, length) = (one.at() as u64, one.bytes() as u32);
                (ibv_sge { addr, length, lkey: 0 }, true)
            }
            _ => {
                let slot = turn * DEPTH as usize + (sender.given % DEPTH) as usize;
                let (begin, mut end) = (slot * self.datagram_bytes, slot * self.datagram_bytes);
                for run in runs {
                    // SAFETY: readable by the caller's promise; the place has room for a datagram, and no work that
                    // is under way uses it, since so many are done.
                    unsafe {
                        self.ring.at(end).copy_from_nonoverlapping(run.at(), run.bytes());
                    }
                    end += run.bytes();
                }
                (self.ring.piece(begin, end - begin), false)
            }
        };
        let next = sender.given.wrapping_add(1);
        let number = SENT | (turn as u64) << 32 | u64::from(next);
        let order = Order { number, piece, is_signaled: next.is_multiple_of(ASKS), is_inline };
        // SAFETY: the ring's place is left alone until this is done, the way by the caller's promise.
        unsafe { sender.queue_pair.send_to(order, to.way, to.queue_pair, to.qkey)? };
        sender.given = next;
        Ok(())
    }

    /// Work of this number, and all before it by the same queue pair, has ended.
    pub(super) fn done(&mut self, number: u64, is_good: bool) {
        let Some(sender) = self.all.get_mut((number >> 32) as usize & 0xffff) else { return };
        sender.done = number as u32;
        // What was not sent is lost, as others are.
        if !is_good && sender.queue_pair.resume().is_err() {
            sender.is_broken = true;
        }
    }
}
