//! Collectives of communicators with several nodes in simulated worlds: that what they give is right, and how
//! often they cross the network for it.

use crate::calls::only::{calls_of, fail_at_rank_2, use_only};
use crate::calls::{Call, INT64, SUM, live};
use mpi_core::buffer::UserBuffer;
use mpi_core::coll::menu::{Algorithm, Collective};
use mpi_core::error::ErrorClass;
use testsuite::sim::{COMM_WORLD, World};
use transports::sim::{Crossings, Nodes, SimOptions};

/// A world with several nodes, whose ranks are told apart at the first call.
fn world_of_nodes(seed: u64, ranks: u32, nodes: Nodes) -> World {
    let network = SimOptions { nodes, ..SimOptions::default() };
    World { network, ..World::new(seed, ranks) }
}

#[test]
fn what_goes_node_by_node_gives_the_right_answer() {
    let served = |collective: &&Collective| collective.needs(Algorithm::Nodes).is_some();
    for collective in Collective::ALL.iter().copied().filter(|collective| served(&collective)) {
        for nodes in [Nodes::Blocks(2), Nodes::Blocks(3), Nodes::Turns(2), Nodes::Turns(3)] {
            for ranks in [3, 4, 7, 9] {
                let (first, second) = (calls_of(collective, ranks), calls_of(collective, ranks));
                let outcome =
                    world_of_nodes(u64::from(ranks), ranks, nodes).start_mpi(move |mpi| {
                        use_only(mpi, collective, Algorithm::Nodes);
                        live(mpi, &first, 1);
                        live(mpi, &second, 2);
                        live(mpi, &first, 1);
                        mpi.comm(COMM_WORLD).unwrap().ranks_per_node
                    });
                let most = match nodes {
                    Nodes::Blocks(ranks) => ranks,
                    Nodes::Turns(nodes) => ranks.div_ceil(nodes),
                    Nodes::One => ranks,
                };
                let results = outcome.unwrap_or_else(|hang| panic!("{collective}: {hang}")).results;
                assert!(results.iter().all(|known| *known == Some(most)), "{results:?}");
            }
        }
    }
}

/// What one call moves from node to node: so much more do two move than one.
fn crossings(ranks: u32, nodes: Nodes, call: Call, algorithm: Algorithm) -> Crossings {
    crossings_of(ranks, nodes, call, algorithm, 1)
}

/// The same of calls of which so many are under way together; a single one blocks.
fn crossings_of(
    ranks: u32,
    nodes: Nodes,
    call: Call,
    algorithm: Algorithm,
    at_once: usize,
) -> Crossings {
    let [one, two] = [1, 2].map(|times| {
        let outcome = world_of_nodes(3, ranks, nodes).start_mpi(move |mpi| {
            use_only(mpi, call.collective, algorithm);
            let meeting = Call { collective: Collective::Barrier, len: 0, root: 0, salt: 0 };
            live(mpi, &[meeting], 1);
            live(mpi, &vec![call; times * at_once], at_once);
        });
        outcome.unwrap_or_else(|hang| panic!("{hang}")).crossings
    });
    let per_call = |two: u64, one: u64| (two - one) / at_once as u64;
    Crossings {
        messages: per_call(two.messages, one.messages),
        bytes: per_call(two.bytes, one.bytes),
    }
}

#[test]
fn what_only_begins_crosses_the_network_once_for_a_node_too() {
    // Three nodes of four: what each call needs at least, and what a flat tree of all takes.
    let flat = |collective| match collective {
        Collective::Barrier => Algorithm::Dissemination,
        Collective::Bcast => Algorithm::ScatterRing,
        Collective::Allgather => Algorithm::Ring,
        Collective::Allreduce => Algorithm::RecursiveDoubling,
        _ => Algorithm::Linear,
    };
    for (collective, least) in [
        (Collective::Barrier, 6),
        (Collective::Bcast, 2),
        (Collective::Gather, 2),
        (Collective::Scatter, 2),
        (Collective::Allgather, 6),
        (Collective::Reduce, 2),
        (Collective::Allreduce, 4),
    ] {
        let call = Call { collective, len: 3, root: 6, salt: 1 };
        let by_nodes = crossings_of(12, Nodes::Blocks(4), call, Algorithm::Nodes, 2);
        assert_eq!(by_nodes.messages, least, "{collective}");
        let flat = crossings_of(12, Nodes::Blocks(4), call, flat(collective), 2);
        assert!(flat.messages > by_nodes.messages, "{collective}: {flat:?} {by_nodes:?}");
        assert!(flat.bytes >= by_nodes.bytes, "{collective}: {flat:?} {by_nodes:?}");
    }
}

