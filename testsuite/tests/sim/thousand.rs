//! A thousand processes in one simulated world whose timing is drawn from the seed: a reduction, a
//! full exchange and the division of a communicator, against answers computed without
//! communication, and alike whenever the seed is.

use std::time::Duration;

use mpi_core::buffer::UserBuffer;
use mpi_core::collectives::calls::{Prepared, Typed};
use mpi_core::handle::{CommHandle, DatatypeHandle, OpHandle};
use testsuite::sim::{COMM_WORLD, SimEntry, World};
use transports::sim::SimOptions;

const RANKS: u32 = 1024;
/// Into so many communicators the world is divided.
const COLORS: u32 = 7;
/// Elements of the vectors that are reduced: a few, and more than go by recursive doubling.
const SHORT: usize = 3;
const LONG: usize = 3_000;
/// `MPI_INT64_T`.
const INT64: DatatypeHandle = DatatypeHandle::from_raw(0x258);
/// `MPI_SUM`.
const SUM: OpHandle = OpHandle::from_raw(0x21);

/// What one run was like.
#[derive(PartialEq, Eq, Debug)]
struct Run {
    trace: u64,
    time: Duration,
    turns: u64,
}

fn typed(data: &mut [i64], count: usize) -> Typed {
    Typed { buf: UserBuffer(data.as_mut_ptr().cast()), count: count as i64, datatype: INT64 }
}

/// The sum over all processes of `comm` of vectors that begin with `first` and count on.
fn summed(mpi: &mut SimEntry<'_>, comm: CommHandle, first: i64, len: usize) -> Vec<i64> {
    let mut own: Vec<i64> = (first..).take(len).collect();
    let mut all = vec![0; len];
    let (send, recv) = (typed(&mut own, len).buf, typed(&mut all, len).buf);
    let call: Prepared = mpi.calls().allreduce(send, recv, len as i64, INT64, SUM, comm).unwrap();
    mpi.collectives().run(&call).unwrap();
    all
}

/// What [`summed`] has to be where these ranks have begun with their number.
fn sums(ranks: impl Iterator<Item = u32>, len: usize) -> Vec<i64> {
    let (count, sum) = ranks.fold((0, 0), |(n, sum), rank| (n + 1, sum + i64::from(rank)));
    (0..len as i64).map(|at| sum + count * at).collect()
}

/// What rank `from` has for rank `to`.
fn letter(from: u32, to: u32) -> i64 {
    i64::from(from) << 32 | i64::from(to)
}

fn live(mpi: &mut SimEntry<'_>) {
    let me = mpi.identity.rank;
    for len in [SHORT, LONG] {
        let all = summed(mpi, COMM_WORLD, i64::from(me), len);
        assert!(all == sums(0..RANKS, len), "{len} elements at rank {me}: {:?}", &all[..SHORT]);
    }

    let mut out: Vec<i64> = (0..RANKS).map(|to| letter(me, to)).collect();
    let mut into = vec![0; out.len()];
    let call = mpi.calls().alltoall(typed(&mut out, 1), typed(&mut into, 1), COMM_WORLD).unwrap();
    mpi.collectives().run(&call).unwrap();
    let due = (0..RANKS).map(|from| letter(from, me));
    assert!(into.into_iter().eq(due), "letters for rank {me}");

    // In reverse: who comes last is first.
    let color = me % COLORS;
    let part = mpi.communicators().split(COMM_WORLD, color as i32, -(me as i32)).unwrap();
    let alike = || (0..RANKS).filter(|rank| rank % COLORS == color);
    let place = alike().filter(|rank| *rank > me).count();
    assert_eq!(mpi.comm(part).unwrap().rank, place as u32);
    let all = summed(mpi, part, i64::from(me), SHORT);
    assert!(all == sums(alike(), SHORT), "color {color} at rank {me}: {all:?}");
}

fn run(seed: u64) -> Run {
    // From a few nanoseconds to a millisecond, through narrow paths that refuse now and then.
    let network =
        SimOptions { delay: 10..=1_000_000, capacity: 4, refuse: 0.2, ..SimOptions::default() };
    let outcome = World { network, ..World::new(seed, RANKS) }.start_mpi(live);
    let outcome = outcome.unwrap_or_else(|hang| panic!("{hang}"));
    Run { trace: outcome.trace, time: outcome.time, turns: outcome.turns }
}

#[test]
fn a_thousand_ranks_reduce_exchange_and_divide_alike_whenever_the_seed_is() {
    let first = run(5);
    assert_eq!(first, run(5), "the same seed");
    assert_ne!(first.trace, run(6).trace, "another seed");
}
