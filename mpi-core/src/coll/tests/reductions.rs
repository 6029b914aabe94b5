//! Collectives that reduce, with an operation that is undefined unless operands are consecutive
//! ranks in order, or, for the algorithms that need commutativity, disjoint sets of ranks.

use super::data::Value;
use super::movement::blank;
use super::sim::Memory;
use super::sweep::{Case, SIZES};
use crate::coll::layout::Layout;
use crate::coll::menu::Collective;
use crate::coll::plan::Problem;

/// A rank's whole contribution.
fn vector(case: Case, rank: usize, len: i64) -> Vec<Value> {
    (0..len as usize).map(|i| Value::contribution(rank, i, case.commutative)).collect()
}

/// Memory before a reduction whose result has `result` units.
fn memory(case: Case, rank: usize, len: i64, result: i64, in_place: bool) -> Memory {
    match in_place {
        true => Memory { send: Vec::new(), recv: vector(case, rank, len) },
        false => Memory { send: vector(case, rank, len), recv: blank(result) },
    }
}

/// Checks that `got` is the reduction over ranks `first..end` of the elements from `offset` on.
fn expect(case: Case, got: &[Value], first: usize, end: usize, offset: i64) {
    for (i, value) in got.iter().enumerate() {
        let element = offset as usize + i;
        assert!(value.is_reduction(first, end, element), "{case:?}: element {element}: {value:?}");
    }
}

#[test]
fn reduce() {
    Case::sweep(Collective::Reduce, SIZES, |case| {
        let Case { size, root, len, .. } = case;
        let in_place = |rank| case.in_place && rank == root;
        let result = |rank| if rank == root { len } else { 0 };
        let got = case.run(
            |rank| Problem::Reduce { root, len, in_place: in_place(rank) },
            |rank| memory(case, rank, len, result(rank), in_place(rank)),
        );
        assert_eq!(got[root].recv.len() as i64, len);
        expect(case, &got[root].recv, 0, size, 0);
    });
}

#[test]
fn allreduce_gives_all_ranks_the_same_bits() {
    Case::sweep(Collective::Allreduce, SIZES, |case| {
        let Case { size, len, in_place, .. } = case;
        let got = case.run(
            |_| Problem::Allreduce { len, in_place },
            |rank| memory(case, rank, len, len, in_place),
        );
        for memory in &got {
            expect(case, &memory.recv, 0, size, 0);
            assert_eq!(memory.recv, got[0].recv, "{case:?}: bracketed differently");
        }
    });
}

#[test]
fn reduce_scatter() {
    for collective in [Collective::ReduceScatter, Collective::ReduceScatterBlock] {
        Case::sweep(collective, SIZES, |case| {
            let Case { size, len, in_place, .. } = case;
            let uneven = Layout::of((0..size as i64).map(|rank| len * (rank % 3) + rank % 2));
            let uniform = collective == Collective::ReduceScatterBlock;
            let blocks = if uniform { Layout::uniform(len, size) } else { uneven };
            let got = case.run(
                |_| Problem::ReduceScatter { blocks: blocks.clone(), in_place },
                |rank| memory(case, rank, blocks.total(), blocks.len(rank), in_place),
            );
            for (rank, memory) in got.iter().enumerate() {
                let result = &memory.recv[..blocks.len(rank) as usize];
                expect(case, result, 0, size, blocks.start(rank));
            }
        });
    }
}

#[test]
fn scan() {
    Case::sweep(Collective::Scan, SIZES, |case| {
        let Case { len, in_place, .. } = case;
        let got = case.run(
            |_| Problem::Scan { len, in_place },
            |rank| memory(case, rank, len, len, in_place),
        );
        for (rank, memory) in got.iter().enumerate() {
            expect(case, &memory.recv, 0, rank + 1, 0);
        }
    });
}

#[test]
fn exscan() {
    Case::sweep(Collective::Exscan, SIZES, |case| {
        let Case { len, in_place, .. } = case;
        let got = case.run(
            |_| Problem::Exscan { len, in_place },
            |rank| memory(case, rank, len, len, in_place),
        );
        assert_eq!(got[0].recv, memory(case, 0, len, len, in_place).recv, "{case:?}: rank 0");
        for (rank, memory) in got.iter().enumerate().skip(1) {
            expect(case, &memory.recv, 0, rank, 0);
        }
    });
}
