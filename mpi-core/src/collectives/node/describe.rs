//! What each process does in a collective: who writes what to whom, who takes what from whom, and what it copies for
//! itself. Where it reduces too, [`reduce`](super::reduce) says so.
//!
//! Enters: a call. Leaves: its transfer, which a blocking call runs to its end and any other one begins.

use super::member::AtSegment;
use super::message::{Incoming, Outgoing};
use super::pattern::Pattern;
use super::transfer::Transfer;
use crate::buffer::UserBuffer;
use crate::coll::menu::Algorithm;
use crate::coll::place::{Place, Places};
use crate::coll::plan::Problem;
use crate::coll::prepared::{Data, Prepared};
use crate::datatype::{Packer, Unpacker};
use crate::error::Result;
use crate::node_memory::{Audience, NodeMemory, Source};
use crate::port::Port;

/// The root that gives something to all in this operation: all members must think alike of that (see
/// [`gives`](AtSegment::gives)), whichever way each of them goes.
fn giver(problem: &Problem) -> Option<u32> {
    match problem {
        Problem::Bcast { root, .. }
        | Problem::Scatter { root, .. }
        | Problem::Scatterv { root, .. } => Some(*root as u32),
        _ => None,
    }
}

/// What one process does in a call, as far as that has been described.
pub(super) struct Description<'d, 'a, P: Port> {
    pub(super) at: &'d mut AtSegment<'a, P>,
    pub(super) transfer: Box<Transfer>,
}

impl<P: Port> AtSegment<'_, P> {
    /// What this process does in a call.
    pub(super) fn describe(
        &mut self,
        call: &Prepared,
        algorithm: Algorithm,
    ) -> Result<Box<Transfer>> {
        let problem = &call.problem;
        self.share_caches(usize::MAX, Pattern::by(algorithm, problem));
        if let Some(root) = giver(problem) {
            self.gives(root)?;
        }
        let mut description = Description { transfer: self.entry.pending.transfer(), at: self };
        match &call.data {
            Data::Moved { send, recv } => description.moves(problem, send, recv)?,
            Data::Reduced(data) => description.reduces(problem, data, algorithm)?,
        }
        Ok(description.transfer)
    }
}

impl<P: Port> Description<'_, '_, P> {
    fn moves(&mut self, problem: &Problem, send: &Places, recv: &Places) -> Result<()> {
        let me = self.at.member.rank as usize;
        match problem {
            Problem::Barrier => self.meet(),
            Problem::Bcast { root, .. } if *root == me => {
                let message = Outgoing::of_root(self.at, self.packer_of(recv.first())?);
                self.transfer.send(self.at.offered(message));
            }
            Problem::Bcast { root, .. } => {
                let into = self.unpacker_of(recv.first())?;
                self.transfer.receive(Incoming::new(Source::Public(*root as u32), into));
            }
            Problem::Gather { root, .. } | Problem::Gatherv { root, .. } if *root != me => {
                let (to, block) = (Audience::One(*root as u32), self.packer_of(send.first())?);
                let message = Outgoing::exchanged(self.at, to, block);
                self.transfer.send(self.at.offered(message));
            }
            Problem::Gather { .. } | Problem::Gatherv { .. } => {
                self.at.takes()?;
                self.receive_all(recv, Pattern::Rooted)?;
                self.keep_own(Pattern::Rooted, send.first(), recv.get(me))?;
            }
            Problem::Scatter { root, .. } | Problem::Scatterv { root, .. } if *root != me => {
                let into = self.unpacker_of(recv.first())?;
                self.transfer.receive(Incoming::new(Source::Private(*root as u32), into));
            }
            Problem::Scatter { .. } | Problem::Scatterv { .. } => {
                for rank in self.at.member.others() {
                    let source = self.packer_of(send.get(rank as usize))?;
                    self.transfer.send(Outgoing::new(self.at, Audience::One(rank), source, 1));
                }
                self.transfer.let_fetch(self.at);
                self.keep_own(Pattern::Rooted, send.get(me), recv.first())?;
            }
            Problem::Allgather { in_place, .. } => {
                let block = if *in_place { recv.get(me) } else { send.first() };
                let out = self.packer_of(block)?;
                self.transfer.send(Outgoing::exchanged(self.at, Audience::Everyone, out));
                let own = (send.first(), recv.get(me));
                self.exchange_blocks(recv, Pattern::EachToAll, own)?;
            }
            Problem::Alltoall { in_place, .. } | Problem::Alltoallv { in_place, .. } => {
                let from = if *in_place { recv } else { send };
                for rank in self.at.member.others() {
                    let source = self.packer_of(from.get(rank as usize))?;
                    self.transfer.send(Outgoing::exchanged(self.at, Audience::One(rank), source));
                }
                self.transfer.swap(*in_place);
                let own = if *in_place { (None, None) } else { (send.get(me), recv.get(me)) };
                self.exchange_blocks(recv, Pattern::EachToEach, own)?;
            }
            _ => unreachable!("the other problems reduce"),
        }
        Ok(())
    }

