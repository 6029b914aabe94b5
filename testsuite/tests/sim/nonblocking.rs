//! Nonblocking collectives over segments in simulated worlds (MPI-5.0 §6.12): several under way at
//! once, between blocking ones, on communicators that are freed meanwhile, and where a process fails.

use std::rc::Rc;

use crate::calls::fast::{begin, run};
use crate::calls::{Call, INT64, Memory, SUM, live, memory, prepare};
use mpi_core::buffer::UserBuffer;
use mpi_core::coll::menu::{Algorithm, Collective};
use mpi_core::collectives::calls::Typed;
use mpi_core::datatype::BYTE;
use mpi_core::error::ErrorClass;
use mpi_core::p2p::{Message, Mode};
use testsuite::sim::{COMM_WORLD, SimEntry, World};
use transports::sim::SimOptions;

const MEETING: Call = Call { collective: Collective::Barrier, len: 0, root: 0, salt: 0 };

/// Gets a segment, which a blocking call alone does.
fn open_segment(mpi: &mut SimEntry<'_>) {
    mpi.selection.patience = 0;
    live(mpi, &[MEETING], 1);
}

/// Begins some calls, by the fast path at some ranks, runs one to its end, begins more, and waits for the last ones
/// first.
fn mixed(mpi: &mut SimEntry<'_>, calls: &[Call]) {
    let (me, size) = (mpi.identity.rank as usize, mpi.identity.size as usize);
    let mut memories: Vec<Memory> = calls.iter().map(|call| memory(call, me, size)).collect();
    let mut requests = Vec::new();
    for (at, (call, memory)) in calls.iter().zip(&mut memories).enumerate() {
        if at == calls.len() / 2 {
            let prepared = prepare(mpi, call, memory);
            mpi.collectives().run(&prepared).unwrap();
        } else {
            let wanted = !(at + me).is_multiple_of(3);
            requests.push(begin(mpi, call, memory, wanted).unwrap().0);
        }
    }
    for request in requests.into_iter().rev() {
        mpi.wait_one(request).unwrap();
    }
    for (call, memory) in calls.iter().zip(&memories) {
        assert!(memory.recv == memory.expected, "{call:?} at rank {me} of {size}");
    }
}

/// Calls of all collectives and lengths, in an order of the seed's.
fn shuffled(seed: u64, ranks: u32) -> Vec<Call> {
    let mut calls = Vec::new();
    for &collective in Collective::ALL {
        for (n, len) in [0, 1, 5, 40, 3000].into_iter().enumerate() {
            let (root, salt) = (n * 7 % ranks as usize, calls.len() as i64);
            calls.push(Call { collective, len, root, salt });
        }
    }
    calls.sort_by_key(|call| (call.salt as u64 + 1).wrapping_mul(seed * 2 + 0x9e37_79b9_7f4a_7c15));
    calls
}

#[test]
fn what_begins_on_a_segment_ends_there_in_its_order() {
    for seed in 0..16 {
        let ranks = 2 + (seed % 5) as u32;
        let calls = Rc::new(shuffled(seed, ranks));
        let narrow = SimOptions { capacity: 2, refuse: 0.3, ..SimOptions::default() };
        let world = World { network: narrow, ..World::new(seed, ranks) };
        let outcome = world.start_mpi(move |mpi| {
            open_segment(mpi);
            calls.chunks(1 + seed as usize % 9).for_each(|group| mixed(mpi, group));
        });
        outcome.unwrap_or_else(|hang| panic!("{hang}"));
    }
}

#[test]
fn reductions_in_shares_may_begin_too() {
    for seed in 0..24 {
        let ranks = 2 + (seed % 6) as u32;
        let algorithm = Algorithm::SharedMemoryShares;
        let processors = [None, Some(2), Some(3)][seed as usize / 2 % 3];
        let network = SimOptions { processors, ..SimOptions::default() };
        let world = World { network, ..World::new(seed, ranks) };
        let outcome = world.start_mpi(move |mpi| {
            let served = |collective: &Collective| collective.needs(algorithm).is_some();
            for collective in [Collective::Reduce, Collective::Allreduce].into_iter().filter(served)
            {
                let selection = mpi.selection.clone();
                mpi.selection = selection.with_override(collective, algorithm.name()).unwrap();
            }
            open_segment(mpi);
            let call = |n: usize| {
                let collective = [Collective::Reduce, Collective::Allreduce][(n + n / 4) % 2];
                let root = n % mpi.identity.size as usize;
                Call { collective, len: 300 * n, root, salt: n as i64 }
            };
            let mut calls: Vec<Call> = (0..12).map(call).collect();
            // Something else goes through the streams between them.
            for at in [3, 7] {
                let (collective, root) = (Collective::Gather, at % mpi.identity.size as usize);
                calls.insert(at, Call { collective, len: 200, root, salt: 50 });
            }
            mixed(mpi, &calls);
        });
        outcome.unwrap_or_else(|hang| panic!("{hang}"));
    }
}

