//! What can be chosen about shared memory (decision 23), out of the table of all settings.

pub use mpi_core::settings::BulkWay as Bulk;
use mpi_core::settings::Settings;

use super::layout::Geometry;
use crate::sys::memory::PAGE;

/// Cells that a lane needs: a transfer of pieces begins when there is room for two more.
const CELLS_MIN: u32 = 4;

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
    /// Bytes of a piece that one end copies while the other copies the piece before.
    pub chunk_bytes: u32,
    /// Chunks on their way to one peer at most.
    pub chunks_per_peer: u32,
    /// Address space for memory that programs allocate with `MPI_Alloc_mem`, in bytes.
    pub alloc_bytes: u64,
    /// How large messages go.
    pub bulk: Bulk,
    /// With [`Bulk::Auto`]: from this many bytes on the receiver copies by itself what goes to memory
    /// that is not one run.
    pub cross_memory_bytes: u64,
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
            cross_memory_bytes: settings.shm_cross_memory_bytes,
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
    /// These settings with sizes that fit each other: pieces are whole lines, the ring holds at least one, and
    /// there are as many cells, slots and pieces under way as a message needs that goes on.
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
