//! Collectives of one node with several last-level caches, which ranks play, in simulated worlds: that what goes within
//! each cache and from cache to cache gives the right answer.

use crate::calls::fast::run;
use crate::calls::{Call, INT64, SUM, live, memory, prepare};
use mpi_core::buffer::UserBuffer;
use mpi_core::coll::menu::{Algorithm, Collective};
use mpi_core::error::ErrorClass;
use testsuite::sim::{COMM_WORLD, SimEntry, World};

/// So many ranks play that they share a cache, and every communicator gets a segment at once.
fn play(mpi: &mut SimEntry<'_>, cache_ranks: u32, tree: Option<bool>) {
    mpi.selection.cache_ranks = cache_ranks;
    mpi.selection.tree = tree;
    mpi.selection.patience = 0;
}

/// The names of the communicators that groups have.
fn groups(mpi: &SimEntry<'_>) -> Vec<String> {
    let name = |name: String| Some(name.strip_suffix(')')?.rsplit_once('(')?.1.to_owned());
    let mut names: Vec<String> =
        mpi.comms.iter().filter_map(|(_, comm)| name(comm.name.to_string())).collect();
    names.sort();
    names
}

/// Calls of one collective, of several lengths and from several roots.
fn calls_of(collective: Collective, ranks: u32) -> Vec<Call> {
    let call = |(n, len)| Call { collective, len, root: n * 7 % ranks as usize, salt: n as i64 };
    [0, 1, 5, 40, 3000].into_iter().enumerate().map(call).collect()
}

fn served(collective: &Collective) -> bool {
    collective.needs(Algorithm::Nodes).is_some()
}

#[test]
fn what_goes_from_cache_to_cache_gives_the_right_answer() {
    for collective in Collective::ALL.iter().copied().filter(served) {
        for (ranks, cache_ranks) in [(4, 2), (7, 3), (9, 2), (16, 3)] {
            for tree in [Some(true), None] {
                let [first, second] = [0; 2].map(|_| calls_of(collective, ranks));
                let world = World::new(u64::from(ranks), ranks).start_mpi(move |mpi| {
                    play(mpi, cache_ranks, tree);
                    live(mpi, &first, 1);
                    live(mpi, &second, 2);
                    live(mpi, &first, 1);
                    groups(mpi)
                });
                let results = world.unwrap_or_else(|hang| panic!("{collective}: {hang}")).results;
                for (rank, names) in results.into_iter().enumerate() {
                    let own = format!("cache {}", rank / cache_ranks as usize);
                    assert!(names.unwrap().contains(&own), "{collective} at {rank}");
                }
            }
        }
    }
}

#[test]
fn leaders_of_caches_have_sockets() {
    let world = World::new(1, 8).start_mpi(|mpi| {
        play(mpi, 2, Some(true));
        live(mpi, &calls_of(Collective::Barrier, 8), 1);
        live(mpi, &calls_of(Collective::Allreduce, 8), 1);
        groups(mpi)
    });
    let results = world.unwrap_or_else(|hang| panic!("{hang}")).results;
    let names: Vec<Vec<String>> = results.into_iter().map(Option::unwrap).collect();
    assert_eq!(names[0], ["cache 0", "caches", "socket 0", "sockets"]);
    assert_eq!(names[2], ["cache 1", "caches", "socket 0"]);
    assert_eq!(names[5], ["cache 2"]);
}

#[test]
fn nothing_changes_for_one_cache_or_where_flat_is_wanted() {
    for (cache_ranks, tree) in [(8, Some(true)), (1, Some(true)), (2, Some(false))] {
        let world = World::new(1, 4).start_mpi(move |mpi| {
            play(mpi, cache_ranks, tree);
            live(mpi, &calls_of(Collective::Allreduce, 4), 1);
            groups(mpi)
        });
        let results = world.unwrap_or_else(|hang| panic!("{hang}")).results;
        // Where each has a cache for itself it may still have a socket.
        let names = results[0].as_ref().unwrap();
        assert!(names.iter().all(|name| name.starts_with("socket")), "{names:?}");
        assert_eq!(names.is_empty(), cache_ranks != 1);
    }
}

