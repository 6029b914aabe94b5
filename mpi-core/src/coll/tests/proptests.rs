//! Random shapes: lengths of every pair, roots, ports, interleavings.

use proptest::prelude::*;

use super::data::Value;
use super::movement::{blank, block, exchange};
use super::sim::Memory;
use super::sweep::Case;
use crate::coll::layout::Layout;
use crate::coll::menu::{Algorithm, Collective};
use crate::coll::plan::Problem;
use crate::coll::schedule::{Buffer, Region};
use crate::coll::select::Choice;

/// An algorithm that serves `collective` on `size` ranks, picked by `pick`.
fn choice(collective: Collective, size: usize, pick: usize, ports: usize) -> Choice {
    let served: Vec<Algorithm> = collective
        .menu()
        .iter()
        .filter(|(_, needs)| needs.met(size, false))
        .map(|(algorithm, _)| *algorithm)
        .collect();
    Choice { algorithm: served[pick % served.len()], ports, segment: 3 }
}

fn case(choice: Choice, size: usize, root: usize, seed: i64) -> Case {
    // The length takes part in the seed of the interleaving only.
    Case { size, root: root % size, len: seed, in_place: false, commutative: false, choice }
}

proptest! {
    #[test]
    fn allgatherv(
        lens in prop::collection::vec(prop_oneof![Just(0i64), 0i64..9], 1..40),
        pick: usize, ports in 1usize..5, seed in 0i64..1000,
    ) {
        let size = lens.len();
        let choice = choice(Collective::Allgatherv, size, pick, ports);
        let blocks = Layout::of(lens.iter().copied());
        let got = case(choice, size, 0, seed).run(
            |_| Problem::Allgather { blocks: blocks.clone(), in_place: false },
            |rank| Memory {
                send: block(rank, 0, blocks.len(rank)).collect(),
                recv: blank(blocks.total()),
            },
        );
        let all: Vec<Value> = (0..size).flat_map(|from| block(from, 0, lens[from])).collect();
        for memory in got {
            prop_assert_eq!(&memory.recv, &all);
        }
    }

    #[test]
    fn alltoallv(
        size in 1usize..14, lens in prop::collection::vec(0i64..6, 14 * 14),
        pick: usize, ports in 1usize..5, seed in 0i64..1000,
    ) {
        let choice = choice(Collective::Alltoallv, size, pick, ports);
        let pair_len = |from: usize, to: usize| lens[from * size + to];
        let problem = |rank| Problem::Alltoallv {
            outgoing: Layout::of((0..size).map(|to| pair_len(rank, to))),
            incoming: Layout::of((0..size).map(|from| pair_len(from, rank))),
            in_place: false,
        };
        exchange(case(choice, size, 0, seed), problem, pair_len);
    }

    #[test]
    fn reduce_scatter(
        lens in prop::collection::vec(prop_oneof![Just(0i64), 0i64..9], 1..30),
        pick: usize, ports in 1usize..5, seed in 0i64..1000,
    ) {
        let size = lens.len();
        let choice = choice(Collective::ReduceScatter, size, pick, ports);
        let blocks = Layout::of(lens.iter().copied());
        let total = blocks.total() as usize;
        let got = case(choice, size, 0, seed).run(
            |_| Problem::ReduceScatter { blocks: blocks.clone(), in_place: false },
            |rank| Memory {
                send: (0..total).map(|i| Value::contribution(rank, i, false)).collect(),
                recv: blank(blocks.len(rank)),
            },
        );
        for (rank, memory) in got.iter().enumerate() {
            for (i, value) in memory.recv.iter().enumerate() {
                prop_assert!(value.is_reduction(0, size, blocks.start(rank) as usize + i));
            }
        }
    }

    #[test]
    fn pieces_cover_a_region_once(
        lens in prop::collection::vec(prop_oneof![Just(0i64), 0i64..9], 1..20),
        from: prop::sample::Index, to: prop::sample::Index,
    ) {
        let layout = Layout::of(lens.iter().copied());
        let units = layout.total() as usize + 1;
        let (start, end) = (from.index(units).min(to.index(units)), from.index(units).max(to.index(units)));
        let region = Region { buffer: Buffer::Recv, start: start as i64, len: (end - start) as i64 };
        let mut at = region.start;
        for piece in layout.pieces(region) {
            prop_assert!(piece.len > 0);
            prop_assert_eq!(layout.start(piece.block) + piece.offset, at);
            prop_assert!(piece.offset + piece.len <= layout.len(piece.block));
            at += piece.len;
        }
        prop_assert_eq!(at, region.end());
    }
}
