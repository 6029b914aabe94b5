//! Collectives between two groups: what each process must get follows from what the other group
//! has.

use std::ops::Range;

use super::data::Value;
use super::movement::{blank, block};
use super::sim::{Memory, run};
use crate::coll::inter::{Between, Root, Sides, plan};
use crate::coll::layout::Layout;
use crate::coll::schedule::{Action, Schedule};

/// Groups of these sizes, the first one first.
const PAIRS: &[(usize, usize)] = &[(1, 1), (1, 3), (2, 1), (3, 2), (4, 5), (8, 3)];
const LENS: &[i64] = &[0, 1, 5];

fn sides(rank: usize, (low, high): (usize, usize)) -> Sides {
    let (low, high) = (0..low, low..low + high);
    match low.contains(&rank) {
        true => Sides { local: low, remote: high },
        false => Sides { local: high, remote: low },
    }
}

/// Plays a call with several timings; hands each rank's memory to `check`.
fn play(
    pair: (usize, usize),
    call: impl Fn(usize, &Sides) -> Between,
    memory: impl Fn(usize, &Sides) -> Memory,
    check: impl Fn(usize, &Sides, &[Value]),
) {
    let all = 0..pair.0 + pair.1;
    let schedules: Vec<Schedule> = all
        .clone()
        .map(|rank| plan(rank, &sides(rank, pair), &call(rank, &sides(rank, pair))))
        .collect();
    for seed in 0..6 {
        let before = all.clone().map(|rank| memory(rank, &sides(rank, pair))).collect();
        let after = run(&schedules, before, seed).unwrap_or_else(|why| panic!("{pair:?}: {why}"));
        for (rank, memory) in after.iter().enumerate() {
            check(rank, &sides(rank, pair), &memory.recv);
        }
    }
}

fn every(mut test: impl FnMut((usize, usize), i64)) {
    for &pair in PAIRS {
        LENS.iter().for_each(|&len| test(pair, len));
    }
}

/// Every process in turn is the root.
fn every_root(mut test: impl FnMut((usize, usize), i64, usize)) {
    every(|pair, len| (0..pair.0 + pair.1).for_each(|root| test(pair, len, root)));
}

/// Where the process `root`, by the common numbering, is.
fn root_for(rank: usize, sides: &Sides, root: usize) -> Root {
    match root {
        root if root == rank => Root::Here,
        root if sides.local.contains(&root) => Root::Beside,
        root => Root::There(root - sides.remote.start),
    }
}

fn data(from: usize, to: usize, len: i64) -> Vec<Value> {
    block(from, to, len).collect()
}

/// Length of what a process has for everybody: some have nothing.
fn uneven(rank: usize, len: i64) -> i64 {
    len * (rank as i64 % 3)
}

fn lens(ranks: &Range<usize>, len: i64) -> Layout {
    Layout::of(ranks.clone().map(|rank| uneven(rank, len)))
}

#[test]
fn nobody_leaves_a_barrier_before_the_other_group_has_come() {
    for &pair in PAIRS {
        play(
            pair,
            |_, _| Between::Barrier,
            |_, _| Memory::default(),
            |_, _, got| assert!(got.is_empty()),
        );
        let is_signal = |action: &Action| matches!(action, Action::Send { .. });
        let leader = plan(0, &sides(0, pair), &Between::Barrier);
        assert!(leader.actions().any(|action| is_signal(&action)), "{pair:?}: nothing is said");
    }
}

#[test]
fn bcast() {
    every_root(|pair, len, root| {
        play(
            pair,
            |rank, sides| Between::Bcast { root: root_for(rank, sides, root), len },
            |rank, _| {
                let recv = if rank == root { data(root, 0, len) } else { blank(len) };
                Memory { send: vec![], recv }
            },
            |rank, sides, got| {
                if rank == root || sides.remote.contains(&root) {
                    assert_eq!(got, data(root, 0, len));
                } else {
                    assert_eq!(got, blank(len), "beside the root nothing is written");
                }
            },
        );
    });
}

