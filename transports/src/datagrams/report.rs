//! What happened, for reports and tests.

use super::{Carrier, Datagrams};

/// What happened.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counters {
    /// Peers with which something was said.
    pub peers: u64,
    /// Datagrams that left.
    pub sent: u64,
    /// Of these, those whose load went again, since it was lost or seemed so.
    pub again: u64,
    /// Datagrams that came.
    pub received: u64,
    /// Of these, those with no tag of this job: strangers' and changed ones.
    pub refused: u64,
    /// Of these, those that had come before.
    pub repeated: u64,
    /// Work requests that sent something: calls of the kernel, where that carries datagrams.
    pub writes: u64,
    /// How often another way to a peer was taken.
    pub moves: u64,
}

impl<C: Carrier> Datagrams<C> {
    /// What happened so far.
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        for peer in self.peers.met() {
            let link = peer.link.counters();
            counters.peers += 1;
            counters.sent += link.sent;
            counters.again += link.again;
            counters.repeated += link.repeated;
        }
        counters
    }

    /// Which ways are in use that are not the best ones, and why, for a report.
    pub fn routes_taken(&self) -> String {
        let moves = self.counters.moves;
        if moves == 0 {
            return "no other way than the best was needed".to_owned();
        }
        let others: Vec<String> =
            self.peers.met().filter_map(|peer| peer.routes.tell(peer.rank)).collect();
        let now =
            if others.is_empty() { "all by the best again".to_owned() } else { others.join(", ") };
        format!(
            "{moves} times another way was taken, since the one before did not answer or the better one did again; \
                 at the end {now}"
        )
    }
}
