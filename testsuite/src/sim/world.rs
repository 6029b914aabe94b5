//! The scheduler: whose turn it is, when time moves, and when nothing can happen any more.

use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::time::Duration;

use corosensei::CoroutineResult;
use mpi_core::roll_call::Area;
use transports::sim::{Crossings, EndpointId, Landings, Network, Pause, SharedNetwork, SimOptions};

use super::rank::{Births, Fiber, Newborn, RankContext, Suspended};

/// Turns after which a run counts as going round in circles.
const TURNS_MAX: u64 = 50_000_000;

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
    /// One line for each rank that hangs, or for each of its threads.
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

/// A fiber as the scheduler sees it: the first ones are those of the ranks, in their order.
struct Scheduled {
    fiber: Fiber,
    area: Rc<Area>,
    label: String,
    state: State,
}

enum State {
    Ready,
    Waiting,
    Until(Rc<dyn Fn() -> bool>),
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
        let results = Rc::new(RefCell::new(Vec::new()));
        let born = Births::default();
        for (number, &size) in self.jobs.iter().enumerate() {
            for rank in 0..size {
                let job = format!("sim{number}");
                let label = match self.jobs.len() {
                    1 => format!("rank {rank}"),
                    _ => format!("rank {rank} of job {job}"),
                };
                let own = [rank, size];
                let context = RankContext::new(&network, own, job, label, self.stack_bytes, &born);
                let (body, results) = (Rc::clone(&body), Rc::clone(&results));
                let place = results.borrow().len();
                results.borrow_mut().push(None);
                context.begin(move |context| {
                    let result = body(context);
                    results.borrow_mut()[place] = Some(result);
                });
            }
        }
        let mut scheduler = Scheduler { world: self, network, fibers: Vec::new(), born, turns: 0 };
        scheduler.run()?;
        let results = results.take();
        Ok(scheduler.outcome(results))
    }
}

struct Scheduler<'a> {
    world: &'a World,
    network: SharedNetwork,
    fibers: Vec<Scheduled>,
    born: Births,
    turns: u64,
}

impl Scheduler<'_> {
    fn run(&mut self) -> Result<(), Hang> {
        let mut ready: Vec<usize> = Vec::new();
        self.adopt(&mut ready);
        // Those who wait until something is so.
        let mut waiting: Vec<usize> = Vec::new();
        loop {
            // Time moves when nobody can go on, and by chance before, so that frames arrive
            // at every moment.
            let early = self.network.borrow_mut().draw(2) == 0;
            if early || ready.is_empty() && self.open(&waiting).next().is_none() {
                let moved = self.network.borrow_mut().advance();
                self.wake(&mut ready);
                if !moved && ready.is_empty() && self.open(&waiting).next().is_none() {
                    break;
                }
            }
            let able = ready.len() + self.open(&waiting).count();
            if able == 0 {
                continue;
            }
            self.turns += 1;
            if self.turns > TURNS_MAX {
                return Err(self.hang(false));
            }
            let place = self.network.borrow_mut().draw(able);
            let which = match place.checked_sub(ready.len()) {
                None => ready.swap_remove(place),
                Some(of_open) => {
                    let at = self.open(&waiting).nth(of_open).expect("it was counted");
                    waiting.swap_remove(at)
                }
            };
            match self.turn(which) {
                State::Ready => ready.push(which),
                State::Until(_) => waiting.push(which),
                State::Waiting | State::Ended => {}
            }
            if self.network.borrow().ended().is_some() {
                return Err(self.hang(false));
            }
            self.adopt(&mut ready);
            self.wake(&mut ready);
        }
        match self.fibers.iter().all(|fiber| matches!(fiber.state, State::Ended)) {
            true => Ok(()),
            false => Err(self.hang(true)),
        }
    }

    fn outcome<R>(&mut self, results: Vec<Option<R>>) -> Outcome<R> {
        self.abandon();
        let network = self.network.borrow();
        Outcome {
            results,
            trace: network.trace_hash(),
            time: Duration::from_nanos(network.now()),
            turns: self.turns,
            crossings: network.crossings(),
            landings: network.landings(),
        }
    }

    /// The places of those among the waiting who could go on now.
    fn open<'b>(&'b self, waiting: &'b [usize]) -> impl Iterator<Item = usize> + 'b {
        let is_open = |which: &usize| match &self.fibers[*which].state {
            State::Until(is_so) => is_so(),
            _ => false,
        };
        waiting.iter().enumerate().filter(move |(_, which)| is_open(which)).map(|(at, _)| at)
    }

    /// Takes over the fibers that are to begin.
    fn adopt(&mut self, ready: &mut Vec<usize>) {
        for Newborn { fiber, area, label } in self.born.borrow_mut().drain(..) {
            ready.push(self.fibers.len());
            self.fibers.push(Scheduled { fiber, area, label, state: State::Ready });
        }
    }

    /// Makes those ready that wait and got news.
    fn wake(&mut self, ready: &mut Vec<usize>) {
        for EndpointId(which) in self.network.borrow_mut().take_news() {
            let rank = &mut self.fibers[which as usize];
            if matches!(rank.state, State::Waiting) {
                rank.state = State::Ready;
                ready.push(which as usize);
            }
        }
    }

    /// Lets one fiber run until it suspends; returns its state then.
    fn turn(&mut self, which: usize) -> &State {
        let one = &mut self.fibers[which];
        let resumed = catch_unwind(AssertUnwindSafe(|| one.fiber.resume(())));
        one.state = match resumed {
            Ok(CoroutineResult::Yield(Suspended::Paused(Pause::Yield))) => State::Ready,
            Ok(CoroutineResult::Yield(Suspended::Paused(Pause::Until(is_so)))) => {
                State::Until(is_so)
            }
            Ok(CoroutineResult::Yield(Suspended::Paused(Pause::Wait))) => {
                let news = self.network.borrow().has_news(EndpointId(which as u32));
                if news { State::Ready } else { State::Waiting }
            }
            Ok(CoroutineResult::Yield(Suspended::Dead) | CoroutineResult::Return(())) => {
                State::Ended
            }
            Err(panic) => {
                eprintln!("{} panicked; seed {} replays it", one.label, self.world.seed);
                self.abandon();
                resume_unwind(panic)
            }
        };
        &self.fibers[which].state
    }

    fn hang(&mut self, deadlock: bool) -> Hang {
        let there = self.fibers.iter().filter(|fiber| !matches!(fiber.state, State::Ended));
        let line = |fiber: &Scheduled| {
            let call = fiber.area.read().map(|(call, _)| call).unwrap_or_default();
            format!("{} {}", fiber.label, call.describe(self.world.procedure_name))
        };
        let ranks = there.map(line).collect();
        let ended = self.network.borrow().ended().map(str::to_owned);
        let hang = Hang { seed: self.world.seed, ranks, deadlock, ended };
        self.abandon();
        hang
    }

    /// Gives up the stacks of fibers that have not ended, as the kernel does with a killed
    /// process's.
    fn abandon(&mut self) {
        for Scheduled { fiber, .. } in &mut self.fibers {
            if fiber.started() && !fiber.done() {
                // SAFETY: no destructor runs and nothing that is used afterwards borrows from
                // the stack: the results are owned values, and the network, which may hold
                // addresses of user memory there, is not polled again.
                unsafe { fiber.force_reset() };
            }
        }
    }
}
