//! Collective calls of simulated programs, and the answers that they must get, computed without
//! communication.

pub(crate) mod arguments;
pub(crate) mod fast;
pub(crate) mod only;

use mpi_core::coll::menu::Collective;
use mpi_core::collectives::calls::{Prepared, Typed, Types, Varied};
use mpi_core::handle::{DatatypeHandle, OpHandle};
use testsuite::sim::SimEntry;

use arguments::Arguments;

/// `MPI_INT64_T`.
pub(crate) const INT64: DatatypeHandle = DatatypeHandle::from_raw(0x258);
/// `MPI_SUM`.
pub(crate) const SUM: OpHandle = OpHandle::from_raw(0x21);

/// One collective operation of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) collective: Collective,
    /// Elements, of a block where there are blocks.
    pub(crate) len: usize,
    pub(crate) root: usize,
    /// Makes the data of two calls differ.
    pub(crate) salt: i64,
}

/// Element `at` of what rank `from` has for rank `to`.
pub(crate) fn element(call: &Call, from: usize, to: usize, at: usize) -> i64 {
    call.salt.wrapping_mul(1_000_003) + (from * 10_007 + to * 101 + at) as i64
}

pub(crate) fn row(call: &Call, from: usize, to: usize, len: usize) -> Vec<i64> {
    (0..len).map(|at| element(call, from, to, at)).collect()
}

/// Elements of the block of `rank` in a v-variant.
pub(crate) fn varied_len(call: &Call, rank: usize) -> usize {
    call.len * (rank % 3) / 2
}

fn sum(call: &Call, ranks: impl Iterator<Item = usize>, to: usize, len: usize) -> Vec<i64> {
    ranks.fold(vec![0; len], |sum, from| {
        sum.iter().zip(row(call, from, to, len)).map(|(a, b)| a + b).collect()
    })
}

/// The memory of one call at one rank, and what must be in `recv` afterwards.
pub(crate) struct Memory {
    pub(crate) send: Vec<i64>,
    pub(crate) recv: Vec<i64>,
    pub(crate) expected: Vec<i64>,
    pub(crate) counts: [Vec<i64>; 2],
    pub(crate) displs: [Vec<i64>; 2],
    pub(crate) types: Vec<DatatypeHandle>,
}

pub(crate) const UNTOUCHED: i64 = -77;

fn offsets(counts: &[i64], unit: i64) -> Vec<i64> {
    let mut next = 0;
    let place = |count: &i64| {
        next += count * unit;
        next - count * unit
    };
    counts.iter().map(place).collect()
}

fn lens(counts: impl Iterator<Item = usize>) -> Vec<i64> {
    counts.map(|count| count as i64).collect()
}

/// What rank `me` of `size` gives to `call` and what it must get.
pub(crate) fn memory(call: &Call, me: usize, size: usize) -> Memory {
    let Call { len, root, .. } = *call;
    let all = || 0..size;
    let at_root = |data: Vec<i64>| if me == root { data } else { vec![] };
    let v = |rank| varied_len(call, rank);
    let uniform = |of: usize, to: &dyn Fn(usize) -> usize| -> Vec<i64> {
        all().flat_map(|k| row(call, if of == size { k } else { of }, to(k), len)).collect()
    };
    let mut counts = [lens(all().map(v)), lens(all().map(v))];
    let mut unit = 1;
    let (send, expected): (Vec<i64>, Vec<i64>) = match call.collective {
        Collective::Barrier => (vec![], vec![]),
        Collective::Bcast => (vec![], row(call, root, 0, len)),
        Collective::Gather => (row(call, me, 0, len), at_root(uniform(size, &|_| 0))),
        Collective::Allgather => (row(call, me, 0, len), uniform(size, &|_| 0)),
        Collective::Gatherv => {
            let whole = all().flat_map(|k| row(call, k, 0, v(k))).collect();
            (row(call, me, 0, v(me)), at_root(whole))
        }
        Collective::Allgatherv => {
            (row(call, me, 0, v(me)), all().flat_map(|k| row(call, k, 0, v(k))).collect())
        }
        Collective::Scatter => (at_root(uniform(root, &|k| k)), row(call, root, me, len)),
        Collective::Scatterv => {
            let whole = all().flat_map(|k| row(call, root, k, v(k))).collect();
            (at_root(whole), row(call, root, me, v(me)))
        }
        Collective::Alltoall => (uniform(me, &|k| k), uniform(size, &|_| me)),
        Collective::Alltoallv | Collective::Alltoallw => {
            let n = |from: usize, to: usize| call.len * ((from + 2 * to) % 3) / 2;
            counts = [lens(all().map(|k| n(me, k))), lens(all().map(|k| n(k, me)))];
            unit = if call.collective == Collective::Alltoallw { 8 } else { 1 };
            let out = all().flat_map(|k| row(call, me, k, n(me, k))).collect();
            (out, all().flat_map(|k| row(call, k, me, n(k, me))).collect())
        }
        Collective::Reduce => (row(call, me, 0, len), at_root(sum(call, all(), 0, len))),
        Collective::Allreduce => (row(call, me, 0, len), sum(call, all(), 0, len)),
        Collective::ReduceScatter => {
            let whole = all().flat_map(|k| row(call, me, k, v(k))).collect();
            (whole, sum(call, all(), me, v(me)))
        }
        Collective::ReduceScatterBlock => (uniform(me, &|k| k), sum(call, all(), me, len)),
        Collective::Scan => (row(call, me, 0, len), sum(call, 0..me + 1, 0, len)),
        Collective::Exscan if me == 0 => (row(call, me, 0, len), vec![UNTOUCHED; len]),
        Collective::Exscan => (row(call, me, 0, len), sum(call, 0..me, 0, len)),
    };
    let mut recv = vec![UNTOUCHED; expected.len()];
    if call.collective == Collective::Bcast && me == root {
        recv.clone_from(&expected);
    }
    let displs = [offsets(&counts[0], unit), offsets(&counts[1], unit)];
    Memory { send, recv, expected, counts, displs, types: vec![INT64; size] }
}

