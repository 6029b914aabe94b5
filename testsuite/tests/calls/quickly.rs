//! The short way of small collectives, as a program's call goes it.

use mpi_core::buffer::UserBuffer;
use mpi_core::coll::calls::{Elements, Reduced, Typed, Uneven};
use mpi_core::coll::menu::Collective;
use mpi_core::error::Result;
use testsuite::sim::{COMM_WORLD, SimEntry};

use crate::calls::{Call, INT64, Memory, SUM, varied_len};

/// A call by its short way; whether that was open.
pub(crate) fn quickly(mpi: &mut SimEntry<'_>, call: &Call, memory: &mut Memory) -> Result<bool> {
    let typed = |data: &mut [i64]| Typed {
        buf: UserBuffer(data.as_mut_ptr().cast()),
        count: call.len as i64,
        datatype: INT64,
    };
    let (send, recv) = (typed(&mut memory.send), typed(&mut memory.recv));
    let (root, comm) = (call.root as i32, COMM_WORLD);
    let own = |data| Typed { count: varied_len(call, mpi.identity.rank as usize) as i64, ..data };
    let entry = |list: &[i64], rank: usize| list.get(rank).copied().unwrap_or(-1);
    let memory = &*memory;
    let uneven = |buf, side: usize, in_bytes: bool| {
        let block = move |rank| {
            let [count, displ] =
                [&memory.counts, &memory.displs].map(|lists| entry(&lists[side], rank));
            Elements { count, datatype: INT64, displ, in_bytes }
        };
        Uneven { buf, block }
    };
    let at_root = |data| (mpi.identity.rank as usize == call.root).then_some(data);
    let (out, into) = (uneven(send.buf, 0, false), uneven(recv.buf, 1, false));
    let data = Reduced { send: send.buf, recv: recv.buf, datatype: INT64, op: SUM };
    match call.collective {
        Collective::Gatherv => mpi.gatherv_quickly(own(send), at_root(into), root, comm),
        Collective::Scatterv => mpi.scatterv_quickly(at_root(out), own(recv), root, comm),
        Collective::Allgatherv => mpi.allgatherv_quickly(own(send), into, comm),
        Collective::Alltoallv => mpi.alltoallv_quickly(out, into, comm),
        Collective::Alltoallw => {
            let (out, into) = (uneven(send.buf, 0, true), uneven(recv.buf, 1, true));
            mpi.alltoallw_quickly(out, into, comm)
        }
        Collective::ReduceScatter => {
            mpi.reduce_scatter_quickly(data, |rank| entry(&memory.counts[0], rank), comm)
        }
        Collective::ReduceScatterBlock => mpi.reduce_scatter_block_quickly(data, send.count, comm),
        Collective::Barrier => mpi.barrier_quickly(comm),
        Collective::Bcast => mpi.bcast_quickly(recv, root, comm),
        Collective::Gather => mpi.gather_quickly(send, recv, root, comm),
        Collective::Scatter => mpi.scatter_quickly(send, recv, root, comm),
        Collective::Allgather => mpi.allgather_quickly(send, recv, comm),
        Collective::Alltoall => mpi.alltoall_quickly(send, recv, comm),
        Collective::Reduce => mpi.reduce_quickly(send, recv.buf, SUM, root, comm),
        Collective::Allreduce => mpi.allreduce_quickly(send, recv.buf, SUM, comm),
        _ => Ok(false),
    }
}
