//! Random programs of several threads a rank in simulated worlds (MPI-5.0 §11.6): messages between all threads,
//! collective operations on a communicator of each thread's own, requests that one thread begins and another waits
//! for; every byte is checked, and who sleeps for good is a deadlock.
//!
//! `FERRITE_TEST_SEEDS` asks for more seeds.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use mpi_core::buffer::UserBuffer;
use mpi_core::coll::menu::Collective;
use mpi_core::constants::ANY_SOURCE;
use mpi_core::datatype::BYTE;
use mpi_core::handle::{CommHandle, OpHandle, RequestHandle};
use mpi_core::p2p::{Message, Mode};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use testsuite::sim::{COMM_WORLD, SimEntry, SimThread, World};
use transports::sim::{Nodes, SimOptions};

use crate::calls::arguments::Arguments;
use crate::calls::fast::{begin_with, run_with};
use crate::calls::{Call, SUM, memory};
use crate::seeds;
use crate::turns::own_sum;

const ROUNDS: usize = 8;
const LENGTHS: [usize; 8] = [0, 1, 8, 40, 300, 5_000, 9_000, 40_000];

/// A request that a thread has begun for another, with its memory and what must be there when it is complete.
struct Handed {
    request: RequestHandle,
    into: Vec<u8>,
    expected: Vec<u8>,
}

/// What the threads of a rank share.
struct Common {
    comms: Vec<CommHandle>,
    /// Adds by a function of the program.
    add: OpHandle,
    /// What each thread has for the one before it.
    handed: Rc<RefCell<Vec<Option<Handed>>>>,
    /// Threads that have not come to their ends.
    working: Cell<u32>,
}

fn common(mpi: &mut SimEntry<'_>, threads: u32, patience: u32) -> Common {
    mpi.selection.patience = patience;
    let dup = |_| mpi.communicators().duplicate(COMM_WORLD).unwrap();
    let comms = (0..threads).map(dup).collect();
    let add = own_sum(mpi);
    let handed = Rc::new(RefCell::new((0..threads).map(|_| None).collect()));
    Common { comms, add, handed, working: Cell::new(threads) }
}

/// What all threads of all ranks do in a round, or each thread by itself with the same one of the other ranks.
#[derive(Clone, Copy, Debug)]
enum Round {
    /// Sends to the next thread, so many ranks further.
    Ring { ranks: u32, how: u32 },
    /// Lets the thread before it wait for what it has begun.
    Hand { ranks: u32 },
    /// A collective operation, or what makes communicators.
    Own,
}

struct Thread<'a> {
    mpi: &'a SimThread,
    common: &'a Common,
    threads: u32,
    /// The same at this thread of all ranks.
    random: ChaCha8Rng,
    round: usize,
}

/// What thread `to` gets from a rank in a round.
fn content(from: u32, to: u32, round: usize) -> Vec<u8> {
    let mixed = from as usize * 31 + to as usize * 17 + round * 7;
    (0..LENGTHS[mixed % LENGTHS.len()]).map(|at| (at * 13 + mixed) as u8).collect()
}

