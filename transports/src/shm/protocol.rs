//! Which way a long message goes within a node: each protocol bids what it would cost, and the least bid wins.
//!
//! * `Ring`: the writer stores it in a ring and the reader takes it from there, fragment by fragment, both at once
//!   where each has a processor.
//! * `CrossMemory`: the reader has the kernel copy it from the writer's address space.
//!
//! A bid is a pure function of the machine's profile and of the message. Two kinds of message do not ask. Short ones:
//! up to 40 bytes go in a cell, up to the eager limit through slots and rings. And those in memory that the reader has
//! mapped: it copies them from there, for less than any bid.
//!
//! In: the profile, the message. Out: nanoseconds, and the protocol.

use mpi_core::tuning::{FIRST_FRAGMENT_BYTES, HANDSHAKE_NANOS};

use crate::profile::{Class, Profile, UNIT};

/// The protocols of long messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protocol {
    Ring,
    CrossMemory,
}

/// What a message is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub bytes: u64,
    /// Where the other end's caches are.
    pub class: Class,
    /// There are more ranks on the node than processors.
    pub oversubscribed: bool,
    /// It goes to one run of memory.
    pub one_run: bool,
    /// The reader may have the kernel copy from the writer.
    pub readable: bool,
}

/// What a protocol would cost, in nanoseconds; nothing if it is impossible.
pub(crate) fn cost(profile: &Profile, protocol: Protocol, message: &Message) -> Option<u64> {
    let of = |nanos: u64| nanos.saturating_mul(message.bytes) / UNIT;
    let (store, load) = (profile.store(message.class), profile.load(message.class));
    match protocol {
        Protocol::Ring if message.oversubscribed => Some(of(store) + of(load)),
        Protocol::Ring => Some(
            of(store.max(load)) + store * (FIRST_FRAGMENT_BYTES as u64).min(message.bytes) / UNIT,
        ),
        Protocol::CrossMemory => {
            let kernel = profile.cross_memory.filter(|_| message.readable)?;
            // What is not one run is copied once more, out of a buffer between.
            let again = if message.one_run { 0 } else { profile.copy() };
            Some(HANDSHAKE_NANOS + of(kernel + again))
        }
    }
}

/// The cheapest protocol.
pub(crate) fn cheapest(profile: &Profile, message: &Message) -> Protocol {
    let all = [Protocol::Ring, Protocol::CrossMemory];
    let bids = all.into_iter().filter_map(|way| Some((cost(profile, way, message)?, way)));
    bids.min_by_key(|(cost, _)| *cost).map_or(Protocol::Ring, |(_, way)| way)
}

/// What each protocol bids on this machine, a line for each kind of peer, for reports.
pub fn bids() -> Vec<String> {
    let profile = Profile::of_this_machine();
    let peers = [
        ("where ranks share processors", Class::SameCache, true),
        ("with the same last-level cache", Class::SameCache, false),
        ("with another last-level cache", Class::OtherCache, false),
    ];
    peers.into_iter().map(|peer| bids_for(profile, peer)).collect()
}

fn bids_for(profile: &Profile, (whom, class, oversubscribed): (&str, Class, bool)) -> String {
    let of_length = |kibibytes: u64| {
        let message = Message {
            bytes: kibibytes << 10,
            class,
            oversubscribed,
            one_run: true,
            readable: true,
        };
        let bid = |way| match cost(profile, way, &message) {
            Some(nanos) => format!("{:.1} µs", nanos as f64 / 1e3),
            None => "not permitted".to_owned(),
        };
        let taken = match cheapest(profile, &message) {
            Protocol::CrossMemory => "cross-memory copy",
            Protocol::Ring => "ring",
        };
        let (ring, copy) = (bid(Protocol::Ring), bid(Protocol::CrossMemory));
        format!("{kibibytes} KiB ring {ring}, cross-memory copy {copy}: {taken}")
    };
    format!("costs to a peer {whom}: {}", [16, 64, 1024].map(of_length).join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: Profile =
        Profile { vectors: 1700, string: 1700, past: 2500, cross_memory: Some(8000) };
    const MESSAGE: Message = Message {
        bytes: 1 << 20,
        class: Class::SameCache,
        oversubscribed: false,
        one_run: true,
        readable: true,
    };

    #[test]
    fn the_least_bid_wins() {
        let quick = Profile { cross_memory: Some(1000), ..PROFILE };
        assert_eq!(cheapest(&PROFILE, &MESSAGE), Protocol::Ring);
        assert_eq!(cheapest(&quick, &MESSAGE), Protocol::CrossMemory);
        assert_eq!(cheapest(&quick, &Message { readable: false, ..MESSAGE }), Protocol::Ring);
    }

    #[test]
    fn an_end_that_shares_its_processor_copies_twice_as_long() {
        let kernel = Profile { cross_memory: Some(2500), ..PROFILE };
        let shared = Message { oversubscribed: true, ..MESSAGE };
        assert_eq!(cheapest(&kernel, &MESSAGE), Protocol::Ring);
        assert_eq!(cheapest(&kernel, &shared), Protocol::CrossMemory);
    }

    #[test]
    fn a_short_message_is_not_worth_a_handshake() {
        let quick = Profile { cross_memory: Some(1500), ..PROFILE };
        assert_eq!(cheapest(&quick, &Message { bytes: 16 << 10, ..MESSAGE }), Protocol::Ring);
        assert_eq!(cheapest(&quick, &MESSAGE), Protocol::CrossMemory);
    }

    #[test]
    fn what_is_not_one_run_is_copied_once_more() {
        let bid = |one_run| cost(&PROFILE, Protocol::CrossMemory, &Message { one_run, ..MESSAGE });
        assert_eq!(bid(true), Some(HANDSHAKE_NANOS + 16 * 8000));
        assert_eq!(bid(false), Some(HANDSHAKE_NANOS + 16 * 9700));
    }

    #[test]
    fn a_line_of_bids_says_what_is_taken() {
        let line = bids_for(&PROFILE, ("here", Class::SameCache, true));
        assert!(line.starts_with("costs to a peer here: 16 KiB ring 0.8 µs"), "{line}");
        let forbidden = Profile { cross_memory: None, ..PROFILE };
        let line = bids_for(&forbidden, ("here", Class::SameCache, false));
        assert!(line.contains("copy not permitted: ring"), "{line}");
        assert_eq!(bids().len(), 3);
    }
}
