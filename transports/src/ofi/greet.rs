//! How two ends get a connection: a hello each way, which only processes of the job can say.

use mpi_core::port::PeerId;

use super::bindings::{FI_ADDR_STR, FI_COMPLETION, FI_INJECT};
use super::calls::{self, Piece};
use super::card::Card;
use super::slots::What;
use super::stamp::Kind;
use super::{Ofi, Stage};
use crate::rdma::fabric::Completion;
use crate::tcp::Secret;

/// Bytes of a hello.
pub(super) const HELLO_BYTES: usize = 8;

/// What shows that a process knows the secret of the job.
#[derive(Clone, Copy)]
pub(super) struct Proof {
    key: [u8; 32],
}

impl Proof {
    pub(super) fn new(secret: &Secret, job: &str) -> Proof {
        let text = ["ferrite ofi 1 ", job].concat();
        Proof { key: *blake3::keyed_hash(secret, text.as_bytes()).as_bytes() }
    }

    /// What the hello of a rank says.
    pub(super) fn of(&self, rank: u32) -> u64 {
        self.number(b'r', rank)
    }

    /// What each message of the job says.
    pub(super) fn mark(&self) -> u64 {
        self.number(b'j', 0)
    }

    fn number(&self, what: u8, rank: u32) -> u64 {
        let [a, b, c, d] = rank.to_le_bytes();
        let hash = blake3::keyed_hash(&self.key, &[what, a, b, c, d]);
        u64::from_le_bytes(std::array::from_fn(|place| hash.as_bytes()[place]))
    }
}

impl Ofi {
    pub(super) fn meet_at(&mut self, peer: PeerId, text: &str) -> Result<(), String> {
        let rank = self.peers.get(peer).rank;
        let wrong = |why: &str| format!("rank {rank} cannot be reached by libfabric: {why}");
        let card = Card::from_text(text);
        let card = card.ok_or_else(|| wrong(&format!("\"{text}\" is no card of an endpoint")))?;
        if let Some(why) = self.card.tongue.differs(&card.tongue) {
            return Err(wrong(&why));
        }
        let is_text = self.objects.info.get().addr_format == FI_ADDR_STR;
        let is_whole = match is_text {
            true => card.address.last() == Some(&0),
            false => card.address.len() == self.card.address.len(),
        };
        if !is_whole {
            let provider = &self.card.tongue.provider;
            return Err(wrong(&format!("its address is none that provider {provider} has here")));
        }
        if self.peers.get(peer).address.is_none() {
            self.peers.meet(peer, card.address);
            self.begin(peer);
        }
        Ok(())
    }

    pub(super) fn want(&mut self, peer: PeerId) {
        if self.peers.get(peer).stage == Stage::Apart {
            self.peers.get_mut(peer).stage = Stage::Wanted;
            self.begin(peer);
        }
    }

    /// Greets a peer, if it is time.
    fn begin(&mut self, id: PeerId) {
        if !self.peers.may_greet(id) {
            return;
        }
        let peer = self.peers.get(id);
        let rank = peer.rank;
        match self.objects.insert(peer.address.as_deref().unwrap_or_default()) {
            Ok(at) => {
                let peer = self.peers.get_mut(id);
                (peer.at, peer.stage) = (at, Stage::Greeting);
                self.waiting.hellos.push(id);
                self.say_hellos();
            }
            Err(why) => self.lose(id, format!("rank {rank} cannot be reached: {why}")),
        }
    }

    /// Sends the hellos that wait, as far as there is room: none before there is a connection below.
    pub(super) fn say_hellos(&mut self) {
        let waiting = std::mem::take(&mut self.waiting.hellos);
        for id in waiting {
            if self.peers.get(id).stage == Stage::Greeting && !self.say_hello(id) {
                self.waiting.hellos.push(id);
            }
        }
    }

