//! What can be chosen about shared memory (decision 23), out of the table of all settings.

pub use mpi_core::settings::BulkProtocol as Bulk;
use mpi_core::settings::Settings;

use super::arena::layout::Geometry;
use super::ring::lane::CELLS_MIN;
use crate::sys::limits::Limits;
use crate::sys::memory::PAGE;

/// Settings of the shared-memory transport.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShmSettings {
    /// Largest message that is sent without asking, in bytes.
    pub eager_bytes: u32,
    /// Cells of a lane: a power of two, at most 128.
    pub lane_cells: u32,
    /// Lanes for peers of the own job and of jobs that meet later. Unused ones cost nothing.
    pub lanes: u32,
    /// Slots for bodies that do not fit into a cell.
    pub slots: u32,
    /// Bytes of such a slot; longer bodies go through the ring.
    pub slot_bytes: u32,
    /// Bytes of the ring that longer eager messages and pipelined copies go through.
    pub ring_bytes: u64,
    /// Bytes of the buffer of a pair through which answers go back; 0 for none.
    pub exchange_bytes: u64,
    /// Bytes of a fragment that one end copies while the other copies the fragment before.
    pub chunk_bytes: u32,
    /// Chunks on their way to one peer at most.
    pub chunks_per_peer: u32,
    /// Memory that programs allocate with `MPI_Alloc_mem`, and parts of segments, in bytes at most.
    pub alloc_bytes: u64,
    /// How large messages go.
    pub bulk: Bulk,
    /// Polls that find nothing before a wait begins to yield the processor.
    pub spin_polls: u32,
    /// Microseconds of yielding before a wait sleeps.
    pub yield_micros: u32,
}

impl From<&Settings> for ShmSettings {
    fn from(settings: &Settings) -> ShmSettings {
        let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        ShmSettings {
            eager_bytes: narrow(settings.shm_eager_bytes),
            lane_cells: settings.shm_lane_cells,
            lanes: settings.shm_lanes,
            slots: settings.shm_slots,
            slot_bytes: narrow(settings.shm_slot_bytes),
            ring_bytes: settings.shm_ring_bytes,
            exchange_bytes: settings.shm_exchange_bytes,
            chunk_bytes: narrow(settings.shm_chunk_bytes),
            chunks_per_peer: settings.shm_chunks_per_peer,
            alloc_bytes: settings.shm_alloc_bytes,
            bulk: settings.shm_bulk,
            spin_polls: settings.wait_spin_polls,
            yield_micros: narrow(settings.wait_yield.as_micros() as u64),
        }
    }
}

impl Default for ShmSettings {
    fn default() -> ShmSettings {
        ShmSettings::from(&Settings::default())
    }
}

impl ShmSettings {
    /// These settings with sizes that fit each other: fragments are whole lines, the ring holds at least one, and
    /// there are as many cells, slots and fragments under way as a message needs that goes on.
    pub(super) fn rounded(self) -> ShmSettings {
        let chunk_bytes = self.chunk_bytes.clamp(64, 1 << 24).next_multiple_of(64);
        ShmSettings {
            lane_cells: self.lane_cells.max(CELLS_MIN),
            slots: self.slots.max(1),
            ring_bytes: self.ring_bytes.max(chunk_bytes.into()).next_multiple_of(PAGE as u64),
            chunk_bytes,
            chunks_per_peer: self.chunks_per_peer.max(1),
            ..self
        }
    }

    /// These settings, rounded, with sizes that limits leave room for. A process maps the arenas of all `ranks` of its
    /// node, so each takes its part of half the address space; the other half is the program's. The file of
    /// an arena has a length that is limited, too. What is missed least goes first.
    pub(super) fn within(mut self, limits: &Limits, size: u32, ranks: u32) -> ShmSettings {
        let share = limits.address_space / 2 / u64::from(ranks.max(1));
        let most = share.min(limits.file_bytes);
        let without_memory = |settings: &ShmSettings| settings.geometry(size).alloc_at();
        while without_memory(&self) > most && self.halve_ring() {}
        if without_memory(&self) > most {
            self.exchange_bytes = 0;
        }
        let left = most.saturating_sub(without_memory(&self)) / PAGE as u64 * PAGE as u64;
        ShmSettings { alloc_bytes: self.alloc_bytes.min(left), ..self }
    }

    /// Makes the ring half as long if it holds a fragment then; whether it does.
    fn halve_ring(&mut self) -> bool {
        let half = (self.ring_bytes / 2).next_multiple_of(PAGE as u64);
        let holds = half >= self.chunk_bytes.into() && half < self.ring_bytes;
        if holds {
            self.ring_bytes = half;
        }
        holds
    }

    /// The arena that these settings make, for a job of `size` ranks. The stride of slots is
    /// three lines off a power of two, so that their first lines do not share a cache set.
    pub(super) fn geometry(&self, size: u32) -> Geometry {
        Geometry {
            lanes: self.lanes.max(size),
            cells: self.lane_cells,
            slot_stride: self.slot_bytes.next_multiple_of(64) + 192,
            slots: self.slots,
            ring_bytes: self.ring_bytes,
            exchange_bytes: self.exchange_bytes.min(1 << 24),
            alloc_bytes: self.alloc_bytes.next_multiple_of(PAGE as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Limits =
        Limits { address_space: u64::MAX, file_bytes: u64::MAX, descriptors: u64::MAX };

    #[test]
    fn all_arenas_of_a_node_fit_into_half_the_address_space() {
        let settings = ShmSettings::default().rounded();
        assert_eq!(settings.clone().within(&FREE, 8, 8), settings);
        // 400,000 KiB for 4 ranks, 700,000 KiB for 8: there is room for segments, too.
        for (ranks, kibibytes) in [(4u32, 400_000u64), (8, 700_000)] {
            let limits = Limits { address_space: kibibytes << 10, ..FREE };
            let cut = settings.clone().within(&limits, ranks, ranks).geometry(ranks);
            assert!(cut.is_sound() && cut.total() * u64::from(ranks) <= (kibibytes << 10) / 2);
            let segment = crate::segment::Layout::new(ranks).bytes() as u64;
            assert!(cut.alloc_bytes >= segment, "{ranks}: {} < {segment}", cut.alloc_bytes);
        }
    }

    #[test]
    fn arenas_fit_into_files_of_a_few_megabytes() {
        let settings = ShmSettings::default().rounded();
        for mebibytes in [64u64, 8, 4, 2] {
            let limits = Limits { file_bytes: mebibytes << 20, ..FREE };
            let cut = settings.clone().within(&limits, 4, 4);
            assert!(cut.geometry(4).total() <= mebibytes << 20, "{mebibytes}: {cut:?}");
            assert!(cut.ring_bytes >= cut.chunk_bytes.into());
        }
        let none = Limits { address_space: 1, file_bytes: 1, ..FREE };
        let least = settings.within(&none, 4, 4);
        assert_eq!((least.alloc_bytes, least.exchange_bytes), (0, 0));
        assert!(least.geometry(4).is_sound());
    }
}