impl Thread<'_> {
    fn message(&self, buf: &mut [u8], rank: i32, to: u32) -> Message {
        let tag = (self.round as u32 * self.threads + to) as i32;
        let (buf, count) = (UserBuffer(buf.as_mut_ptr()), buf.len() as i64);
        Message { buf, count, datatype: BYTE, rank, tag, comm: COMM_WORLD }
    }

    /// The next thread, and the ranks to whose it sends and from whose it gets something.
    fn neighbours(&self, ranks: u32) -> (u32, u32, u32) {
        let SimThread { number, rank, size, .. } = *self.mpi;
        ((number + 1) % self.threads, (rank + ranks) % size, (rank + size - ranks) % size)
    }

    /// Waits by tests, or in one call.
    fn wait(&self, request: RequestHandle, patient: bool) {
        if patient {
            self.mpi.call(|mpi| mpi.wait_one(request)).unwrap();
            return;
        }
        while self.mpi.call(|mpi| mpi.test(request)).unwrap().is_none() {}
    }

    fn ring(&mut self, ranks: u32, how: u32) {
        let me = self.mpi.number;
        let (next, to, from) = self.neighbours(ranks);
        let mut out = content(self.mpi.rank, next, self.round);
        let expected = content(from, me, self.round);
        let mut into = vec![0xee; expected.len()];
        let sent = self.message(&mut out, to as i32, next);
        let source = if how.is_multiple_of(2) { from as i32 } else { ANY_SOURCE };
        let wanted = self.message(&mut into, source, me);
        let mode = [Mode::Standard, Mode::Synchronous][how as usize / 2 % 2];
        let thread = self.mpi;
        match how / 4 {
            0 => {
                let posted = thread.call(|mpi| mpi.messages().ireceive(wanted)).unwrap();
                thread.call(|mpi| mpi.messages().send(sent, mode)).unwrap();
                self.wait(posted, true);
            }
            1 => {
                let sending = thread.call(|mpi| mpi.messages().isend(sent, mode)).unwrap();
                thread.call(|mpi| mpi.messages().receive(wanted)).unwrap();
                self.wait(sending, false);
            }
            2 => {
                let sending = thread.call(|mpi| mpi.messages().isend(sent, mode)).unwrap();
                let probe = |mpi: &mut SimEntry<'_>| {
                    mpi.messages().mprobe(wanted.rank, wanted.tag, COMM_WORLD)
                };
                let (mut message, status) = thread.call(probe).unwrap();
                assert_eq!((status.source, status.bytes), (from as i32, expected.len() as u64));
                let take = |mpi: &mut SimEntry<'_>| {
                    mpi.messages().ireceive_matched(wanted.buf, wanted.count, BYTE, &mut message)
                };
                let receiving = thread.call(take).unwrap();
                self.wait(receiving, true);
                self.wait(sending, true);
            }
            _ => {
                let both = |mpi: &mut SimEntry<'_>| {
                    let request = mpi.messages().isend_receive(sent, wanted)?;
                    mpi.wait_one(request)
                };
                thread.call(both).unwrap();
            }
        }
        assert!(into == expected, "round {} of thread {me}", self.round);
    }

    fn hand(&mut self, ranks: u32) {
        let (next, to, from) = self.neighbours(ranks);
        let (me, handed) = (self.mpi.number as usize, &self.common.handed);
        let expected = content(from, next, self.round);
        let mut into = vec![0xee; expected.len()];
        let wanted = self.message(&mut into, from as i32, next);
        let request = self.mpi.call(|mpi| mpi.messages().ireceive(wanted)).unwrap();
        // The one before it may not have taken what was there.
        let free = Rc::clone(handed);
        self.mpi.wait_until(move || free.borrow()[me].is_none());
        handed.borrow_mut()[me] = Some(Handed { request, into, expected });
        let mut out = content(self.mpi.rank, next, self.round);
        let sent = self.message(&mut out, to as i32, next);
        self.mpi.call(|mpi| mpi.messages().send(sent, Mode::Standard)).unwrap();
        let there = Rc::clone(handed);
        self.mpi.wait_until(move || there.borrow()[next as usize].is_some());
        let Handed { request, into, expected } = handed.borrow_mut()[next as usize].take().unwrap();
        self.wait(request, !self.round.is_multiple_of(3));
        assert!(into == expected, "round {} of thread {me}", self.round);
    }

    fn own(&mut self) {
        let comm = self.common.comms[self.mpi.number as usize];
        let [kind, color] = [6, 3].map(|below| self.random.random_range(0..below));
        if kind > 0 {
            return self.collective(comm, kind);
        }
        let made = match color {
            0 => self.mpi.call(|mpi| mpi.communicators().duplicate(comm)),
            _ => {
                let color = (self.mpi.rank % 2) as i32;
                self.mpi.call(|mpi| mpi.communicators().split(comm, color, 0))
            }
        };
        let made = made.unwrap();
        self.collective(made, color);
        self.mpi.call(|mpi| mpi.communicators().free(made)).unwrap();
    }

    fn collective(&mut self, comm: CommHandle, how: u32) {
        let known = |mpi: &mut SimEntry<'_>| {
            let comm = mpi.comm(comm).unwrap();
            (comm.rank as usize, comm.size() as usize)
        };
        let (me, size) = self.mpi.call(known);
        let collective = [Collective::Barrier, Collective::Bcast, Collective::Allreduce];
        let draw = self.random.random_range(0..6);
        let any = self.random.random_range(0..Collective::ALL.len());
        let collective = *collective.get(draw).unwrap_or(&Collective::ALL[any]);
        let [len, root] = [5, 12].map(|below| self.random.random_range(0..below));
        let len = [0, 1, 30, 400, 3000][len];
        // The communicators of a split differ in their sizes.
        let call = Call { collective, len, root: root % size, salt: self.round as i64 };
        let mut memory = memory(&call, me, size);
        let [own, fast] = [(); 2].map(|()| self.random.random::<bool>());
        let add = if own { self.common.add } else { SUM };
        let arguments = Arguments { comm, add, ..Arguments::plain(&call, &mut memory) };
        match how % 3 {
            0 => _ = self.mpi.call(|mpi| run_with(mpi, &call, &memory, arguments, fast)),
            _ => {
                let begin =
                    |mpi: &mut SimEntry<'_>| begin_with(mpi, &call, &memory, arguments, fast);
                let (request, _) = self.mpi.call(begin).unwrap();
                self.wait(request, how % 3 == 1);
            }
        }
        assert!(memory.recv == memory.expected, "{call:?} in round {}", self.round);
    }
}

