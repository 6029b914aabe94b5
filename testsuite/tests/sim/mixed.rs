//! Random programs of collectives in simulated worlds, for what one call leaves behind in the way of the next: calls
//! of every kind on three communicators, several under way at once, in place or not.
//!
//! All ranks make the same calls in the same order, as MPI-5.0 §6.14 has it. What is a rank's own affair each draws
//! for itself: whether it tries the fast path, whether its memory has gaps, when it starts what is persistent, and
//! when it looks what has ended. So every way meets every other one. A seed decides all of it, the world too.
//!
//! `FERRITE_TEST_SEEDS` asks for more seeds.

use crate::calls::arguments::{Arguments, Layout};
use crate::calls::fast::{begin_with, run_with};
use crate::calls::{Call, Memory, memory, prepare_with};
use crate::seeds;
use mpi_core::coll::menu::Collective;
use mpi_core::handle::{CommHandle, RequestHandle};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use testsuite::sim::{COMM_WORLD, SimEntry, World};
use transports::sim::{Nodes, SimOptions};

/// How a call is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Blocking,
    Nonblocking,
    Persistent,
}

/// One step of a program: what all ranks agree on.
#[derive(Clone, Copy, Debug)]
struct Step {
    call: Call,
    way: Way,
    in_place: bool,
    /// Number of the communicator.
    comm: usize,
    /// All wait for all calls afterwards.
    waits: bool,
}

impl Step {
    /// A step on one of the communicators, the smallest parts of which have so many ranks.
    fn draw(random: &mut ChaCha8Rng, number: usize, sizes: [u32; 3], lens: &[usize]) -> Step {
        let comm = random.random_range(0..sizes.len());
        let call = Call {
            collective: Collective::ALL[random.random_range(0..Collective::ALL.len())],
            len: lens[random.random_range(0..lens.len())],
            root: random.random_range(0..sizes[comm]) as usize,
            salt: number as i64,
        };
        let way = match random.random_range(0..8) {
            0 => Way::Persistent,
            1..=3 => Way::Blocking,
            _ => Way::Nonblocking,
        };
        let (in_place, waits) = (random.random_bool(0.3), random.random_bool(0.1));
        Step { call, way, in_place, comm, waits }
    }

    /// Several nonblocking calls on the communicator of this one: of any kind, or about as many broadcasts as fit a
    /// stream, behind which a reduction in place has to wait for room while all others have contributed.
    fn burst(self, random: &mut ChaCha8Rng) -> Vec<Step> {
        let step = |at: usize, collective, len| {
            let call = Call { collective, len, salt: self.call.salt * 64 + at as i64, ..self.call };
            Step { call, way: Way::Nonblocking, ..self }
        };
        if random.random_bool(0.5) {
            let mut any = || Collective::ALL[random.random_range(0..Collective::ALL.len())];
            return (0..4).map(|at| step(at, any(), self.call.len)).collect();
        }
        let full = random.random_range(31..34);
        let mut steps: Vec<_> = (0..full).map(|at| step(at, Collective::Bcast, 1)).collect();
        steps.push(Step { in_place: true, ..step(full, Collective::Allreduce, 1) });
        steps
    }
}

/// A call that has not ended.
struct UnderWay {
    step: Step,
    memory: Memory,
    request: RequestHandle,
    is_started: bool,
}

/// A rank that runs a program.
struct Rank<'a, 'b> {
    mpi: &'a mut SimEntry<'b>,
    seed: u64,
    /// All ranks; all in another order; every second one; all, to pass a word.
    comms: [CommHandle; 4],
    /// For what is its own affair.
    own: ChaCha8Rng,
    under_way: Vec<UnderWay>,
    /// Calls that took the fast path: blocking ones and others.
    fast: [u64; 2],
}

