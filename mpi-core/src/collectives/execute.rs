//! Runs schedules: starts the steps that may start, as sends and receives of the point-to-point
//! layer in the communicator's collective context, and goes on when they complete.
//!
//! When a step fails, the messages of the rest are sent and received, so that nobody waits for this
//! process; but in place of every one it then says that it failed and with which class, and who
//! receives that does the same (MPI-5.0 §9.1 leaves open what others learn).
#![allow(unsafe_code)]

use std::rc::Rc;
use std::sync::Arc;

use super::check::{Check, Next};
use crate::callout::Reduction;
use crate::coll::memory::{Memory, Temps};
use crate::coll::prepared::Reducer;
use crate::coll::schedule::{Action, Progress, Region, Schedule, StepId};
use crate::error::{Error, Result};
use crate::group::Group;
use crate::handle::{CommHandle, DatatypeHandle, RequestHandle};
use crate::objects::Objects;
use crate::p2p::Begun;
use crate::port::Port;
use crate::process::Process;
use crate::request::{Operation, Owner, Request};
use crate::tuning::{SCRATCH_KEPT, SCRATCH_KEPT_BYTES};
use crate::vci::receive::Pattern;
use crate::vci::send::{Manner, Route};

/// A collective operation in progress.
struct Execution {
    schedule: Rc<Schedule>,
    progress: Progress,
    memory: Memory,
    reducer: Option<Reducer>,
    comm: CommHandle,
    group: Group,
    context: u64,
    rank: i32,
    tag: i32,
    request: RequestHandle,
    failure: Option<Error>,
    check: Option<Box<Check>>,
}

/// What few operations begin with.
#[derive(Default)]
pub(super) struct Peculiar {
    /// Why it has failed already.
    pub(super) failure: Option<Error>,
    /// What it compares, if it is the check of another call.
    pub(super) check: Option<Box<Check>>,
}

/// The collective operations in progress, by index.
#[derive(Default)]
pub(crate) struct Executions {
    slots: Vec<Option<Box<Execution>>>,
    free: Vec<u32>,
    /// What ended ones leave for the next: their lists and their scratch memory.
    left: Vec<(Progress, Temps)>,
}

impl Executions {
    fn insert(&mut self, execution: Box<Execution>) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = Some(execution);
                index
            }
            None => {
                self.slots.push(Some(execution));
                self.slots.len() as u32 - 1
            }
        }
    }

    /// Context and tag of the operation that a request stands for, or of the check before it.
    pub(crate) fn what(&self, request: RequestHandle) -> Option<(u64, i32)> {
        let is_it = |slot: &Option<Box<Execution>>| {
            slot.as_ref().is_some_and(|execution| execution.request == request)
        };
        let index = self.slots.iter().position(is_it)?;
        let before = self.slots.iter().flatten().find(|execution| {
            execution.check.as_ref().is_some_and(|check| check.then == Some(index as u32))
        });
        let execution = before.or(self.slots[index].as_ref())?;
        Some((execution.context, execution.tag))
    }

    fn take(&mut self, index: u32) -> Option<Box<Execution>> {
        self.slots.get_mut(index as usize)?.take()
    }

    /// Scratch memory for a new one.
    pub(super) fn temps(&mut self) -> Temps {
        self.left.last_mut().map(|(_, temps)| std::mem::take(temps)).unwrap_or_default()
    }

    /// The lists of a new one.
    fn progress(&mut self, schedule: &Schedule) -> Progress {
        let mut progress = self.left.pop().unwrap_or_default().0;
        progress.restart(schedule);
        progress
    }

    /// Keeps what one that has ended can leave.
    fn leave(&mut self, progress: Progress, memory: Memory) {
        if self.left.len() < SCRATCH_KEPT {
            let temps = memory.into_temps();
            let small = temps.bytes() <= SCRATCH_KEPT_BYTES;
            self.left.push((progress, if small { temps } else { Temps::default() }));
        }
    }
}

impl Objects {
    /// The tag of the next collective call on `comm`: its number, which all processes count alike.
    #[inline]
    pub(crate) fn next_call(&mut self, comm: CommHandle) -> Result<i32> {
        match self.comms.find_mut(comm) {
            Some(state) => Ok(state.next_call() as i32),
            None => Err(self.comms.mistaken(comm)),
        }
    }
}

/// What runs the schedules of a process. It is a borrow of the process.
pub(crate) struct Executor<'a, P: Port> {
    process: &'a mut Process<P>,
}

