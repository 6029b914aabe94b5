//! How many there may be who have connected and have not proved who they are, and who of them has
//! to go before another can come.
//!
//! They take descriptors, of which the program wants some and the job one for each peer: together
//! they have a quarter of them at most, and those of one address half of that, so that one stranger
//! leaves room for others. All ranks of a job may come from one address too (one host, or one
//! router before all): a job with more ranks than that raises the limit, if it may.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::sys::limits::{self, Limits};

/// The most of them, whatever the limit on descriptors is, in a job that is no larger.
const CROWD_MAX: usize = 1024;

/// Most guests at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Bounds {
    all: usize,
    of_one_source: usize,
}

impl Bounds {
    /// Those of a process that may have so many descriptors, in a job of so many ranks.
    fn new(descriptors: u64, ranks: usize) -> Bounds {
        let quarter = usize::try_from(descriptors / 4).unwrap_or(usize::MAX).max(1);
        let all = quarter.min(CROWD_MAX.max(2 * ranks));
        Bounds { all, of_one_source: all.div_ceil(2) }
    }

    /// The place of the one who goes, of guests from these sources, the oldest first, before one
    /// comes from `newcomer`.
    fn who_goes(self, guests: &[IpAddr], newcomer: IpAddr) -> Option<usize> {
        let is_newcomers = |source: &&IpAddr| **source == newcomer;
        if guests.iter().filter(is_newcomers).count() >= self.of_one_source {
            return guests.iter().position(|source| *source == newcomer);
        }
        if guests.len() < self.all { None } else { oldest_of_most(guests) }
    }
}

/// The place of the oldest guest from the source that has most; none where there is none.
pub(super) fn oldest_of_most(guests: &[IpAddr]) -> Option<usize> {
    let mut counts: HashMap<IpAddr, usize> = HashMap::new();
    for source in guests {
        *counts.entry(*source).or_default() += 1;
    }
    let most = counts.values().max()?;
    guests.iter().position(|source| counts[source] == *most)
}

/// The place of the one who goes, of guests from these sources, the oldest first, before one comes
/// from `newcomer` to a process of a job of so many ranks.
pub(super) fn who_goes(guests: &[IpAddr], newcomer: IpAddr, ranks: usize) -> Option<usize> {
    let bounds = || Bounds::new(Limits::of_this_process().descriptors, ranks);
    let now = bounds();
    let goes = now.who_goes(guests, newcomer)?;
    // In a job that is larger it may be a rank, and as many may want to come next.
    if now.of_one_source < ranks && limits::raise_descriptors() {
        return bounds().who_goes(guests, newcomer);
    }
    Some(goes)
}

/// Whose guest one from this address is: a host has one address of version 4, and of version 6 the
/// whole network that it is in.
pub(super) fn source(from: SocketAddr) -> IpAddr {
    match from.ip() {
        IpAddr::V6(v6) => Ipv6Addr::from(u128::from(v6) >> 64 << 64).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn guests_have_a_quarter_of_the_descriptors_and_one_source_half_of_that() {
        let bounds = |descriptors, ranks| {
            let Bounds { all, of_one_source } = Bounds::new(descriptors, ranks);
            (all, of_one_source)
        };
        assert_eq!(bounds(1024, 4), (256, 128));
        assert_eq!(bounds(1 << 20, 4), (1024, 512));
        assert_eq!(bounds(u64::MAX, 4), (1024, 512), "there is no limit");
        assert_eq!(bounds(1 << 20, 5000), (10_000, 5000), "all ranks may come from one address");
        assert_eq!(bounds(1024, 5000), (256, 128), "but the program keeps its descriptors");
        assert_eq!(bounds(3, 4), (1, 1), "somebody can always come");
    }

    #[test]
    fn the_oldest_goes_of_the_source_that_has_most() {
        let bounds = Bounds { all: 6, of_one_source: 3 };
        let few = [1, 2, 2, 3, 4].map(from);
        assert_eq!(bounds.who_goes(&few, from(5)), None);
        let full = [1, 2, 3, 2, 3, 3].map(from);
        assert_eq!(bounds.who_goes(&full, from(5)), Some(2), "the oldest of the third");
        assert_eq!(bounds.who_goes(&full, from(2)), Some(2), "the second has room");
        let of_one = [1, 3, 3, 3].map(from);
        assert_eq!(bounds.who_goes(&of_one, from(3)), Some(1), "its own, though others have room");
        assert_eq!(bounds.who_goes(&of_one, from(1)), None);
        assert_eq!(oldest_of_most(&[]), None);
    }

    #[test]
    fn a_network_of_version_6_is_one_source() {
        let of = |text: &str| source(text.parse().unwrap());
        assert_eq!(of("[2001:db8::1]:1"), of("[2001:db8::ffff:2]:2"));
        assert_ne!(of("[2001:db8::1]:1"), of("[2001:db8:0:1::1]:1"));
        assert_ne!(of("10.0.0.1:1"), of("10.0.0.2:1"));
    }
}
