//! Connections to all peers at the start, for those who do not want to pay for each with its first message.

use std::io;

use mpi_core::port::{Full, PeerId};

use super::LocalPort;
use super::nets::Route;
use super::network::Network;
use crate::ring_order::Ring;
use crate::tcp;

/// In which order all connections are made at the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// As a ring, without threads.
    Ring,
    /// With a thread that accepts.
    Threads,
}

/// How far connecting to all has come.
pub struct Connecting {
    /// In a ring, for each network that connects: its peers.
    rings: Vec<(Network, Ring, Vec<PeerId>)>,
    /// With a thread, to these peers.
    served: Option<(Box<tcp::Server>, Vec<PeerId>)>,
}

impl LocalPort {
    /// Begins to connect to all peers that are reached over a network with connections. Cards that are missing
    /// are looked up; `None` when one is not there yet.
    ///
    /// # Errors
    /// The kernel gives no thread.
    pub fn start_connecting(&mut self, mode: Mode) -> io::Result<Option<Connecting>> {
        let mut peers = Network::ALL.map(|_| Vec::new());
        let (count, me) = (self.nets.as_ref().map_or(0, |nets| nets.routes.len()), self.me);
        for peer in (0..count).map(|place| PeerId(place as u32)).filter(|peer| *peer != me) {
            match self.route_to(peer) {
                Ok(Route::Network(network)) => peers[network as usize].push(peer),
                Ok(Route::SharedMemory | Route::Undecided) => {}
                Err(Full) => return Ok(None),
            }
        }
        let (rank, size) = (self.me_name.rank, self.shm.config().size);
        let mut state = Connecting { rings: Vec::new(), served: None };
        for (network, peers) in Network::ALL.into_iter().zip(peers) {
            match (network, mode, self.tcp()) {
                (Network::Tcp, Mode::Threads, Some(tcp)) => {
                    let server = tcp.start_server(&peers)?;
                    state.served = Some((Box::new(server), peers));
                }
                _ => state.rings.push((network, Ring::new(rank, size), peers)),
            }
        }
        Ok(Some(state))
    }

    /// Goes on with it; whether all are connected.
    pub fn connect(&mut self, state: &mut Connecting) -> bool {
        let Some(nets) = &mut self.nets else { return true };
        let mut is_done = true;
        for (network, ring, peers) in &mut state.rings {
            let skips = |peer| peers.binary_search(&peer).is_err();
            is_done &= nets.get_mut(*network).is_none_or(|net| net.connect(ring, skips));
        }
        if let (Some((server, peers)), Some(tcp)) = (&mut state.served, nets.tcp()) {
            is_done &= tcp.connect_served(server, peers);
        }
        is_done
    }
}
