//! The kernel as this transport sees it: sockets, a set that tells which of them have news, and a
//! clock. In tests it may be a simulated one (`sim_net`), with delay and loss from a seed.

use std::time::Instant;

#[cfg(not(test))]
pub(super) use crate::sys::epoll::Epoll;
#[cfg(not(test))]
pub(super) use crate::sys::tcp::{Listener, Socket};

#[cfg(test)]
pub(super) use super::sim_sockets::{Epoll, Listener, Socket};

/// The time.
#[inline]
pub(super) fn now() -> Instant {
    #[cfg(test)]
    if let Some(now) = super::sim_net::now() {
        return now;
    }
    Instant::now()
}
