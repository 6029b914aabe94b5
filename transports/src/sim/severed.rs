//! Links that carry nothing, as behind a firewall that drops: what is sent there is accepted and swallowed, and only
//! the sender learns it, after a patience.

use mpi_core::port::Why;

use super::endpoint::EndpointId;
use super::network::{Event, Item, Network};

/// Nanoseconds until a process gives up one whom it cannot reach.
const PATIENCE: u64 = 1_000_000;

impl Network {
    pub(super) fn is_severed(&self, a: EndpointId, b: EndpointId) -> bool {
        self.options.severed.contains(&(a.0.min(b.0), a.0.max(b.0)))
    }

    /// What is sent never arrives; the sender learns it after a patience.
    pub(super) fn swallow(&mut self, from: EndpointId, to: EndpointId) {
        let path = self.paths.entry((from, to)).or_default();
        if !std::mem::replace(&mut path.owing, true) {
            let item = Item::Down(Why::Undelivered {
                how: "no address of it answers".to_owned(),
                hint: None,
            });
            self.numbers += 1;
            let time = self.now + PATIENCE;
            self.events.push(Event { time, number: self.numbers, from: to, to: from, item });
        }
    }

    /// Whether something that this endpoint sent has not arrived, as far as it knows.
    pub(super) fn owes(&self, from: EndpointId) -> bool {
        self.options.severed.iter().any(|&(a, b)| {
            let to = if a == from.0 { b } else { a };
            self.paths.get(&(from, EndpointId(to))).is_some_and(|path| path.owing)
        })
    }

    /// The peer's end was told to an endpoint.
    pub(super) fn note_down(&mut self, at: EndpointId, peer: EndpointId) {
        if let Some(path) = self.paths.get_mut(&(at, peer)) {
            path.owing = false;
        }
    }
}