impl Rank<'_, '_> {
    /// Makes a call. Its datatypes are freed at once, which no call that has begun minds (§5.1.9).
    fn make(&mut self, step: Step) {
        let comm = self.comms[step.comm];
        let state = self.mpi.comm(comm).unwrap();
        let mut memory = memory(&step.call, state.rank as usize, state.size() as usize);
        let gaps = [0; 2].map(|_| self.own.random_bool(0.2));
        let layout = Layout { in_place: step.in_place, gaps };
        let arguments = Arguments::laid_out(self.mpi, &step.call, comm, &mut memory, layout);
        let wanted = self.own.random_bool(0.7);
        let request = match step.way {
            Way::Blocking => {
                let fast = run_with(self.mpi, &step.call, &memory, arguments, wanted);
                self.fast[0] += u64::from(fast);
                self.check(&step, &memory);
                None
            }
            Way::Nonblocking => {
                let begun = begin_with(self.mpi, &step.call, &memory, arguments, wanted);
                let (request, fast) = begun.unwrap();
                self.fast[1] += u64::from(fast);
                Some(request)
            }
            Way::Persistent => {
                let call = prepare_with(self.mpi, &step.call, &memory, arguments);
                Some(self.mpi.collectives().keep(call).unwrap())
            }
        };
        arguments.free_datatypes(self.mpi);
        let is_started = step.way != Way::Persistent;
        let under_way = |request| UnderWay { step, memory, request, is_started };
        self.under_way.extend(request.map(under_way));
    }

    /// Makes nonblocking calls, one rank before any other one begins: to begin waits for nobody (§6.12).
    fn make_behind(&mut self, first: u32, steps: &[Step]) {
        let is_first = self.mpi.identity.rank == first;
        if !is_first {
            self.pass_word(first);
        }
        steps.iter().for_each(|step| self.make(*step));
        if is_first {
            self.pass_word(first);
        }
    }

    /// All hear of one rank.
    fn pass_word(&mut self, from: u32) {
        let call = Call { collective: Collective::Bcast, len: 1, root: from as usize, salt: 0 };
        self.make(Step { call, way: Way::Blocking, in_place: false, comm: 3, waits: false });
    }

    /// Starts one that is persistent, or looks whether one has ended, here and there.
    fn look(&mut self) {
        for at in (0..self.under_way.len()).rev() {
            let UnderWay { request, is_started, .. } = self.under_way[at];
            if self.own.random_bool(0.7) {
                continue;
            }
            if !is_started {
                self.start(at);
            } else if self.mpi.test(request).unwrap().is_some() {
                self.end(at);
            }
        }
    }

    fn start(&mut self, at: usize) {
        self.mpi.start(self.under_way[at].request).unwrap();
        self.under_way[at].is_started = true;
    }

    /// Waits for everything, in an order of its own. What is persistent is started before, as others may wait for it.
    fn wait_for_all(&mut self) {
        for at in 0..self.under_way.len() {
            if !self.under_way[at].is_started {
                self.start(at);
            }
        }
        while !self.under_way.is_empty() {
            let at = self.own.random_range(0..self.under_way.len());
            self.mpi.wait_one(self.under_way[at].request).unwrap();
            self.end(at);
        }
    }

    /// What has ended is right.
    fn end(&mut self, at: usize) {
        let UnderWay { step, memory, request, .. } = self.under_way.swap_remove(at);
        if step.way == Way::Persistent {
            self.mpi.free_request(request).unwrap();
        }
        self.check(&step, &memory);
    }

    fn check(&self, step: &Step, memory: &Memory) {
        let is_right = memory.recv.starts_with(&memory.expected);
        let wrong = || memory.recv.iter().zip(&memory.expected).position(|(is, due)| is != due);
        let (seed, me) = (self.seed, self.mpi.identity.rank);
        assert!(is_right, "seed {seed}: {step:?} at rank {me} of all: element {:?}", wrong());
    }
}

