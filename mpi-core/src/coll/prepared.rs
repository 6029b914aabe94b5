//! Collective operations that are ready: run at once, begun, or kept to be started (`standing`).
//! Enters: what `calls` made of the arguments; leaves: a schedule with its memory.

use std::rc::Rc;
use std::sync::Arc;

use super::execute::{Peculiar, Reducer};
use super::hierarchy::level::Level;
use super::kept::Nodes;
use super::memory::{Memory, Span, Temps};
use super::menu::{Algorithm, Collective};
use super::place::Places;
use super::plan::Problem;
use super::schedule::Schedule;
use super::shape::{Choice, Shape};
use crate::buffer::UserBuffer;
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::handle::{CommHandle, DatatypeHandle, OpHandle, RequestHandle};
use crate::port::Port;
use crate::process::Process;

/// How a call is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// To its end now: it may look for a board.
    Blocking,
    /// Begun, in the same order by all processes: it may use a board that there is.
    Nonblocking,
    /// Kept to be started, by each process in an order of its own, and run by messages.
    Persistent,
    /// The same, on a board that it gets for itself.
    Room,
}

/// A collective operation ready to run.
pub struct Prepared {
    pub(super) comm: CommHandle,
    /// What an algorithm is chosen for; none if there is only one way.
    pub(super) collective: Option<Collective>,
    pub(super) problem: Problem,
    /// Bytes of type signature, as [`Shape`] has them.
    pub(super) bytes: i64,
    pub(super) data: Data,
}

impl Prepared {
    /// Whether it may run node by node. Blocks and prefixes are of ranks that follow one another.
    #[cold]
    fn suits(&self, level: &Level) -> bool {
        use Problem::{Allreduce, Barrier, Bcast, Reduce};
        let any_order = match &self.problem {
            Barrier | Bcast { .. } => true,
            Reduce { .. } | Allreduce { .. } => !self.data.needs_order(),
            _ => false,
        };
        (any_order || level.in_order) && self.data.is_plain()
    }
}

/// The memory of a collective operation.
pub(super) enum Data {
    /// Data that is moved.
    Moved { send: Places, recv: Places },
    /// Data that is reduced.
    Reduced(Operands),
}

impl Data {
    /// Bytes of a unit of its schedules.
    pub(super) fn unit(&self) -> i64 {
        match self {
            Data::Moved { .. } => 1,
            Data::Reduced(data) => data.unit,
        }
    }

    /// Whether operands have to be reduced in the order of ranks.
    fn needs_order(&self) -> bool {
        matches!(self, Data::Reduced(Operands { commutative: false, .. }))
    }

    /// Whether what is reduced, if it is, has bytes and lies without gaps.
    fn is_plain(&self) -> bool {
        match self {
            Data::Moved { .. } => true,
            Data::Reduced(data) => data.dense && data.unit > 0,
        }
    }
}

/// What is reduced, and how.
#[derive(Clone, Copy)]
pub(super) struct Operands {
    pub(super) send: UserBuffer,
    pub(super) recv: UserBuffer,
    pub(super) reducer: Reducer,
    pub(super) datatype: DatatypeHandle,
    pub(super) op: OpHandle,
    /// Bytes of an element.
    pub(super) unit: i64,
    pub(super) commutative: bool,
    /// Elements lie without gaps.
    pub(super) dense: bool,
}

/// What a call runs: its schedule, the memory that this works on, and what its reductions are done by.
pub(super) type LaidOut = (Rc<Schedule>, Memory, Option<Reducer>);

