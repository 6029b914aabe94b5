//! Long messages from memory to memory, moved by both ends at once.
//!
//! The receiver of an announced message (`joint`) calls the sender to help and begins to fetch parts, from
//! the front, out of the sender's memory; the sender (`helping`), as soon as it looks, writes parts from
//! the back into the receiver's, until none is left (see `ledger`). So both processors move half of the
//! bytes each, once; a sender that is elsewhere costs time and nothing else, since the receiver then
//! moves all. Who has written parts says so by a frame, behind which the message is whole.
//!
//! In: the frames of both ends, and polls. Out: frames to the other end.

use mpi_core::port::{PeerId, Sink};

use super::Shm;
use super::division::Division;
use super::helping::Helps;
use super::joint::Joints;
use super::lane::Class;
use super::ledger::Ledger;

/// Parts that one end moves before others get their turn.
pub(super) const PARTS_A_POLL: u32 = 16;
/// What a joint frame's first word says, above the number of the transfer.
pub(super) const HELP: u64 = 0;
pub(super) const HELPED: u64 = 1;
/// A call for help by a receiver that has something else to do first.
pub(super) const HELP_BUSY: u64 = 2;

/// What one peer and this process have under way across.
#[derive(Default)]
pub(super) struct Across {
    /// What this process fetches.
    pub joints: Joints,
    /// What it helps the peer to fetch.
    pub helps: Helps,
}

impl Across {
    /// Whether anything is left that only a poll goes on with.
    pub(super) fn is_busy(&self) -> bool {
        self.helps.is_busy() || self.joints.is_busy()
    }

    /// Gives everything up, since the peer is gone, or is taken for it: then it may be writing still.
    pub(super) fn clear(&mut self, ledger: &Ledger) {
        self.joints.clear(ledger);
        self.helps = Helps::default();
    }
}

impl Shm {
    /// A frame to `peer` about a transfer, if there is room for it; whether there was.
    pub(super) fn tell(&mut self, peer: PeerId, what: u64, number: u32, rest: [u64; 3]) -> bool {
        if !self.make_room(peer) {
            return false;
        }
        let to = &mut self.peers[peer.0 as usize];
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
            (HELP, number) => self.help(peer, number, [a, b], Division::of(c)),
            (HELP_BUSY, number) => self.help(peer, number, [a, b], Division::of_busy(c)),
            (HELPED, number) => {
                self.peers[peer.0 as usize].across.joints.note_help(number, a);
                self.settle(peer, sink);
            }
            _ => return Err("a frame of it has an impossible form"),
        }
        Ok(())
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
}
