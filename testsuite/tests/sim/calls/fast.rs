//! The fast path of small collectives, as a program's call goes it.

use mpi_core::coll::menu::Collective;
use mpi_core::error::Result;
use mpi_core::handle::RequestHandle;
use testsuite::sim::SimEntry;

use crate::calls::arguments::Arguments;
use crate::calls::{Call, INT64, Memory, prepare_with};

/// A call by its fast path; whether that was open.
fn fast<const BEGINS: bool>(
    mpi: &mut SimEntry<'_>,
    call: &Call,
    arguments: Arguments,
) -> Result<bool> {
    let Arguments { comm, add, send, recv } = arguments;
    let (s, sn, st) = (send.buf, send.count, send.datatype);
    let (r, rn, rt) = (recv.buf, recv.count, recv.datatype);
    let (n, of, root) = (call.len as i64, INT64, call.root as i32);
    let mut mpi = mpi.collectives();
    match call.collective {
        Collective::Barrier => mpi.fast_barrier::<BEGINS>(comm),
        Collective::Bcast => mpi.fast_bcast::<BEGINS>(r, rn, rt, root, comm),
        Collective::Gather => mpi.fast_gather::<BEGINS>(s, sn, st, r, rn, rt, root, comm),
        Collective::Scatter => mpi.fast_scatter::<BEGINS>(s, sn, st, r, rn, rt, root, comm),
        Collective::Allgather => mpi.fast_allgather::<BEGINS>(s, sn, st, r, rn, rt, comm),
        Collective::Alltoall => mpi.fast_alltoall::<BEGINS>(s, sn, st, r, rn, rt, comm),
        Collective::Reduce => mpi.fast_reduce::<BEGINS>(s, r, n, of, add, root, comm),
        Collective::Allreduce => mpi.fast_allreduce::<BEGINS>(s, r, n, of, add, comm),
        _ => Ok(false),
    }
}

/// A blocking call, by its fast path if that is `wanted` and open; whether it was.
pub(crate) fn run(mpi: &mut SimEntry<'_>, call: &Call, memory: &mut Memory, wanted: bool) -> bool {
    let arguments = Arguments::plain(call, memory);
    run_with(mpi, call, memory, arguments, wanted)
}

/// The same with these arguments.
pub(crate) fn run_with(
    mpi: &mut SimEntry<'_>,
    call: &Call,
    memory: &Memory,
    arguments: Arguments,
    wanted: bool,
) -> bool {
    let done = wanted && fast::<false>(mpi, call, arguments).unwrap();
    if !done {
        let prepared = prepare_with(mpi, call, memory, arguments);
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
    let arguments = Arguments::plain(call, memory);
    begin_with(mpi, call, memory, arguments, wanted)
}

/// The same with these arguments.
pub(crate) fn begin_with(
    mpi: &mut SimEntry<'_>,
    call: &Call,
    memory: &Memory,
    arguments: Arguments,
    wanted: bool,
) -> Result<(RequestHandle, bool)> {
    let begun = match wanted {
        true => mpi.collectives().begin_fast(|mpi| fast::<true>(mpi, call, arguments))?,
        false => None,
    };
    if let Some(request) = begun {
        return Ok((request, true));
    }
    let prepared = prepare_with(mpi, call, memory, arguments);
    mpi.collectives().begin(&prepared).map(|request| (request, false))
}