#[test]
fn gather_and_scatter() {
    every_root(|pair, len, root| {
        let blocks = |rank: usize, sides: &Sides| (rank == root).then(|| lens(&sides.remote, len));
        let total = |rank: usize, sides: &Sides| blocks(rank, sides).map_or(0, |it| it.total());
        play(
            pair,
            |rank, sides| Between::Gather {
                root: root_for(rank, sides, root),
                own: uneven(rank, len),
                blocks: blocks(rank, sides),
            },
            |rank, sides| Memory {
                send: data(rank, 0, uneven(rank, len)),
                recv: blank(total(rank, sides)),
            },
            |rank, sides, got| {
                let others = sides.remote.clone().flat_map(|from| data(from, 0, uneven(from, len)));
                let wanted = if rank == root { others.collect() } else { vec![] };
                assert_eq!(got, wanted);
            },
        );
        play(
            pair,
            |rank, sides| Between::Scatter {
                root: root_for(rank, sides, root),
                own: uneven(rank, len),
                blocks: blocks(rank, sides),
            },
            |rank, sides| Memory {
                send: sides.remote.clone().flat_map(|to| data(rank, to, uneven(to, len))).collect(),
                recv: blank(uneven(rank, len)),
            },
            |rank, sides, got| {
                if sides.remote.contains(&root) {
                    assert_eq!(got, data(root, rank, uneven(rank, len)));
                }
            },
        );
    });
}

#[test]
fn allgather_and_alltoall() {
    every(|pair, len| {
        play(
            pair,
            |rank, sides| Between::Allgather {
                own: uneven(rank, len),
                blocks: lens(&sides.remote, len),
            },
            |rank, sides| Memory {
                send: data(rank, 0, uneven(rank, len)),
                recv: blank(lens(&sides.remote, len).total()),
            },
            |_, sides, got| {
                let others = sides.remote.clone().flat_map(|from| data(from, 0, uneven(from, len)));
                assert_eq!(got, others.collect::<Vec<_>>());
            },
        );
        let between = |from: usize, to: usize| uneven(from + 2 * to, len);
        play(
            pair,
            |rank, sides| Between::Alltoall {
                outgoing: Layout::of(sides.remote.clone().map(|to| between(rank, to))),
                incoming: Layout::of(sides.remote.clone().map(|from| between(from, rank))),
            },
            |rank, sides| {
                let others = || sides.remote.clone();
                Memory {
                    send: others().flat_map(|to| data(rank, to, between(rank, to))).collect(),
                    recv: blank(others().map(|from| between(from, rank)).sum()),
                }
            },
            |rank, sides, got| {
                let others = sides.remote.clone();
                let wanted = others.flat_map(|from| data(from, rank, between(from, rank)));
                assert_eq!(got, wanted.collect::<Vec<_>>());
            },
        );
    });
}

/// A contribution to an operation that is undefined unless operands come in the order of ranks.
fn vector(rank: usize, len: i64) -> Vec<Value> {
    (0..len as usize).map(|at| Value::contribution(rank, at, false)).collect()
}

/// Checks that `got` is the reduction over a group of the elements from `offset` on.
fn expect(got: &[Value], group: &Range<usize>, offset: i64) {
    for (at, value) in got.iter().enumerate() {
        let element = offset as usize + at;
        assert!(value.is_reduction(group.start, group.end, element), "{element}: {value:?}");
    }
}

#[test]
fn reduce_and_allreduce() {
    every_root(|pair, len, root| {
        play(
            pair,
            |rank, sides| Between::Reduce { root: root_for(rank, sides, root), len },
            |rank, _| Memory {
                send: vector(rank, len),
                recv: blank(if rank == root { len } else { 0 }),
            },
            |_, sides, got| expect(got, &sides.remote, 0),
        );
    });
    every(|pair, len| {
        play(
            pair,
            |_, _| Between::Allreduce { len },
            |rank, _| Memory { send: vector(rank, len), recv: blank(len) },
            |_, sides, got| expect(got, &sides.remote, 0),
        );
    });
}

#[test]
fn reduce_scatter() {
    every(|pair, len| {
        // As many elements on both sides, however many processes share them.
        let total = len * 40;
        let blocks = |sides: &Sides| Layout::even(total, sides.local.len());
        play(
            pair,
            |_, sides| Between::ReduceScatter { blocks: blocks(sides) },
            |rank, sides| Memory {
                send: vector(rank, total),
                recv: blank(blocks(sides).len(rank - sides.local.start)),
            },
            |rank, sides, got| {
                let own = rank - sides.local.start;
                expect(got, &sides.remote, blocks(sides).start(own));
            },
        );
    });
}
