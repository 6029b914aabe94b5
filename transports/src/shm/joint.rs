//! The receiver's end of a message that both ends move (see `across`): it calls for help and fetches parts,
//! from the front, out of the sender's memory.
//!
//! In: what a peer offered. Out: messages that are in place, and calls for help.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mpi_core::boards::Mover;
use mpi_core::port::{PeerId, Pulled, Sink, Token};

use super::Shm;
use super::across::{HELP, HELP_BUSY, PARTS_A_POLL};
use super::division::Division;
use super::ledger::{Ledger, WORDS};
use super::peer::{Peer, State};
use crate::sys::process::has_ended;
use crate::sys::{cma, wait};

/// What takes longer to write is worth a word: the other process does not run.
const WORTH_A_WORD: Duration = Duration::from_secs(5);

/// Bytes that are to come across.
pub(super) struct Crossing {
    /// Where they lie in the peer's memory, and where they go.
    pub from: u64,
    pub to: *mut u8,
    pub len: u64,
    /// What they are called when they are there.
    pub token: Token,
}

/// A message that this process fetches, with the help of its sender.
pub(super) struct Joint {
    number: u32,
    /// The process that sends it.
    sender: i32,
    crossing: Crossing,
    /// What the sender is called by.
    call: u64,
    division: Division,
    parts: u32,
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

/// What this process fetches from one peer.
#[derive(Default)]
pub(super) struct Joints {
    next: u32,
    begun: VecDeque<Joint>,
    /// Those for which there is no word yet.
    waiting: VecDeque<Joint>,
}

impl Joints {
    /// A number for the next transfer whose word no other uses.
    fn free_number(&mut self) -> u32 {
        let word = |number: u32| number as usize % WORDS;
        while self.begun.iter().any(|joint| word(joint.number) == word(self.next)) {
            self.next = self.next.wrapping_add(1);
        }
        self.next = self.next.wrapping_add(1);
        self.next.wrapping_sub(1)
    }

    /// The peer says that it has moved so many parts of the transfer of this number.
    pub(super) fn note_help(&mut self, number: u32, parts: u64) {
        if let Some(joint) = self.begun.iter_mut().find(|joint| joint.number == number) {
            joint.helped = Some(u32::try_from(parts).unwrap_or(u32::MAX));
        }
    }

    /// Whether anything is left that only a poll goes on with.
    pub(super) fn is_busy(&self) -> bool {
        self.begun.iter().any(|joint| joint.others.is_none())
            || !self.waiting.is_empty() && self.begun.len() < WORDS
    }

    /// Gives everything up and forgets it but for the numbers.
    pub(super) fn clear(&mut self, ledger: &Ledger) {
        self.begun.iter().for_each(|joint| joint.give_up(ledger));
        *self = Joints { next: self.next, ..Joints::default() };
    }
}

impl Joint {
    /// Nothing has been moved yet, unless there would be too many parts.
    fn new(sender: i32, crossing: Crossing, by: Mover) -> Option<Joint> {
        let (call, division) = match by {
            Mover::Writer => (HELP_BUSY, Division::of_busy(crossing.len)),
            Mover::Both | Mover::Reader { .. } => (HELP, Division::of(crossing.len)),
        };
        let parts = division.parts()?;
        let (number, own, bytes, nanos) = (0, 0, 0, 0);
        let (others, helped, failed) = (None, None, false);
        let joint = Joint {
            number,
            sender,
            crossing,
            call,
            division,
            parts,
            own,
            bytes,
            nanos,
            others,
            helped,
            failed,
        };
        Some(joint)
    }

    /// Moves parts until none is left, or others are to have their turn.
    fn go_on(&mut self, pid: i32, ledger: &Ledger) {
        for _ in 0..PARTS_A_POLL {
            if self.others.is_some() {
                return;
            }
            if self.own >= self.parts || !ledger.take(self.number, self.parts) {
                self.others = Some(self.parts.saturating_sub(self.own));
                return;
            }
            if !self.fetch(pid, self.own) {
                self.failed = true;
                let taken = ledger.close(self.number, self.parts);
                self.others = Some(taken.saturating_sub(self.own + 1));
                return;
            }
            self.own += 1;
        }
    }