#[test]
fn a_communicator_may_be_freed_while_some_are_under_way() {
    let outcome = World::new(5, 4).start_mpi(|mpi| {
        mpi.selection.patience = 0;
        let mut sums = Vec::new();
        for round in 0..6 {
            let color = (mpi.identity.rank / 2) as i32;
            let part = mpi.communicators().split(COMM_WORLD, color, 0).unwrap();
            let meeting = mpi.calls().barrier(part).unwrap();
            mpi.collectives().run(&meeting).unwrap();
            let mut memory = [[i64::from(mpi.identity.rank) + round, 0]; 5];
            let mut requests = Vec::new();
            for [own, all] in &mut memory {
                let [own, into] =
                    [own, all].map(|data| UserBuffer(std::ptr::from_mut(data).cast()));
                let call = mpi.calls().allreduce(own, into, 1, INT64, SUM, part).unwrap();
                requests.push(mpi.collectives().begin(&call).unwrap());
            }
            mpi.communicators().free(part).unwrap();
            for request in requests {
                mpi.wait_one(request).unwrap();
            }
            assert!(memory.iter().all(|[_, all]| *all == memory[0][1]));
            sums.push(memory[0][1]);
        }
        sums
    });
    let results = outcome.unwrap_or_else(|hang| panic!("{hang}")).results;
    for (rank, sums) in results.into_iter().enumerate() {
        let of_round = |round: i64| 2 * round + [1, 5][rank / 2];
        assert_eq!(sums, Some((0..6).map(of_round).collect()));
    }
}

/// Some calls, by turns blocking and begun, by the fast path at some ranks; how many blocking and begun ones go it.
fn by_all_ways(mpi: &mut SimEntry<'_>, calls: &[Call]) -> [usize; 2] {
    let (me, size) = (mpi.identity.rank as usize, mpi.identity.size as usize);
    let mut memories: Vec<Memory> = calls.iter().map(|call| memory(call, me, size)).collect();
    let (mut requests, mut fast) = (Vec::new(), [0, 0]);
    for (call, memory) in calls.iter().zip(&mut memories) {
        let wanted = !(call.salt as usize / 4 + me).is_multiple_of(4);
        if call.salt % 4 == 3 {
            fast[0] += usize::from(run(mpi, call, memory, wanted));
            continue;
        }
        let (request, done) = begin(mpi, call, memory, wanted).unwrap();
        requests.push(request);
        fast[1] += usize::from(done);
    }
    for request in requests.into_iter().rev() {
        mpi.wait_one(request).unwrap();
    }
    for (call, memory) in calls.iter().zip(&memories) {
        assert!(memory.recv == memory.expected, "{call:?} at rank {me} of {size}");
    }
    fast
}

#[test]
fn the_fast_path_and_the_described_way_meet() {
    for seed in 0..24 {
        let ranks = 2 + (seed % 5) as u32;
        let calls = Rc::new(shuffled(seed, ranks));
        let outcome = World::new(seed, ranks).start_mpi(move |mpi| {
            open_segment(mpi);
            let groups = calls.chunks(1 + seed as usize % 4);
            let ways = groups.map(|group| by_all_ways(mpi, group));
            ways.fold([0, 0], |sum, [run, begun]| [sum[0] + run, sum[1] + begun])
        });
        for fast in outcome.unwrap_or_else(|hang| panic!("{hang}")).results {
            let [run, begun] = fast.expect("a rank that came to its end");
            assert!(run > 2 && begun > 2, "{run} calls took the fast path, {begun} began there");
        }
    }
}

#[test]
fn a_barrier_that_begins_waits_for_all() {
    for seed in 0..8 {
        let outcome = World::new(seed, 3).start_mpi(|mpi| {
            open_segment(mpi);
            let me = mpi.identity.rank;
            let mut token = [0u8];
            let mut message = |rank| {
                let buf = UserBuffer(token.as_mut_ptr());
                Message { buf, count: 1, datatype: BYTE, rank, tag: 0, comm: COMM_WORLD }
            };
            // The last one enters when the others have found that the barrier holds them.
            if me == 2 {
                let _ = [0, 1].map(|other| mpi.messages().receive(message(other)).unwrap());
            }
            let prepared = mpi.calls().barrier(COMM_WORLD).unwrap();
            let request = mpi.collectives().begin(&prepared).unwrap();
            let early = me != 2 && (0..100).any(|_| mpi.test(request).unwrap().is_some());
            if me != 2 {
                mpi.messages().send(message(2), Mode::Standard).unwrap();
            }
            mpi.wait_one(request).unwrap();
            early
        });
        let results = outcome.unwrap_or_else(|hang| panic!("{hang}")).results;
        assert_eq!(results, [Some(false); 3]);
    }
}

