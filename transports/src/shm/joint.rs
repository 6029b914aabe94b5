//! Long messages from memory to memory, moved by both ends at once.
//!
//! The receiver of an announced message calls the sender to help and begins to fetch parts, from the
//! front, out of the sender's memory; the sender, as soon as it looks, writes parts from the back
//! into the receiver's, until none is left (see `claims`). So both processors move half of the bytes
//! each, once; a sender that is elsewhere costs time and nothing else, since the receiver then moves
//! all. Who has written parts says so by a frame, behind which the message is whole.
//!
//! In: what a peer offered and asks for. Out: messages that are in place, and calls for help.

use std::collections::VecDeque;
use std::time::Instant;

use mpi_core::port::{PeerId, Pulled, Sink, Token};

use super::Shm;
use super::claims::{Claims, Division};
use super::lane::Class;
use super::peer::{Peer, State};
use crate::sync::{AtomicU64, Ordering};
use crate::sys::cma;

/// Messages of one peer that are on their way across at a time.
const WORDS: usize = 4;
/// Parts that one end moves before others get their turn.
const PARTS_A_POLL: u32 = 16;
/// Offers to one peer that are remembered.
const OFFERS: usize = 64;
/// What a joint frame's first word says, above the number of the transfer.
const HELP: u64 = 0;
const HELPED: u64 = 1;

/// The words that the two ends of a lane share about messages going across in its direction: they
/// lie beside the lane's counter, in the arena of who receives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ledger(*const AtomicU64);

// SAFETY: the words are in shared memory that any thread may use.
unsafe impl Send for Ledger {}

impl Ledger {
    /// One that leads nowhere.
    pub(super) fn closed() -> Ledger {
        Ledger(std::ptr::null())
    }

    /// The words at `at`.
    ///
    /// # Safety
    /// They stay mapped as long as this is used, and are aligned: [`WORDS`] and one more.
    pub(super) unsafe fn new(at: *const AtomicU64) -> Ledger {
        Ledger(at)
    }

    fn claims(&self, number: u32) -> Claims {
        // SAFETY: by `new`'s promise.
        unsafe { Claims::new(self.0.add(number as usize % WORDS)) }
    }

    /// What the receiver has told about lengths (see [`super::ways::Ways::told`]).
    #[inline]
    pub(super) fn told(&self) -> &AtomicU64 {
        // SAFETY: by `new`'s promise.
        unsafe { &*self.0.add(WORDS) }
    }
}

/// A message that this process fetches, with the help of its sender.
pub(super) struct Joint {
    number: u32,
    token: Token,
    from: u64,
    to: *mut u8,
    division: Division,
    parts: u32,
    len: u64,
    /// Parts that this end has moved, and how long that took.
    own: u32,
    bytes: u64,
    nanos: u64,
    /// Parts that the sender has taken, once none is left.
    others: Option<u32>,
    /// Parts that the sender says it has moved.
    helped: Option<u32>,
    /// The kernel refused.
    failed: bool,
}

// SAFETY: the pointer is to a receive's memory, which the request keeps.
unsafe impl Send for Joint {}

/// A message of this process that its receiver has called it to help with.
pub(super) struct Helping {
    number: u32,
    from: u64,
    to: u64,
    division: Division,
    parts: u32,
    taken: u32,
    done: u32,
    /// No part is left to take.
    over: bool,
}

/// What one peer and this process have under way across.
#[derive(Default)]
pub(super) struct Across {
    next: u32,
    joints: VecDeque<Joint>,
    /// Those for which there is no word yet.
    waiting: VecDeque<Joint>,
    helping: VecDeque<Helping>,
    offers: VecDeque<(u64, u64)>,
}

impl Across {
    /// Notes that the peer may ask for help with these bytes. The oldest offers are forgotten, and
    /// then fetched without help.
    pub(super) fn offer(&mut self, address: u64, len: u64) {
        if self.offers.len() == OFFERS {
            self.offers.pop_front();
        }
        self.offers.push_back((address, len));
    }

