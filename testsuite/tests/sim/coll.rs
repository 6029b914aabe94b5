//! Collectives by whole processes in simulated worlds: every algorithm of every collective,
//! blocking and several at once, against answers computed without communication.

use std::cell::RefCell;
use std::rc::Rc;

use crate::calls::fast::run;
use crate::calls::only::{calls_of, fail_at_rank_2, use_only};
use crate::calls::{Call, INT64, SUM, UNTOUCHED, live, memory, prepare, row};
use mpi_core::buffer::UserBuffer;
use mpi_core::coll::menu::{Algorithm, Collective};
use mpi_core::collectives::calls::Typed;
use mpi_core::datatype::{BYTE, Datatype, Form};
use mpi_core::error::ErrorClass;
use mpi_core::handle::DatatypeHandle;
use testsuite::sim::{COMM_WORLD, SimEntry, World};
use transports::sim::SimOptions;

#[test]
fn every_algorithm_of_every_collective_gives_the_right_answer() {
    for (seed, &collective) in (0u64..).zip(Collective::ALL) {
        for &(algorithm, _) in collective.menu() {
            for ranks in [1, 2, 3, 4, 6, 9] {
                let calls = calls_of(collective, ranks);
                let world = World::new(seed << 8 | u64::from(ranks), ranks);
                let outcome = world.start_mpi(move |mpi| {
                    use_only(mpi, collective, algorithm);
                    live(mpi, &calls, 1);
                });
                outcome.unwrap_or_else(|hang| panic!("{collective} by {algorithm}: {hang}"));
            }
        }
    }
}

#[test]
fn long_messages_between_two_ranks_give_the_right_answer() {
    for (seed, &collective) in (0u64..).zip(Collective::ALL) {
        let call = |(n, len)| Call { collective, len, root: n % 2, salt: n as i64 };
        let calls: Vec<Call> = [9_000, 40_000, 9_000].into_iter().enumerate().map(call).collect();
        let segments =
            collective.menu().iter().filter(|(algorithm, _)| algorithm.is_shared_memory());
        for &(algorithm, _) in segments {
            for round in 0..4 {
                let calls = calls.clone();
                let outcome = World::new(seed << 8 | round, 2).start_mpi(move |mpi| {
                    use_only(mpi, collective, algorithm);
                    mpi.selection.patience = 0;
                    live(mpi, &calls, 1);
                });
                outcome.unwrap_or_else(|hang| panic!("{collective} by {algorithm}: {hang}"));
            }
        }
    }
}

#[test]
fn collectives_under_way_together_do_not_mix() {
    for seed in 0..12 {
        let ranks = 2 + (seed % 5) as u32;
        let mut calls: Vec<Call> =
            Collective::ALL.iter().flat_map(|collective| calls_of(*collective, ranks)).collect();
        for (n, call) in calls.iter_mut().enumerate() {
            call.salt = n as i64;
        }
        // The same order at all ranks, another one in each world.
        calls.sort_by_key(|call| {
            (call.salt as u64 + 1).wrapping_mul(seed * 2 + 0x9e37_79b9_7f4a_7c15)
        });
        let calls = Rc::new(calls);
        let narrow = SimOptions { capacity: 2, refuse: 0.3, ..SimOptions::default() };
        let world = World { network: narrow, ..World::new(seed, ranks) };
        let outcome = world.start_mpi(move |mpi| live(mpi, &calls, 7));
        outcome.unwrap_or_else(|hang| panic!("{hang}"));
    }
}

#[test]
fn a_collective_that_one_rank_leaves_out_fails_at_the_other() {
    let outcome = World::new(3, 2).start_mpi(|mpi| {
        let me = mpi.identity.rank as usize;
        let call = Call { collective: Collective::Allreduce, len: 1, root: 0, salt: 0 };
        let mut memory = memory(&call, me, 2);
        let prepared = prepare(mpi, &call, &mut memory);
        let result = if me == 1 { Ok(()) } else { mpi.collectives().run(&prepared) };
        result.map_err(|error| error.class())
    });
    let failed = Some(Err(ErrorClass::PROC_ABORTED));
    assert_eq!(outcome.unwrap().results, [failed, Some(Ok(()))]);
}

