//! Persistent collectives in simulated worlds (MPI-5.0 §6.13): made in one order, started in many,
//! beside other calls on the same communicator.

use std::rc::Rc;

use crate::calls::{Call, INT64, Memory, UNTOUCHED, live, memory, prepare};
use mpi_core::buffer::UserBuffer;
use mpi_core::coll::menu::{Algorithm, Collective};
use mpi_core::collectives::calls::Typed;
use mpi_core::datatype::{Datatype, Form};
use mpi_core::handle::RequestHandle;
use testsuite::sim::{COMM_WORLD, SimEntry, World};
use transports::sim::{Nodes, SimOptions};

const MEETING: Call = Call { collective: Collective::Barrier, len: 0, root: 0, salt: 0 };

/// Calls of all collectives and lengths, in an order of the seed's.
fn shuffled(seed: u64, ranks: u32) -> Vec<Call> {
    let mut calls = Vec::new();
    for &collective in Collective::ALL {
        for (n, len) in [0, 1, 40, 3000].into_iter().enumerate() {
            let (root, salt) = (n * 7 % ranks as usize, calls.len() as i64);
            calls.push(Call { collective, len, root, salt });
        }
    }
    calls.sort_by_key(|call| (call.salt as u64 + 1).wrapping_mul(seed * 2 + 0x9e37_79b9_7f4a_7c15));
    calls
}

/// Starts each of these once, in an order of this process's own, with blocking and nonblocking calls
/// between them, and waits for them in another order.
fn start_all(mpi: &mut SimEntry<'_>, kept: &[RequestHandle], round: usize) {
    let me = mpi.identity.rank as usize;
    let mut order = kept.to_vec();
    order.rotate_left((5 + me * (round + 1)) % kept.len());
    if (me + round) % 2 == 1 {
        order.reverse();
    }
    for (at, &request) in order.iter().enumerate() {
        if at == kept.len() / 2 {
            let sum = Call { collective: Collective::Allreduce, len: 3, ..MEETING };
            live(mpi, &[MEETING], 1);
            live(mpi, &[sum; 2], 2);
        }
        mpi.start(request).unwrap();
    }
    for request in order.into_iter().rev() {
        mpi.wait_one(request).unwrap();
    }
}

/// Some rounds of calls that are kept, and freed in an order of this process's own.
fn rounds(mpi: &mut SimEntry<'_>, calls: &[Call]) {
    let (me, size) = (mpi.identity.rank as usize, mpi.identity.size as usize);
    let mut memories: Vec<Memory> = calls.iter().map(|call| memory(call, me, size)).collect();
    let keep = |(call, memory): (&Call, &mut Memory)| {
        let prepared = prepare(mpi, call, memory);
        mpi.collectives().keep(prepared).unwrap()
    };
    let mut kept: Vec<RequestHandle> = calls.iter().zip(&mut memories).map(keep).collect();
    for round in 0..3 {
        for (call, memory) in calls.iter().zip(&mut memories) {
            if call.collective != Collective::Bcast || call.root != me {
                memory.recv.fill(UNTOUCHED);
            }
        }
        start_all(mpi, &kept, round);
        for (call, memory) in calls.iter().zip(&memories) {
            assert!(memory.recv == memory.expected, "{call:?} at rank {me} of {size}");
        }
    }
    kept.rotate_left(me % calls.len());
    for request in kept {
        assert!(mpi.free_request(request).unwrap().is_none());
    }
}

#[test]
fn they_may_be_started_in_any_order() {
    for seed in 0..20 {
        let ranks = 2 + (seed % 4) as u32;
        let calls = Rc::new(shuffled(seed, ranks));
        let nodes = match seed {
            ..12 => Nodes::One,
            12..16 => Nodes::Blocks(2),
            _ => Nodes::Turns(2),
        };
        let narrow = SimOptions { capacity: 2, refuse: 0.3, nodes, ..SimOptions::default() };
        let world = World { network: narrow, ..World::new(seed, ranks) };
        let outcome = world.start_mpi(move |mpi| {
            if seed % 4 > 1 {
                let (selection, name) =
                    (mpi.selection.clone(), Algorithm::SharedMemoryShares.name());
                mpi.selection = selection.with_override(Collective::Allreduce, name).unwrap();
            }
            if seed % 2 == 0 {
                mpi.selection.patience = 0;
                live(mpi, &[MEETING], 1);
            }
            // The largest groups are more than can have a segment of their own.
            let at_once = [3, 11, calls.len()][seed as usize % 3];
            calls.chunks(at_once).for_each(|group| rounds(mpi, group));
        });
        outcome.unwrap_or_else(|hang| panic!("{hang}"));
    }
}

fn typed(words: &mut [i64], count: i64) -> Typed {
    Typed { buf: UserBuffer(words.as_mut_ptr().cast()), count, datatype: INT64 }
}

#[test]
fn a_datatype_may_be_freed_before_the_first_start() {
    for seed in 0..8 {
        let outcome = World::new(seed, 3).start_mpi(|mpi| {
            let me = i64::from(mpi.identity.rank);
            // Every second word, which is no run of memory.
            let int64 = mpi.datatypes.get(INT64).unwrap().clone();
            let gaps = Datatype::vector(2, 1, 2, &int64, Form::Int).unwrap();
            gaps.commit();
            let datatype = mpi.datatypes.add(gaps).unwrap();
            let mut words = [me, -1, me + 1, -2];
            let data = Typed { datatype, ..typed(&mut words, 1) };
            let call = mpi.calls().bcast(data, 1, COMM_WORLD).unwrap();
            let told = mpi.collectives().keep(call).unwrap();
            mpi.datatypes.free(datatype).unwrap();
            for round in 0..4 {
                words[0] += i64::from(me == 1);
                mpi.start(told).unwrap();
                mpi.wait_one(told).unwrap();
                assert_eq!(words, [2 + round, -1, 2, -2]);
            }
            assert!(mpi.free_request(told).unwrap().is_none());
        });
        outcome.unwrap_or_else(|hang| panic!("{hang}"));
    }
}

#[test]
fn blocks_are_swapped_in_place() {
    for seed in 0..8 {
        let narrow = SimOptions { capacity: 2, refuse: 0.3, ..SimOptions::default() };
        let world = World { network: narrow, ..World::new(seed, 3) };
        let outcome = world.start_mpi(|mpi| {
            let (me, len) = (i64::from(mpi.identity.rank), 3000);
            let block = |from: i64, to: i64| (0..len).map(move |at| (from * 3 + to) * len + at);
            let out: Vec<i64> = (0..3).flat_map(|to| block(me, to)).collect();
            let swapped: Vec<i64> = (0..3).flat_map(|from| block(from, me)).collect();
            let mut words = out.clone();
            let own = Typed { buf: UserBuffer::IN_PLACE, ..typed(&mut [], 0) };
            let call = mpi.calls().alltoall(own, typed(&mut words, len), COMM_WORLD).unwrap();
            let swap = mpi.collectives().keep(call).unwrap();
            for expected in [&swapped, &out, &swapped, &out] {
                mpi.start(swap).unwrap();
                mpi.wait_one(swap).unwrap();
                assert!(words == *expected, "at rank {me}");
            }
            assert!(mpi.free_request(swap).unwrap().is_none());
        });
        outcome.unwrap_or_else(|hang| panic!("{hang}"));
    }
}