    /// A number for the next transfer whose word no other uses.
    fn free_number(&mut self) -> u32 {
        let word = |number: u32| number as usize % WORDS;
        while self.joints.iter().any(|joint| word(joint.number) == word(self.next)) {
            self.next = self.next.wrapping_add(1);
        }
        self.next = self.next.wrapping_add(1);
        self.next.wrapping_sub(1)
    }

    /// Whether anything is left that only a poll goes on with.
    pub(super) fn is_busy(&self) -> bool {
        !self.helping.is_empty()
            || self.joints.iter().any(|joint| joint.others.is_none())
            || !self.waiting.is_empty() && self.joints.len() < WORDS
    }

    /// Begins to help with nothing that was offered so far.
    pub(super) fn forget_offers(&mut self) {
        self.offers.clear();
    }

    /// Forgets everything, since the peer is gone.
    pub(super) fn clear(&mut self) {
        *self = Across { next: self.next, ..Across::default() };
    }
}

impl Joint {
    /// Moves parts until none is left, or others are to have their turn.
    fn go_on(&mut self, pid: i32, claims: Claims) {
        for _ in 0..PARTS_A_POLL {
            if self.others.is_some() {
                return;
            }
            if self.own >= self.parts || !claims.take(self.number, self.parts) {
                self.others = Some(self.parts.saturating_sub(self.own));
                return;
            }
            if !self.fetch(pid, self.own) {
                self.failed = true;
                let taken = claims.close(self.number, self.parts);
                self.others = Some(taken.saturating_sub(self.own + 1));
                return;
            }
            self.own += 1;
        }
    }

    /// Fetches one part; whether the kernel let it.
    fn fetch(&mut self, pid: i32, part: u32) -> bool {
        let (at, len) = self.division.front(part);
        let begin = Instant::now();
        // SAFETY: the receive's memory has room for the whole message, and the request keeps it
        // until `landed` or `stranded`, by the contract of `pull`.
        let fetched = unsafe {
            cma::read_exact(pid, self.from.wrapping_add(at), self.to.wrapping_add(at as usize), len)
        };
        self.nanos += begin.elapsed().as_nanos() as u64;
        self.bytes += len as u64;
        fetched.is_ok()
    }

    /// Whether nobody moves any part any more; fetches what the sender took and could not write.
    fn is_settled(&mut self, pid: i32) -> bool {
        let Some(others) = self.others else { return false };
        if others == 0 {
            return true;
        }
        let Some(done) = self.helped else { return false };
        let first = self.parts - others;
        let missing = others.saturating_sub(done);
        self.failed = self.failed || !(first..first + missing).all(|part| self.fetch(pid, part));
        true
    }
}

impl Helping {
    /// Moves parts from the back, as [`Joint::go_on`] does from the front.
    fn go_on(&mut self, pid: i32, claims: Claims) {
        for _ in 0..PARTS_A_POLL {
            self.over |= self.taken >= self.parts || !claims.take(self.number, self.parts);
            if self.over {
                return;
            }
            self.taken += 1;
            let (at, len) = self.division.front(self.parts - self.taken);
            let (from, to) = (self.from.wrapping_add(at), self.to.wrapping_add(at));
            match cma::write_exact(pid, from, to, len) {
                Ok(()) => self.done += 1,
                Err(error) => {
                    tracing::info!(%error, "a part of a message could not be written across");
                    self.over = true;
                }
            }
        }
    }
}

