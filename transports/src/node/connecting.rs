//! Connections to all peers at the start, for those who do not want to pay for each with its first message.

use std::io;

use mpi_core::port::{Full, PeerId};

use super::LocalPort;
use super::nets::Way;
use super::network::Network;
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
pub enum Connecting {
    /// As a ring, to these peers.
    Ring(tcp::Ring, Vec<PeerId>),
    /// With a thread, to these peers.
    Served(Box<tcp::Server>, Vec<PeerId>),
}

impl LocalPort {
    /// Begins to connect to all peers that are reached over TCP. Cards that are missing
    /// are looked up; `None` when one is not there yet.
    ///
    /// # Errors
    /// The kernel gives no thread.
    pub fn start_connecting(&mut self, mode: Mode) -> io::Result<Option<Connecting>> {
        let count = self.nets.as_ref().map_or(0, |nets| nets.ways.len());
        let mut peers = Vec::new();
        let me = self.me;
        for peer in (0..count).map(|place| PeerId(place as u32)).filter(|peer| *peer != me) {
            match self.way_to(peer) {
                Ok(Way::Network(Network::Tcp)) => peers.push(peer),
                // Datagrams need no connection.
                Ok(Way::Network(Network::Udp) | Way::SharedMemory | Way::Undecided) => {}
                Err(Full) => return Ok(None),
            }
        }
        let (rank, size) = (self.me_name.rank, self.shm.config().size);
        Ok(Some(match (mode, self.tcp()) {
            (Mode::Threads, Some(tcp)) => {
                let server = tcp.start_server(&peers)?;
                Connecting::Served(Box::new(server), peers)
            }
            _ => Connecting::Ring(tcp::Ring::new(rank, size), peers),
        }))
    }

    /// Goes on with it; whether all are connected.
    pub fn connect(&mut self, state: &mut Connecting) -> bool {
        let Some(tcp) = self.tcp() else { return true };
        match state {
            Connecting::Ring(ring, peers) => tcp.connect_ring(ring, |peer| !peers.contains(&peer)),
            Connecting::Served(server, peers) => tcp.connect_served(server, peers),
        }
    }
}