#[test]
fn the_fast_path_of_some_ranks_meets_the_described_way_of_others() {
    for (ranks, processors) in [(2, None), (3, None), (5, Some(2)), (8, None), (8, Some(3))] {
        let network = SimOptions { processors, ..SimOptions::default() };
        let world = World { network, ..World::new(u64::from(ranks), ranks) };
        let outcome = world.start_mpi(|mpi| {
            mpi.selection.patience = 0;
            let (me, size) = (mpi.identity.rank as usize, mpi.identity.size as usize);
            let mut fast = 0;
            for round in 0..320 {
                let collective = Collective::ALL[round * 5 % Collective::ALL.len()];
                let (len, root) = ([1, 6, 64, 400][round % 4], round * 7 % size);
                let call = Call { collective, len, root, salt: round as i64 };
                let mut memory = memory(&call, me, size);
                fast += usize::from(run(mpi, &call, &mut memory, (round + me) % 3 != 0));
                assert!(memory.recv == memory.expected, "{call:?} at rank {me} of {size}");
            }
            fast
        });
        for fast in outcome.unwrap_or_else(|hang| panic!("{hang}")).results {
            assert!(fast > Some(50), "{fast:?} calls took the fast path");
        }
    }
}

/// Blocks of one fragment each although they are long.
#[test]
fn long_exchanges_of_ranks_that_share_processors_give_the_right_answer() {
    const LENGTHS: [usize; 4] = [5_000, 9, 7_000, 12_000];
    let exchanges = [Collective::Alltoall, Collective::Alltoallv, Collective::Alltoallw];
    for (seed, ranks) in (0u64..).zip([3u32, 4, 4, 5]) {
        let network =
            SimOptions { processors: Some(2), large_fragments: true, ..SimOptions::default() };
        let outcome = World { network, ..World::new(seed, ranks) }.start_mpi(move |mpi| {
            mpi.selection.patience = 0;
            let call = |round: usize| {
                let (collective, len) = (exchanges[round % 3], LENGTHS[round / 3 % 4]);
                Call { collective, len, root: 0, salt: round as i64 }
            };
            live(mpi, &(0..48).map(call).collect::<Vec<_>>(), 1);
        });
        outcome.unwrap_or_else(|hang| panic!("{ranks} ranks: {hang}"));
    }
}

/// What is better shown than written is found out by timing, which may err in the middle of a call.
#[test]
fn whether_a_block_is_better_shown_may_change_within_a_call() {
    let exchanges = [Collective::Alltoall, Collective::Alltoallv, Collective::Scatter];
    for seed in 0..40 {
        let ranks = 3 + seed as u32 % 3;
        let network = SimOptions { processors: Some(2), fickle: 0.5, ..SimOptions::default() };
        let outcome = World { network, ..World::new(seed, ranks) }.start_mpi(move |mpi| {
            mpi.selection.patience = 0;
            let (me, size) = (mpi.identity.rank as usize, mpi.identity.size as usize);
            for (round, &collective) in exchanges.iter().cycle().take(400).enumerate() {
                let (root, len) = (round % size, 35 + round % 20);
                let call = Call { collective, len, root, salt: round as i64 };
                let mut memory = memory(&call, me, size);
                let prepared = prepare(mpi, &call, &mut memory);
                mpi.collectives().run(&prepared).unwrap();
                assert!(memory.recv == memory.expected, "{call:?} at rank {me} of {size}");
            }
        });
        outcome.unwrap_or_else(|hang| panic!("seed {seed}: {hang}"));
    }
}

