//! Which way leads to a peer.
//!
//! It is decided when something is first sent there, from its business card and from settings that
//! all ranks have alike, so that both ends decide the same.

use mpi_core::port::{Full, PeerId};

use super::LocalPort;
use crate::shm::CARD_GAP;
use crate::tcp::{self, Tcp};

/// Which ways the user wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Wish {
    /// Shared memory on one node, TCP otherwise.
    #[default]
    Auto,
    /// Shared memory only.
    SharedMemory,
    /// TCP, also on one node.
    Tcp,
}

/// By what the way to a peer is chosen: alike on all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Choice {
    /// Which ways the user wants.
    pub wish: Wish,
    /// Ranks that take themselves for one node; 0 when all on a host do.
    pub node_ranks: u32,
}

/// The way to a peer, as far as it is decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Undecided,
    SharedMemory,
    Tcp,
}

/// The network, and who is reached through it.
pub(super) struct Net {
    pub(super) tcp: Tcp,
    pub(super) ways: Vec<(Way, u32)>,
}

impl Net {
    /// No peer is known yet.
    pub(super) fn new(tcp: Tcp) -> Net {
        Net { tcp, ways: Vec::new() }
    }

    #[inline]
    pub(super) fn way(&self, peer: PeerId) -> Way {
        self.ways.get(peer.0 as usize).map_or(Way::Undecided, |(way, _)| *way)
    }
}

impl LocalPort {
    /// Says how the way to a peer is chosen: before the first peer is made known.
    ///
    /// # Errors
    /// The wish cannot be granted; the text says so and lists what can.
    pub fn set_choice(&mut self, choice: Choice) -> Result<(), String> {
        if choice.wish == Wish::Tcp && self.net.is_none() && self.size_is_above_one() {
            return Err(format!(
                "rank 0 wants TCP, but rank {} has opened no network; possible here: auto, shm",
                self.me_name.rank
            ));
        }
        let needs_memory = choice.wish != Wish::Tcp && self.size_is_above_one();
        if needs_memory && !self.shm.is_reachable() {
            return Err(format!(
                "rank 0 wants shared memory where it leads, but the kernel gives rank {} none; possible: tcp",
                self.me_name.rank
            ));
        }
        let apart = choice.node_ranks != 0 && self.shm.config().size > choice.node_ranks;
        if choice.wish == Wish::SharedMemory && apart {
            return Err(format!(
                "shm leads nowhere from one group of {} ranks to the next, which take themselves \
                 for different nodes (FERRITE_NODE_RANKS); possible: auto, tcp",
                choice.node_ranks
            ));
        }
        self.choice = choice;
        Ok(())
    }

    fn size_is_above_one(&self) -> bool {
        self.shm.config().size > 1
    }

    /// Whether the two ranks are to take themselves for one node, their hosts aside.
    fn is_one_node(&self, rank: u32) -> bool {
        match self.choice.node_ranks {
            0 => true,
            k => rank / k == self.me_name.rank / k,
        }
    }

    /// Decides the way to a peer; [`Way::Undecided`] when its card is not there yet or there is
    /// no way at all.
    #[cold]
    #[inline(never)]
    pub(super) fn decide(&mut self, peer: PeerId) -> Way {
        let text = match self.shm.look_up(peer) {
            Ok(Some(text)) => text,
            Ok(None) => return Way::Undecided,
            Err(why) => {
                self.shm.lose(peer, &why);
                return Way::SharedMemory;
            }
        };
        let Some(net) = &self.net else { return Way::SharedMemory };
        let rank = net.ways.get(peer.0 as usize).map_or(u32::MAX, |(_, rank)| *rank);
        let is_here = self.shm.is_here(&text) == Some(true);
        let by_memory = is_here && self.is_one_node(rank);
        let way = match self.choice.wish {
            Wish::Tcp => Way::Tcp,
            Wish::SharedMemory => Way::SharedMemory,
            Wish::Auto if by_memory => Way::SharedMemory,
            Wish::Auto => Way::Tcp,
        };
        match way {
            Way::Tcp => self.take_network(peer, &text, is_here),
            _ if by_memory => self.shm.greet(peer, &text),
            _ => {
                let how = "it runs on another node, where FERRITE_TRANSPORT=shm does not reach; \
                           possible: auto, tcp";
                self.shm.lose(peer, how);
            }
        }
        if let Some(net) = &mut self.net
            && let Some(known) = net.ways.get_mut(peer.0 as usize)
        {
            known.0 = way;
        }
        way
    }

    /// Tells the network where a peer listens, by its card.
    fn take_network(&mut self, peer: PeerId, text: &str, is_here: bool) {
        let card = text.split(CARD_GAP).find_map(tcp::Card::from_text);
        match (card, &mut self.net) {
            (Some(card), Some(net)) => net.tcp.meet(peer, &card, is_here),
            _ => self.shm.lose(peer, "it has opened no network; possible: shm"),
        }
    }

    /// Whether frames to `peer` go over the network; decides it if need be.
    #[inline]
    pub(super) fn is_far(&mut self, peer: PeerId) -> Result<bool, Full> {
        let Some(net) = &self.net else { return Ok(false) };
        let way = match net.way(peer) {
            Way::Undecided => self.decide(peer),
            way => way,
        };
        match way {
            Way::Tcp => Ok(true),
            Way::SharedMemory => Ok(false),
            Way::Undecided => Err(Full),
        }
    }
}
