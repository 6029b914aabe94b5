//! The kernel as this transport sees it: sockets, a set that tells when they have news, and a clock. In
//! tests it may be a simulated one (`sim_net`), which loses, repeats, reorders and changes datagrams by a
//! seed.

use std::time::Instant;

pub(super) use crate::sys::epoll::Epoll;
pub(super) use crate::sys::udp::Udp as Socket;

/// The time.
#[inline]
pub(super) fn now() -> Instant {
    Instant::now()
}