/// What a program of barriers and other calls does next, the same at all ranks.
fn next_call(random: &mut u64, round: usize, ranks: usize) -> (Call, bool) {
    *random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    let mut draw = (*random >> 33) as usize;
    let mut take = |below: usize| {
        let drawn = draw % below;
        draw /= below;
        drawn
    };
    let rooted = [Collective::Bcast, Collective::Scatter, Collective::Scatterv];
    let collective = match take(8) {
        0..=3 => Collective::Barrier,
        4..=6 => rooted[take(3)],
        _ => Collective::ALL[take(Collective::ALL.len())],
    };
    let (root, len) = (take(ranks), [0, 1, 30, 400][take(4)]);
    (Call { collective, len, root, salt: round as i64 }, take(5) == 0)
}

#[test]
fn a_barrier_holds_everyone_whatever_came_before_it() {
    for seed in 0..24 {
        let ranks = 3 + seed as u32 % 5;
        let network = SimOptions { processors: Some(2), ..SimOptions::default() };
        let world = World { network, ..World::new(seed, ranks) };
        let come = Rc::new(RefCell::new(vec![0; ranks as usize]));
        let outcome = world.start_mpi(move |mpi| {
            mpi.selection.patience = 0;
            let (me, size) = (mpi.identity.rank as usize, mpi.identity.size as usize);
            let mut random = seed;
            for round in 0..200 {
                let (call, begins) = next_call(&mut random, round, size);
                let mut memory = memory(&call, me, size);
                come.borrow_mut()[me] = round;
                if begins {
                    let prepared = prepare(mpi, &call, &mut memory);
                    let request = mpi.collectives().begin(&prepared).unwrap();
                    mpi.wait_one(request).unwrap();
                } else {
                    run(mpi, &call, &mut memory, (round + me) % 3 != 0);
                }
                let held = || come.borrow().iter().all(|reached| *reached >= round);
                assert!(call.collective != Collective::Barrier || held(), "{call:?} at {me}");
                assert!(memory.recv == memory.expected, "{call:?} at rank {me} of {size}");
            }
        });
        outcome.unwrap_or_else(|hang| panic!("{hang}"));
    }
}

#[test]
fn a_block_longer_than_agreed_is_refused_on_the_fast_path_too() {
    let outcome = World::new(5, 2).start_mpi(|mpi| {
        mpi.selection.patience = 0;
        let me = mpi.identity.rank as usize;
        let barrier = mpi.calls().barrier(COMM_WORLD).unwrap();
        mpi.collectives().run(&barrier).unwrap();
        let (mut own, mut all) = ([7i64; 5], [0i64; 9]);
        let [own, all] = [&mut own[..], &mut all].map(|data| UserBuffer(data.as_mut_ptr().cast()));
        let done = mpi.collectives().fast_gather::<false>(
            own,
            [4, 5][me],
            INT64,
            all,
            4,
            INT64,
            0,
            COMM_WORLD,
        );
        done.map_err(|error| error.class())
    });
    let results = outcome.unwrap_or_else(|hang| panic!("{hang}")).results;
    assert_eq!(results, [Some(Err(ErrorClass::TRUNCATE)), Some(Ok(true))]);
}

