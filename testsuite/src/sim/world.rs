//! The scheduler: whose turn it is, when time moves, and when nothing can happen any more.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::time::Duration;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use mpi_core::port::ProcessName;
use mpi_core::roll_call::Area;
use transports::sim::{
    Crossings, EndpointId, Landings, Network, Pause, SharedNetwork, SimOptions, SimPort,
};

/// Turns after which a run counts as going round in circles.
const TURNS_MAX: u64 = 50_000_000;

/// Why a fiber gives its turn away.
enum Suspended {
    Paused(Pause),
    /// It died: it never gets a turn again.
    Dead,
}

type Fiber<R> = Coroutine<(), Suspended, R>;
type Turn = Yielder<(), Suspended>;

/// What a rank gets to live in its world.
pub struct RankContext {
    /// Rank in its job.
    pub rank: u32,
    /// Ranks of its job.
    pub size: u32,
    /// Name of its job: all ranks of a world know each other by job and rank.
    pub job: String,
    /// Its end of the network.
    pub port: Option<SimPort>,
    /// What it is in, for the report of a hang; whoever waits publishes here.
    pub area: Rc<Area>,
    network: SharedNetwork,
    endpoint: EndpointId,
    turn: Rc<Cell<*const Turn>>,
}

impl RankContext {
    /// Takes the port out, which can be done once.
    ///
    /// # Panics
    /// If it was taken before.
    pub fn take_port(&mut self) -> SimPort {
        self.port.take().expect("the port is taken once")
    }

    /// The names of all ranks of the job, in order.
    pub fn names(&self) -> Vec<ProcessName> {
        (0..self.size).map(|rank| ProcessName { job: self.job.clone(), rank }).collect()
    }

    /// The network, to cut links, kill others, or draw numbers that belong to the run.
    pub fn network(&self) -> &SharedNetwork {
        &self.network
    }

    /// Dies here and now, without any of its destructors running, as a killed process does.
    pub fn die(&self) -> ! {
        self.network.borrow_mut().kill(self.endpoint);
        loop {
            give_turn(&self.turn, Suspended::Dead);
        }
    }
}

fn give_turn(turn: &Cell<*const Turn>, why: Suspended) {
    let yielder = turn.get();
    assert!(!yielder.is_null(), "a port is used outside its rank");
    // SAFETY: the pointer is set while the fiber's body runs and only code of that body, which
    // owns the port and the context, comes here; the yielder lives as long as the body.
    unsafe { (*yielder).suspend(why) };
}

/// What came of a run in which every rank ended or died.
#[derive(Debug)]
pub struct Outcome<R> {
    /// What each rank returned, job after job; `None` for one that died.
    pub results: Vec<Option<R>>,
    /// Differs, most likely, when anything about the run did.
    pub trace: u64,
    /// Virtual time that passed.
    pub time: Duration,
    /// Turns that ranks were given.
    pub turns: u64,
    /// Messages from node to node.
    pub crossings: Crossings,
    /// What receivers have told of where their bytes go.
    pub landings: Landings,
}

/// Nobody can go on: who is where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hang {
    /// Replays the run.
    pub seed: u64,
    /// One line for each rank that hangs.
    pub ranks: Vec<String>,
    /// Nothing is under way; otherwise the run went round in circles for too long.
    pub deadlock: bool,
    /// Why a rank has ended the job, if one has.
    pub ended: Option<String>,
}

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (&self.ended, self.deadlock) {
            (Some(why), _) => why,
            (None, true) => "deadlock: all ranks wait and nothing is under way",
            (None, false) => "no end: ranks run but do not come to their end",
        };
        writeln!(f, "{what} (seed {})", self.seed)?;
        self.ranks.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

impl std::error::Error for Hang {}

/// A world to be run.
#[derive(Clone)]
pub struct World {
    /// Everything random follows from it.
    pub seed: u64,
    /// What the network is like.
    pub network: SimOptions,
    /// Ranks of each job.
    pub jobs: Vec<u32>,
    /// Bytes of each rank's stack; only touched pages cost memory.
    pub stack_bytes: usize,
    /// Names of MPI procedures by their numbers, for reports.
    pub procedure_name: fn(u16) -> Option<&'static str>,
}

/// A rank as the scheduler sees it.
struct Rank<R> {
    fiber: Fiber<R>,
    area: Rc<Area>,
    label: String,
    state: State,
    result: Option<R>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    Waiting,
    Ended,
}

impl World {
    /// A world of one job with `ranks` ranks and an ordinary network.
    pub fn new(seed: u64, ranks: u32) -> World {
        World {
            seed,
            network: SimOptions::default(),
            jobs: vec![ranks],
            stack_bytes: 512 << 10,
            procedure_name: |_| None,
        }
    }

