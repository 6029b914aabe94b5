//! Where ranks of this host call that have lost their sockets (see `callers`).

use crate::source::Source;
use crate::sys::{Epoll, Interest};
use launch_wire::Datagram;
use launch_wire::address::Key;
use std::io;

/// Where ranks of this host call.
pub(crate) struct Recovery {
    pub(crate) socket: Datagram,
    pub(crate) key: Key,
    /// The socket's name.
    pub(crate) name: String,
}

impl std::fmt::Debug for Recovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Recovery {
    /// An address for the processes marked `mark`.
    pub(crate) fn open(epoll: &Epoll, mark: &str) -> io::Result<Recovery> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name = format!("ferrite-{}", hex::encode(random));
        let socket = Datagram::bind(name.as_bytes())?;
        epoll.add(&socket, Source::Callers.token(), Interest::Read)?;
        Ok(Recovery { socket, key: Key::of(mark), name })
    }
}
