//! Collectives that only move data.

use super::data::Value;
use super::sim::Memory;
use super::sweep::{Case, FEW_SIZES, SIZES};
use crate::coll::layout::Layout;
use crate::coll::menu::Collective;
use crate::coll::plan::Problem;

/// What `from` has for `to`.
pub(super) fn block(from: usize, to: usize, len: i64) -> impl Iterator<Item = Value> {
    let token = move |offset| Value::Token { from: from as u32, to: to as u32, offset };
    (0..len as u32).map(token)
}

/// Memory that nobody has written.
pub(super) fn blank(len: i64) -> Vec<Value> {
    vec![Value::Unwritten; len as usize]
}

/// Block lengths that differ, some of them 0.
fn uneven(size: usize, len: i64) -> Layout {
    Layout::of((0..size as i64).map(|rank| len * (rank % 3) + rank % 2 * len.min(1)))
}

/// Compares all ranks' receive buffers.
fn expect(case: Case, got: &[Memory], wanted: impl Fn(usize) -> Vec<Value>) {
    for (rank, memory) in got.iter().enumerate() {
        assert_eq!(memory.recv, wanted(rank), "{case:?}, rank {rank}");
    }
}

#[test]
fn barrier_lets_nobody_out_before_everyone_is_in() {
    Case::sweep(Collective::Barrier, SIZES, |case| {
        if case.len == 0 {
            case.run(|_| Problem::Barrier, |_| Memory::default());
            super::parts::assert_synchronises(&case);
        }
    });
}

#[test]
fn bcast() {
    Case::sweep(Collective::Bcast, SIZES, |case| {
        let Case { root, len, .. } = case;
        let message = || block(root, 0, len).collect::<Vec<_>>();
        let got = case.run(
            |_| Problem::Bcast { root, len },
            |rank| Memory {
                send: Vec::new(),
                recv: if rank == root { message() } else { blank(len) },
            },
        );
        expect(case, &got, |_| message());
    });
}

#[test]
fn gather() {
    Case::sweep(Collective::Gather, SIZES, |case| {
        let Case { size, root, len, .. } = case;
        let in_place = |rank| case.in_place && rank == root;
        let got = case.run(
            |rank| Problem::Gather { root, block: len, in_place: in_place(rank) },
            |rank| at_root(rank, root, in_place(rank), &Layout::uniform(len, size)),
        );
        expect_gathered(case, &got, &Layout::uniform(len, size));
    });
}

#[test]
fn gatherv() {
    Case::sweep(Collective::Gatherv, SIZES, |case| {
        let Case { size, root, len, .. } = case;
        let blocks = uneven(size, len);
        let in_place = |rank| case.in_place && rank == root;
        let got = case.run(
            |rank| Problem::Gatherv {
                root,
                own: blocks.len(rank),
                blocks: (rank == root).then(|| blocks.clone()),
                in_place: in_place(rank),
            },
            |rank| at_root(rank, root, in_place(rank), &blocks),
        );
        expect_gathered(case, &got, &blocks);
    });
}

/// Memory before a gather.
fn at_root(rank: usize, root: usize, in_place: bool, blocks: &Layout) -> Memory {
    let mut memory = Memory::default();
    if rank == root {
        memory.recv = blank(blocks.total());
    }
    if in_place {
        let own = block(rank, root, blocks.len(rank));
        memory.recv.splice(range(blocks, rank), own);
    } else {
        memory.send = block(rank, root, blocks.len(rank)).collect();
    }
    memory
}

/// Where a block is.
fn range(blocks: &Layout, index: usize) -> std::ops::Range<usize> {
    blocks.start(index) as usize..blocks.start(index + 1) as usize
}

fn expect_gathered(case: Case, got: &[Memory], blocks: &Layout) {
    expect(case, got, |rank| {
        let all = (0..case.size).flat_map(|from| block(from, rank, blocks.len(from)));
        if rank == case.root { all.collect() } else { Vec::new() }
    });
}

