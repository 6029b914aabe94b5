//! Which way the collectives of a communicator go over several last-level caches of one node: what costs least, once it
//! was counted for a collective and a class of sizes.
//!
//! Enters: the socket and the cache of each process, which all have told each other, so that all choose alike. Leaves:
//! the groups of a tree, and choices instead of the table's.

use std::sync::atomic::{AtomicU8, Ordering};

use super::cost::{Call, Costs, Way, cheapest, ways};
use super::menu::{Algorithm, Collective};
use super::spread::Spread;
use crate::tuning::SIZE_CLASSES;

/// The ways of a communicator.
pub(crate) struct ByCost {
    spread: Spread,
    /// A tree goes wherever it can, whatever it costs.
    only_tree: bool,
    /// By collective and class: one more than a way's number, or 0 where it was not asked for.
    found: [[AtomicU8; SIZE_CLASSES]; Collective::ALL.len()],
}

impl ByCost {
    pub(crate) fn new(spread: Spread, only_tree: bool) -> ByCost {
        let none = |_| std::array::from_fn(|_| AtomicU8::new(0));
        ByCost { spread, only_tree, found: std::array::from_fn(none) }
    }

    /// Puts what costs least in place of what the table has for a segment. A tree has to fit the call.
    #[cold]
    pub(crate) fn choose(
        &self,
        collective: Collective,
        bytes: i64,
        fits: bool,
        algorithm: &mut Algorithm,
    ) {
        match self.way(collective, bytes) {
            Way::Tree if fits => *algorithm = Algorithm::Nodes,
            Way::Tree => {}
            Way::Flat => *algorithm = Algorithm::SharedMemory,
            Way::Shares => *algorithm = Algorithm::SharedMemoryShares,
        }
    }

    /// How a call with so many bytes goes.
    pub(crate) fn way(&self, collective: Collective, bytes: i64) -> Way {
        let class = (64 - bytes.leading_zeros() as usize).min(SIZE_CLASSES - 1);
        let found = &self.found[collective as usize][class];
        let known = Way::ALL.get(usize::from(found.load(Ordering::Relaxed)).wrapping_sub(1));
        known.copied().unwrap_or_else(|| {
            let way = self.count(collective, if class == 0 { 0 } else { 1 << (class - 1) });
            found.store(way as u8 + 1, Ordering::Relaxed);
            way
        })
    }

    fn count(&self, collective: Collective, bytes: i64) -> Way {
        let is_tree = self.only_tree && self.spread.split().is_some();
        if is_tree && ways(collective).contains(&Way::Tree) {
            return Way::Tree;
        }
        use Collective::{Allgather, Alltoall, Gather, Scatter};
        // What has a block for each process is counted by the block.
        let has_blocks = matches!(collective, Gather | Scatter | Allgather | Alltoall);
        let bytes = bytes as f64 / if has_blocks { self.spread.ranks as f64 } else { 1.0 };
        cheapest(Call { collective, bytes }, self.spread, &Costs::SERVER).0
    }
}
