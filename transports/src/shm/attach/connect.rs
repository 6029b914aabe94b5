//! Going in without being let in: a process takes a peer's arena out of the kernel's table of that
//! peer's descriptors, writes to its lane at once, and raises its connect flag there, so that the peer comes in turn.
//!
//! An exchange of setup messages (see `hello`) costs each side a turn of the processor before the first message can be
//! written, and whoever has sent one and goes on to compute answers no setup message. So the name of a socket, which is
//! on the business card, says where its arena is (process and descriptor), the arena shows the hello that its owner
//! would send to anybody (the connection record), and a connect flag is one word for each lane, written by that lane's
//! writer alone. It only says that a card should be looked up. Where the kernel lets nobody in, setup messages go; whom
//! it lets in might read and write all memory of that process anyway. A process leaves only when all that it went to
//! have come, since what it wrote last can be read, but it cannot be found any more, when it is gone.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use mpi_core::port::PeerId;

use super::hello::{HELLO_BYTES, Hello};
use crate::shm::Contacts;
use crate::shm::arena::Remote;
use crate::shm::arena::layout;
use crate::shm::peer::State;
use crate::sync::{Ordering, fence};
use crate::sys::process::descriptor_of;
use crate::sys::shared_file::read_at;
use crate::sys::socket::{NAME_BYTES, Name};

/// The rank and the name that a connection record greets.
const ANYBODY: (u32, Name) = (u32::MAX, [0; NAME_BYTES]);

/// A new name for the socket of this process, whose arena is behind `fd`: the process, the descriptor, and chance.
pub(in crate::shm) fn name(fd: BorrowedFd<'_>) -> io::Result<Name> {
    let mut name = [0; NAME_BYTES];
    getrandom::fill(&mut name).map_err(io::Error::other)?;
    name[..4].copy_from_slice(&std::process::id().to_le_bytes());
    name[4..8].copy_from_slice(&fd.as_raw_fd().to_le_bytes());
    Ok(name)
}

/// The process and the descriptor that a name tells of.
fn address(name: &Name) -> (i32, i32) {
    let word = |at: usize| i32::from_le_bytes(std::array::from_fn(|i| name[at + i]));
    (word(0), word(4))
}

impl Contacts {
    /// Shows on the arena what all who come in need to know. The key only tells whole connection records: the
    /// secret of the job is not known yet, and a card leads to no other arena.
    pub(in crate::shm) fn publish_connection_record(&self) {
        let (to_rank, to) = ANYBODY;
        self.arena.publish_connection_record(&self.hello(to_rank, to).to_bytes(&self.job));
    }

    /// Goes into the arena of a peer that has not been met and whose card has this name, if the
    /// kernel lets it. Whether that worked, if only to see that the peer has left.
    pub(in crate::shm) fn enter(&mut self, peer: PeerId, name: &Name) -> bool {
        match self.find(self.peers[peer.0 as usize].rank, name) {
            Ok((_, remote)) if remote.has_left() => {
                self.peers[peer.0 as usize].remote = Some(remote);
                self.lose(peer, "it has left");
                true
            }
            Ok((hello, remote)) => {
                let (pid, _) = address(name);
                self.open(peer, &hello, remote, pid);
                true
            }
            Err(error) => {
                tracing::debug!(rank = self.config.rank, peer = peer.0, %error, "is not let in");
                false
            }
        }
    }

    /// The arena of the process with this name, and what its connection record says, if it is that of `rank`.
    fn find(&self, rank: u32, name: &Name) -> io::Result<(Hello, Remote)> {
        let (pid, fd) = address(name);
        let fd = descriptor_of(pid, fd)?;
        let mut record = [0; HELLO_BYTES];
        read_at(&fd, &mut record, layout::CONNECTION_RECORD as u64)?;
        let wrong = |why: &str| io::Error::other(format!("its connection record {why}"));
        let hello = Hello::from_bytes(&record, &self.job)
            .map_err(|refusal| wrong(&format!("is refused: {refusal:?}")))?;
        let is_sought = hello.rank == rank && hello.job == self.job && hello.from == *name;
        if !is_sought || (hello.to_rank, hello.to) != ANYBODY {
            return Err(wrong("is of somebody else"));
        }
        let remote = Remote::new(fd, hello.geometry)?;
        Ok((hello, remote))
    }

    /// Tells a peer that was just met that its arena is open here. The fence is for the word: either
    /// the peer sees the connect flag before it sleeps or leaves, or this process sees that it does.
    pub(in crate::shm) fn request_connection(&mut self, peer: PeerId) {
        let Some(remote) = &self.peers[peer.0 as usize].remote else { return };
        remote.request_connection(self.config.rank);
        fence(Ordering::SeqCst);
        self.wake(peer);
    }

    /// Whether a peer that has not been met has asked for a connection.
    pub(in crate::shm) fn has_connect_request(&self) -> bool {
        self.unmet.iter().any(|(rank, _)| self.arena.has_connect_request(*rank))
    }

    /// Goes to those who have asked for a connection, once. Who cannot be entered is sent a hello.
    pub(in crate::shm) fn answer_connect_requests(&mut self) {
        if self.unmet.is_empty() {
            return;
        }
        let come = self.unmet.extract_if(.., |(rank, _)| self.arena.has_connect_request(*rank));
        let come: Vec<(u32, PeerId)> = come.collect();
        for (_, peer) in come {
            self.approach(peer);
        }
    }

    /// Whether all whose arenas are open here have this one's open too, or have left.
    pub(in crate::shm) fn is_visited_by_all(&self) -> bool {
        let all = self.row.iter().map(|peer| &self.peers[peer.0 as usize]);
        let mut open = all.filter(|peer| peer.state == State::Open);
        open.all(|peer| {
            let has_left = || peer.remote.as_ref().is_none_or(Remote::has_left);
            self.arena.has_connect_request(peer.rank) || has_left()
        })
    }
}
