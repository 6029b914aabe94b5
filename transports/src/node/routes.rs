//! Which way leads to a peer.
//!
//! It is decided when something is first sent there, from its business cards and from settings that
//! all ranks have alike, so that both ends decide the same.

use mpi_core::port::{Full, PeerId};

use super::LocalPort;
use super::nets::{Closed, Route};
use super::network::Network;
use crate::cards::NODE;

/// Which ways the user wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Preference {
    /// Shared memory on one node, the best network that both ends have otherwise.
    #[default]
    Auto,
    /// Shared memory only.
    SharedMemory,
    /// One network, also on one node.
    Network(Network),
}

/// By what the way to a peer is chosen: alike on all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Choice {
    /// Which ways the user wants.
    pub preference: Preference,
    /// Ranks that take themselves for one node; 0 when all on a host do.
    pub node_ranks: u32,
}

impl LocalPort {
    /// Says how the way to a peer is chosen: before the first peer is made known.
    ///
    /// # Errors
    /// The preference cannot be met; the text says so and lists what can.
    pub fn set_choice(&mut self, choice: Choice) -> Result<(), String> {
        let size = self.shm.config().size;
        match choice.preference {
            _ if size == 1 => {}
            Preference::Network(network) => {
                let nets = self.nets.iter();
                let open: Vec<Network> = nets.flat_map(|nets| nets.kinds()).collect();
                if !open.contains(&network) {
                    let possible =
                        ["auto", "shm"].into_iter().chain(open.iter().map(|net| net.word()));
                    return Err(format!(
                        "rank 0 wants {}, but rank {} has not opened it; possible here: {}",
                        network.name(),
                        self.me_name.rank,
                        possible.collect::<Vec<_>>().join(", ")
                    ));
                }
            }
            Preference::Auto | Preference::SharedMemory if !self.shm.is_reachable() => {
                return Err(format!(
                    "rank 0 wants shared memory where it leads, but the kernel gives rank {} none; \
                     possible: {}",
                    self.me_name.rank,
                    Network::words()
                ));
            }
            Preference::SharedMemory if choice.node_ranks != 0 && size > choice.node_ranks => {
                return Err(format!(
                    "shm leads nowhere from one group of {} ranks to the next, which take \
                     themselves for different nodes (FERRITE_NODE_RANKS); possible: auto, {}",
                    choice.node_ranks,
                    Network::words()
                ));
            }
            Preference::Auto | Preference::SharedMemory => {}
        }
        self.choice = choice;
        Ok(())
    }

    /// Whether the two ranks are to take themselves for one node, their hosts aside.
    fn is_one_node(&self, rank: u32) -> bool {
        match self.choice.node_ranks {
            0 => true,
            k => rank / k == self.me_name.rank / k,
        }
    }

    /// Decides the way to a peer; [`Route::Undecided`] when its card is not there yet. A peer to which
    /// no way leads is lost.
    #[cold]
    #[inline(never)]
    pub(super) fn decide(&mut self, peer: PeerId) -> Route {
        let route = match self.find_route(peer) {
            Ok(route) => route,
            Err(why) => {
                self.shm.contacts.lose(peer, &why);
                Route::SharedMemory
            }
        };
        if let Some(nets) = &mut self.nets
            && let Some(known) = nets.routes.get_mut(peer.0 as usize)
        {
            known.0 = route;
        }
        route
    }

    /// How many networks may lead to a peer: those that both ends have and that are not known not to.
    pub(super) fn routes_left(&mut self, peer: PeerId) -> usize {
        let Some(nets) = &self.nets else { return 0 };
        let may = |network: &Network| match self.choice.preference {
            Preference::Auto => true,
            Preference::Network(only) => only == *network,
            Preference::SharedMemory => false,
        };
        let networks: Vec<Network> =
            nets.kinds().filter(may).filter(|network| !nets.is_closed(peer, *network)).collect();
        let mut count = 0;
        for network in networks {
            count +=
                usize::from(matches!(self.shm.contacts.look_up(peer, network.word()), Ok(Some(_))));
        }
        count
    }

