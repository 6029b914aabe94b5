//! What can be chosen about shared memory (decision 23), with its first values.

use super::layout::Geometry;
use crate::sys::memory::PAGE;

/// How the bytes of a rendezvous go from process to process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bulk {
    /// Whichever of the others was measured fastest for the length and the machine's load.
    Auto,
    /// The receiver copies out of the sender's memory, if the kernel lets it.
    CrossMemory,
    /// Both copy, through the ring of the sender's arena.
    Pipeline,
    /// Both copy, a part each, from memory to memory.
    Joint,
}

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

impl Default for ShmSettings {
    fn default() -> ShmSettings {
        ShmSettings {
            eager_bytes: 64 << 10,
            lane_cells: 64,
            lanes: 1024,
            slots: 256,
            slot_bytes: 2 << 10,
            ring_bytes: 8 << 20,
            exchange_bytes: 1 << 20,
            chunk_bytes: 128 << 10,
            chunks_per_peer: 32,
            alloc_bytes: 4 << 30,
            bulk: Bulk::Auto,
            cross_memory_bytes: 64 << 20,
            spin_polls: 10_000,
            yield_micros: 200,
        }
    }
}

impl ShmSettings {
    /// These settings with sizes that fit each other: pieces are whole lines, and the ring holds
    /// at least one.
    pub(super) fn rounded(self) -> ShmSettings {
        let chunk_bytes = self.chunk_bytes.clamp(64, 1 << 24).next_multiple_of(64);
        let ring_bytes = self.ring_bytes.max(chunk_bytes.into()).next_multiple_of(PAGE as u64);
        ShmSettings { chunk_bytes, ring_bytes, ..self }
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