/// In one fragment, in tiles, and in the writer's memory; what is beyond comes within the last fragment or behind it.
#[test]
fn an_operand_longer_than_agreed_is_refused() {
    for (seed, len, beyond) in (0..60u64).map(|seed| {
        (seed, [10, 1_000, 6_000, 20_000][seed as usize % 4], [1, 2, 700][seed as usize % 3])
    }) {
        for root in [Some(0), None] {
            let outcome = World::new(seed, 2).start_mpi(move |mpi| {
                use_only(mpi, Collective::Reduce, Algorithm::SharedMemory);
                use_only(mpi, Collective::Allreduce, Algorithm::SharedMemory);
                let count = len + i64::from(mpi.identity.rank) * beyond;
                let mut from = vec![1i64; count as usize];
                let mut into = vec![0i64; count as usize];
                let [send, recv] =
                    [&mut from, &mut into].map(|data| UserBuffer(data.as_mut_ptr().cast()));
                let prepared = match root {
                    Some(root) => {
                        mpi.calls().reduce_to(send, recv, count, INT64, SUM, root, COMM_WORLD)
                    }
                    None => mpi.calls().allreduce(send, recv, count, INT64, SUM, COMM_WORLD),
                };
                mpi.collectives().run(&prepared.unwrap()).map_err(|error| error.class())
            });
            let results = outcome.unwrap_or_else(|hang| panic!("seed {seed}: {hang}")).results;
            let refused = Some(Err(ErrorClass::TRUNCATE));
            assert_eq!(results[0], refused, "seed {seed}, {len} and {beyond} more, root {root:?}");
            assert!(root.is_some() || results[1] == refused, "seed {seed}: {:?}", results[1]);
        }
    }
}

#[test]
fn a_failure_at_one_rank_is_told_to_those_who_wait_for_it() {
    let failed = Some(ErrorClass::TRUNCATE);
    let over_messages = [[None, None], [None, None], [failed, None], [failed, None]];
    let over_a_segment = [[None, failed], [None, failed], [failed, failed], [None, failed]];
    for seed in 0..20 {
        for (algorithm, expected) in
            [(Algorithm::Binomial, over_messages), (Algorithm::SharedMemory, over_a_segment)]
        {
            let outcome = World::new(seed, 4).start_mpi(move |mpi| fail_at_rank_2(mpi, algorithm));
            let results = outcome.unwrap_or_else(|hang| panic!("{algorithm}: {hang}")).results;
            assert_eq!(results, expected.map(Some), "{algorithm}");
        }
    }
}

/// Words of a broadcast, of which rank 2 claims to have more, with gaps, than there is memory to pack them in; or,
/// at all ranks, just the words.
fn words_or_too_many(mpi: &mut SimEntry<'_>, words: &mut [i64], too_many: bool) -> Typed {
    let (buf, count) = (UserBuffer(words.as_mut_ptr().cast()), words.len() as i64);
    if !too_many || mpi.identity.rank != 2 {
        return Typed { buf, count, datatype: INT64 };
    }
    let int64 = mpi.datatypes.get(INT64).unwrap().clone();
    let gaps = Datatype::vector(2, 1, 2, &int64, Form::Int).unwrap();
    gaps.commit();
    Typed { buf, count: 1 << 58, datatype: mpi.datatypes.add(gaps).unwrap() }
}

/// Blocking, nonblocking and persistent; a call that came between those of the others would receive their words.
#[test]
fn a_call_without_memory_at_one_rank_counts_and_is_told_to_those_who_wait_for_it() {
    for (seed, form) in (0..30).map(|seed| (seed, seed % 3)) {
        let outcome = World::new(seed, 4).start_mpi(move |mpi| {
            use_only(mpi, Collective::Bcast, Algorithm::Binomial);
            [(4, true), (3, false)].map(|(len, too_many)| {
                let own = if mpi.identity.rank == 0 { len } else { 0 };
                let mut words = vec![own; len as usize];
                let data = words_or_too_many(mpi, &mut words, too_many);
                let call = mpi.calls().bcast(data, 0, COMM_WORLD).unwrap();
                let outcome = match form {
                    0 => mpi.collectives().run(&call),
                    1 => mpi
                        .collectives()
                        .begin(&call)
                        .and_then(|request| mpi.wait_one(request).map(drop)),
                    _ => mpi.collectives().keep(call).and_then(|request| {
                        mpi.start(request)?;
                        mpi.wait_one(request).map(drop)
                    }),
                };
                outcome.map(|()| words).map_err(|error| error.class())
            })
        });
        let results = outcome.unwrap_or_else(|hang| panic!("seed {seed}: {hang}")).results;
        let told = |rank| if rank < 2 { Ok(vec![4; 4]) } else { Err(ErrorClass::NO_MEM) };
        let expected: Vec<_> = (0..4).map(|rank| Some([told(rank), Ok(vec![3; 3])])).collect();
        assert_eq!(results, expected, "seed {seed}");
    }
}

