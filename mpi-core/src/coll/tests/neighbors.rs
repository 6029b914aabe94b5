//! Neighbourhood exchanges on graphs where ranks neighbour each other, and themselves, repeatedly.

use proptest::prelude::*;

use super::data::Value;
use super::movement::{blank, block};
use super::sim::{Memory, run};
use crate::coll::layout::Layout;
use crate::coll::plan::plan_neighbors;
use crate::coll::schedule::{Buffer, Region, Schedule};

/// An edge of the graph: from, to, length of its message.
type Edge = (usize, usize, i64);

/// One side of a rank's edges: neighbour and number of each, in the order of its list.
type Side = Vec<(usize, usize)>;

/// Exchanges tokens of its number over every edge; `sources` and `targets` list a rank's edges.
fn exchange(
    size: usize,
    edges: &[Edge],
    sources: impl Fn(usize) -> Side,
    targets: impl Fn(usize) -> Side,
    seed: u64,
) -> Result<(), String> {
    let regions = |side: Side, buffer| -> Vec<(usize, Region)> {
        let blocks = Layout::of(side.iter().map(|&(_, edge)| edges[edge].2));
        let ranks = side.iter().map(|&(neighbor, _)| neighbor);
        ranks.enumerate().map(|(i, rank)| (rank, blocks.block(buffer, i))).collect()
    };
    let tokens = |side: Side| -> Vec<Value> {
        side.iter().flat_map(|&(_, edge)| block(edge, 0, edges[edge].2)).collect()
    };
    let schedules: Result<Vec<Schedule>, String> = (0..size)
        .map(|rank| {
            let (sources, targets) = (sources(rank), targets(rank));
            let incoming = regions(sources, Buffer::Recv);
            plan_neighbors(rank, size, &incoming, &regions(targets, Buffer::Send))
                .map_err(|error| error.to_string())
        })
        .collect();
    let memory = (0..size).map(|rank| Memory {
        send: tokens(targets(rank)),
        recv: blank(tokens(sources(rank)).len() as i64),
    });
    let got = run(&schedules?, memory.collect(), seed)?;
    for (rank, memory) in got.iter().enumerate() {
        assert_eq!(memory.recv, tokens(sources(rank)), "rank {rank} of {size}");
    }
    Ok(())
}

#[test]
fn rings_of_one_two_and_more() {
    for size in [1, 2, 3, 8] {
        // Edge 2r leads from rank r upwards, edge 2r + 1 downwards.
        let (up, down) = (|r: usize| (r + 1) % size, |r: usize| (r + size - 1) % size);
        let edges: Vec<Edge> = (0..size).flat_map(|r| [(r, up(r), 3), (r, down(r), 3)]).collect();
        let sources = |r| vec![(down(r), 2 * down(r)), (up(r), 2 * up(r) + 1)];
        let targets = |r| vec![(up(r), 2 * r), (down(r), 2 * r + 1)];
        for seed in 0..8 {
            exchange(size, &edges, sources, targets, seed).unwrap();
        }
    }
}

#[test]
fn a_message_to_itself_has_one_length() {
    let send = Region::new(Buffer::Send, 4);
    let recv = Region::new(Buffer::Recv, 3);
    let error = plan_neighbors(1, 2, &[(0, recv), (1, recv)], &[(1, send)]).unwrap_err();
    assert!(error.what().contains("rank 1 sends 4 bytes to itself but receives 3"), "{error}");
}

proptest! {
    #[test]
    fn any_multigraph(
        size in 1usize..8,
        edges in prop::collection::vec((0usize..8, 0usize..8, 0i64..4), 0..40),
        seed: u64,
    ) {
        let edges: Vec<Edge> =
            edges.into_iter().map(|(from, to, len)| (from % size, to % size, len)).collect();
        let side = |rank: usize, near: fn(&Edge) -> usize, far: fn(&Edge) -> usize| -> Side {
            let numbered = edges.iter().enumerate();
            let own = numbered.filter(|(_, edge)| near(edge) == rank);
            own.map(|(number, edge)| (far(edge), number)).collect()
        };
        let sources = |rank| side(rank, |edge| edge.1, |edge| edge.0);
        let targets = |rank| side(rank, |edge| edge.0, |edge| edge.1);
        prop_assert_eq!(exchange(size, &edges, sources, targets, seed), Ok(()));
    }
}
