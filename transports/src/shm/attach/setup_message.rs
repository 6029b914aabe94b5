//! Setup messages: what goes out by the datagram socket, some with a descriptor.
//!
//! In: hellos, postings of segments, last words. Out: the same, sent as soon as the receiver has room for them.

use std::io;

use mpi_core::port::PeerId;

use crate::shm::Contacts;
use crate::sys::socket::Name;

/// A datagram on its way out.
pub(in crate::shm) struct SetupMessage {
    /// Who is lost if it cannot be sent.
    pub(in crate::shm) peer: Option<PeerId>,
    pub(in crate::shm) to: Name,
    pub(in crate::shm) bytes: Vec<u8>,
    pub(in crate::shm) enclosed: Enclosure,
}

/// The descriptor that goes with a setup message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::shm) enum Enclosure {
    /// This process's arena, with a hello.
    Arena,
    /// A segment that is posted.
    WindowSegment(u64),
    Nothing,
}

impl Contacts {
    /// Sends the setup messages that are waiting; a receiver whose queue is full gets its later.
    pub(in crate::shm) fn send_setup_messages(&mut self) {
        for _ in 0..self.outbox.len() {
            let (Some(message), Some(socket)) = (self.outbox.pop_front(), &self.socket) else {
                return;
            };
            let fd = match message.enclosed {
                Enclosure::Arena => Some(self.arena.fd()),
                Enclosure::WindowSegment(mark) => self.window_segments.made(mark),
                Enclosure::Nothing => None,
            };
            match socket.send(&message.to, &message.bytes, fd) {
                Ok(()) => {}
                Err(error) if is_for_now(&error) => self.outbox.push_back(message),
                Err(error) => {
                    let how = format!("the setup message to its socket failed: {error}");
                    message.peer.inspect(|peer| self.lose(*peer, &how));
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
