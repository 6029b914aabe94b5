//! Maps of nodes against what they are made of, and when the table goes by them.

use proptest::prelude::*;

use super::movement::{blank, block};
use super::sim::Memory;
use super::sweep::Case;
use crate::coll::hierarchy::groups::Groups;
use crate::coll::menu::{Algorithm, Collective};
use crate::coll::plan::Problem;
use crate::coll::select::{Choice, Selection, Shape};

proptest! {
    #[test]
    fn a_map_says_of_each_rank_what_its_neighbours_say(nodes in prop::collection::vec(0u32..5, 1..40)) {
        let first = |node: &u32| nodes.iter().position(|other| other == node).unwrap();
        let firsts: Vec<u32> = nodes.iter().map(|node| first(node) as u32).collect();
        let map = Groups::new(&firsts).unwrap();
        for (rank, node) in nodes.iter().enumerate() {
            let together: Vec<usize> = (0..nodes.len()).filter(|other| nodes[*other] == *node).collect();
            let number = map.group_of(rank);
            prop_assert_eq!(map.leader(number), together[0]);
            prop_assert_eq!(map.members(number).collect::<Vec<_>>(), together.clone());
            prop_assert_eq!(together[map.place(rank)], rank);
            prop_assert!(together.len() <= map.largest());
        }
        let breaks = nodes.windows(2).filter(|pair| pair[0] != pair[1]).count();
        prop_assert_eq!(map.is_in_order(), breaks + 1 == map.count());
    }
}

#[test]
fn neighbours_that_contradict_each_other_make_no_map() {
    assert_eq!(Groups::new(&[0, 0, 1]), None, "rank 1 is the first near 2, but not near itself");
    assert_eq!(Groups::new(&[0, 7]), None, "there is no rank 7");
}

#[test]
fn a_call_goes_node_by_node_only_where_it_can() {
    let selection = Selection::default();
    for &collective in Collective::ALL {
        let served = collective.needs(Algorithm::Nodes).is_some();
        for nodes in [false, true] {
            let takes_nodes = |bytes| {
                let shape = Shape {
                    collective,
                    size: 8,
                    ranks_per_node: 4,
                    oversubscribed: false,
                    processors: 4,
                    bytes,
                    unit: 1,
                    commutative: true,
                    shared_memory: false,
                    nodes,
                    blocking: true,
                };
                selection.select(&shape).algorithm == Algorithm::Nodes
            };
            // Some pay from a length on, others up to one.
            let taken = [8, 8 << 10].into_iter().any(takes_nodes);
            assert_eq!(taken, served && nodes, "{collective}");
        }
    }
}

/// A call on so many ranks a node, of which each node but perhaps the last has as many.
fn case(size: usize, ranks_per_node: usize, root: usize, len: i64) -> Case {
    let choice = Choice { algorithm: Algorithm::Nodes, ports: ranks_per_node - 1, segment: 1 };
    Case { size, root, len, in_place: false, commutative: false, choice }
}

#[test]
fn long_broadcasts_go_through_few_nodes_in_segments_and_to_many_cut_up() {
    let len = (128 << 10) + 3;
    for (size, ranks_per_node) in [(5, 3), (16, 2)] {
        let root = size - 2;
        let message = || block(root, 0, len).collect::<Vec<_>>();
        let recv = |rank| if rank == root { message() } else { blank(len) };
        let got = case(size, ranks_per_node, root, len).run(
            |_| Problem::Bcast { root, len },
            |rank| Memory { send: Vec::new(), recv: recv(rank) },
        );
        assert!(got.iter().all(|memory| memory.recv == message()), "{size} ranks");
    }
}

#[test]
fn long_parts_of_nodes_are_gathered_and_scattered_one_by_one() {
    let (size, root, len) = (11, 4, 5000);
    let case = case(size, 3, root, len);
    let gathered: Vec<_> = (0..size).flat_map(|rank| block(rank, 0, len)).collect();
    let got = case.run(
        |_| Problem::Gather { root, block: len, in_place: false },
        |rank| Memory {
            send: block(rank, 0, len).collect(),
            recv: blank(if rank == root { len * size as i64 } else { 0 }),
        },
    );
    assert!(got[root].recv == gathered);
    let got = case.run(
        |_| Problem::Scatter { root, block: len, in_place: false },
        |rank| Memory {
            send: if rank == root { gathered.clone() } else { Vec::new() },
            recv: blank(len),
        },
    );
    for (rank, memory) in got.iter().enumerate() {
        assert!(memory.recv == block(rank, 0, len).collect::<Vec<_>>(), "rank {rank}");
    }
}
