//! Requests: operations that have begun and not yet been waited for (MPI-5.0 §3.7).
//!
//! Sends, receives, collectives, persistent and generalized requests are one kind of object with
//! one life: created, completed once by progress, then released by the wait or test that reports
//! it (or at once, when the program freed it before). Internal operations use the same requests,
//! with an [`Owner`] that is told instead.

use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use crate::coll::prepared::PersistentCollective;
use crate::error::Error;
use crate::handle::{CommHandle, MessageHandle, RequestHandle, RequestKind};
use crate::p2p::partitioned::{Plan, Round};
use crate::p2p::rendezvous::Rts;
use crate::p2p::{Arrived, Message, Mode};
use crate::port::{Offer, PeerId};
use crate::status::Status;
use crate::table::Table;
use crate::user_memory::{Incoming, Outgoing};

/// Who is told of a completion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// The program, by a wait or test.
    Program,
    /// Nobody: the request goes away when it completes.
    Nobody,
    /// A step of a collective schedule.
    Step {
        /// Index of the execution.
        execution: u32,
        /// Index of the step in its schedule.
        step: u32,
    },
    /// A buffered send, whose place in its buffer is given back.
    Buffer {
        /// The buffer.
        buffer: crate::attached_buffer::BufferId,
        /// Bytes taken from it.
        bytes: u64,
        /// Its number among all buffered sends.
        number: u64,
    },
    /// A chunk of a partitioned operation.
    Chunk {
        /// The request of the round.
        round: RequestHandle,
        /// Its number.
        chunk: u32,
    },
    /// A partitioned receive, which so learns its sender's channel.
    Channel {
        /// Its request.
        of: RequestHandle,
    },
}

/// What kind of operation a request stands for, with what it needs to go on.
pub(crate) enum Operation {
    /// Nothing is outstanding but the report of its status.
    Finished,
    /// A rendezvous send: the bytes are still here.
    Send(SendState),
    /// A send to a process that has left MPI, and so cannot have matched it: it has failed, unless it is cancelled
    /// (§11.2.2).
    Unmatched,
    /// A receive.
    Receive(ReceiveState),
    /// A collective operation, whose execution completes it.
    Collective,
    /// A persistent operation and, when active, the request of this round.
    Persistent(Box<Persistent>),
    /// A send and a receive that complete together (`MPI_Isendrecv`, §3.10).
    Both {
        /// The send.
        send: RequestHandle,
        /// The receive, whose status is reported.
        receive: RequestHandle,
    },
    /// The wait for an attached buffer to become empty (`MPI_Buffer_iflush`, §3.6).
    Flush {
        /// The buffer.
        buffer: crate::attached_buffer::BufferId,
        /// Only sends with lower numbers are waited for.
        before: u64,
    },
    /// A round of a partitioned operation, whose chunks complete it.
    Partitioned(Box<Round>),
    /// A generalized request (§13.2), which the program completes.
    Generalized(Generalized),
}

/// A rendezvous send in progress.
pub(crate) struct SendState {
    /// Whom it goes to.
    pub(crate) peer: PeerId,
    /// How the receiver sees it.
    pub(crate) envelope: crate::matching::Envelope,
    /// The bytes.
    pub(crate) outgoing: Outgoing,
    /// Where the receiver may fetch them.
    pub(crate) offer: Offer,
    /// The memory that the bytes lie in, if it is the library's.
    pub(crate) copy: Option<Box<[u8]>>,
    /// Whether the transport has the bytes: then it alone says when the memory is free again.
    pub(crate) handed_over: bool,
    /// The receiver has been asked to drop it.
    pub(crate) cancelled: bool,
}

/// A receive in progress.
pub(crate) struct ReceiveState {
    /// Where the bytes go.
    pub(crate) incoming: Incoming,
    /// Its place in the posted queue, until a message is matched.
    pub(crate) posted: Option<crate::matching::Place>,
    /// The peer that must send it, if only one can.
    pub(crate) from: Option<PeerId>,
    /// The announced message whose bytes are on their way.
    pub(crate) awaited: Option<Rts>,
    /// Whether the transport has the memory: then it alone says when the bytes are there.
    pub(crate) landing: bool,
    /// Whether it fetches them, so that the sender is to be told when they are there.
    pub(crate) fetching: bool,
}

