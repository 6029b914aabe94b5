//! Which messages of collectives stay in their writer's memory, for readers to take from there (decision 62).
//!
//! In: how long a message is, for whom, and where it lies. Out: whether it is exposed.

use mpi_core::node_memory::{Audience, SegmentId};
use mpi_core::tuning::{
    FETCHED_BYTES, FETCHED_OVERSUBSCRIBED_BYTES, LONG_BLOCK_BYTES, MAPPED_BYTES,
};

use super::protocol::{self, Message, Protocol};
use super::{Bulk, Shm};
use crate::profile::Class;

impl Shm {
    /// Whether it pays that readers fetch a message of this process out of its memory. Where ranks share processors
    /// only what one reader gets is: who writes the same to all would wait for each of them.
    pub(super) fn fetching_pays(&self, segment: SegmentId, to: Audience, len: u64) -> bool {
        let Some(on) = self.segments.look(segment) else { return false };
        let oversubscribed = self.waiter.is_oversubscribed();
        let least = match oversubscribed {
            true if to == Audience::Everyone => return false,
            true => FETCHED_OVERSUBSCRIBED_BYTES,
            false if on.is_far(to) => FETCHED_BYTES,
            false => on.fragment_max(to) as u64 + 1,
        };
        match self.contacts.config.shm.bulk {
            _ if len < least => false,
            Bulk::Pipeline => false,
            Bulk::CrossMemory => true,
            Bulk::Auto => {
                let class = if on.is_far(to) { Class::OtherCache } else { Class::SameCache };
                let message =
                    Message { bytes: len, class, oversubscribed, one_run: true, readable: true };
                let profile = self.segments.profile();
                // What no cache holds goes to memory and back on its way through a ring.
                let exceeds = self.segments.caches.are_filled_by(on.footprint(len));
                let profile = if exceeds { profile.in_memory() } else { profile };
                protocol::cheapest(&profile, &message) == Protocol::CrossMemory
            }
        }
    }

    /// Whether it pays that readers copy a message out of memory that they have mapped, and it lies there.
    pub(super) fn copying_in_place_pays(
        &self,
        segment: SegmentId,
        to: Audience,
        at: *const u8,
        len: u64,
    ) -> bool {
        let is_mapped = || self.contacts.arena.offset_of(at, len).is_some();
        let Some(segment) = self.segments.look(segment).filter(|_| is_mapped()) else {
            return false;
        };
        let least = match (self.waiter.is_oversubscribed(), to) {
            (false, _) if segment.others().count() == 1 => MAPPED_BYTES,
            (_, Audience::One(_)) | (false, _) => FETCHED_OVERSUBSCRIBED_BYTES,
            (true, Audience::Everyone) => LONG_BLOCK_BYTES,
        };
        self.contacts.config.shm.bulk != Bulk::Pipeline && len >= least
    }
}