#[test]
fn scatter_and_scatterv() {
    for collective in [Collective::Scatter, Collective::Scatterv] {
        Case::sweep(collective, SIZES, |case| {
            let Case { size, root, len, .. } = case;
            let uniform = collective == Collective::Scatter;
            let blocks = if uniform { Layout::uniform(len, size) } else { uneven(size, len) };
            let in_place = |rank| case.in_place && rank == root;
            let got = case.run(
                |rank| match uniform {
                    true => Problem::Scatter { root, block: len, in_place: in_place(rank) },
                    false => Problem::Scatterv {
                        root,
                        own: blocks.len(rank),
                        blocks: (rank == root).then(|| blocks.clone()),
                        in_place: in_place(rank),
                    },
                },
                |rank| {
                    let all = (0..size).flat_map(|to| block(root, to, blocks.len(to)));
                    let send = if rank == root { all.collect() } else { Vec::new() };
                    let recv = if in_place(rank) { 0 } else { blocks.len(rank) };
                    Memory { send, recv: blank(recv) }
                },
            );
            expect(case, &got, |rank| {
                let len = if in_place(rank) { 0 } else { blocks.len(rank) };
                block(root, rank, len).collect()
            });
        });
    }
}

#[test]
fn allgather_and_allgatherv() {
    for collective in [Collective::Allgather, Collective::Allgatherv] {
        Case::sweep(collective, SIZES, |case| {
            let Case { size, len, in_place, .. } = case;
            if case.root != 0 && case.root != size - 1 {
                return;
            }
            let uniform = collective == Collective::Allgather;
            let blocks = if uniform { Layout::uniform(len, size) } else { uneven(size, len) };
            let got = case.run(
                |_| Problem::Allgather { blocks: blocks.clone(), in_place },
                |rank| {
                    let own = block(rank, 0, blocks.len(rank));
                    let mut memory = Memory { send: Vec::new(), recv: blank(blocks.total()) };
                    match in_place {
                        true => drop(memory.recv.splice(range(&blocks, rank), own)),
                        false => memory.send = own.collect(),
                    }
                    memory
                },
            );
            expect(case, &got, |_| {
                (0..size).flat_map(|from| block(from, 0, blocks.len(from))).collect()
            });
        });
    }
}

#[test]
fn alltoall() {
    Case::sweep(Collective::Alltoall, SIZES, |case| {
        let len = case.len;
        if case.size > 100 {
            return;
        }
        let problem = |_| Problem::Alltoall { block: len, in_place: case.in_place };
        exchange(case, problem, |_, _| len);
    });
}

#[test]
fn alltoallv_with_blocks_that_differ_from_pair_to_pair() {
    for collective in [Collective::Alltoallv, Collective::Alltoallw] {
        Case::sweep(collective, FEW_SIZES, |case| {
            let Case { size, in_place, .. } = case;
            // In place, what two ranks have for each other is of equal length.
            let pair_len = |from: usize, to: usize| match in_place {
                true => ((from + to) % 4) as i64 * case.len,
                false => ((2 * from + to) % 4) as i64 * case.len,
            };
            let problem = |rank| Problem::Alltoallv {
                outgoing: Layout::of((0..size).map(|to| pair_len(rank, to))),
                incoming: Layout::of((0..size).map(|from| pair_len(from, rank))),
                in_place,
            };
            exchange(case, problem, pair_len);
        });
    }
}

/// Runs an all-to-all where `from` has `pair_len(from, to)` units for `to`.
pub(super) fn exchange(
    case: Case,
    problem: impl Fn(usize) -> Problem,
    pair_len: impl Fn(usize, usize) -> i64,
) {
    let outgoing = |rank: usize| -> Vec<Value> {
        (0..case.size).flat_map(|to| block(rank, to, pair_len(rank, to))).collect()
    };
    let incoming = |rank: usize| -> Vec<Value> {
        (0..case.size).flat_map(|from| block(from, rank, pair_len(from, rank))).collect()
    };
    let got = case.run(problem, |rank| match case.in_place {
        true => Memory { send: Vec::new(), recv: outgoing(rank) },
        false => Memory { send: outgoing(rank), recv: blank(incoming(rank).len() as i64) },
    });
    expect(case, &got, incoming);
}
