//! Threads that take turns in the processes of simulated worlds (`mpi-core/src/threads.rs`): what one of them has to do
//! for others that sleep.

use std::cell::Cell;
use std::rc::Rc;

use mpi_core::attributes::Convention;
use mpi_core::buffer::UserBuffer;
use mpi_core::callout::UserFunction;
use mpi_core::coll::menu::Collective;
use mpi_core::datatype::BYTE;
use mpi_core::handle::{CommHandle, OpHandle};
use mpi_core::op::{Op, UserOp};
use mpi_core::p2p::{Message, Mode};
use testsuite::sim::{COMM_WORLD, Hang, Outcome, SimEntry, SimThread, World};

use crate::calls::arguments::Arguments;
use crate::calls::{Call, memory, prepare_with};

/// An operation that adds by a function of the program.
pub(crate) fn own_sum(mpi: &mut SimEntry<'_>) -> OpHandle {
    let function = UserFunction { address: 0, large: false, convention: Convention::C };
    mpi.ops.insert(Op::User(UserOp { function, commutative: true })).unwrap()
}

#[test]
fn a_deadlock_of_threads_is_told_with_what_each_is_in() {
    let receive = |thread: &SimThread, (): &()| {
        let mut byte = 0u8;
        let (buf, tag) = (UserBuffer(&raw mut byte), thread.number as i32);
        let message = Message { buf, count: 1, datatype: BYTE, rank: 1, tag, comm: COMM_WORLD };
        if thread.number > 0 || thread.rank > 0 {
            thread.call(|mpi| mpi.messages().receive(message)).unwrap();
        }
    };
    let hang = World { procedure_name: |_| Some("MPI_Recv"), ..World::new(3, 2) }
        .start_threads(2, |_| (), receive)
        .unwrap_err();
    let expected = [
        "rank 0 in no MPI call",
        "rank 0, thread 1 in MPI_Recv(source 1, tag 1) on MPI_COMM_WORLD",
        "rank 1 in MPI_Recv(source 1, tag 0) on MPI_COMM_WORLD",
        "rank 1, thread 1 in MPI_Recv(source 1, tag 1) on MPI_COMM_WORLD",
    ];
    let mut ranks = hang.ranks;
    ranks.sort();
    assert!(hang.deadlock && ranks == expected, "{ranks:?}");
}

/// Two threads, each with a communicator of its own, whose blocking collectives go over segments.
fn two_on_segments(seed: u64) -> Result<Outcome<Vec<()>>, Hang> {
    let begin = |mpi: &mut SimEntry<'_>| {
        mpi.selection.patience = 0;
        [0, 1].map(|_| mpi.communicators().duplicate(COMM_WORLD).unwrap())
    };
    World::new(seed, 2).start_threads(2, begin, |thread, comms| {
        let (me, comm) = (thread.rank as usize, comms[thread.number as usize]);
        for round in 0..12 {
            let collective = [Collective::Barrier, Collective::Allreduce][round % 2];
            let call = Call { collective, len: 30, root: 0, salt: round as i64 };
            let mut memory = memory(&call, me, 2);
            let arguments = Arguments { comm, ..Arguments::plain(&call, &mut memory) };
            thread.call(|mpi| {
                let prepared = prepare_with(mpi, &call, &memory, arguments);
                mpi.collectives().run(&prepared).unwrap();
            });
            assert!(memory.recv == memory.expected, "{call:?} at rank {me}");
        }
    })
}

/// The other one polls, and takes note of what it has looked for itself, before the first one lies down.
#[test]
fn who_sleeps_at_a_segment_is_woken_by_what_it_has_looked_for() {
    (0..100).for_each(|seed| _ = two_on_segments(seed).unwrap_or_else(|hang| panic!("{hang}")));
}