pub(crate) fn prepare(mpi: &SimEntry<'_>, call: &Call, memory: &mut Memory) -> Prepared {
    let arguments = Arguments::plain(call, memory);
    prepare_with(mpi, call, memory, arguments)
}

/// The same with these arguments.
pub(crate) fn prepare_with(
    mpi: &SimEntry<'_>,
    call: &Call,
    memory: &Memory,
    arguments: Arguments,
) -> Prepared {
    let Arguments { comm, add, send: out, recv: into } = arguments;
    let me = mpi.comm(comm).unwrap().rank as usize;
    let (send, recv) = (out.buf, into.buf);
    let (len, root) = (call.len as i64, call.root as i32);
    let own = |buf| Typed { buf, count: varied_len(call, me) as i64, datatype: INT64 };
    let varied = |buf, side: usize| {
        let (counts, displs) = (&memory.counts[side][..], &memory.displs[side][..]);
        let each = call.collective == Collective::Alltoallw;
        let datatypes = if each { Types::Each(&memory.types) } else { Types::Same(INT64) };
        Varied { buf, counts, displs, datatypes }
    };
    let at_root = |varied| (me == call.root).then_some(varied);
    let calls = mpi.calls();
    match call.collective {
        Collective::Barrier => calls.barrier(comm),
        Collective::Bcast => calls.bcast(into, root, comm),
        Collective::Gather => calls.gather(out, into, root, comm),
        Collective::Gatherv => calls.gatherv(own(send), at_root(varied(recv, 1)), root, comm),
        Collective::Scatter => calls.scatter(out, into, root, comm),
        Collective::Scatterv => calls.scatterv(at_root(varied(send, 0)), own(recv), root, comm),
        Collective::Allgather => calls.allgather(out, into, comm),
        Collective::Allgatherv => calls.allgatherv(own(send), varied(recv, 1), comm),
        Collective::Alltoall => calls.alltoall(out, into, comm),
        Collective::Alltoallv | Collective::Alltoallw => {
            calls.alltoallv(Some(varied(send, 0)), varied(recv, 1), comm)
        }
        Collective::Reduce => calls.reduce_to(send, recv, len, INT64, add, root, comm),
        Collective::Allreduce => calls.allreduce(send, recv, len, INT64, add, comm),
        Collective::ReduceScatter => {
            calls.reduce_scatter(send, recv, &memory.counts[0], INT64, add, comm)
        }
        Collective::ReduceScatterBlock => {
            calls.reduce_scatter_block(send, recv, len, INT64, add, comm)
        }
        Collective::Scan => calls.scan(send, recv, len, INT64, add, comm, false),
        Collective::Exscan => calls.scan(send, recv, len, INT64, add, comm, true),
    }
    .unwrap_or_else(|error| panic!("{call:?}: {error}"))
}

/// Runs the calls, `at_once` of them under way together (1: blocking).
pub(crate) fn live(mpi: &mut SimEntry<'_>, calls: &[Call], at_once: usize) {
    let (me, size) = (mpi.identity.rank as usize, mpi.identity.size as usize);
    for group in calls.chunks(at_once) {
        let mut memories: Vec<Memory> = group.iter().map(|call| memory(call, me, size)).collect();
        let mut requests = Vec::new();
        for (call, memory) in group.iter().zip(&mut memories) {
            let prepared = prepare(mpi, call, memory);
            match at_once {
                1 => mpi.collectives().run(&prepared).unwrap(),
                _ => requests.push(mpi.collectives().begin(&prepared).unwrap()),
            }
        }
        for request in requests.into_iter().rev() {
            mpi.wait_one(request).unwrap();
        }
        for (call, memory) in group.iter().zip(&memories) {
            assert!(memory.recv == memory.expected, "{call:?} at rank {me} of {size}");
        }
    }
}