#[test]
fn a_result_in_place_waits_for_the_room_of_its_contribution() {
    for (ahead, fast) in (24..40).flat_map(|ahead| [(ahead, false), (ahead, true)]) {
        let outcome = World::new(ahead, 3).start_mpi(move |mpi| {
            open_segment(mpi);
            let me = i64::from(mpi.identity.rank);
            let mut words = vec![0i64; 40];
            let mut requests = Vec::new();
            for (n, word) in words[..ahead as usize].iter_mut().enumerate() {
                if me == 0 {
                    *word = n as i64 + 1;
                }
                let buf = UserBuffer(std::ptr::from_mut(word).cast());
                let data = Typed { buf, count: 1, datatype: INT64 };
                let prepared = mpi.calls().bcast(data, 0, COMM_WORLD).unwrap();
                requests.push(mpi.collectives().begin(&prepared).unwrap());
            }
            let mut sum = me + 1;
            let (own, recv) = (UserBuffer::IN_PLACE, UserBuffer((&raw mut sum).cast()));
            let begun = mpi.collectives().begin_fast(|mpi| match fast {
                true => mpi.fast_allreduce::<true>(own, recv, 1, INT64, SUM, COMM_WORLD),
                false => Ok(false),
            });
            requests.push(begun.unwrap().unwrap_or_else(|| {
                let prepared = mpi.calls().allreduce(own, recv, 1, INT64, SUM, COMM_WORLD).unwrap();
                mpi.collectives().begin(&prepared).unwrap()
            }));
            for request in requests {
                mpi.wait_one(request).unwrap();
            }
            (words[..ahead as usize].iter().zip(1..).all(|(word, n)| *word == n), sum)
        });
        let results = outcome.unwrap_or_else(|hang| panic!("{hang}")).results;
        assert_eq!(results, [Some((true, 6)); 3]);
    }
}

#[test]
fn a_contribution_that_waits_for_room_is_not_cut_within_an_element() {
    for (ahead, begins) in (24..40).flat_map(|ahead| [(ahead, false), (ahead, true)]) {
        let outcome = World::new(ahead, 3).start_mpi(move |mpi| {
            open_segment(mpi);
            let (me, size) = (mpi.identity.rank as usize, mpi.identity.size as usize);
            // Rank 0 fills its stream; a fragment of its segment is no multiple of an element.
            let mut calls =
                vec![Call { len: 1, collective: Collective::Bcast, ..MEETING }; ahead as usize];
            calls.push(Call { len: 500, collective: Collective::Allreduce, ..MEETING });
            let mut memories: Vec<Memory> =
                calls.iter().map(|call| memory(call, me, size)).collect();
            let mut requests = Vec::new();
            for (call, memory) in calls.iter().zip(&mut memories) {
                match call.collective == Collective::Bcast || begins {
                    true => requests.push(begin(mpi, call, memory, true).unwrap().0),
                    false => assert!(run(mpi, call, memory, true)),
                }
            }
            for request in requests {
                mpi.wait_one(request).unwrap();
            }
            memories.iter().all(|memory| memory.recv == memory.expected)
        });
        let results = outcome.unwrap_or_else(|hang| panic!("{hang}")).results;
        assert_eq!(results, [Some(true); 3]);
    }
}

/// Begins, by the fast path or not, and waits; the class of the error.
fn try_to(mpi: &mut SimEntry<'_>, call: &Call, fast: bool) -> Option<ErrorClass> {
    let (me, size) = (mpi.identity.rank as usize, mpi.identity.size as usize);
    let mut memory = memory(call, me, size);
    let begun = begin(mpi, call, &mut memory, fast);
    let outcome = begun.and_then(|(request, _)| mpi.wait_one(request).map(drop));
    outcome.err().map(|error| error.class())
}

#[test]
fn a_failure_is_told_to_those_who_wait() {
    let failed = Some(ErrorClass::TRUNCATE);
    for seed in 0..20 {
        let outcome = World::new(seed, 4).start_mpi(move |mpi| {
            open_segment(mpi);
            let len = if mpi.identity.rank == 2 { 5 } else { 40 };
            let call = Call { collective: Collective::Bcast, len, root: 0, salt: 0 };
            [call, MEETING].map(|call| try_to(mpi, &call, seed % 2 == 0))
        });
        let results = outcome.unwrap_or_else(|hang| panic!("{hang}")).results;
        let expected = [[None, failed], [None, failed], [failed, failed], [None, failed]];
        assert_eq!(results, expected.map(Some));
    }
}

#[test]
fn one_that_a_rank_leaves_out_fails_at_the_others() {
    for seed in 0..8 {
        let outcome = World::new(seed, 3).start_mpi(move |mpi| {
            open_segment(mpi);
            let call = Call { collective: Collective::Allreduce, len: 1, root: 0, salt: 0 };
            if mpi.identity.rank == 1 { None } else { try_to(mpi, &call, seed % 2 == 0) }
        });
        let results = outcome.unwrap_or_else(|hang| panic!("{hang}")).results;
        let failed = Some(ErrorClass::PROC_ABORTED);
        assert_eq!(results, [Some(failed), Some(None), Some(failed)]);
    }
}