/// One thread waits for a message that comes when another has its part of a segment's operations; it lies down just
/// when the other's is written, for which nobody rings.
#[test]
fn who_lies_down_wakes_another_for_what_has_come_to_a_segment() {
    let body = |thread: &SimThread, comm: &CommHandle| {
        let (me, mut byte) = (thread.rank as usize, 0u8);
        for round in 0..12 {
            let buf = UserBuffer(&raw mut byte);
            let (rank, tag) = (1 - me as i32, round as i32);
            let message = Message { buf, count: 1, datatype: BYTE, rank, tag, comm: COMM_WORLD };
            match (me, thread.number) {
                (0, 1) => _ = thread.call(|mpi| mpi.messages().receive(message)).unwrap(),
                (1, 1) => return,
                _ => {
                    for collective in [Collective::Bcast, Collective::Barrier] {
                        let call = Call { collective, len: 30, root: 1, salt: round };
                        let mut memory = memory(&call, me, 2);
                        let arguments =
                            Arguments { comm: *comm, ..Arguments::plain(&call, &mut memory) };
                        thread.call(|mpi| {
                            let prepared = prepare_with(mpi, &call, &memory, arguments);
                            mpi.collectives().run(&prepared).unwrap();
                        });
                        assert!(memory.recv == memory.expected, "{call:?} at rank {me}");
                    }
                    if me == 1 {
                        let send =
                            |mpi: &mut SimEntry<'_>| mpi.messages().send(message, Mode::Standard);
                        thread.call(send).unwrap();
                    }
                }
            }
        }
    };
    for seed in 0..100 {
        let begin = |mpi: &mut SimEntry<'_>| {
            mpi.selection.patience = 0;
            mpi.communicators().duplicate(COMM_WORLD).unwrap()
        };
        let outcome = World::new(seed, 2).start_threads(2, begin, body);
        outcome.unwrap_or_else(|hang| panic!("{hang}"));
    }
}

/// A thread of the library's own takes the operands in, and leaves the rest to who waits for the result.
#[test]
fn who_sleeps_is_woken_for_what_a_function_of_the_program_is_to_reduce() {
    for seed in 0..40 {
        let begin = |mpi: &mut SimEntry<'_>| (own_sum(mpi), Cell::new(false));
        let body = |thread: &SimThread, (add, ended): &(OpHandle, Cell<bool>)| {
            if thread.number == 1 {
                return thread.watch(|| ended.get());
            }
            for round in 0..6 {
                let collective = Collective::Allreduce;
                let call = Call { collective, len: 5, root: 0, salt: round };
                let mut memory = memory(&call, thread.rank as usize, 3);
                let arguments = Arguments { add: *add, ..Arguments::plain(&call, &mut memory) };
                thread.call(|mpi| {
                    let prepared = prepare_with(mpi, &call, &memory, arguments);
                    let request = mpi.collectives().begin(&prepared).unwrap();
                    mpi.wait_one(request).unwrap();
                });
                assert!(memory.recv == memory.expected, "{call:?} at rank {}", thread.rank);
            }
            thread.call(|mpi| {
                ended.set(true);
                mpi.call_own();
            });
        };
        let outcome = World::new(seed, 3).start_threads(2, begin, body);
        outcome.unwrap_or_else(|hang| panic!("{hang}"));
    }
}

/// Nobody rings for what came while a thread was awake, however much it is.
#[test]
fn who_leaves_takes_in_all_that_others_sleep_for() {
    const BETWEEN: i32 = 30;
    let byte = |at: &mut u8, rank, tag| {
        let buf = UserBuffer(at);
        Message { buf, count: 1, datatype: BYTE, rank, tag, comm: COMM_WORLD }
    };
    let body = move |thread: &SimThread, last_is_here: &Rc<Cell<bool>>| {
        let mut at = 0u8;
        let mut receive = |mpi: &mut SimEntry<'_>, tag| {
            mpi.messages().receive(byte(&mut at, 1, tag)).unwrap();
        };
        match (thread.rank, thread.number) {
            (0, 0) => {
                thread.call(|mpi| {
                    receive(mpi, 0);
                    // It hears the bell for both, and nobody rings for the rest, which comes meanwhile.
                    (0..8).for_each(|_| _ = mpi.messages().iprobe(1, 99, COMM_WORLD).unwrap());
                    (0..200).for_each(|_| thread.wait_until(|| true));
                });
                let last_is_here = Rc::clone(last_is_here);
                thread.wait_until(move || last_is_here.get());
                thread.call(|mpi| (1..=BETWEEN).for_each(|tag| receive(mpi, tag)));
            }
            (0, _) => {
                thread.call(|mpi| receive(mpi, BETWEEN + 1));
                last_is_here.set(true);
            }
            (_, 0) => thread.call(|mpi| {
                for tag in 0..=BETWEEN + 1 {
                    mpi.messages().send(byte(&mut at, 0, tag), Mode::Standard).unwrap();
                }
            }),
            _ => {}
        }
    };
    for seed in 0..100 {
        let outcome = World::new(seed, 2).start_threads(2, |_| Rc::default(), body);
        outcome.unwrap_or_else(|hang| panic!("{hang}"));
    }
}