impl<P: Port> Entry<'_, P> {
    /// Runs a collective operation to its end.
    #[inline]
    pub fn run(&mut self, call: &Prepared) -> Result<()> {
        if self.is_alone(call)? {
            return self.run_alone(call);
        }
        let mut choice = self.choose(call, Form::Blocking)?;
        if choice.algorithm.is_board() {
            match self.seat(call.comm)? {
                Some(seat) => return self.run_on_board(seat, call, choice.algorithm),
                // It has been tried, so that now it is known which nodes there are.
                None => choice = self.choose(call, Form::Blocking)?,
            }
        }
        if choice.algorithm == Algorithm::Nodes {
            return self.run_by_stages(call);
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
        if choice.algorithm.is_board() {
            match self.seat(call.comm)? {
                Some(seat) => return self.over_board(seat, |_| Err(why.clone())),
                None => choice = self.choose(call, Form::Blocking)?,
            }
        }
        let tag = self.next_call(call.comm)?;
        let request = self.launch_failing(call, &choice, tag, why.clone())?;
        self.wait_one(request).map(drop)
    }

    /// Begins a collective operation.
    pub fn begin(&mut self, call: &Prepared) -> Result<RequestHandle> {
        if self.is_alone(call)? {
            return self.run_alone(call).map(|()| self.vci.sent);
        }
        let choice = self.choose(call, Form::Nonblocking)?;
        if choice.algorithm.is_board() {
            return self.begin_on_board(call, choice.algorithm);
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
                self.launch(call.comm, tag, schedule, memory, reducer)
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
        self.launch_with(call.comm, tag, schedule, Memory::Failed, None, failing)
    }
}

impl<P: Port> Process<P> {
    /// The algorithm for a call.
    #[inline]
    pub(super) fn choose(&self, call: &Prepared, form: Form) -> Result<Choice> {
        let state = self.comm(call.comm)?;
        let Some(collective) = call.collective else { return Ok(Choice::ONLY) };
        Ok(self.selection.select(&self.shape(call, state, collective, form)))
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
        let board = match form {
            Form::Blocking => at_once && state.may_have_board(self.selection.patience, call.bytes),
            Form::Nonblocking => !self.selection.checked && state.has_board(),
            Form::Persistent => false,
            Form::Room => {
                !self.selection.checked && state.remote.is_none() && state.may_have_board(0, 0)
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
            crowded: state.share > 1,
            processors: ranks_per_node.div_ceil(state.share.max(1) as usize),
            bytes: call.bytes,
            unit: call.data.unit(),
            commutative: !call.data.needs_order(),
            board: fit && board,
            nodes: (at_once || form != Form::Blocking)
                && state.level.as_ref().is_some_and(|level| call.suits(level)),
            blocking: at_once,
        }
    }

    /// The schedule of a call and the memory that it works on.
    fn lay_out(&mut self, call: &Prepared, choice: &Choice) -> Result<LaidOut> {
        let schedule = self.schedule(call, &call.problem, choice)?;
        let ground = self.ground(call)?;
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
        let state = self.comm(call.comm)?;
        let place = [state.place() as usize, state.roster().size() as usize];
        let nodes = match (&state.level, call.collective) {
            (Some(level), Some(collective)) if choice.algorithm == Algorithm::Nodes => {
                let shape = self.shape(call, state, collective, Form::Persistent);
                Some(Nodes { groups: level.groups.clone(), shape })
            }
            _ => None,
        };
        self.schedules.get(place, nodes, problem, choice, &self.selection)
    }

    /// The user memory of a call, independent of handles that the program may free.
    pub(super) fn ground(&self, call: &Prepared) -> Result<Ground> {
        Ok(match &call.data {
            Data::Moved { send, recv } => {
                Ground::Moved { send: self.span_of(send)?, recv: self.span_of(recv)? }
            }
            Data::Reduced(data) => Ground::Reduced {
                send: data.send,
                recv: data.recv,
                datatype: self.datatype(data.datatype)?.clone(),
                reducer: data.reducer,
            },
        })
    }

    /// A call that there is one way to do.
    pub(super) fn fixed(
        &self,
        comm: CommHandle,
        problem: Problem,
        send: Places,
        recv: Places,
    ) -> Prepared {
        let data = Data::Moved { send, recv };
        Prepared { comm, collective: None, problem, bytes: 0, data }
    }
}

/// The user memory of a call, which holds the datatypes themselves.
#[derive(Clone)]
pub(super) enum Ground {
    /// Data that is moved.
    Moved { send: Span, recv: Span },
    /// Data that is reduced.
    Reduced { send: UserBuffer, recv: UserBuffer, datatype: Arc<Datatype>, reducer: Reducer },
}

impl Ground {
    /// The memory of one run of `schedule`.
    pub(super) fn memory(
        self,
        schedule: &Schedule,
        temps: Temps,
    ) -> Result<(Memory, Option<Reducer>)> {
        Ok(match self {
            Ground::Moved { send, recv } => (Memory::moved(schedule, send, recv, temps)?, None),
            Ground::Reduced { send, recv, datatype, reducer } => {
                (Memory::reduced(schedule, send, recv, datatype, temps)?, Some(reducer))
            }
        })
    }
}
