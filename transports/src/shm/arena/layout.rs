//! Where things lie in an arena: a control page, connect flags, inbound lanes, outgoing slots, the ring, exchange
//! buffers, and the memory that the library allocates for programs. Offsets, never pointers.
//!
//! The geometry is chosen by the arena's owner and travels in its hello; a peer checks it before it maps anything.

use crate::shm::ring::lane::{BESIDE_CELLS, CELLS_MAX, Cell};
use crate::sys::memory::PAGE;

/// Offset of the arena's version in the control page.
pub(in crate::shm) const VERSION: usize = 0;
/// Offset of the random word by which a peer finds out whether it may read this process.
pub(in crate::shm) const PROBE: usize = 16;
/// Offset of the word that says whether the owner has left for good.
pub(in crate::shm) const LEFT: usize = 64;
/// Offset of the parked word, alone on its pair of lines: every sender reads it.
pub(in crate::shm) const PARKED: usize = 128;

/// Offset of the connection record: the hello to anybody who comes in.
pub(in crate::shm) const CONNECTION_RECORD: usize = 512;
/// Its bytes.
pub(in crate::shm) const CONNECTION_RECORD_BYTES: usize = 176;
/// Offset of the words by which the writers of lanes ask for a connection, the first of them in the control page.
const CONNECT_FLAGS: usize = 1024;

/// Bytes from one lane's counter to the next: two lines, since processors fetch pairs.
const COUNTER_STRIDE: usize = 128;

/// How an arena is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::shm) struct Geometry {
    /// Inbound lanes.
    pub lanes: u32,
    /// Cells of a lane, a power of two.
    pub cells: u32,
    /// Bytes from one slot to the next.
    pub slot_stride: u32,
    /// Slots for eager bodies.
    pub slots: u32,
    /// Bytes of the ring for longer bodies.
    pub ring_bytes: u64,
    /// Bytes of the exchange buffer of each lane.
    pub exchange_bytes: u64,
    /// Bytes of memory for programs, behind all the rest.
    pub alloc_bytes: u64,
}

fn pages(bytes: u64) -> u64 {
    bytes.next_multiple_of(PAGE as u64)
}

impl Geometry {
    /// Whether a peer's numbers make sense; with them all sums below stay far from overflow.
    pub(in crate::shm) fn is_sound(&self) -> bool {
        self.cells.is_power_of_two()
            && self.cells <= CELLS_MAX
            && (1..=1 << 20).contains(&self.lanes)
            && self.slot_stride <= 1 << 24
            && self.slots <= 1 << 20
            && self.ring_bytes <= 1 << 40
            && self.exchange_bytes <= 1 << 24
            && self.alloc_bytes <= 1 << 46
            && self.alloc_bytes.is_multiple_of(PAGE as u64)
    }

    /// Offset of the word by which the writer of a lane asks for a connection.
    pub(in crate::shm) fn connect_flag(&self, lane: u32) -> usize {
        CONNECT_FLAGS + lane as usize * size_of::<u32>()
    }

    /// Offset of the counter of a lane.
    pub(in crate::shm) fn counter(&self, lane: u32) -> usize {
        pages(self.connect_flag(self.lanes) as u64) as usize + lane as usize * COUNTER_STRIDE
    }

    /// Offset of the first cell of a lane.
    pub(in crate::shm) fn cells_of(&self, lane: u32) -> usize {
        let counters = pages(u64::from(self.lanes) * COUNTER_STRIDE as u64) as usize;
        self.counter(0) + counters + lane as usize * self.lane_bytes()
    }

    fn lane_bytes(&self) -> usize {
        (self.cells + BESIDE_CELLS) as usize * size_of::<Cell>()
    }

    /// Offset of the first slot.
    pub(in crate::shm) fn slots_at(&self) -> u64 {
        pages(self.cells_of(self.lanes) as u64)
    }

    /// Offset of the ring, where slots end.
    pub(in crate::shm) fn ring_at(&self) -> u64 {
        pages(self.slots_at() + u64::from(self.slots) * u64::from(self.slot_stride))
    }

    /// Where the ring ends, and all that is mapped at first contact and that a frame may name by an arena offset.
    pub(in crate::shm) fn ring_end(&self) -> u64 {
        pages(self.ring_at() + self.ring_bytes)
    }

    /// Bytes between exchange buffers: three lines off a power of two, so that their first lines share no cache set.
    fn exchange_stride(&self) -> u64 {
        if self.exchange_bytes == 0 { 0 } else { self.exchange_bytes.next_multiple_of(64) + 192 }
    }

    /// Offset of the exchange buffer of a lane.
    pub(in crate::shm) fn exchange_of(&self, lane: u32) -> u64 {
        self.ring_end() + u64::from(lane) * self.exchange_stride()
    }

    /// Offset of the memory for programs.
    pub(in crate::shm) fn alloc_at(&self) -> u64 {
        pages(self.exchange_of(self.lanes))
    }

    /// Bytes of the whole arena.
    pub(in crate::shm) fn total(&self) -> u64 {
        self.alloc_at() + self.alloc_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_follow_each_other_without_overlap(lanes in 1u32..5000, shift in 0u32..8,
                slot_stride in 0u32..20_000, slots in 0u32..3000,
                ring_bytes in 0u64..300_000_000, exchange_bytes in 0u64..3_000_000,
                alloc_pages in 0u64..10_000) {
            let geometry = Geometry { lanes, cells: 1 << shift, slot_stride, slots,
                ring_bytes, exchange_bytes, alloc_bytes: alloc_pages * PAGE as u64 };
            prop_assert!(geometry.is_sound());
            let last = lanes - 1;
            prop_assert!(geometry.connect_flag(last) + 4 <= geometry.counter(0));
            prop_assert!(geometry.counter(last) + 4 <= geometry.cells_of(0));
            prop_assert_eq!(geometry.cells_of(0) % 64, 0);
            let end = geometry.cells_of(last) + 64 * ((1 << shift) + BESIDE_CELLS as usize);
            prop_assert!(end as u64 <= geometry.slots_at());
            prop_assert!(geometry.slots_at() <= geometry.ring_at());
            prop_assert!(geometry.ring_at() + ring_bytes <= geometry.exchange_of(0));
            prop_assert_eq!(geometry.exchange_of(last) % 64, 0);
            prop_assert!(geometry.exchange_of(last) + exchange_bytes <= geometry.alloc_at());
            prop_assert_eq!(geometry.alloc_at() % PAGE as u64, 0);
        }
    }
}
