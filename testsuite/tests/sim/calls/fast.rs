//! The fast path of small collectives, as a program's call goes it.

use mpi_core::buffer::UserBuffer;
use mpi_core::coll::menu::Collective;
use mpi_core::error::Result;
use mpi_core::handle::RequestHandle;
use testsuite::sim::{COMM_WORLD, SimEntry};

use crate::calls::{Call, INT64, Memory, SUM, prepare};

/// A call by its fast path; whether that was open.
fn fast<const BEGINS: bool>(
    mpi: &mut SimEntry<'_>,
    call: &Call,
    memory: &mut Memory,
) -> Result<bool> {
    let buffer = |data: &mut [i64]| UserBuffer(data.as_mut_ptr().cast());
    let (send, recv) = (buffer(&mut memory.send), buffer(&mut memory.recv));
    let (n, of, root, comm) = (call.len as i64, INT64, call.root as i32, COMM_WORLD);
    let mut mpi = mpi.collectives();
    match call.collective {
        Collective::Barrier => mpi.fast_barrier::<BEGINS>(comm),
        Collective::Bcast => mpi.fast_bcast::<BEGINS>(recv, n, of, root, comm),
        Collective::Gather => mpi.fast_gather::<BEGINS>(send, n, of, recv, n, of, root, comm),
        Collective::Scatter => mpi.fast_scatter::<BEGINS>(send, n, of, recv, n, of, root, comm),
        Collective::Allgather => mpi.fast_allgather::<BEGINS>(send, n, of, recv, n, of, comm),
        Collective::Alltoall => mpi.fast_alltoall::<BEGINS>(send, n, of, recv, n, of, comm),
        Collective::Reduce => mpi.fast_reduce::<BEGINS>(send, recv, n, of, SUM, root, comm),
        Collective::Allreduce => mpi.fast_allreduce::<BEGINS>(send, recv, n, of, SUM, comm),
        _ => Ok(false),
    }
}

/// A blocking call, by its fast path if that is `wanted` and open; whether it was.
pub(crate) fn run(mpi: &mut SimEntry<'_>, call: &Call, memory: &mut Memory, wanted: bool) -> bool {
    let done = wanted && fast::<false>(mpi, call, memory).unwrap();
    if !done {
        let prepared = prepare(mpi, call, memory);
        mpi.collectives().run(&prepared).unwrap();
    }
    done
}

/// A call that begins, by its fast path if that is `wanted` and open; whether it was.
pub(crate) fn begin(
    mpi: &mut SimEntry<'_>,
    call: &Call,
    memory: &mut Memory,
    wanted: bool,
) -> Result<(RequestHandle, bool)> {
    let begun = match wanted {
        true => mpi.collectives().begin_fast(|mpi| fast::<true>(mpi, call, memory))?,
        false => None,
    };
    if let Some(request) = begun {
        return Ok((request, true));
    }
    let prepared = prepare(mpi, call, memory);
    mpi.collectives().begin(&prepared).map(|request| (request, false))
}