#[test]
fn bytes_broadcast_to_many_ranks() {
    let outcome = World::new(8, 256).start_mpi(|mpi| {
        let mut bytes = vec![if mpi.identity.rank == 17 { 0x5a_u8 } else { 0 }; 20_000];
        let data = Typed { buf: UserBuffer(bytes.as_mut_ptr()), count: 20_000, datatype: BYTE };
        let prepared = mpi.calls().bcast(data, 17, COMM_WORLD).unwrap();
        mpi.collectives().run(&prepared).unwrap();
        bytes.iter().all(|byte| *byte == 0x5a)
    });
    assert!(outcome.unwrap().results.iter().all(|right| *right == Some(true)));
}

/// Whatever a rank shows in its memory or writes in fragments, and whoever refuses to fetch in the middle.
#[test]
fn two_ranks_add_up_long_vectors_in_place_and_not() {
    for seed in 0..200u64 {
        let lens = [400, 2_000, 6_001, 20_000].map(|len: i64| len + (seed % 7) as i64);
        let outcome = World::new(seed, 2).start_mpi(move |mpi| {
            use_only(mpi, Collective::Allreduce, Algorithm::SharedMemory);
            let me = i64::from(mpi.identity.rank);
            (0..8).all(|round| {
                let len = lens[round % lens.len()];
                let own = |i: i64| i * (me + 2) + round as i64;
                let sum = |i: i64| i * 5 + 2 * round as i64;
                let mut from: Vec<i64> = (0..len).map(own).collect();
                let mut into = if round < 4 { vec![0; len as usize] } else { from.clone() };
                let send = match round < 4 {
                    true => UserBuffer(from.as_mut_ptr().cast()),
                    false => UserBuffer::IN_PLACE,
                };
                let recv = UserBuffer(into.as_mut_ptr().cast());
                let prepared =
                    mpi.calls().allreduce(send, recv, len, INT64, SUM, COMM_WORLD).unwrap();
                mpi.collectives().run(&prepared).unwrap();
                into.iter().zip(0..).all(|(got, i)| *got == sum(i))
                    && from.iter().zip(0..).all(|(kept, i)| *kept == own(i))
            })
        });
        let outcome = outcome.unwrap_or_else(|hang| panic!("seed {seed}: {hang}"));
        assert!(outcome.results.iter().all(|right| *right == Some(true)), "seed {seed}");
    }
}

/// Adds up one vector, to `root` or to everyone, in place or not; whether it came as it should, and nothing
/// else was written.
fn add_up(mpi: &mut SimEntry<'_>, round: i64, len: i64, root: Option<i32>) -> bool {
    let (me, size) = (i64::from(mpi.identity.rank), i64::from(mpi.identity.size));
    let gets = root.is_none_or(|root| i64::from(root) == me);
    let own = |i: i64| i * (me + 1) + round;
    let sum = |i: i64| i * size * (size + 1) / 2 + size * round;
    let mut from: Vec<i64> = (0..len).map(own).collect();
    let in_place = gets && round % 2 == 1;
    let mut into = if in_place { from.clone() } else { vec![UNTOUCHED; len as usize] };
    let send = match in_place {
        true => UserBuffer::IN_PLACE,
        false => UserBuffer(from.as_mut_ptr().cast()),
    };
    let recv = UserBuffer(into.as_mut_ptr().cast());
    let prepared = match root {
        Some(root) => mpi.calls().reduce_to(send, recv, len, INT64, SUM, root, COMM_WORLD),
        None => mpi.calls().allreduce(send, recv, len, INT64, SUM, COMM_WORLD),
    };
    mpi.collectives().run(&prepared.unwrap()).unwrap();
    let expected = |i: i64| if gets { sum(i) } else { UNTOUCHED };
    into.iter().zip(0..).all(|(got, i)| *got == expected(i))
        && from.iter().zip(0..).all(|(kept, i)| *kept == own(i))
}