impl<P: Port> Process<P> {
    /// What runs its schedules.
    pub(crate) fn executor(&mut self) -> Executor<'_, P> {
        Executor { process: self }
    }
}

impl<P: Port> Executor<'_, P> {
    /// Begins to run a schedule on `comm`, with messages of this tag; its request completes when
    /// the last step has.
    pub(crate) fn launch(
        &mut self,
        comm: CommHandle,
        tag: i32,
        schedule: Rc<Schedule>,
        memory: Memory,
        reducer: Option<Reducer>,
    ) -> Result<RequestHandle> {
        self.launch_with(comm, tag, schedule, memory, reducer, Peculiar::default())
    }

    /// The same of an operation that is peculiar.
    pub(super) fn launch_with(
        &mut self,
        comm: CommHandle,
        tag: i32,
        schedule: Rc<Schedule>,
        memory: Memory,
        reducer: Option<Reducer>,
        peculiar: Peculiar,
    ) -> Result<RequestHandle> {
        let (index, request) = self.enlist(comm, tag, schedule, memory, reducer, peculiar)?;
        self.run(index);
        self.settle();
        Ok(request)
    }

    /// Makes an operation that has yet to begin.
    pub(super) fn enlist(
        &mut self,
        comm: CommHandle,
        tag: i32,
        schedule: Rc<Schedule>,
        memory: Memory,
        reducer: Option<Reducer>,
        peculiar: Peculiar,
    ) -> Result<(u32, RequestHandle)> {
        let state = self.process.comm(comm)?;
        let (group, context) = (state.roster().clone(), state.context + 1);
        let rank = state.place() as i32;
        let progress = self.process.executions.progress(&schedule);
        let request = Request::active(Operation::Collective, Owner::Program, comm);
        let request = self.process.vci.requests.insert(request)?;
        let index = self.process.executions.insert(Box::new(Execution {
            schedule,
            progress,
            memory,
            reducer,
            comm,
            group,
            context,
            rank,
            tag,
            request,
            failure: peculiar.failure,
            check: peculiar.check,
        }));
        Ok((index, request))
    }

    /// Passes completions on to the collectives and buffers that wait for them; whether there
    /// were any.
    pub(crate) fn settle(&mut self) -> bool {
        let mut any = false;
        while let Some((owner, failure)) = self.process.vci.finished.pop() {
            any = true;
            match owner {
                Owner::Step { execution, step } => self.step_done(execution, step, failure),
                Owner::Buffer { buffer, bytes, number } => {
                    if let Ok(buffer) = self.process.attached(buffer) {
                        buffer.give_back(bytes, number);
                    }
                }
                Owner::Chunk { round, chunk } => {
                    self.process.partitioned().chunk_done(round, chunk, failure);
                }
                Owner::Channel { of } => self.process.partitioned().channel_known(of, failure),
                Owner::Program | Owner::Nobody => {}
            }
        }
        any
    }

    /// A user function has done its step.
    pub(crate) fn reduced(&mut self, execution: u32, step: u32) {
        self.step_done(execution, step, None);
        self.settle();
    }

    /// A handle of the elements' type for the program's function, if the one that the call was
    /// made with has been freed since, as §5.1.9 allows: to be freed after the function's return.
    pub(crate) fn lend_datatype(
        &mut self,
        execution: u32,
        called_with: DatatypeHandle,
    ) -> Option<DatatypeHandle> {
        let execution = self.process.executions.slots.get(execution as usize)?.as_ref()?;
        let datatype = execution.memory.elements()?;
        match self.process.datatypes.get(called_with) {
            Ok(known) if Arc::ptr_eq(known, datatype) => None,
            _ => {
                let datatype = datatype.clone();
                self.process.datatypes.add(datatype).ok()
            }
        }
    }

    fn step_done(&mut self, index: u32, step: u32, failure: Option<Error>) {
        if let Some(Some(execution)) = self.process.executions.slots.get_mut(index as usize) {
            execution.progress.done(&execution.schedule, StepId(step));
            if execution.failure.is_none() {
                execution.failure = failure;
            }
            self.run(index);
        }
    }

    /// Starts every step that may start; completes the request when none is left.
    fn run(&mut self, index: u32) {
        let Some(mut execution) = self.process.executions.take(index) else { return };
        while let Some(step) = execution.progress.next(&execution.schedule) {
            match self.start(&mut execution, index, step) {
                Ok(true) => execution.progress.done(&execution.schedule, step),
                Ok(false) => {}
                Err(error) => {
                    execution.failure.get_or_insert(error);
                    execution.progress.done(&execution.schedule, step);
                }
            }
        }
        if execution.progress.is_finished() {
            execution.memory.finish();
            self.process.executions.free.push(index);
            if let Some(check) = execution.check.take() {
                return self.conclude(*execution, check);
            }
            let Execution { progress, memory, request, failure, .. } = *execution;
            self.process.executions.leave(progress, memory);
            self.process.vci.complete(request, failure);
        } else {
            self.process.executions.slots[index as usize] = Some(execution);
        }
    }

    /// What a check tells has been told: it goes on, or the call that waits for it begins, or fails.
    #[cold]
    fn conclude(&mut self, over: Execution, mut check: Box<Check>) {
        let next = match &over.failure {
            Some(failure) => Next::Over(Some(failure.clone())),
            None => check.judge(self.process, over.context, over.rank as usize),
        };
        let failure = match next {
            Next::Over(failure) => failure,
            Next::Exchange(exchange) => {
                let (schedule, memory) = *exchange;
                let progress = self.process.executions.progress(&schedule);
                let (schedule, check) = (Rc::new(schedule), Some(check));
                let more = Execution { schedule, progress, memory, check, ..over };
                let index = self.process.executions.insert(Box::new(more));
                return self.run(index);
            }
        };
        match (check.then, failure) {
            (None, failure) => self.process.vci.complete(over.request, failure),
            (Some(held), failure) => {
                self.process.vci.complete(over.request, None);
                match failure {
                    None => self.run(held),
                    Some(failure) => {
                        let Some(held_back) = self.process.executions.take(held) else { return };
                        self.process.executions.free.push(held);
                        self.process.vci.complete(held_back.request, Some(failure));
                    }
                }
            }
        }
    }

    /// Starts a step; whether it is done already.
    fn start(&mut self, execution: &mut Execution, index: u32, step: StepId) -> Result<bool> {
        let Process { vci, port, .. } = &mut *self.process;
        let port = &mut **port;
        let owner = Owner::Step { execution: index, step: step.0 };
        match execution.schedule.action(step) {
            Action::Send { to, from } => {
                let route = Route {
                    peer: execution.peer(to),
                    context: execution.context,
                    source: execution.rank,
                    tag: execution.tag,
                };
                if let Some(failure) = &execution.failure {
                    vci.send_failure(port, route, failure.class());
                    return Ok(true);
                }
                let packer = execution.memory.packer(from);
                let comm = execution.comm;
                let begun = vci.start_send(port, packer, route, Manner::Begun, owner, comm)?;
                Ok(matches!(begun, Begun::Complete))
            }
            Action::Recv { from, into } => {
                let pattern = Pattern {
                    context: execution.context,
                    source: from as i32,
                    tag: execution.tag,
                    from: Some(execution.peer(from)),
                };
                let unpacker = execution.memory.unpacker(into);
                vci.start_receive(port, unpacker, pattern, owner, execution.comm)?;
                Ok(false)
            }
            // What has failed has no result, and perhaps no memory.
            Action::Reduce { .. } | Action::Copy { .. } if execution.failure.is_some() => Ok(true),
            Action::Reduce { from, into } => Ok(self.reduce(execution, index, step, from, into)),
            Action::Copy { from, into } => {
                execution.memory.copy(from, into);
                Ok(true)
            }
            Action::Join => Ok(true),
        }
    }

    /// Reduces now, or leaves it to the program's function; whether it is done.
    fn reduce(
        &mut self,
        execution: &mut Execution,
        index: u32,
        step: StepId,
        from: Region,
        into: Region,
    ) -> bool {
        let reducer = execution.reducer.expect("a schedule with reductions has one");
        let (input, extent) = execution.memory.operand(from);
        let (inout, _) = execution.memory.operand(into);
        match reducer {
            Reducer::Kernel(kernel) => {
                // SAFETY: both regions lie in memory of the collective, are disjoint, and hold
                // `from.len` elements of the type that the kernel was chosen for.
                unsafe { kernel.reduce(input, inout, from.len as usize) };
                true
            }
            Reducer::User(function, op, handle) => {
                let count = from.len;
                let call =
                    Reduction { function, op, input, inout, count, datatype: handle, extent };
                self.process.reductions.push_back((index, step.0, call));
                false
            }
        }
    }
}

impl Execution {
    fn peer(&self, rank: u32) -> crate::port::PeerId {
        self.group.peer(rank).expect("schedules name ranks of the communicator")
    }
}
