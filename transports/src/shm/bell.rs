//! Bells: datagrams that wake peers who sleep (see `park`).

use std::io;

use mpi_core::port::PeerId;

use super::Contacts;
use super::peer::State;
use crate::sys::socket::{Datagram, Name};

/// What is sent.
const BELL: &[u8] = b"!";

impl Contacts {
    /// Wakes a member that sleeps: a plain load where it does not (see `park`).
    #[inline]
    pub(in crate::shm) fn wake(&mut self, peer: PeerId) {
        if let Some(word) = self.peers[peer.0 as usize].sleeps() {
            self.wake_sleeper(peer, word);
        }
    }

    /// Wakes a sleeping peer; nobody there means that it is gone. A full queue is that of the peer, which wakes it as
    /// well, or of this process, many of whose bells have not been heard yet: then it is rung again later.
    #[cold]
    #[inline(never)]
    pub(in crate::shm) fn wake_sleeper(&mut self, peer: PeerId, word: u32) {
        let to = &mut self.peers[peer.0 as usize];
        let (Some(name), Some(socket)) = (to.name, &self.socket) else { return };
        let before = std::mem::replace(&mut to.rung, word);
        match ring_bell(socket, &name) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                self.lose(peer, "nobody answers on its socket any more");
            }
            Err(_) => {
                to.rung = before;
                self.unrung.push(peer);
                self.chores = true;
            }
        }
    }

    /// Rings again for those who still sleep although it was tried.
    pub(in crate::shm) fn ring_again(&mut self) {
        for peer in std::mem::take(&mut self.unrung) {
            if self.peers[peer.0 as usize].state == State::Open {
                self.wake(peer);
            }
        }
    }
}

fn ring_bell(socket: &Datagram, name: &Name) -> io::Result<()> {
    socket.send(name, BELL, None)
}