/// Whatever the other one shows or writes, and whoever of the two refuses to fetch.
#[test]
fn two_ranks_add_up_long_vectors_for_a_root_in_place_and_not() {
    for seed in 0..120u64 {
        let outcome = World::new(seed, 2).start_mpi(move |mpi| {
            use_only(mpi, Collective::Reduce, Algorithm::SharedMemory);
            (0..12).find(|round| {
                let len = [8_190, 12_000, 33_000, 40_000][*round as usize % 4] + (seed % 5) as i64;
                !add_up(mpi, *round, len, Some((*round / 3 % 2) as i32))
            })
        });
        let wrong = outcome.unwrap_or_else(|hang| panic!("seed {seed}: {hang}")).results;
        assert!(wrong.iter().all(|round| *round == Some(None)), "seed {seed}: {wrong:?}");
    }
}

#[test]
fn shares_add_up_vectors_for_every_root_and_for_everyone() {
    for seed in 0..40u64 {
        let ranks = 2 + (seed % 9) as u32;
        let network = SimOptions { processors: Some(2), ..SimOptions::default() };
        let outcome = World { network, ..World::new(seed, ranks) }.start_mpi(move |mpi| {
            use_only(mpi, Collective::Reduce, Algorithm::SharedMemoryShares);
            use_only(mpi, Collective::Allreduce, Algorithm::SharedMemoryShares);
            (0..30).find(|round| {
                let len = [1, 130, 700, 3_000][*round as usize % 4] + (seed % 5) as i64;
                let root = (*round as i32 * 7 + seed as i32) % ranks as i32;
                !add_up(mpi, *round, len, (round % 5 != 4).then_some(root))
            })
        });
        let wrong = outcome.unwrap_or_else(|hang| panic!("seed {seed}: {hang}")).results;
        assert!(wrong.iter().all(|round| *round == Some(None)), "seed {seed}: {wrong:?}");
    }
}

/// Elements of what a rank sends to or receives from one other, and the memory between two.
const LEN: usize = 6;
const STRIDE: usize = 3;

/// The same signature, `LEN` elements, laid out by each rank in its own way: odd ranks leave gaps.
fn own_layout(mpi: &mut SimEntry<'_>) -> (DatatypeHandle, usize) {
    if mpi.identity.rank.is_multiple_of(2) {
        let old = mpi_core::datatype::predefined(INT64.raw()).unwrap();
        let row = Datatype::contiguous(LEN as i64, old, Form::Int).unwrap();
        row.commit();
        return (mpi.datatypes.add(row).unwrap(), 1);
    }
    let old = mpi_core::datatype::predefined(INT64.raw()).unwrap();
    let gaps = Datatype::vector(LEN as i64, 1, STRIDE as i64, old, Form::Int).unwrap();
    let row = Datatype::resized(&gaps, 0, (LEN * STRIDE * 8) as i64, Form::Int).unwrap();
    row.commit();
    (mpi.datatypes.add(row).unwrap(), STRIDE)
}

/// `rows` spread out to one element every `stride`.
fn spread(rows: &[i64], stride: usize) -> Vec<i64> {
    let mut memory = vec![UNTOUCHED; rows.len() * stride];
    for (at, element) in rows.iter().enumerate() {
        memory[at * stride] = *element;
    }
    memory
}