#[test]
fn some_ranks_take_the_fast_path_and_others_do_not() {
    for seed in 0..24 {
        let ranks = 4 + (seed % 4) as u32 * 4;
        let tree = if seed % 2 == 0 { None } else { Some(true) };
        let all = Collective::ALL.iter().copied().filter(served);
        let calls: Vec<Call> = all.flat_map(|collective| calls_of(collective, ranks)).collect();
        let outcome = World::new(seed, ranks).start_mpi(move |mpi| {
            play(mpi, 1 + ranks / 3, tree);
            let (me, size) = (mpi.identity.rank as usize, mpi.identity.size as usize);
            for (n, call) in calls.iter().enumerate() {
                let mut memory = memory(call, me, size);
                run(mpi, call, &mut memory, !(n + me + seed as usize).is_multiple_of(3));
                assert_eq!(memory.recv, memory.expected, "{call:?} at {me}");
            }
        });
        outcome.unwrap_or_else(|hang| panic!("{hang}"));
    }
}

#[test]
fn communicators_of_several_caches_come_and_go_in_any_order_of_ranks() {
    let outcome = World::new(4, 12).start_mpi(|mpi| {
        play(mpi, 3, Some(true));
        let mut sums = Vec::new();
        for round in 1..5 {
            let key = mpi.identity.rank as i32 * 5 * round % 12;
            let color = (mpi.identity.rank / 6) as i32;
            let part = mpi.communicators().split(COMM_WORLD, color, key).unwrap();
            let (mut own, mut all) = ([i64::from(mpi.identity.rank)], [0]);
            let [own, into] = [&mut own, &mut all].map(|data| UserBuffer(data.as_mut_ptr().cast()));
            for _ in 0..2 {
                let call = mpi.calls().allreduce(own, into, 1, INT64, SUM, part).unwrap();
                mpi.collectives().run(&call).unwrap();
            }
            mpi.communicators().free(part).unwrap();
            sums.push(all[0]);
        }
        (sums, groups(mpi))
    });
    let results = outcome.unwrap_or_else(|hang| panic!("{hang}")).results;
    for (rank, result) in results.into_iter().enumerate() {
        let (sums, left) = result.unwrap();
        assert_eq!(sums, [[15, 51][rank / 6]; 4]);
        // Those of the world, which `comm_split` asks.
        assert!(left.iter().all(|name| !name.contains("socket")) || rank % 3 == 0, "{left:?}");
    }
}

#[test]
fn a_failure_in_one_cache_is_told_across_caches() {
    // Rank 2 leads its cache, rank 3 follows it; the leaders have sockets.
    for seed in 0..20 {
        let outcome = World::new(seed, 8).start_mpi(|mpi| {
            play(mpi, 2, Some(true));
            let meeting = Call { collective: Collective::Barrier, len: 0, root: 0, salt: 0 };
            live(mpi, &[meeting; 2], 1);
            let (me, size) = (mpi.identity.rank as usize, mpi.identity.size as usize);
            let len = if me == 2 { 5 } else { 40 };
            let call = Call { collective: Collective::Bcast, len, root: 0, salt: 0 };
            let mut memory = memory(&call, me, size);
            let prepared = prepare(mpi, &call, &mut memory);
            mpi.collectives().run(&prepared).err().map(|error| error.class())
        });
        let results = outcome.unwrap_or_else(|hang| panic!("{hang}")).results;
        let classes: Vec<_> = results.into_iter().map(Option::unwrap).collect();
        assert_eq!(classes[2], Some(ErrorClass::TRUNCATE));
        assert_eq!(classes[3], Some(ErrorClass::TRUNCATE));
    }
}

#[test]
fn one_that_a_rank_leaves_out_fails_at_all_others() {
    for seed in 0..16 {
        let outcome = World::new(seed, 8).start_mpi(move |mpi| {
            play(mpi, 2, Some(true));
            let sum = Call { collective: Collective::Allreduce, len: 3, root: 0, salt: 0 };
            let meeting = Call { collective: Collective::Barrier, len: 0, ..sum };
            live(mpi, &[meeting, meeting, sum, sum], 1);
            let me = mpi.identity.rank as usize;
            if me == seed as usize % 8 {
                return None;
            }
            let mut memory = memory(&sum, me, 8);
            let prepared = prepare(mpi, &sum, &mut memory);
            mpi.collectives().run(&prepared).err().map(|error| error.class())
        });
        let results = outcome.unwrap_or_else(|hang| panic!("{hang}")).results;
        let failed = |class: &Option<ErrorClass>| *class == Some(ErrorClass::PROC_ABORTED);
        let classes: Vec<_> = results.into_iter().map(Option::unwrap).collect();
        assert_eq!(classes.iter().filter(|class| failed(class)).count(), 7, "{classes:?}");
    }
}
