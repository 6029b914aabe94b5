//! The kernel as this transport sees it: sockets, a set that tells when they have news, how long datagrams
//! may be on a way, and a clock. In tests it may be a simulated one (`sim_net`), which loses, repeats,
//! reorders and changes datagrams by a seed.

use std::time::Instant;

#[cfg(not(test))]
pub(super) use crate::sys::epoll::Epoll;
#[cfg(not(test))]
pub(super) use crate::sys::udp::{Udp as Socket, mtu_to};

#[cfg(test)]
pub(super) use super::sim_sockets::{Epoll, Socket, mtu_to};

/// The time.
#[inline]
pub(super) fn now() -> Instant {
    #[cfg(test)]
    if let Some(now) = super::sim_net::now() {
        return now;
    }
    Instant::now()
}

/// A count that grows with the time and is cheap, where the time is the kernel's.
#[inline]
pub(super) fn ticks() -> Option<u64> {
    #[cfg(test)]
    if super::sim_net::now().is_some() {
        return None;
    }
    crate::clock::cheap_ticks()
}