    /// Runs a world of one job: `body` is what each rank does.
    ///
    /// # Errors
    /// A [`Hang`] when ranks cannot come to their end.
    ///
    /// # Panics
    /// As a rank does; the seed is printed.
    pub fn run<R: 'static>(
        seed: u64,
        ranks: u32,
        network: SimOptions,
        body: impl Fn(RankContext) -> R + 'static,
    ) -> Result<Outcome<R>, Hang> {
        World { network, ..World::new(seed, ranks) }.start(body)
    }

    /// Runs this world.
    ///
    /// # Errors
    /// As [`World::run`].
    ///
    /// # Panics
    /// As [`World::run`].
    pub fn start<R: 'static>(
        &self,
        body: impl Fn(RankContext) -> R + 'static,
    ) -> Result<Outcome<R>, Hang> {
        let network = Network::new(self.seed, self.network.clone());
        let body: Rc<dyn Fn(RankContext) -> R> = Rc::new(body);
        let mut ranks = Vec::new();
        for (number, &size) in self.jobs.iter().enumerate() {
            for rank in 0..size {
                ranks.push(self.rank(&network, format!("sim{number}"), rank, size, &body));
            }
        }
        Scheduler { world: self, network, ranks, turns: 0 }.run()
    }

    fn rank<R: 'static>(
        &self,
        network: &SharedNetwork,
        job: String,
        rank: u32,
        size: u32,
        body: &Rc<dyn Fn(RankContext) -> R>,
    ) -> Rank<R> {
        let turn: Rc<Cell<*const Turn>> = Rc::new(Cell::new(std::ptr::null()));
        let pausing = Rc::clone(&turn);
        let pause = Rc::new(move |pause| give_turn(&pausing, Suspended::Paused(pause)));
        let name = ProcessName { job: job.clone(), rank };
        let port = SimPort::new(network, &name).pausing_by(pause);
        let area = Rc::new(Area::new());
        let label = match self.jobs.len() {
            1 => format!("rank {rank}"),
            _ => format!("rank {rank} of job {job}"),
        };
        let context = RankContext {
            rank,
            size,
            job,
            endpoint: port.id(),
            port: Some(port),
            area: Rc::clone(&area),
            network: Rc::clone(network),
            turn: Rc::clone(&turn),
        };
        let body = Rc::clone(body);
        let stack = DefaultStack::new(self.stack_bytes).expect("there is address space for stacks");
        let fiber = Coroutine::with_stack(stack, move |yielder: &Turn, ()| {
            turn.set(yielder);
            body(context)
        });
        Rank { fiber, area, label, state: State::Ready, result: None }
    }
}

struct Scheduler<'a, R> {
    world: &'a World,
    network: Rc<RefCell<Network>>,
    ranks: Vec<Rank<R>>,
    turns: u64,
}

impl<R> Scheduler<'_, R> {
    fn run(mut self) -> Result<Outcome<R>, Hang> {
        let mut ready: Vec<usize> = (0..self.ranks.len()).collect();
        loop {
            // Time moves when nobody can go on, and by chance before, so that frames arrive
            // at every moment.
            let early = self.network.borrow_mut().draw(2) == 0;
            if ready.is_empty() || early {
                let moved = self.network.borrow_mut().advance();
                self.wake(&mut ready);
                if !moved && ready.is_empty() {
                    break;
                }
            }
            if ready.is_empty() {
                continue;
            }
            self.turns += 1;
            if self.turns > TURNS_MAX {
                return Err(self.hang(false));
            }
            let place = self.network.borrow_mut().draw(ready.len());
            let which = ready[place];
            if self.turn(which) != State::Ready {
                ready.swap_remove(place);
            }
            if self.network.borrow().ended().is_some() {
                return Err(self.hang(false));
            }
            self.wake(&mut ready);
        }
        if self.ranks.iter().any(|rank| rank.state != State::Ended) {
            return Err(self.hang(true));
        }
        let network = self.network.borrow();
        let (trace, now) = (network.trace_hash(), network.now());
        let (crossings, landings) = (network.crossings(), network.landings());
        drop(network);
        let results = self.ranks.iter_mut().map(|rank| rank.result.take()).collect();
        self.abandon();
        let time = Duration::from_nanos(now);
        Ok(Outcome { results, trace, time, turns: self.turns, crossings, landings })
    }

    /// Makes those ready that wait and got news.
    fn wake(&mut self, ready: &mut Vec<usize>) {
        for EndpointId(which) in self.network.borrow_mut().take_news() {
            let rank = &mut self.ranks[which as usize];
            if rank.state == State::Waiting {
                rank.state = State::Ready;
                ready.push(which as usize);
            }
        }
    }

    /// Lets one rank run until it suspends; returns its state then.
    fn turn(&mut self, which: usize) -> State {
        let rank = &mut self.ranks[which];
        let resumed = catch_unwind(AssertUnwindSafe(|| rank.fiber.resume(())));
        rank.state = match resumed {
            Ok(CoroutineResult::Yield(Suspended::Paused(Pause::Yield))) => State::Ready,
            Ok(CoroutineResult::Yield(Suspended::Paused(Pause::Wait))) => {
                let news = self.network.borrow().has_news(EndpointId(which as u32));
                if news { State::Ready } else { State::Waiting }
            }
            Ok(CoroutineResult::Yield(Suspended::Dead)) => State::Ended,
            Ok(CoroutineResult::Return(result)) => {
                rank.result = Some(result);
                State::Ended
            }
            Err(panic) => {
                eprintln!("{} panicked; seed {} replays it", rank.label, self.world.seed);
                self.abandon();
                resume_unwind(panic)
            }
        };
        self.ranks[which].state
    }

    fn hang(&mut self, deadlock: bool) -> Hang {
        let there = self.ranks.iter().filter(|rank| rank.state != State::Ended);
        let line = |rank: &Rank<R>| {
            let call = rank.area.read().map(|(call, _)| call).unwrap_or_default();
            format!("{} {}", rank.label, call.describe(self.world.procedure_name))
        };
        let ranks = there.map(line).collect();
        let ended = self.network.borrow().ended().map(str::to_owned);
        let hang = Hang { seed: self.world.seed, ranks, deadlock, ended };
        self.abandon();
        hang
    }

    /// Gives up the stacks of ranks that have not ended, as the kernel does with a killed
    /// process's.
    fn abandon(&mut self) {
        for rank in &mut self.ranks {
            if rank.fiber.started() && !rank.fiber.done() {
                // SAFETY: no destructor runs and nothing that is used afterwards borrows from
                // the stack: the results are owned values, and the network, which may hold
                // addresses of user memory there, is not polled again.
                unsafe { rank.fiber.force_reset() };
            }
        }
    }
}