    /// What all give each other, and what this process keeps of its own.
    fn exchange_blocks(
        &mut self,
        recv: &Places,
        pattern: Pattern,
        (own, into): (Option<Place>, Option<Place>),
    ) -> Result<()> {
        self.transfer.let_fetch(self.at);
        self.receive_all(recv, pattern)?;
        self.keep_own(pattern, own, into)
    }

    /// Every other member's block comes in.
    fn receive_all(&mut self, recv: &Places, pattern: Pattern) -> Result<()> {
        let past = self.at.is_beyond_caches(recv, pattern);
        let from = pattern.source();
        for rank in self.at.member.others() {
            let into = self.unpacker_of(recv.get(rank as usize))?;
            let message = match pattern {
                Pattern::Rooted => Incoming::new(from(rank), into),
                _ => Incoming::exchanged(from(rank), into),
            };
            self.transfer.receive(message.past_caches(past));
        }
        let expect = self.at.member.oversubscribed && self.are_one_fragment_each(recv);
        self.transfer.expect_one_fragment_each(expect);
        Ok(())
    }

    /// This process keeps a block of its own, unless it is in place: past the caches where none holds what all have.
    fn keep_own(
        &mut self,
        pattern: Pattern,
        own: Option<Place>,
        into: Option<Place>,
    ) -> Result<()> {
        let (Some(own), Some(into)) = (own, into) else { return Ok(()) };
        let block =
            (own.packer(&self.at.entry.datatypes)?, into.unpacker(&self.at.entry.datatypes)?);
        let past = match pattern {
            Pattern::Rooted => false,
            _ => self.at.exceeds_caches(pattern, block.0.remaining()),
        };
        self.transfer.keep_own(block, past);
        Ok(())
    }

    fn packer_of(&self, place: Option<Place>) -> Result<Packer> {
        place.map_or(Ok(Packer::contiguous(UserBuffer::BOTTOM, 0)), |place| {
            place.packer(&self.at.entry.datatypes)
        })
    }

    fn unpacker_of(&self, place: Option<Place>) -> Result<Unpacker> {
        place.map_or(Ok(Unpacker::contiguous(UserBuffer::BOTTOM, 0)), |place| {
            place.unpacker(&self.at.entry.datatypes)
        })
    }

    /// Whether all blocks from others may be one fragment each that nobody fetches.
    fn are_one_fragment_each(&mut self, blocks: &Places) -> bool {
        let to = Audience::One(self.at.member.neighbour());
        let lens = (0..self.at.member.size as usize).filter_map(|rank| blocks.get(rank));
        lens.map(|place| place.bytes() as u64).all(|len| {
            self.is_one_fragment(to, len)
                && !self.at.entry.port.memory_mut().is_better_exposed(
                    self.at.member.segment,
                    to,
                    len,
                )
        })
    }

    /// Whether a message is one fragment.
    pub(super) fn is_one_fragment(&self, to: Audience, len: u64) -> bool {
        len <= self.at.fragment_max(to) as u64
    }

    /// Everyone tells everyone that it is there.
    fn meet(&mut self) {
        self.transfer.send(Outgoing::signal(Audience::Everyone));
        for rank in self.at.member.others() {
            self.transfer.receive(Incoming::signal(Source::Public(rank)));
        }
        self.transfer.expect_one_fragment_each(true);
    }
}
