//! How a call is run: over shared memory, node by node, or by messages, now or begun.
//!
//! Enters: a call that is ready. Leaves: the way that was chosen for it taken; by messages, a schedule with its memory.

use std::rc::Rc;

use super::execute::Peculiar;
use crate::coll::memory::Memory;
use crate::coll::menu::{Algorithm, Collective};
use crate::coll::plan::Problem;
use crate::coll::prepared::Reducer;
use crate::coll::prepared::{Data, Form, LaidOut, Prepared};
use crate::coll::schedule::Schedule;
use crate::coll::schedule_cache::Nodes;
use crate::coll::shape::{Choice, Shape};
use crate::collectives::Collectives;
use crate::comm::{Comm, Level};
use crate::error::{Error, Result};
use crate::handle::RequestHandle;
use crate::objects::Objects;
use crate::port::Port;
use crate::process::Process;

impl<P: Port> Collectives<'_, P> {
    /// Runs a collective operation to its end.
    #[inline]
    pub fn run(&mut self, call: &Prepared) -> Result<()> {
        if self.is_alone(call)? {
            return self.run_alone(call);
        }
        let mut choice = self.choose(call, Form::Blocking)?;
        if choice.algorithm.is_shared_memory() {
            match self.member(call.comm)? {
                Some(member) => return self.at(member).run_on_segment(call, choice.algorithm),
                // It has been tried, so that now it is known which nodes there are.
                None => choice = self.choose(call, Form::Blocking)?,
            }
        }
        if choice.algorithm == Algorithm::Nodes {
            return self.run_by_stages(call, Ok(()));
        }
        if self.selection.checked {
            choice = self.choose(call, Form::Nonblocking)?;
        }
        let request = self.begin_by_messages(call, &choice)?;
        self.wait_one(request).map(drop)
    }

    /// Takes part in a collective operation only to say that it fails here, and why.
    #[cold]
    pub(super) fn fail_call(&mut self, call: &Prepared, why: &Error) -> Result<()> {
        let mut choice = self.choose(call, Form::Blocking)?;
        if choice.algorithm.is_shared_memory() {
            match self.member(call.comm)? {
                Some(member) => return self.at(member).over_segment(|_| Err(why.clone())),
                None => choice = self.choose(call, Form::Blocking)?,
            }
        }
        if choice.algorithm == Algorithm::Nodes {
            return self.run_by_stages(call, Err(why.clone()));
        }
        let tag = self.next_call(call.comm)?;
        let request = self.launch_failing(call, &choice, tag, why.clone())?;
        self.wait_one(request).map(drop)
    }

    /// Begins a collective operation.
    pub fn begin(&mut self, call: &Prepared) -> Result<RequestHandle> {
        if self.is_alone(call)? {
            return self.run_alone(call).map(|()| self.vci.requests.sent);
        }
        let choice = self.choose(call, Form::Nonblocking)?;
        if choice.algorithm.is_shared_memory() {
            return self.begin_on_segment(call, choice.algorithm);
        }
        self.begin_by_messages(call, &choice)
    }

    /// Begins a collective operation by messages. It counts as a call whatever becomes of it here: the others, who
    /// may wait for this process, have counted it too.
    fn begin_by_messages(&mut self, call: &Prepared, choice: &Choice) -> Result<RequestHandle> {
        let laid_out = self.lay_out(call, choice);
        let tag = self.next_call(call.comm)?;
        match laid_out {
            laid_out if self.selection.checked => self.begin_checked(call, tag, laid_out),
            Ok((schedule, memory, reducer)) => {
                self.executor().launch(call.comm, tag, schedule, memory, reducer)
            }
            Err(why) => self.launch_failing(call, choice, tag, why),
        }
    }

    /// Begins an operation only to tell those who wait for this process that it fails here.
    #[cold]
    fn launch_failing(
        &mut self,
        call: &Prepared,
        choice: &Choice,
        tag: i32,
        why: Error,
    ) -> Result<RequestHandle> {
        let me = self.comm(call.comm)?.place() as usize;
        let schedule = self.schedule(call, &call.problem.among_others(me), choice)?;
        let failing = Peculiar { failure: Some(why), check: None };
        self.executor().launch_with(call.comm, tag, schedule, Memory::Failed, None, failing)
    }
}