/// What the threads do in each round, each of them in its own time; one more is the library's.
fn live(mpi: &SimThread, common: &Common, threads: u32, seed: u64, rounds: &[Round]) {
    if mpi.number == threads {
        return mpi.watch(|| common.working.get() == 0);
    }
    let random = ChaCha8Rng::seed_from_u64(seed ^ u64::from(mpi.number + 1) << 32);
    let mut thread = Thread { mpi, common, threads, random, round: 0 };
    for (number, round) in rounds.iter().enumerate() {
        thread.round = number;
        match *round {
            Round::Ring { ranks, how } => thread.ring(ranks, how),
            Round::Hand { ranks } => thread.hand(ranks),
            Round::Own => thread.own(),
        }
    }
    mpi.call(|mpi| {
        common.working.set(common.working.get() - 1);
        mpi.call_own();
    });
}

/// Some networks: fast and narrow, ranks on one node and on several, with a processor each and without.
fn network(random: &mut ChaCha8Rng) -> SimOptions {
    let nodes = [Nodes::One, Nodes::One, Nodes::Blocks(2), Nodes::Turns(2)];
    let ordinary = SimOptions {
        nodes: nodes[random.random_range(0..nodes.len())],
        processors: [None, None, Some(2)][random.random_range(0..3)],
        ..SimOptions::default()
    };
    match random.random_range(0..3) {
        0 => SimOptions { capacity: 2, refuse: 0.3, pull: 0.2, frame_bytes_max: 512, ..ordinary },
        1 => SimOptions { delay: 0..=100_000, front: 0.0, ..ordinary },
        _ => ordinary,
    }
}

/// Plays a program; the trace hash of its run.
fn play(seed: u64) -> u64 {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let [ranks, threads] = [random.random_range(2..5), random.random_range(2..5)];
    let rounds: Vec<Round> = (0..ROUNDS)
        .map(|_| match (random.random_range(0..4), random.random_range(0..ranks)) {
            (0, ranks) => Round::Ring { ranks, how: random.random_range(0..16) },
            (1, ranks) => Round::Hand { ranks },
            _ => Round::Own,
        })
        .collect();
    let (network, patience) = (network(&mut random), random.random_range(0..2));
    let watchers = u32::from(random.random_range(0..4) == 0);
    let world = World { network, ..World::new(seed, ranks) };
    let outcome = world.start_threads(
        threads + watchers,
        move |mpi| common(mpi, threads, patience),
        move |mpi, common| live(mpi, common, threads, seed, &rounds),
    );
    outcome.unwrap_or_else(|hang| panic!("{hang}")).trace
}

#[test]
fn threads_that_take_turns_come_to_their_ends() {
    (0..seeds(400)).for_each(|seed| _ = play(seed));
}

#[test]
fn a_seed_is_a_run_with_threads_too() {
    assert_eq!(play(5), play(5));
    assert_ne!(play(5), play(6));
}
