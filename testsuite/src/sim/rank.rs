//! A rank of a simulated world, and its fibers: each runs until it gives its turn away.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use mpi_core::port::ProcessName;
use mpi_core::roll_call::{Area, Call};
use transports::sim::{EndpointId, Pause, SharedNetwork, SimPort};

/// Why a fiber gives its turn away.
pub(super) enum Suspended {
    Paused(Pause),
    /// It died: it never gets a turn again.
    Dead,
}

pub(super) type Fiber = Coroutine<(), Suspended, ()>;
type Turn = Yielder<(), Suspended>;

/// The fiber of a rank that runs now.
struct Here {
    turn: *const Turn,
    /// What it is in, for the report of a hang.
    area: Rc<Area>,
}

/// Points to it, while the rank runs.
type Running = Rc<Cell<*const Here>>;

/// A fiber that is to begin.
pub(super) struct Newborn {
    pub(super) fiber: Fiber,
    /// What it is in.
    pub(super) area: Rc<Area>,
    pub(super) label: String,
}

/// Those that the scheduler is to take over.
pub(super) type Births = Rc<RefCell<Vec<Newborn>>>;

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
    running: Running,
    label: String,
    stack_bytes: usize,
    born: Births,
}

impl RankContext {
    /// What rank `rank` of a job of `size` gets.
    pub(super) fn new(
        network: &SharedNetwork,
        [rank, size]: [u32; 2],
        job: String,
        label: String,
        stack_bytes: usize,
        born: &Births,
    ) -> RankContext {
        let running: Running = Rc::new(Cell::new(std::ptr::null()));
        let name = ProcessName { job: job.clone(), rank };
        let port = SimPort::new(network, &name).pausing_by(pausing(&running));
        RankContext {
            rank,
            size,
            job,
            endpoint: port.id(),
            port: Some(port),
            area: Rc::new(Area::new()),
            network: Rc::clone(network),
            running,
            label,
            stack_bytes,
            born: Rc::clone(born),
        }
    }

    /// Lets the rank begin, which does what `body` says.
    pub(super) fn begin(self, body: impl FnOnce(RankContext) + 'static) {
        let (label, born) = (self.label.clone(), Rc::clone(&self.born));
        let (stack_bytes, running, area) =
            (self.stack_bytes, Rc::clone(&self.running), Rc::clone(&self.area));
        let fiber = fiber(stack_bytes, &running, &area, move || body(self));
        born.borrow_mut().push(Newborn { fiber, area, label });
    }

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

    /// Lets another fiber of this rank begin, which does what `body` says.
    pub fn spawn(&self, name: &str, body: impl FnOnce() + 'static) {
        let area = Rc::new(Area::new());
        let fiber = fiber(self.stack_bytes, &self.running, &area, body);
        let label = format!("{}, {name}", self.label);
        self.born.borrow_mut().push(Newborn { fiber, area, label });
    }

    /// How the fiber of this rank that runs lets others go on.
    pub fn pausing(&self) -> Rc<dyn Fn(Pause)> {
        pausing(&self.running)
    }

    /// How the fiber of this rank that runs tells what it is in, for the report of a hang.
    pub fn publishing(&self) -> impl Fn(&Call) + 'static {
        let running = Rc::clone(&self.running);
        // SAFETY: it is called by a fiber of this rank, which has set the pointer to something on its stack.
        move |call| unsafe { &(*running.get()).area }.publish(call)
    }

    /// Dies here and now, without any of its destructors running, as a killed process does; it has no other fibers.
    pub fn die(&self) -> ! {
        self.network.borrow_mut().kill(self.endpoint);
        loop {
            give_turn(&self.running, Suspended::Dead);
        }
    }
}

fn pausing(running: &Running) -> Rc<dyn Fn(Pause)> {
    let running = Rc::clone(running);
    Rc::new(move |pause| give_turn(&running, Suspended::Paused(pause)))
}

fn give_turn(running: &Cell<*const Here>, why: Suspended) {
    let here = running.get();
    assert!(!here.is_null(), "a port is used outside its rank");
    // SAFETY: the pointer is set while a fiber's body runs and only code of that body, which uses
    // the port and the context, comes here; the yielder lives as long as the body.
    unsafe { (*(*here).turn).suspend(why) };
    // Another fiber of the rank may have run.
    running.set(here);
}

fn fiber(
    stack_bytes: usize,
    running: &Running,
    area: &Rc<Area>,
    body: impl FnOnce() + 'static,
) -> Fiber {
    let (running, area) = (Rc::clone(running), Rc::clone(area));
    let stack = DefaultStack::new(stack_bytes).expect("there is address space for stacks");
    Coroutine::with_stack(stack, move |turn: &Turn, ()| {
        let here = Here { turn, area };
        running.set(&here);
        body();
    })
}
