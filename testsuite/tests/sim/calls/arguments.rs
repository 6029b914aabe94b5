//! The arguments of a collective call: plain ones, in place, or with gaps in memory, on any communicator.
//!
//! Enters: a call and a rank's memory for it. Leaves: that memory laid out, with what must be in it afterwards.

use mpi_core::buffer::UserBuffer;
use mpi_core::coll::menu::Collective;
use mpi_core::collectives::calls::Typed;
use mpi_core::datatype::{Datatype, Form, predefined};
use mpi_core::handle::{CommHandle, DatatypeHandle, OpHandle};
use testsuite::sim::{COMM_WORLD, SimEntry};

use crate::calls::{Call, INT64, Memory, SUM, UNTOUCHED};

/// Whose call it is, what adds where something is reduced, and where its data lie; of a v-variant the addresses alone
/// count.
#[derive(Clone, Copy)]
pub(crate) struct Arguments {
    pub(crate) comm: CommHandle,
    pub(crate) add: OpHandle,
    pub(crate) send: Typed,
    pub(crate) recv: Typed,
}

/// What is not plain about a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// At all ranks.
    pub(crate) in_place: bool,
    /// At this rank, in what it sends and in what it receives.
    pub(crate) gaps: [bool; 2],
}

impl Arguments {
    /// Those of a call of all processes, with one element after another.
    pub(crate) fn plain(call: &Call, memory: &mut Memory) -> Arguments {
        let typed = |words: &mut [i64]| {
            let buf = UserBuffer(words.as_mut_ptr().cast());
            Typed { buf, count: call.len as i64, datatype: INT64 }
        };
        let (send, recv) = (typed(&mut memory.send), typed(&mut memory.recv));
        Arguments { comm: COMM_WORLD, add: SUM, send, recv }
    }

    /// Those of a call of `comm`, in place and with gaps where that is wanted and may be. The result is what
    /// `memory.recv` begins with: of a reduction in place there may be more.
    pub(crate) fn laid_out(
        mpi: &mut SimEntry<'_>,
        call: &Call,
        comm: CommHandle,
        memory: &mut Memory,
        layout: Layout,
    ) -> Arguments {
        use Collective::{Allgather, Alltoall, Bcast, Gather, Scatter};
        let me = mpi.comm(comm).unwrap().rank as usize;
        let replaced = if layout.in_place { put_in_place(call, memory, me) } else { None };
        let has_blocks = matches!(call.collective, Bcast | Gather | Scatter | Allgather | Alltoall);
        let gaps = layout.gaps.map(|wanted| wanted && has_blocks && call.len > 0);
        if gaps[0] {
            memory.send = spread(&memory.send, call.len);
        }
        if gaps[1] {
            memory.recv = spread(&memory.recv, call.len);
            memory.expected = spread(&memory.expected, call.len);
        }
        let mut arguments = Arguments { comm, ..Arguments::plain(call, memory) };
        for (side, has_gaps) in [&mut arguments.send, &mut arguments.recv].into_iter().zip(gaps) {
            if has_gaps {
                *side = Typed { count: 1, datatype: block_with_gaps(mpi, call.len), ..*side };
            }
        }
        match replaced {
            Some(Replaced::Send) => arguments.send.buf = UserBuffer::IN_PLACE,
            Some(Replaced::Recv) => arguments.recv.buf = UserBuffer::IN_PLACE,
            None => {}
        }
        arguments
    }

    /// Frees the datatypes that were made for a call.
    pub(crate) fn free_datatypes(self, mpi: &mut SimEntry<'_>) {
        for datatype in [self.send.datatype, self.recv.datatype] {
            if datatype != INT64 {
                mpi.datatypes.free(datatype).unwrap();
            }
        }
    }
}

/// The buffer that `MPI_IN_PLACE` stands for.
#[derive(Clone, Copy)]
enum Replaced {
    Send,
    Recv,
}

/// Lets rank `me` give its data to a call from where the result goes, if that may be (MPI-5.0 §6.5 to §6.11).
fn put_in_place(call: &Call, memory: &mut Memory, me: usize) -> Option<Replaced> {
    use Collective::*;
    match call.collective {
        Gather | Gatherv | Scatter | Scatterv | Reduce if me != call.root => return None,
        Barrier | Bcast | Alltoallv | Alltoallw => return None,
        Scatter | Scatterv => {
            memory.expected.clone_from(&memory.recv);
            return Some(Replaced::Recv);
        }
        Gather | Allgather => {
            memory.recv[me * call.len..][..call.len].copy_from_slice(&memory.send)
        }
        Gatherv | Allgatherv => {
            let at = memory.displs[1][me] as usize;
            memory.recv[at..][..memory.send.len()].copy_from_slice(&memory.send);
        }
        // What a reduction has for this rank alone it puts first.
        Alltoall | Reduce | Allreduce | ReduceScatter | ReduceScatterBlock | Scan | Exscan => {
            memory.recv.clone_from(&memory.send);
        }
    }
    if call.collective == Exscan && me == 0 {
        memory.expected.clone_from(&memory.send);
    }
    Some(Replaced::Send)
}

/// A datatype of blocks as [`spread`] lays them out.
fn block_with_gaps(mpi: &mut SimEntry<'_>, len: usize) -> DatatypeHandle {
    let int64 = predefined(INT64.raw()).unwrap();
    let block = Datatype::vector(len as i64, 1, 2, int64, Form::Int).unwrap();
    block.commit();
    mpi.datatypes.add(block).unwrap()
}

/// Blocks of `len` elements with a gap after each element but the last of a block.
fn spread(words: &[i64], len: usize) -> Vec<i64> {
    let step = 2 * len - 1;
    let mut memory = vec![UNTOUCHED; words.len() / len * step];
    for (at, word) in words.iter().enumerate() {
        memory[at / len * step + at % len * 2] = *word;
    }
    memory
}