    /// Fetches one part; whether the kernel let it.
    fn fetch(&mut self, pid: i32, part: u32) -> bool {
        let (at, len) = self.division.front(part);
        let Crossing { from, to, .. } = self.crossing;
        let begin = Instant::now();
        // SAFETY: the receive's memory has room for the whole message, and the request keeps it
        // until `landed` or `stranded`, by the contract of `pull`.
        let fetched = unsafe {
            cma::read_exact(pid, from.wrapping_add(at), to.wrapping_add(at as usize), len)
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

    /// Nobody waits for its end any more, so that its memory is the program's again: the sender takes no further
    /// part, and what it is writing now it writes to the end first. That is one call of the kernel, for which a
    /// sender that lives needs nothing of this process.
    #[cold]
    fn give_up(&self, ledger: &Ledger) {
        ledger.close(self.number, self.parts);
        outwait(self.sender, || ledger.is_written_to(self.number));
    }
}

/// Waits while the process `pid` is writing to memory of this one that is about to be the program's again.
pub(super) fn outwait(pid: i32, is_writing: impl Fn() -> bool) {
    let (since, mut is_told) = (Instant::now(), false);
    while is_writing() && !has_ended(pid) {
        wait::give_way();
        if !is_told && since.elapsed() > WORTH_A_WORD {
            tracing::warn!(
                process = pid,
                "an operation is given up, but another process is still writing to this one's memory, which waits \
                 for it; if that process is stopped, let it go on (kill -CONT) or end it"
            );
            is_told = true;
        }
    }
}

impl Shm {
    /// Fetches bytes of `peer` with its help; if the writer is to move them, calls for that and leaves the
    /// rest to the next poll. Nothing if there is no such way.
    pub(super) fn join(&mut self, peer: PeerId, crossing: Crossing, by: Mover) -> Option<Pulled> {
        let known = &mut self.peers[peer.0 as usize];
        if matches!(by, Mover::Reader { .. }) || known.state != State::Open {
            return None;
        }
        let pid = known.readable?;
        let mut joint = Joint::new(pid, crossing, by)?;
        let joints = &mut known.across.joints;
        if joints.begun.len() >= WORDS {
            joints.waiting.push_back(joint);
            return Some(Pulled::Begun);
        }
        joint.number = joints.free_number();
        if !self.call(peer, &joint) {
            return None;
        }
        if by == Mover::Both {
            joint.go_on(pid, &self.peers[peer.0 as usize].ledger);
        }
        if joint.is_settled(pid) {
            return Some(self.end_joint(peer, &joint));
        }
        self.chores |= joint.others.is_none();
        self.peers[peer.0 as usize].across.joints.begun.push_back(joint);
        Some(Pulled::Begun)
    }

    /// Calls for help, which may not be heard now; whether there still is somebody to call.
    fn call(&mut self, peer: PeerId, joint: &Joint) -> bool {
        let Crossing { from, to, len, .. } = joint.crossing;
        self.peers[peer.0 as usize].ledger.open(joint.number);
        self.tell(peer, joint.call, joint.number, [from, to as u64, len]);
        let Peer { state, ledger, .. } = &self.peers[peer.0 as usize];
        let is_there = *state == State::Open;
        if !is_there {
            // It may have heard the call all the same, if it lives and nobody could ring.
            joint.give_up(ledger);
        }
        is_there
    }

    /// What came of a message that nobody works at any more.
    fn end_joint(&mut self, peer: PeerId, joint: &Joint) -> Pulled {
        let known = &mut self.peers[peer.0 as usize];
        if joint.failed {
            tracing::info!(rank = known.rank, "cross-memory copy failed");
            known.readable = None;
            return Pulled::Unavailable;
        }
        let len = joint.crossing.len;
        known.ways.learn_across(len, joint.bytes, joint.nanos);
        known.tell_ways();
        self.counters.bytes_cross_memory += len;
        Pulled::Done
    }

    /// Goes on with what comes across from `peer`, hands over what is whole, and begins what could
    /// not begin before.
    pub(super) fn settle<S: Sink>(&mut self, peer: PeerId, sink: &mut S) {
        for _ in 0..self.peers[peer.0 as usize].across.joints.begun.len() {
            let known = &mut self.peers[peer.0 as usize];
            let Some(joint) = known.across.joints.begun.pop_front() else { break };
            self.hand_over(peer, joint, sink);
        }
        while self.peers[peer.0 as usize].across.joints.begun.len() < WORDS
            && let Some(mut next) = self.peers[peer.0 as usize].across.joints.waiting.pop_front()
        {
            let known = &mut self.peers[peer.0 as usize];
            next.number = known.across.joints.free_number();
            if !self.call(peer, &next) {
                return;
            }
            self.hand_over(peer, next, sink);
        }
        self.chores |= self.peers[peer.0 as usize].across.is_busy();
    }

    /// Goes on with one of them and hands it over if it is whole, or keeps it.
    fn hand_over<S: Sink>(&mut self, peer: PeerId, mut joint: Joint, sink: &mut S) {
        let known = &mut self.peers[peer.0 as usize];
        // Where the kernel has refused meanwhile, each of them finds that out.
        let pid = known.readable.unwrap_or(-1);
        joint.go_on(pid, &known.ledger);
        if !joint.is_settled(pid) {
            return known.across.joints.begun.push_back(joint);
        }
        let token = joint.crossing.token;
        let whole = self.end_joint(peer, &joint) == Pulled::Done;
        match whole {
            _ if self.boards.fetches.end(token, whole) => {}
            true => sink.landed(peer, token),
            false => sink.stranded(peer, token),
        }
    }
}

impl Peer {
    /// Lets go of a fetch whose end nobody waits for any more; its memory is the program's again then.
    pub(super) fn abandon(&mut self, token: Token) {
        let joints = &mut self.across.joints;
        joints.waiting.retain(|joint| joint.crossing.token != token);
        if let Some(at) = joints.begun.iter().position(|joint| joint.crossing.token == token)
            && let Some(joint) = joints.begun.remove(at)
        {
            joint.give_up(&self.ledger);
        }
    }
}