#[test]
fn a_nodes_blocks_cross_the_network_in_one_message() {
    let nodes = Nodes::Blocks(4);
    for collective in [Collective::Gather, Collective::Scatter] {
        for (root, len) in [(0, 3), (6, 3), (9, 500)] {
            let call = Call { collective, len, root, salt: 1 };
            // The blocks of those who are not on the root's node, each of eight bytes an element.
            let bytes = 8 * 8 * len as u64;
            let by_nodes = crossings(12, nodes, call, Algorithm::Nodes);
            assert_eq!(by_nodes, Crossings { messages: 2, bytes }, "{call:?}");
            let one_by_one = crossings(12, nodes, call, Algorithm::Linear);
            assert_eq!(one_by_one, Crossings { messages: 8, bytes }, "{call:?}");
        }
    }
}

#[test]
fn what_a_node_has_for_another_crosses_the_network_in_one_message() {
    let nodes = Nodes::Blocks(4);
    for len in [1, 3, 500] {
        let call = Call { collective: Collective::Alltoall, len, root: 0, salt: 1 };
        // From each rank to those of the two other nodes.
        let bytes = 12 * 8 * 8 * len as u64;
        let by_nodes = crossings(12, nodes, call, Algorithm::Nodes);
        assert_eq!(by_nodes, Crossings { messages: 6, bytes }, "{call:?}");
        let one_by_one = crossings(12, nodes, call, Algorithm::Linear);
        assert_eq!(one_by_one, Crossings { messages: 96, bytes }, "{call:?}");
    }
}

#[test]
fn the_sum_of_a_node_crosses_the_network_and_not_those_of_its_ranks() {
    let nodes = Nodes::Blocks(4);
    for collective in [Collective::Scan, Collective::Exscan] {
        let call = Call { collective, len: 3, root: 0, salt: 1 };
        let by_nodes = crossings(12, nodes, call, Algorithm::Nodes);
        assert_eq!(by_nodes, Crossings { messages: 3, bytes: 3 * 24 }, "{collective}");
        let doubling = crossings(12, nodes, call, Algorithm::RecursiveDoubling);
        assert_eq!(doubling, Crossings { messages: 18, bytes: 18 * 24 }, "{collective}");
    }
    for collective in [Collective::ReduceScatter, Collective::ReduceScatterBlock] {
        let call = Call { collective, len: 4, root: 0, salt: 1 };
        let [by_nodes, flat] = [Algorithm::Nodes, Algorithm::Pairwise]
            .map(|algorithm| crossings(12, nodes, call, algorithm));
        assert!(by_nodes.messages <= 6 && flat.messages > 40, "{by_nodes:?} {flat:?}");
        assert!(3 * by_nodes.bytes <= flat.bytes, "{by_nodes:?} {flat:?}");
    }
}

#[test]
fn communicators_of_several_nodes_come_and_go() {
    let outcome = world_of_nodes(4, 8, Nodes::Turns(3)).start_mpi(|mpi| {
        mpi.selection.patience = 0;
        let mut sums = Vec::new();
        for round in 0..4 {
            let color = (mpi.identity.rank / 4) as i32;
            let part = mpi.communicators().split(COMM_WORLD, color, -round).unwrap();
            let (mut own, mut all) = ([i64::from(mpi.identity.rank)], [0]);
            let [own, into] = [&mut own, &mut all].map(|data| UserBuffer(data.as_mut_ptr().cast()));
            let call = mpi.calls().allreduce(own, into, 1, INT64, SUM, part).unwrap();
            mpi.collectives().run(&call).unwrap();
            mpi.communicators().free(part).unwrap();
            sums.push(all[0]);
        }
        sums
    });
    let results = outcome.unwrap_or_else(|hang| panic!("{hang}")).results;
    for (rank, sums) in results.into_iter().enumerate() {
        assert_eq!(sums, Some(vec![[6, 22][rank / 4]; 4]));
    }
}

#[test]
fn a_failure_on_one_node_is_told_across_nodes() {
    // Rank 2 leads its node, rank 3 follows it, and the node of ranks 4 and 5 gets it from there.
    let failed = Some(ErrorClass::TRUNCATE);
    for seed in 0..20 {
        let outcome = world_of_nodes(seed, 6, Nodes::Blocks(2)).start_mpi(|mpi| {
            let meeting = Call { collective: Collective::Barrier, len: 0, root: 0, salt: 0 };
            use_only(mpi, Collective::Barrier, Algorithm::Nodes);
            live(mpi, &[meeting], 1);
            fail_at_rank_2(mpi, Algorithm::Nodes)
        });
        let results = outcome.unwrap_or_else(|hang| panic!("{hang}")).results;
        let classes: Vec<_> = results.into_iter().map(|result| result.unwrap()[0]).collect();
        assert_eq!(classes, [None, None, failed, failed, failed, failed]);
    }
}