/// Runs the program of a seed; what calls took the fast path. Some programs free their communicators
/// while calls are under way there, or persistent ones are still to be started.
fn live(mpi: &mut SimEntry<'_>, seed: u64, steps: usize, lens: &[usize]) -> [u64; 2] {
    let (me, n) = (mpi.identity.rank, mpi.identity.size);
    mpi.selection.patience = if seed.is_multiple_of(3) { 2 } else { 0 };
    let shuffled = mpi.communicators().split(COMM_WORLD, 0, (n - me * 5 % n) as i32).unwrap();
    let half = mpi.communicators().split(COMM_WORLD, (me % 2) as i32, 0).unwrap();
    let own = ChaCha8Rng::seed_from_u64(!(seed << 16 | u64::from(me)));
    let words = mpi.communicators().split(COMM_WORLD, 0, 0).unwrap();
    let comms = [COMM_WORLD, shuffled, half, words];
    let mut rank = Rank { mpi, seed, comms, own, under_way: Vec::new(), fast: [0; 2] };
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for number in 0..steps {
        let step = Step::draw(&mut random, number, [n, n, n / 2], lens);
        if random.random_bool(0.05) {
            // So that the streams are empty.
            rank.wait_for_all();
            let first = random.random_range(0..n);
            rank.make_behind(first, &step.burst(&mut random));
        } else {
            rank.make(step);
        }
        rank.look();
        if step.waits {
            rank.wait_for_all();
        }
    }
    if seed.is_multiple_of(2) {
        rank.wait_for_all();
    }
    for comm in [shuffled, half] {
        rank.mpi.communicators().free(comm).unwrap();
    }
    rank.wait_for_all();
    // One that is freed while something is under way there stays until the next one is freed.
    rank.mpi.communicators().free(words).unwrap();
    let names = rank.mpi.comms.iter().map(|(_, comm)| comm.name.to_string());
    let left: Vec<_> = names.filter(|name| !name.starts_with("MPI_COMM_")).collect();
    assert!(left.is_empty(), "seed {seed}: {left:?} are still there at rank {me} of {n}");
    rank.fast
}

/// A world of a seed and what its program is made of.
struct Plan {
    ranks: u32,
    network: SimOptions,
    steps: usize,
    lens: &'static [usize],
    /// As in the selection of algorithms.
    cache_ranks: u32,
    tree: Option<bool>,
}

/// Runs the programs of so many seeds.
fn try_out(usual: u64, plan: impl Fn(usize) -> Plan) {
    let mut fast = [0; 2];
    let seeds = seeds(usual);
    for seed in 0..seeds {
        let Plan { ranks, network, steps, lens, cache_ranks, tree } = plan(seed as usize);
        let outcome = World { network, ..World::new(seed, ranks) }.start_mpi(move |mpi| {
            mpi.selection.cache_ranks = cache_ranks;
            mpi.selection.tree = tree;
            live(mpi, seed, steps, lens)
        });
        for ways in outcome.unwrap_or_else(|hang| panic!("seed {seed}: {hang}")).results {
            let [run, begun] = ways.expect("a rank that came to its end");
            fast = [fast[0] + run, fast[1] + begun];
        }
    }
    assert!(fast.iter().all(|calls| *calls > seeds), "{fast:?} calls took the fast path");
}

/// A node whose ranks meet in segments, or, where processors are shared, with expositions; little goes by messages
/// at once.
fn one_node(seed: usize) -> Plan {
    let processors = [None, Some(2), Some(3), Some(1)][seed / 5 % 4];
    let network = SimOptions { capacity: 4, refuse: 0.2, processors, ..SimOptions::default() };
    let lens = &[0, 1, 5, 40, 500, 600, 3000];
    Plan { ranks: 2 + (seed % 5) as u32, network, steps: 120, lens, cache_ranks: 0, tree: None }
}

#[test]
fn calls_of_every_kind_do_not_mix_on_a_node() {
    try_out(30, one_node);
}

#[test]
fn short_calls_may_fill_the_streams() {
    let lens = &[1, 5, 40, 500];
    try_out(12, |seed| Plan { steps: 300, lens, network: SimOptions::default(), ..one_node(seed) });
}

#[test]
fn calls_of_every_kind_do_not_mix_over_several_caches() {
    try_out(20, |seed| Plan {
        ranks: [4, 6, 8, 12, 16][seed % 5],
        network: SimOptions {
            capacity: 8,
            processors: [None, None, Some(3)][seed / 7 % 3],
            ..SimOptions::default()
        },
        steps: 60,
        lens: &[0, 1, 5, 40, 500, 3000],
        cache_ranks: 1 + (seed / 3 % 3) as u32,
        tree: [Some(true), None, Some(false)][seed % 3],
    });
}

#[test]
fn calls_of_every_kind_do_not_mix_over_several_nodes() {
    try_out(20, |seed| {
        let nodes = [Nodes::Blocks(2), Nodes::Turns(2), Nodes::Blocks(3), Nodes::Turns(3)];
        let network = SimOptions { capacity: 8, nodes: nodes[seed % 4], ..SimOptions::default() };
        let ranks = 4 + (seed / 4 % 5) as u32;
        Plan { ranks, network, steps: 60, ..one_node(seed) }
    });
}