impl Shm {
    /// Fetches `len` bytes at `from` of `peer` to `to`, with its help, or calls for that and `waits`
    /// until the next poll; nothing if there is no such way.
    pub(super) fn join(
        &mut self,
        peer: PeerId,
        from: u64,
        to: *mut u8,
        len: u64,
        token: Token,
        waits: bool,
    ) -> Option<Pulled> {
        let known = &mut self.peers[peer.0 as usize];
        let pid = known.readable?;
        let division = Division::of(len);
        let parts = division.parts()?;
        if known.state != State::Open {
            return None;
        }
        let mut joint = Joint {
            number: 0,
            token,
            from,
            to,
            division,
            parts,
            len,
            own: 0,
            bytes: 0,
            nanos: 0,
            others: None,
            helped: None,
            failed: false,
        };
        if known.across.joints.len() >= WORDS {
            known.across.waiting.push_back(joint);
        } else {
            joint.number = known.across.free_number();
            self.call(peer, &joint);
            if !waits {
                joint.go_on(pid, self.peers[peer.0 as usize].ledger.claims(joint.number));
            }
            if joint.is_settled(pid) {
                return Some(self.end_joint(peer, &joint));
            }
            self.chores |= joint.others.is_none();
            self.peers[peer.0 as usize].across.joints.push_back(joint);
        }
        Some(Pulled::Begun)
    }

    /// Calls for help.
    fn call(&mut self, peer: PeerId, joint: &Joint) {
        self.peers[peer.0 as usize].ledger.claims(joint.number).open(joint.number);
        self.tell(peer, HELP, joint.number, [joint.from, joint.to as u64, joint.len]);
    }

    /// What came of a message that nobody works at any more.
    fn end_joint(&mut self, peer: PeerId, joint: &Joint) -> Pulled {
        let known = &mut self.peers[peer.0 as usize];
        if joint.failed {
            tracing::info!(rank = known.rank, "cross-memory copy failed");
            known.readable = None;
            return Pulled::Unavailable;
        }
        known.ways.learn_across(joint.len, joint.bytes, joint.nanos);
        known.tell_ways();
        self.counters.bytes_cross_memory += joint.len;
        Pulled::Done
    }

    /// A frame to `peer` about a transfer, if there is room for it; whether there was.
    fn tell(&mut self, peer: PeerId, what: u64, number: u32, rest: [u64; 3]) -> bool {
        let to = &mut self.peers[peer.0 as usize];
        if to.state != State::Open || !to.writer.has_room() {
            return false;
        }
        // In the middle of a batch the count that rides would be ahead of the one that can be looked up.
        to.reader.publish();
        let ride = to.reader.ride();
        let [a, b, c] = rest;
        let words = [what << 32 | u64::from(number), a, b, c];
        to.writer.write(Class::Joint, ride, [0; 3], &words);
        if let Some(word) = to.sleeps() {
            self.ring(peer, word);
        }
        true
    }

