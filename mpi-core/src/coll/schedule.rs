//! The intermediate form of a collective: a small graph of steps, and the order to run it in.
//!
//! An algorithm emits a [`Schedule`] for one rank through a `Builder`;
//! an executor maps its regions to memory, starts what [`Progress`] hands out and reports back
//! what is done. Blocking, nonblocking and persistent collectives (MPI-5.0 §6.12, §6.13) are ways
//! to run the same schedule.
//!
//! **Units.** All lengths of a schedule count one unit: a byte of packed data where data is only
//! moved, an element of the datatype where it is reduced.
//!
//! **Order of messages.** The n-th `Send` from a to b in a's step order carries what the n-th
//! `Recv` from a in b's step order takes, and [`Progress`] starts the messages of one direction
//! of one pair in step order; so one tag per collective call is enough. Algorithms must keep this
//! invariant; `verify` checks it over the schedules of all ranks.

use std::collections::VecDeque;

/// What a region lies in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// The user's send buffer: never written, and not used at all by a rank that works in place.
    Send,
    /// The user's receive buffer (or the one buffer of a broadcast).
    Recv,
    /// Scratch memory of the schedule, of the length in [`Schedule::temps`].
    Temp(u32),
}

/// A run of units in one buffer.
///
/// A user buffer is the concatenation of its blocks in the order of their index (the rank, or
/// the neighbour), whatever their displacements and types: unit 0 is the first of block 0, and a
/// region may run across blocks. `Layout::pieces` translates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// The buffer.
    pub buffer: Buffer,
    /// The first unit.
    pub start: i64,
    /// The number of units.
    pub len: i64,
}

impl Region {
    /// The first `len` units of `buffer`.
    pub fn new(buffer: Buffer, len: i64) -> Region {
        Region { buffer, start: 0, len }
    }

    /// The `len` units of this region that begin at its unit `start`.
    #[must_use]
    pub fn slice(self, start: i64, len: i64) -> Region {
        debug_assert!(start >= 0 && len >= 0 && start + len <= self.len);
        Region { start: self.start + start, len, ..self }
    }

    /// One past the last unit.
    pub fn end(self) -> i64 {
        self.start + self.len
    }

    /// Whether the two have a unit in common.
    pub fn overlaps(self, other: Region) -> bool {
        self.buffer == other.buffer && self.start < other.end() && other.start < self.end()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// What a step does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Sends `from` to rank `to` of the communicator; done when `from` may be overwritten.
    Send {
        /// Destination rank.
        to: u32,
        /// What is sent; empty for a pure signal.
        from: Region,
    },
    /// Receives exactly `into.len` units; done when they are in place.
    Recv {
        /// Source rank.
        from: u32,
        /// Where they go.
        into: Region,
    },
    /// `into[i] = from[i] ∘ into[i]`, which is the form of `MPI_User_function` (MPI-5.0 §6.9.5):
    /// `from` stems from lower ranks than `into` wherever the order matters.
    Reduce {
        /// Left operand.
        from: Region,
        /// Right operand and result.
        into: Region,
    },
    /// Copies between disjoint regions of equal length.
    Copy {
        /// Source.
        from: Region,
        /// Destination.
        into: Region,
    },
    /// Nothing: stands for all steps before it. [`Progress`] never hands it out.
    Join,
}

impl Action {
    /// The regions that it touches.
    pub fn regions(self) -> [Option<Region>; 2] {
        match self {
            Action::Send { from: region, .. } | Action::Recv { into: region, .. } => {
                [Some(region), None]
            }
            Action::Reduce { from, into } | Action::Copy { from, into } => [Some(from), Some(into)],
            Action::Join => [None, None],
        }
    }

    /// The one that it writes.
    pub fn written(self) -> Option<Region> {
        match self {
            Action::Recv { into, .. } | Action::Reduce { into, .. } | Action::Copy { into, .. } => {
                Some(into)
            }
            Action::Send { .. } | Action::Join => None,
        }
    }
}

/// A step, by its place in the schedule; a step depends on earlier ones only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StepId(pub u32);

/// "No step" in the compact lists.
pub(crate) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) action: Action,
    /// How many events it waits for: predecessors done, plus its forerunner started.
    pub(crate) awaits: u32,
    /// Where its list of successors begins in `Schedule::successors`.
    pub(crate) first_successor: u32,
    /// The next message to or from the same peer, which may not start before this one.
    pub(crate) follower: u32,
}

/// The steps of one rank in one collective call.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    pub(crate) steps: Vec<Step>,
    pub(crate) successors: Vec<u32>,
    pub(crate) temps: Vec<i64>,
}

impl Schedule {
    /// The number of steps, joins included.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// What a step does.
    pub fn action(&self, step: StepId) -> Action {
        self.steps[step.0 as usize].action
    }

    /// All actions in step order.
    pub fn actions(&self) -> impl ExactSizeIterator<Item = Action> + '_ {
        self.steps.iter().map(|step| step.action)
    }

    /// The length in units of each scratch buffer.
    pub fn temps(&self) -> &[i64] {
        &self.temps
    }

    /// The steps that wait for `step` to be done.
    pub fn successors(&self, step: StepId) -> &[u32] {
        let at = step.0 as usize;
        let end =
            self.steps.get(at + 1).map_or(self.successors.len() as u32, |s| s.first_successor);
        &self.successors[self.steps[at].first_successor as usize..end as usize]
    }
}

/// How far a schedule has run: hands out the steps that may start.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    awaits: Vec<u32>,
    ready: VecDeque<u32>,
    unfinished: usize,
}

impl Progress {
    /// Nothing has run.
    pub fn new(schedule: &Schedule) -> Progress {
        let mut progress = Progress::default();
        progress.restart(schedule);
        progress
    }

    /// Begins anew, as a persistent collective does; keeps its memory.
    pub fn restart(&mut self, schedule: &Schedule) {
        self.awaits.clear();
        self.awaits.extend(schedule.steps.iter().map(|step| step.awaits));
        self.ready.clear();
        let free = |at: &u32| schedule.steps[*at as usize].awaits == 0;
        self.ready.extend((0..schedule.len() as u32).filter(free));
        self.unfinished = schedule.len();
    }

    /// A step that is to be started now, before this is called again; `None` if none can.
    pub fn next(&mut self, schedule: &Schedule) -> Option<StepId> {
        while let Some(at) = self.ready.pop_front() {
            let step = &schedule.steps[at as usize];
            if step.follower != NONE {
                self.arrive(step.follower);
            }
            if step.action != Action::Join {
                return Some(StepId(at));
            }
            self.done(schedule, StepId(at));
        }
        None
    }

    /// Notes that a started step is done.
    pub fn done(&mut self, schedule: &Schedule, step: StepId) {
        self.unfinished -= 1;
        for &successor in schedule.successors(step) {
            self.arrive(successor);
        }
    }

    /// Whether every step is done.
    pub fn is_finished(&self) -> bool {
        self.unfinished == 0
    }

    fn arrive(&mut self, at: u32) {
        let awaits = &mut self.awaits[at as usize];
        *awaits -= 1;
        if *awaits == 0 {
            self.ready.push_back(at);
        }
    }
}
