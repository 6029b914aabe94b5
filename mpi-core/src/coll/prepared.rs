//! Collective operations that are ready to be run at once (`dispatch`), begun, or kept to be started: what
//! `calls` made of the arguments.

use std::rc::Rc;
use std::sync::Arc;

use super::memory::{Memory, Span, Temps};
use super::menu::{Algorithm, Collective};
use super::place::Places;
use super::plan::Problem;
use super::schedule::Schedule;
use crate::buffer::UserBuffer;
use crate::callout::UserFunction;
use crate::datatype::{Datatype, Datatypes};
use crate::error::Result;
use crate::handle::{CommHandle, DatatypeHandle, OpHandle};
use crate::op::Kernel;

/// How the reductions of a schedule are done.
#[derive(Clone, Copy)]
pub(crate) enum Reducer {
    /// By a kernel of ours.
    Kernel(Kernel),
    /// By the program's function, which is told the handles.
    User(UserFunction, OpHandle, DatatypeHandle),
}

/// How a call is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// To its end now: it may look for a segment.
    Blocking,
    /// Begun, in the same order by all processes: it may use a segment that there is.
    Nonblocking,
    /// Kept to be started, by each process in an order of its own, and run by messages.
    Persistent,
    /// The same, on a segment that it gets for itself.
    Shadow,
}

/// A collective operation ready to run.
pub struct Prepared {
    pub(crate) comm: CommHandle,
    /// What an algorithm is chosen for; none if there is only one way.
    pub(crate) collective: Option<Collective>,
    pub(crate) problem: Problem,
    /// Bytes of type signature, as [`Shape`](super::shape::Shape) has them.
    pub(crate) bytes: i64,
    pub(crate) data: Data,
}

impl Prepared {
    /// A call that there is one way to do.
    pub(crate) fn fixed(
        comm: CommHandle,
        problem: Problem,
        send: Places,
        recv: Places,
    ) -> Prepared {
        let data = Data::Moved { send, recv };
        Prepared { comm, collective: None, problem, bytes: 0, data }
    }

    /// The user memory of a call, independent of handles that the program may free.
    pub(crate) fn ground(&self, datatypes: &Datatypes) -> Result<Ground> {
        Ok(match &self.data {
            Data::Moved { send, recv } => {
                Ground::Moved { send: send.span(datatypes)?, recv: recv.span(datatypes)? }
            }
            Data::Reduced(data) => Ground::Reduced {
                send: data.send,
                recv: data.recv,
                datatype: datatypes.get(data.datatype)?.clone(),
                reducer: data.reducer,
            },
        })
    }
}

/// The memory of a collective operation.
pub(crate) enum Data {
    /// Data that is moved.
    Moved { send: Places, recv: Places },
    /// Data that is reduced.
    Reduced(Operands),
}

impl Data {
    /// Bytes of a unit of its schedules.
    pub(crate) fn unit(&self) -> i64 {
        match self {
            Data::Moved { .. } => 1,
            Data::Reduced(data) => data.unit,
        }
    }

    /// Whether operands have to be reduced in the order of ranks.
    pub(crate) fn needs_order(&self) -> bool {
        matches!(self, Data::Reduced(Operands { commutative: false, .. }))
    }

    /// Whether what is reduced, if it is, has bytes and lies without gaps.
    pub(crate) fn is_plain(&self) -> bool {
        match self {
            Data::Moved { .. } => true,
            Data::Reduced(data) => data.dense && data.unit > 0,
        }
    }
}

/// What is reduced, and how.
#[derive(Clone, Copy)]
pub(crate) struct Operands {
    pub(crate) send: UserBuffer,
    pub(crate) recv: UserBuffer,
    pub(crate) reducer: Reducer,
    pub(crate) datatype: DatatypeHandle,
    pub(crate) op: OpHandle,
    /// Bytes of an element.
    pub(crate) unit: i64,
    pub(crate) commutative: bool,
    /// Elements lie without gaps.
    pub(crate) dense: bool,
}

/// What a call runs: its schedule, the memory that this works on, and what its reductions are done by.
pub(crate) type LaidOut = (Rc<Schedule>, Memory, Option<Reducer>);

/// The user memory of a call, which holds the datatypes themselves.
#[derive(Clone)]
pub(crate) enum Ground {
    /// Data that is moved.
    Moved { send: Span, recv: Span },
    /// Data that is reduced.
    Reduced { send: UserBuffer, recv: UserBuffer, datatype: Arc<Datatype>, reducer: Reducer },
}

impl Ground {
    /// The memory of one run of `schedule`.
    pub(crate) fn memory(
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

/// A collective operation that is kept to be started.
pub(crate) struct PersistentCollective {
    pub(crate) way: Way,
}

/// How it is run.
pub(crate) enum Way {
    Messages {
        schedule: Rc<Schedule>,
        ground: Ground,
        tag: i32,
    },
    /// As a call on the shadow communicator, with handles of its own for datatypes that the program may free.
    Shadow {
        call: Prepared,
        algorithm: Algorithm,
        datatypes: Vec<DatatypeHandle>,
    },
}