    /// Whether there was room, or will never be.
    fn say_hello(&mut self, id: PeerId) -> bool {
        let Ok(slot) = self.slot(What::Hello(id)) else { return false };
        let hello = self.proof.of(self.config.rank);
        self.fill(slot, [hello, 0]);
        self.send_scratch(slot, id, HELLO_BYTES, Kind::Hello, |ofi| {
            ofi.peers.get_mut(id).stage = Stage::Greeted;
        })
    }

    /// Sends the first bytes of a slot's scratch. Whether there was room, or will never be.
    pub(super) fn send_scratch(
        &mut self,
        slot: std::ptr::NonNull<super::Slot>,
        id: PeerId,
        len: usize,
        kind: Kind,
        sent: impl FnOnce(&mut Ofi),
    ) -> bool {
        let from = Piece { len, ..self.scratch(slot) };
        let inline = if len <= self.abilities.inline_bytes { FI_INJECT } else { 0 };
        let (to, data) = (self.peers.get(id).at, self.stamps.message(kind));
        // SAFETY: the endpoint is open; the bytes stay as they are until the slot's completion.
        let error =
            unsafe { calls::send(self.objects.ep(), from, to, data, FI_COMPLETION | inline) };
        if error == 0 {
            self.is_under_way(id);
            sent(self);
            return true;
        }
        self.refused(id, Some(slot), error) == super::post::Refused::ForEver
    }

    /// A hello has come, with these bytes; whether a process of this job said it.
    pub(super) fn heard_hello(&mut self, rank: u32, told: u64) -> bool {
        let is_of_job = told == self.proof.of(rank);
        if is_of_job && let Some(id) = self.peers.hello_of(rank) {
            self.begin(id);
            self.settle(id);
        }
        is_of_job
    }

    /// This process's hello has come to the peer.
    pub(super) fn is_heard(&mut self, id: PeerId) {
        let peer = self.peers.get_mut(id);
        if peer.stage == Stage::Greeted {
            peer.stage = Stage::Heard;
            self.settle(id);
        }
    }

    /// There is a connection once both hellos have come.
    fn settle(&mut self, id: PeerId) {
        let peer = self.peers.get_mut(id);
        if peer.stage == Stage::Heard && peer.has_come {
            peer.stage = Stage::Up;
            self.news.push(Completion::Up(id));
        }
    }

    /// Ends the connection to a peer, and says so. A peer that may have heard of this end takes itself for connected,
    /// and sends: then this is the end of a connection, not one that never was (decision 44h).
    pub(super) fn lose(&mut self, id: PeerId, why: String) {
        let peer = self.peers.get(id);
        let may_be_heard = peer.stage != Stage::Up
            && (peer.has_come || matches!(peer.stage, Stage::Greeted | Stage::Heard));
        if self.forget(id) {
            if may_be_heard {
                self.news.push(Completion::Up(id));
            }
            self.news.push(Completion::Down(id, why));
        }
    }

    /// Ends it without a word. Work that is under way comes back as the provider ends it: libfabric has no call that
    /// takes it back.
    pub(super) fn cut_off(&mut self, id: PeerId) {
        self.forget(id);
        // Between polls there are no messages among it.
        let is_of = |one: &Completion| matches!(one, Completion::Up(it) | Completion::Down(it, _) if *it == id);
        self.news.retain(|one| !is_of(one));
    }

    /// Whether there was anything with a peer; there is nothing any more.
    fn forget(&mut self, id: PeerId) -> bool {
        for (_, _, work) in self.waiting.values.extract_if(.., |(to, ..)| *to == id) {
            self.news.extend(work.map(Completion::Failed));
        }
        self.waiting.stalled.retain(|(whom, _)| *whom != id);
        self.peers.lose(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_hello_says_depends_on_secret_job_and_rank() {
        let proof = Proof::new(&[1; 32], "a");
        let others =
            [Proof::new(&[2; 32], "a").of(3), Proof::new(&[1; 32], "b").of(3), proof.of(4)];
        assert!(!others.contains(&proof.of(3)));
        assert_eq!(Proof::new(&[1; 32], "a").of(3), proof.of(3));
        assert_ne!(proof.mark(), Proof::new(&[1; 32], "b").mark());
    }
}