/// A persistent operation: its arguments, kept to be started again (§3.9).
pub(crate) struct Persistent {
    /// What each start does.
    pub(crate) recipe: Recipe,
    /// The operation of the current round.
    pub(crate) active: Option<RequestHandle>,
}

/// The arguments of a persistent operation.
#[derive(Clone)]
pub(crate) enum Recipe {
    /// `MPI_Send_init` and its kin.
    Send(Message, Mode),
    /// `MPI_Recv_init`.
    Receive(Message),
    /// `MPI_Barrier_init` and its kin (§6.13).
    Collective(Rc<PersistentCollective>),
    /// `MPI_Psend_init` and `MPI_Precv_init` (chapter 4).
    Partitioned(Rc<Plan>),
}

/// A generalized request's functions, by address; they are the program's.
#[derive(Clone, Copy, Debug)]
pub struct Generalized {
    /// Fills the status.
    pub query: usize,
    /// Frees the state.
    pub free: usize,
    /// Cancels the operation.
    pub cancel: usize,
    /// Passed to all of them.
    pub extra_state: usize,
}

/// One request.
pub struct Request {
    /// What it stands for.
    pub(crate) operation: Operation,
    /// Valid once complete.
    pub(crate) status: Status,
    /// Why it failed, once complete.
    pub(crate) failure: Option<Error>,
    /// Whether the operation is complete.
    pub(crate) complete: bool,
    /// Who is told.
    pub(crate) owner: Owner,
    /// The communicator whose error handler is used.
    pub(crate) comm: CommHandle,
}

impl Operation {
    /// The functions of a generalized request.
    pub(crate) fn generalized(&self) -> Option<Generalized> {
        match self {
            Operation::Generalized(functions) => Some(*functions),
            _ => None,
        }
    }
}

impl Request {
    /// A request for an operation that has begun.
    pub(crate) fn active(operation: Operation, owner: Owner, comm: CommHandle) -> Request {
        Request { operation, status: Status::EMPTY, failure: None, complete: false, owner, comm }
    }

    /// A request whose operation was complete when it was made.
    pub(crate) fn finished(status: Status, comm: CommHandle) -> Request {
        Request {
            operation: Operation::Finished,
            status,
            failure: None,
            complete: true,
            owner: Owner::Program,
            comm,
        }
    }

    /// Whether this is a persistent request that has not been started.
    pub(crate) fn is_inactive(&self) -> bool {
        matches!(&self.operation, Operation::Persistent(persistent) if persistent.active.is_none())
    }
}

/// The requests of a process.
pub struct Requests {
    table: Table<RequestKind, Request>,
    /// That of every send that was complete when it began: never reported away.
    pub(crate) sent: RequestHandle,
}

impl Requests {
    /// Only that of the sends that are complete.
    pub(crate) fn new() -> Requests {
        let mut table = Table::new();
        let world = CommHandle::from_raw(crate::comm::WORLD);
        let sent = table.insert(Request::finished(Status::EMPTY, world));
        Requests { table, sent: sent.expect("a new table has room for one request") }
    }
}

impl Deref for Requests {
    type Target = Table<RequestKind, Request>;

    #[inline(always)]
    fn deref(&self) -> &Table<RequestKind, Request> {
        &self.table
    }
}

impl DerefMut for Requests {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Table<RequestKind, Request> {
        &mut self.table
    }
}

/// A message taken out of matching by a matched probe (§3.8.2).
pub(crate) struct MatchedMessage {
    /// The message.
    pub(crate) arrived: Arrived,
    /// The communicator it came through.
    pub(crate) comm: CommHandle,
}

/// Result of a matched probe: the handle that the receive will name.
pub type Matched = (MessageHandle, Status);
