//! Letters: what goes out by the datagram socket, some with a descriptor.
//!
//! In: hellos, postings of segments, last words. Out: the same, sent as soon as the receiver has room for them.

use std::io;

use mpi_core::port::PeerId;

use crate::shm::Contacts;
use crate::sys::socket::Name;

/// A datagram on its way out.
pub(in crate::shm) struct Letter {
    /// Who is lost if it cannot be sent.
    pub(in crate::shm) peer: Option<PeerId>,
    pub(in crate::shm) to: Name,
    pub(in crate::shm) bytes: Vec<u8>,
    pub(in crate::shm) enclosed: Enclosure,
}

/// The descriptor that goes with a letter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::shm) enum Enclosure {
    /// This process's arena, with a hello.
    Arena,
    /// A segment that is posted.
    Segment(u64),
    Nothing,
}

impl Contacts {
    /// Sends the letters that are waiting; a receiver whose queue is full gets its later.
    pub(in crate::shm) fn send_letters(&mut self) {
        for _ in 0..self.outbox.len() {
            let (Some(letter), Some(socket)) = (self.outbox.pop_front(), &self.socket) else {
                return;
            };
            let fd = match letter.enclosed {
                Enclosure::Arena => Some(self.arena.fd()),
                Enclosure::Segment(mark) => self.segments.made(mark),
                Enclosure::Nothing => None,
            };
            match socket.send(&letter.to, &letter.bytes, fd) {
                Ok(()) => {}
                Err(error) if is_for_now(&error) => self.outbox.push_back(letter),
                Err(error) => {
                    let how = format!("the letter to its socket failed: {error}");
                    letter.peer.inspect(|peer| self.lose(*peer, &how));
                }
            }
        }
    }
}

/// Whether a datagram may get through later: the receiver's queue, or descriptors on their way, are at their limit.
fn is_for_now(error: &io::Error) -> bool {
    let codes = [libc::EAGAIN, libc::ENOBUFS, libc::ENOMEM, libc::ETOOMANYREFS, libc::EINTR];
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}