    /// A joint frame has come from `peer`.
    pub(super) fn take_joint<S: Sink>(
        &mut self,
        peer: PeerId,
        words: [u64; 4],
        sink: &mut S,
    ) -> Result<(), &'static str> {
        let [first, a, b, c] = words;
        match (first >> 32, first as u32) {
            (HELP, number) => self.help(peer, number, [a, b, c]),
            (HELPED, number) => {
                let joints = &mut self.peers[peer.0 as usize].across.joints;
                if let Some(joint) = joints.iter_mut().find(|joint| joint.number == number) {
                    joint.helped = Some(u32::try_from(a).unwrap_or(u32::MAX));
                }
                self.settle(peer, sink);
            }
            _ => return Err("a frame of it has an impossible form"),
        }
        Ok(())
    }

    /// Begins to help `peer`, if it asks for what it was offered.
    fn help(&mut self, peer: PeerId, number: u32, [from, to, len]: [u64; 3]) {
        let known = &mut self.peers[peer.0 as usize];
        let offered = known.across.offers.iter().rposition(|offer| *offer == (from, len));
        let division = Division::of(len);
        if let (Some(at), Some(parts)) = (offered, division.parts()) {
            known.across.offers.remove(at);
            let (taken, done, over) = (0, 0, false);
            let helping = Helping { number, from, to, division, parts, taken, done, over };
            known.across.helping.push_back(helping);
            self.chores |= self.go_on_helping(peer);
        }
    }

    /// Helps `peer` with what it has asked for; whether something is left.
    fn go_on_helping(&mut self, peer: PeerId) -> bool {
        let known = &mut self.peers[peer.0 as usize];
        let Peer { ledger_out, readable: Some(pid), across, .. } = known else {
            known.across.helping.clear();
            return false;
        };
        let Some(helping) = across.helping.front_mut() else { return false };
        helping.go_on(*pid, ledger_out.claims(helping.number));
        let Helping { over, taken, done, number, .. } = *helping;
        if over && (taken == 0 || self.tell(peer, HELPED, number, [done.into(), 0, 0])) {
            self.peers[peer.0 as usize].across.helping.pop_front();
        }
        !self.peers[peer.0 as usize].across.helping.is_empty()
    }

    /// Goes on with all that is under way across; whether something is left that needs a poll.
    pub(super) fn go_on_across<S: Sink>(&mut self, sink: &mut S) -> bool {
        let mut busy = false;
        for at in 0..self.peers.len() {
            if self.peers[at].across.is_busy() {
                let peer = PeerId(at as u32);
                self.pumped = true;
                self.go_on_helping(peer);
                self.settle(peer, sink);
                busy |= self.peers[at].across.is_busy();
            }
        }
        busy
    }

    /// Goes on with what comes across from `peer`, hands over what is whole, and begins what could
    /// not begin before.
    fn settle<S: Sink>(&mut self, peer: PeerId, sink: &mut S) {
        for _ in 0..self.peers[peer.0 as usize].across.joints.len() {
            let known = &mut self.peers[peer.0 as usize];
            let Some(joint) = known.across.joints.pop_front() else { break };
            self.hand_over(peer, joint, sink);
        }
        while self.peers[peer.0 as usize].across.joints.len() < WORDS
            && let Some(mut next) = self.peers[peer.0 as usize].across.waiting.pop_front()
        {
            let known = &mut self.peers[peer.0 as usize];
            next.number = known.across.free_number();
            self.call(peer, &next);
            self.hand_over(peer, next, sink);
        }
        self.chores |= self.peers[peer.0 as usize].across.is_busy();
    }

    /// Goes on with one of them and hands it over if it is whole, or keeps it.
    fn hand_over<S: Sink>(&mut self, peer: PeerId, mut joint: Joint, sink: &mut S) {
        let known = &mut self.peers[peer.0 as usize];
        // Where the kernel has refused meanwhile, each of them finds that out.
        let pid = known.readable.unwrap_or(-1);
        joint.go_on(pid, known.ledger.claims(joint.number));
        if !joint.is_settled(pid) {
            return known.across.joints.push_back(joint);
        }
        let whole = self.end_joint(peer, &joint) == Pulled::Done;
        match whole {
            _ if self.boards.fetches.end(joint.token, whole) => {}
            true => sink.landed(peer, joint.token),
            false => sink.stranded(peer, joint.token),
        }
    }
}

impl Peer {
    /// Lets go of a fetch whose end nobody waits for any more.
    pub(super) fn abandon(&mut self, token: Token) {
        let across = &mut self.across;
        across.waiting.retain(|joint| joint.token != token);
        if let Some(at) = across.joints.iter().position(|joint| joint.token == token)
            && let Some(joint) = across.joints.remove(at)
        {
            self.ledger.claims(joint.number).close(joint.number, joint.parts);
        }
    }

    /// Counts a message of `len` bytes of the peer that was not announced.
    #[inline]
    pub(super) fn count_eager(&mut self, len: u64) {
        if self.ways.count_eager(len) {
            self.tell_ways();
        }
    }

    /// Tells the peer what it need not announce, if that has changed.
    #[inline]
    pub(super) fn tell_ways(&mut self) {
        let told = self.ways.told();
        if told != self.told && self.state == State::Open {
            self.told = told;
            self.ledger.told().store(told, Ordering::Relaxed);
        }
    }
}
