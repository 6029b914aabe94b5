//! Partitions that several threads make ready, and look for, in simulated worlds (MPI-5.0 §4.2, §11.6): other ones at
//! either end, in any order, and a thread that waits for the whole while others work on it.
//!
//! A sender writes a partition just before it makes it ready; a receiver reads one as soon as it is said to be here.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use mpi_core::buffer::UserBuffer;
use mpi_core::datatype::BYTE;
use mpi_core::handle::RequestHandle;
use mpi_core::p2p::Message;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use testsuite::sim::{COMM_WORLD, SimEntry, SimThread, World};

use crate::seeds;

const UNTOUCHED: u8 = 0xee;

/// What both ranks know of the operation.
#[derive(Clone, Copy, Debug)]
struct Shape {
    bytes: usize,
    /// How many partitions the sender has, and the receiver.
    partitions: [usize; 2],
    rounds: usize,
    threads: u32,
    seed: u64,
}

impl Shape {
    fn random(seed: u64) -> Shape {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut one_of = |from: &[usize]| from[random.random_range(0..from.len())];
        let parts = [1, 2, 3, 4, 6, 8, 12, 24];
        let bytes = 24 * one_of(&[0, 1, 20, 700, 3000, 30_000]);
        let (partitions, rounds) = ([one_of(&parts), one_of(&parts)], one_of(&[1, 2, 3]));
        Shape { bytes, partitions, rounds, threads: one_of(&[1, 2, 3, 4]) as u32, seed }
    }

    fn bytes_of(&self, side: usize, partition: usize) -> Range<usize> {
        let each = self.bytes / self.partitions[side];
        partition * each..(partition + 1) * each
    }

    fn byte(&self, round: usize, at: usize) -> u8 {
        (at * 31 + at / 251 + round * 101 + self.bytes) as u8
    }
}

/// What the threads of a rank share.
struct Common {
    request: RequestHandle,
    memory: Vec<Cell<u8>>,
    /// The round that has been started.
    round: Rc<Cell<usize>>,
    /// Threads that have come to its end.
    done: Rc<Cell<u32>>,
}

impl Common {
    fn make(mpi: &mut SimEntry<'_>, shape: Shape) -> Common {
        let side = mpi.identity.rank as usize;
        let memory = vec![Cell::new(UNTOUCHED); shape.bytes];
        let buf = UserBuffer(memory.as_ptr().cast::<u8>().cast_mut());
        let count = (shape.bytes / shape.partitions[side]) as i64;
        let (rank, tag, comm) = (1 - side as i32, 7, COMM_WORLD);
        let message = Message { buf, count, datatype: BYTE, rank, tag, comm };
        let partitions = shape.partitions[side] as i32;
        let request = match side {
            0 => mpi.partitioned().send_init(message, partitions),
            _ => mpi.partitioned().receive_init(message, partitions),
        };
        Common { request: request.unwrap(), memory, round: Rc::default(), done: Rc::default() }
    }

    /// Starts a round, or waits until another thread has.
    fn begin(&self, thread: &SimThread, round: usize) {
        if thread.number > 0 {
            let started = Rc::clone(&self.round);
            return thread.wait_until(move || started.get() == round);
        }
        self.memory.iter().for_each(|byte| byte.set(UNTOUCHED));
        thread.call(|mpi| mpi.start(self.request)).unwrap();
        self.done.set(0);
        self.round.set(round);
    }

    fn send(&self, thread: &SimThread, shape: Shape, round: usize, partition: usize) {
        for at in shape.bytes_of(0, partition) {
            self.memory[at].set(shape.byte(round, at));
        }
        thread.call(|mpi| mpi.partitioned().ready(self.request, partition as i32)).unwrap();
    }

    fn receive(&self, thread: &SimThread, shape: Shape, round: usize, partition: usize) {
        let is_here = |mpi: &mut SimEntry<'_>| {
            mpi.poll_in_passing();
            mpi.partitioned().has_arrived(self.request, partition as i32).unwrap()
        };
        while !thread.call(is_here) {}
        for at in shape.bytes_of(1, partition) {
            assert_eq!(self.memory[at].get(), shape.byte(round, at), "byte {at} of {shape:?}");
        }
    }
}

/// What a thread does: of each round every so many partitions. The first one also waits for the whole.
fn live(thread: &SimThread, common: &Common, shape: Shape) {
    let side = thread.rank as usize;
    let own = u64::from(thread.rank * shape.threads + thread.number);
    let mut random = ChaCha8Rng::seed_from_u64(shape.seed ^ (own << 32));
    for round in 1..=shape.rounds {
        common.begin(thread, round);
        let mine = (0..shape.partitions[side]).skip(thread.number as usize);
        let mut mine: Vec<usize> = mine.step_by(shape.threads as usize).collect();
        mine.shuffle(&mut random);
        for partition in mine {
            match side {
                0 => common.send(thread, shape, round, partition),
                _ => common.receive(thread, shape, round, partition),
            }
        }
        if thread.number == 0 {
            thread.call(|mpi| mpi.wait_one(common.request)).unwrap();
        }
        common.done.set(common.done.get() + 1);
        if thread.number == 0 {
            let done = Rc::clone(&common.done);
            thread.wait_until(move || done.get() == shape.threads);
        }
    }
    if thread.number == 0 {
        thread.call(|mpi| mpi.free_request(common.request)).unwrap();
    }
}

#[test]
fn threads_make_partitions_ready_and_look_for_them() {
    for seed in 0..seeds(300) {
        let shape = Shape::random(seed);
        let outcome = World::new(seed, 2).start_threads(
            shape.threads,
            move |mpi| Common::make(mpi, shape),
            move |thread, common| live(thread, common, shape),
        );
        outcome.unwrap_or_else(|hang| panic!("{shape:?}: {hang}"));
    }
}
