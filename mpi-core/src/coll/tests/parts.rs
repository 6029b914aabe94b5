//! The parts themselves: dependencies, layouts, verification, and what makes a barrier one.

use std::collections::BTreeMap;

use super::sweep::Case;
use crate::coll::builder::Builder;
use crate::coll::layout::{Layout, Piece};
use crate::coll::plan::Problem;
use crate::coll::schedule::{Action, Buffer, Progress, Region, Schedule, StepId};
use crate::coll::verify::verify;

/// Withholds one rank at a time: nobody else may then finish the barrier.
pub(super) fn assert_synchronises(case: &Case) {
    let schedules: Vec<Schedule> =
        (0..case.size).map(|rank| case.plan(rank, &Problem::Barrier)).collect();
    for absent in [0, case.size / 2, case.size - 1] {
        let finished = run_without(&schedules, absent);
        assert!(finished.is_empty(), "{:?}: {finished:?} left without {absent}", case.algorithm());
    }
}

/// Runs what can be run while `absent` does nothing; returns who finished.
fn run_without(schedules: &[Schedule], absent: usize) -> Vec<usize> {
    let mut progress: Vec<Progress> = schedules.iter().map(Progress::new).collect();
    let mut arrived: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut waiting: Vec<(usize, u32, StepId)> = Vec::new();
    loop {
        let mut moved = false;
        for rank in (0..schedules.len()).filter(|&rank| rank != absent) {
            while let Some(step) = progress[rank].next(&schedules[rank]) {
                moved = true;
                match schedules[rank].action(step) {
                    Action::Send { to, .. } => {
                        *arrived.entry((rank as u32, to)).or_default() += 1;
                        progress[rank].done(&schedules[rank], step);
                    }
                    Action::Recv { from, .. } => waiting.push((rank, from, step)),
                    other => panic!("a barrier does {other:?}"),
                }
            }
        }
        waiting.retain(|&(rank, from, step)| {
            let message = arrived.get_mut(&(from, rank as u32)).filter(|count| **count > 0);
            let Some(count) = message else { return true };
            *count -= 1;
            progress[rank].done(&schedules[rank], step);
            moved = true;
            false
        });
        if !moved {
            let others = (0..schedules.len()).filter(|&rank| rank != absent);
            return others.filter(|&rank| progress[rank].is_finished()).collect();
        }
    }
}

/// Runs step by step in the order offered and returns the batches that were ready together.
fn batches(schedule: &Schedule) -> Vec<Vec<u32>> {
    let mut progress = Progress::new(schedule);
    let mut batches = Vec::new();
    loop {
        let ready: Vec<StepId> = std::iter::from_fn(|| progress.next(schedule)).collect();
        if ready.is_empty() {
            assert!(progress.is_finished());
            return batches;
        }
        ready.iter().for_each(|&step| progress.done(schedule, step));
        batches.push(ready.into_iter().map(|step| step.0).collect());
    }
}

const RECV: Region = Region { buffer: Buffer::Recv, start: 0, len: 10 };

#[test]
fn readers_wait_for_the_writer_and_writers_for_readers() {
    let mut b = Builder::new(0, 4);
    b.recv(1, RECV.slice(0, 5)); // 0
    b.recv(2, RECV.slice(5, 5)); // 1
    b.send(3, RECV.slice(4, 2)); // 2 reads both
    b.send(3, RECV.slice(0, 1)); // 3 reads the first only
    b.recv(1, RECV.slice(4, 1)); // 4 overwrites what 2 reads
    b.copy(RECV.slice(4, 1), RECV.slice(9, 1)); // 5
    assert_eq!(batches(&b.finish()), [vec![0, 1], vec![2, 3], vec![4], vec![5]]);
}

#[test]
fn messages_of_a_pair_start_in_step_order() {
    let mut b = Builder::new(0, 2);
    let temp = b.temp(1);
    b.recv(1, temp); // 0
    b.send(1, temp); // 1
    b.send(1, Region::new(Buffer::Send, 3)); // 2 has its data, but may not overtake 1
    assert_eq!(batches(&b.finish()), [vec![0], vec![1, 2]]);
}

#[test]
fn a_fence_orders_what_is_independent() {
    let mut b = Builder::new(0, 3);
    b.fence();
    b.signal(1); // 0
    b.await_signal(2); // 1
    b.fence(); // 2
    b.fence();
    b.signal(2); // 3
    assert_eq!(batches(&b.finish()), [vec![0, 1], vec![3]]);
}

#[test]
fn a_schedule_can_run_again() {
    let mut b = Builder::new(0, 2);
    b.recv(1, RECV);
    b.send(1, RECV);
    let schedule = b.finish();
    let mut progress = Progress::new(&schedule);
    for _ in 0..2 {
        for expected in 0..2 {
            assert_eq!(progress.next(&schedule), Some(StepId(expected)));
            assert_eq!(progress.next(&schedule), None);
            assert!(!progress.is_finished());
            progress.done(&schedule, StepId(expected));
        }
        assert!(progress.is_finished());
        progress.restart(&schedule);
    }
}

#[test]
fn verify_names_the_pair_that_disagrees() {
    let mut sender = Builder::new(0, 2);
    sender.send(1, RECV);
    sender.send(1, RECV.slice(0, 3));
    let mut receiver = Builder::new(1, 2);
    receiver.recv(0, RECV.slice(0, 3));
    receiver.recv(0, RECV);
    let fault = verify(&[sender.finish(), receiver.finish()]).unwrap_err();
    assert!(fault.contains("from rank 0 to rank 1"), "{fault}");
    assert!(verify(&[Schedule::default(), Schedule::default()]).is_ok());
}

#[test]
fn a_region_falls_into_pieces_at_blocks() {
    let layout = Layout::of([3, 0, 2, 4]);
    let pieces: Vec<Piece> =
        layout.pieces(Region { buffer: Buffer::Recv, start: 2, len: 5 }).collect();
    let piece = |block, offset, len| Piece { block, offset, len };
    assert_eq!(pieces, [piece(0, 2, 1), piece(2, 0, 2), piece(3, 0, 2)]);
    assert_eq!(layout.pieces(RECV.slice(9, 0)).count(), 0);
    assert_eq!(layout.rotated(2), Layout::of([2, 4, 3, 0]));
    assert_eq!(Layout::even(7, 3), Layout::of([3, 2, 2]));
    let uniform: Vec<Piece> = Layout::uniform(4, 3).pieces(RECV.slice(3, 6)).collect();
    assert_eq!(uniform, [piece(0, 3, 1), piece(1, 0, 4), piece(2, 0, 1)]);
}