fn exchange_differing_layouts(mpi: &mut SimEntry<'_>, collective: Collective) {
    let (me, size) = (mpi.identity.rank as usize, mpi.identity.size as usize);
    let (datatype, stride) = own_layout(mpi);
    let call = Call { collective, len: LEN, root: 0, salt: 11 };
    let all = |from: &dyn Fn(usize) -> Vec<i64>| (0..size).flat_map(from).collect::<Vec<i64>>();
    let typed = |memory: &mut [i64]| {
        let buf = UserBuffer(memory.as_mut_ptr().cast());
        Typed { buf, count: 1, datatype }
    };
    let (sent, expected) = match collective {
        Collective::Allgather => (row(&call, me, 0, LEN), all(&|from| row(&call, from, 0, LEN))),
        Collective::Alltoall => {
            (all(&|to| row(&call, me, to, LEN)), all(&|from| row(&call, from, me, LEN)))
        }
        _ => (vec![], row(&call, 1, 0, LEN)),
    };
    let mut send = spread(&sent, stride);
    let mut recv = vec![UNTOUCHED; expected.len() * stride];
    let prepared = match collective {
        Collective::Allgather => {
            mpi.calls().allgather(typed(&mut send), typed(&mut recv), COMM_WORLD)
        }
        Collective::Alltoall => {
            mpi.calls().alltoall(typed(&mut send), typed(&mut recv), COMM_WORLD)
        }
        _ => {
            if me == 1 {
                recv = spread(&expected, stride);
            }
            mpi.calls().bcast(typed(&mut recv), 1, COMM_WORLD)
        }
    };
    mpi.collectives().run(&prepared.unwrap()).unwrap();
    assert!(recv == spread(&expected, stride), "{collective} at rank {me} of {size}");
}

#[test]
fn ranks_may_lay_out_the_same_signature_differently() {
    for collective in [Collective::Bcast, Collective::Allgather, Collective::Alltoall] {
        for &(algorithm, _) in collective.menu() {
            for ranks in [2, 4, 7, 32] {
                let outcome = World::new(u64::from(ranks), ranks).start_mpi(move |mpi| {
                    use_only(mpi, collective, algorithm);
                    exchange_differing_layouts(mpi, collective);
                });
                outcome.unwrap_or_else(|hang| panic!("{collective} by {algorithm}: {hang}"));
            }
        }
    }
}

/// One call of each of these collectives by this algorithm, in one world of 256 ranks.
fn play_with_256(seed: u64, algorithm: Algorithm, collectives: Vec<Collective>) -> u64 {
    let names = format!("{collectives:?} by {algorithm}");
    let outcome = World::new(seed, 256).start_mpi(move |mpi| {
        for &collective in &collectives {
            let call = Call { collective, len: 2, root: 100, salt: 5 };
            use_only(mpi, collective, algorithm);
            live(mpi, &[call], 1);
        }
    });
    outcome.unwrap_or_else(|hang| panic!("{names}: {hang}")).trace
}

#[test]
fn every_algorithm_serves_256_ranks_and_a_seed_replays_it() {
    for &collective in Collective::ALL {
        for &(algorithm, _) in collective.menu() {
            if algorithm.is_shared_memory() {
                continue;
            }
            let first = play_with_256(1, algorithm, vec![collective]);
            if collective == Collective::Allreduce {
                let run = |seed| play_with_256(seed, algorithm, vec![collective]);
                assert_eq!(first, run(1), "{algorithm}: the same seed");
                assert_ne!(first, run(2), "{algorithm}: another seed");
            }
        }
    }
}

/// What takes long is the opening, at which all meet all, so one segment serves all collectives.
#[test]
fn segments_serve_256_ranks() {
    let segments = Algorithm::ALL.iter().copied().filter(|algorithm| algorithm.is_shared_memory());
    for algorithm in segments {
        let serves = |collective: &Collective| {
            collective.menu().iter().any(|(other, _)| *other == algorithm)
        };
        let collectives = Collective::ALL.iter().copied().filter(serves).collect();
        play_with_256(1, algorithm, collectives);
    }
}