    /// Finds the way to a peer and meets it there.
    pub(super) fn find_route(&mut self, peer: PeerId) -> Result<Route, String> {
        let Some(text) = self.shm.contacts.look_up(peer, NODE)? else {
            return Ok(Route::Undecided);
        };
        let Some(nets) = &self.nets else { return Ok(Route::SharedMemory) };
        let rank = nets.routes.get(peer.0 as usize).map_or(u32::MAX, |(_, rank)| *rank);
        let is_here = self.shm.contacts.is_here(&text) == Some(true);
        let by_memory = is_here && self.is_one_node(rank);
        match self.choice.preference {
            Preference::Auto | Preference::SharedMemory if by_memory => {
                self.shm.contacts.greet(peer, &text);
                Ok(Route::SharedMemory)
            }
            Preference::SharedMemory => Err(format!(
                "it runs on another node, where FERRITE_TRANSPORT=shm does not reach; possible: \
                 auto, {}",
                Network::words()
            )),
            Preference::Network(network) => self.reach(peer, &[network], is_here),
            Preference::Auto => self.reach(peer, &Network::ALL, is_here),
        }
    }

    /// Meets a peer in the first of these networks that both ends have open.
    fn reach(&mut self, peer: PeerId, among: &[Network], is_here: bool) -> Result<Route, String> {
        let open: Vec<Network> = self.nets.iter().flat_map(|nets| nets.kinds()).collect();
        for network in among.iter().copied().filter(|network| open.contains(network)) {
            if self.nets.as_ref().is_some_and(|nets| nets.is_closed(peer, network)) {
                continue;
            }
            match self.introduce(peer, network, is_here) {
                Ok(true) => {
                    self.tell_fall(peer, network);
                    return Ok(Route::Network(network));
                }
                Ok(false) => {}
                Err(how) => self.close(Closed { peer, network, how }),
            }
        }
        let closed = self.nets.iter().flat_map(|nets| &nets.closed);
        let how: Vec<&str> =
            closed.filter(|one| one.peer == peer).map(|one| &one.how[..]).collect();
        if !how.is_empty() {
            return Err(how.join("; "));
        }
        let mut theirs = Vec::new();
        for network in Network::ALL {
            if self.shm.contacts.look_up(peer, network.word())?.is_some() {
                theirs.push(network);
            }
        }
        let list = |networks: &[Network]| match networks {
            [] => "none".to_owned(),
            some => some.iter().map(|network| network.name()).collect::<Vec<_>>().join(", "),
        };
        Err(format!(
            "no network leads there: it has opened {}, this process {}, and FERRITE_TRANSPORT lets \
             them use {}",
            list(&theirs),
            list(&open),
            list(among)
        ))
    }

    /// Tells a network where a peer is, by its card there; whether it has one, which is settled once
    /// its node's card has been found (see [`crate::cards`]).
    fn introduce(&mut self, peer: PeerId, network: Network, is_here: bool) -> Result<bool, String> {
        match (self.shm.contacts.look_up(peer, network.word())?, &mut self.nets) {
            (Some(text), Some(nets)) => {
                nets.meet(network, (peer, &text, is_here))?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// A network has to reach a peer that it has not met, since the peer came to it by itself.
    #[cold]
    #[inline(never)]
    pub(super) fn introduce_sought(&mut self, network: Network, peer: PeerId) {
        let met = self.shm.contacts.look_up(peer, NODE).and_then(|text| match text {
            Some(text) => {
                let is_here = self.shm.contacts.is_here(&text) == Some(true);
                self.introduce(peer, network, is_here)
            }
            None => Ok(false),
        });
        if let Err(why) = met {
            if let Some(net) = self.nets.as_mut().and_then(|nets| nets.get_mut(network)) {
                net.give_up(peer);
            }
            self.shm.contacts.lose(peer, &why);
        }
    }

    /// The way to `peer`; decides it if need be.
    #[inline]
    pub(super) fn route_to(&mut self, peer: PeerId) -> Result<Route, Full> {
        let Some(nets) = &self.nets else { return Ok(Route::SharedMemory) };
        let route = match nets.route(peer) {
            Route::Undecided => self.decide(peer),
            route => route,
        };
        if route == Route::Undecided { Err(Full) } else { Ok(route) }
    }
}