impl Objects {
    /// The algorithm for a call.
    #[inline]
    pub(super) fn choose(&self, call: &Prepared, form: Form) -> Result<Choice> {
        let state = self.comm(call.comm)?;
        let Some(collective) = call.collective else { return Ok(Choice::ONLY) };
        let mut choice = self.selection.select(&self.shape(call, state, collective, form));
        if let Some(by_cost) = &state.by_cost
            && choice.algorithm.is_shared_memory()
            && !self.selection.is_forced(collective)
        {
            let at_once = form == Form::Blocking && !self.selection.checked;
            let fits = at_once && state.level.as_ref().is_some_and(|level| suits(call, level));
            by_cost.choose(collective, call.bytes, fits, &mut choice.algorithm);
        }
        Ok(choice)
    }

    /// What an algorithm is chosen by.
    #[inline]
    fn shape(&self, call: &Prepared, state: &Comm, collective: Collective, form: Form) -> Shape {
        let fit = match &call.data {
            Data::Moved { .. } => true,
            Data::Reduced(data) => matches!(data.reducer, Reducer::Kernel(_)) && data.dense,
        };
        // Calls that are compared first are held meanwhile, as those are that begin and end later.
        let at_once = form == Form::Blocking && !self.selection.checked;
        let shared_memory = match form {
            Form::Blocking => {
                at_once && state.may_have_segment(self.selection.patience, call.bytes)
            }
            Form::Nonblocking => !self.selection.checked && state.has_segment(),
            Form::Persistent => false,
            Form::Shadow => {
                !self.selection.checked && state.remote.is_none() && state.may_have_segment(0, 0)
            }
        };
        let size = state.size() as usize;
        let ranks_per_node = match state.ranks_per_node {
            0 => size,
            known => known as usize,
        };
        Shape {
            collective,
            size,
            ranks_per_node,
            oversubscribed: state.share > 1,
            processors: ranks_per_node.div_ceil(state.share.max(1) as usize),
            bytes: call.bytes,
            unit: call.data.unit(),
            commutative: !call.data.needs_order(),
            shared_memory: fit && shared_memory,
            nodes: (at_once || form != Form::Blocking)
                && state.by_cost.is_none()
                && state.level.as_ref().is_some_and(|level| suits(call, level)),
            blocking: at_once,
        }
    }
}

impl<P: Port> Collectives<'_, P> {
    /// The schedule of a call and the memory that it works on.
    fn lay_out(&mut self, call: &Prepared, choice: &Choice) -> Result<LaidOut> {
        let schedule = self.schedule(call, &call.problem, choice)?;
        let ground = call.ground(&self.datatypes)?;
        let (memory, reducer) = ground.memory(&schedule, self.executions.temps())?;
        Ok((schedule, memory, reducer))
    }

    /// The schedule of a call that has this problem.
    pub(super) fn schedule(
        &mut self,
        call: &Prepared,
        problem: &Problem,
        choice: &Choice,
    ) -> Result<Rc<Schedule>> {
        let process: &mut Process<P> = self;
        let state = process.objects.comm(call.comm)?;
        let place = [state.place() as usize, state.roster().size() as usize];
        let nodes = match (&state.level, call.collective) {
            (Some(level), Some(collective)) if choice.algorithm == Algorithm::Nodes => {
                let shape = process.objects.shape(call, state, collective, Form::Persistent);
                Some(Nodes { groups: level.groups.clone(), shape })
            }
            _ => None,
        };
        process.schedules.get(place, nodes, problem, choice, &process.objects.selection)
    }
}

/// Whether a call may run node by node. Blocks and prefixes are of ranks that follow one another.
#[cold]
fn suits(call: &Prepared, level: &Level) -> bool {
    use Problem::{Allreduce, Barrier, Bcast, Reduce};
    let any_order = match &call.problem {
        Barrier | Bcast { .. } => true,
        Reduce { .. } | Allreduce { .. } => !call.data.needs_order(),
        _ => false,
    };
    (any_order || level.in_order) && call.data.is_plain()
}
