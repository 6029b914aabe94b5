//! `Process`: everything that one MPI process is, as an ordinary value.
//!
//! It owns its port and is owned by whoever runs it: the node of a real process behind the C
//! interface, or a simulated world that holds many. Calls go through [`Entry`](crate::entry).

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::always::Always;
use crate::attributes::{AttributeList, Keyvals};
use crate::boards::BoardId;
use crate::callout::{Reduction, UserCode};
use crate::coll::aliased::EqualBuffers;
use crate::coll::board::{Begun, Scratch};
use crate::coll::execute::Executions;
use crate::coll::kept::Kept;
use crate::coll::select::Selection;
use crate::comm::{self, Comm};
use crate::datatype::{self, Datatype};
use crate::error::{Error, ErrorClass, Result};
use crate::group::Group;
use crate::handle::*;
use crate::io::OpenFile;
use crate::op::{Kernel, Op};
use crate::p2p::buffered::AttachedBuffer;
use crate::peers::Peer;
use crate::port::{PeerId, Port, ProcessName};
use crate::request::{MatchedMessage, Operation, Request};
use crate::rma::Window;
use crate::session::Session;
use crate::table::Table;
use crate::vci::Vci;

/// Who a process is, as its launcher told it.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The job.
    pub job: String,
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Size of `MPI_COMM_WORLD`.
    pub size: u32,
}

/// One MPI process.
pub struct Process<P: Port> {
    /// The world below.
    pub port: P,
    /// Who this is.
    pub identity: Identity,
    /// Communicators.
    pub comms: Table<CommKind, Comm>,
    /// Groups.
    pub groups: Table<GroupKind, Group>,
    /// Derived datatypes; the predefined ones are constants.
    pub datatypes: Table<DatatypeKind, Arc<Datatype>>,
    /// What else is known of datatypes.
    pub(crate) catalogue: datatype::Catalogue,
    /// The program's reduction operations; the predefined ones are constants.
    pub ops: Table<OpKind, Op>,
    /// Messages taken by matched probes.
    pub(crate) messages: Table<MessageKind, MatchedMessage>,
    /// Open files.
    pub(crate) files: Table<FileKind, OpenFile>,
    /// Sessions.
    pub sessions: Table<SessionKind, Session>,
    /// Windows.
    pub windows: Table<WinKind, Window>,
    /// What threads share that are not inside a call: info objects, error handlers, error codes.
    pub always: Arc<Always>,
    /// Attribute keys.
    pub keyvals: Keyvals,
    /// Number of the procedure that was called last, by the C interface's list; for messages.
    pub procedure: u16,
    /// The attributes of datatypes that have any.
    pub datatype_attributes: HashMap<DatatypeHandle, AttributeList>,
    /// Which algorithm a collective uses.
    pub selection: Selection,
    /// What becomes of a collective whose send and receive buffer are one.
    pub equal_buffers: EqualBuffers,
    pub(crate) vci: Vci,
    pub(crate) buffer: Option<AttachedBuffer>,
    /// Buffered sends of this process so far, in whichever buffer.
    pub(crate) buffered_sends: u64,
    /// Communicators that the program has freed and that operations hold (see [`comm`]).
    pub(crate) freed_comms: Vec<CommHandle>,
    pub(crate) executions: Executions,
    /// Nonblocking collectives under way on boards.
    pub(crate) begun: Begun,
    /// Schedules of collectives called lately.
    pub(crate) schedules: Kept,
    /// Boards that are closed when all their members have left, by the operations that tell.
    pub(crate) closing: Vec<(RequestHandle, BoardId)>,
    pub(crate) board_scratch: Scratch,
    /// Persistent collectives that have a board of their own.
    pub(crate) rooms: u32,
    pub(crate) reductions: VecDeque<(u32, u32, Reduction)>,
    /// The predefined operation and datatype of the last short reduction, and what carries it out.
    pub(crate) kernel_found: Cell<Option<(OpHandle, DatatypeHandle, Kernel)>>,
    pub(crate) user: &'static dyn UserCode,
    /// Rests within waits, each behind something that moved or at the begin of a wait: answers from two of them
    /// differ for who asks whether anything moves.
    pub(crate) rests: u64,
    contexts_made: u32,
}

impl<P: Port> Process<P> {
    /// A process that is part of no job yet: objects that need no communication can be made.
    pub fn new(port: P, user: &'static dyn UserCode, always: Arc<Always>) -> Process<P> {
        let mut groups = Table::new();
        groups.set_predefined(comm::GROUP_EMPTY, Group::empty());
        Process {
            port,
            identity: Identity { job: String::new(), rank: 0, size: 0 },
            comms: Table::new(),
            groups,
            datatypes: Table::new(),
            catalogue: datatype::Catalogue::default(),
            ops: Table::new(),
            messages: Table::new(),
            files: Table::new(),
            sessions: Table::new(),
            windows: Table::new(),
            always,
            keyvals: Keyvals::new(),
            procedure: 0,
            datatype_attributes: HashMap::new(),
            selection: Selection::default(),
            equal_buffers: EqualBuffers::default(),
            vci: Vci::new(),
            buffer: None,
            buffered_sends: 0,
            freed_comms: Vec::new(),
            executions: Executions::default(),
            begun: Begun::default(),
            schedules: Kept::default(),
            closing: Vec::new(),
            board_scratch: Scratch::default(),
            rooms: 0,
            reductions: VecDeque::new(),
            kernel_found: Cell::new(None),
            user,
            rests: 0,
            contexts_made: 0,
        }
    }

    /// Makes the process part of its job: all peers are made known to the port, which connects
    /// when something is sent.
    pub fn join(&mut self, identity: Identity) {
        for rank in 0..identity.size {
            self.vci.peers.push(Peer::default());
            let name = ProcessName { job: identity.job.clone(), rank };
            self.port.add_peer(PeerId(rank), &name);
        }
        self.identity = identity;
    }

    /// Begins the world model: the process gets `MPI_COMM_WORLD` and `MPI_COMM_SELF`.
    pub fn begin_world(&mut self) {
        let identity = &self.identity;
        let world = Group::range(PeerId(0), identity.size);
        let own = Group::range(PeerId(identity.rank), 1);
        let context = comm::reserved_context(&identity.job, 0);
        let named = Comm::new(context, world, identity.rank).named("MPI_COMM_WORLD");
        self.comms.set_predefined(comm::WORLD, named);
        let context = comm::reserved_context(&identity.job, 1 + u64::from(identity.rank));
        self.comms.set_predefined(comm::SELF, Comm::new(context, own, 0).named("MPI_COMM_SELF"));
    }

    /// The communicator that a handle names.
    #[inline]
    pub fn comm(&self, handle: CommHandle) -> Result<&Comm> {
        self.comms.get(handle)
    }

    /// The communicator that a handle names, to be changed.
    #[inline]
    pub fn comm_mut(&mut self, handle: CommHandle) -> Result<&mut Comm> {
        self.comms.get_mut(handle)
    }

    /// This process in the table of peers.
    pub fn own_peer(&self) -> PeerId {
        PeerId(self.identity.rank)
    }

    /// The datatype that a handle names, if it names one.
    #[inline]
    fn find_datatype(&self, handle: DatatypeHandle) -> Option<&Arc<Datatype>> {
        let predefined =
            if handle.is_predefined() { datatype::predefined(handle.raw()) } else { None };
        predefined.or_else(|| self.datatypes.find(handle))
    }

    /// The datatype that a handle names.
    #[inline]
    pub fn datatype(&self, handle: DatatypeHandle) -> Result<&Arc<Datatype>> {
        self.find_datatype(handle).ok_or_else(|| self.datatypes.mistaken(handle))
    }

    /// The same, if it may be communicated.
    #[inline]
    pub(crate) fn find_committed(&self, handle: DatatypeHandle) -> Option<&Arc<Datatype>> {
        self.find_datatype(handle).filter(|datatype| datatype.is_committed())
    }

    /// The datatype that a handle names, if it may be communicated (MPI-5.0 §5.1.9).
    #[inline]
    pub fn committed(&self, handle: DatatypeHandle) -> Result<&Arc<Datatype>> {
        self.find_committed(handle).ok_or_else(|| self.uncommitted(handle))
    }

    /// Why a handle names no datatype that may be communicated.
    #[cold]
    fn uncommitted(&self, handle: DatatypeHandle) -> Error {
        match self.datatype(handle) {
            Err(error) => error,
            Ok(_) => Error::param(ErrorClass::TYPE, "datatype", "has not been committed")
                .hint("Call MPI_Type_commit before communicating with a derived datatype."),
        }
    }

    /// The datatype of `count` elements, with its handle: of none a program need not name one, as with MPICH,
    /// which does not look at it.
    #[inline]
    pub(crate) fn committed_of(
        &self,
        handle: DatatypeHandle,
        count: i64,
    ) -> Result<(DatatypeHandle, &Arc<Datatype>)> {
        match self.committed(handle) {
            Ok(datatype) => Ok((handle, datatype)),
            Err(error) => self.of_none(handle, count).ok_or(error),
        }
    }

    /// What stands for the type of no elements where none is named.
    #[cold]
    fn of_none(
        &self,
        handle: DatatypeHandle,
        count: i64,
    ) -> Option<(DatatypeHandle, &Arc<Datatype>)> {
        if count != 0 || !handle.is_null() {
            return None;
        }
        datatype::predefined(datatype::BYTE.raw()).map(|byte| (datatype::BYTE, byte))
    }

    /// The reduction operation that a handle names.
    pub fn op(&self, handle: OpHandle) -> Result<Op> {
        match Op::predefined(handle.raw()) {
            Some(op) => Ok(op),
            None => self.ops.get(handle).copied(),
        }
    }

    /// A context id for a communicator whose leader is this process; never used again. The next
    /// value is its collectives'.
    pub(crate) fn new_context(&mut self) -> u64 {
        self.contexts_made += 1;
        let own = u64::from(self.identity.rank) << 32 | u64::from(self.contexts_made);
        comm::derived_context(&self.identity.job, own)
    }

    /// Polls the port once and does what follows; whether anything moved. What went out counts
    /// too: it may be what the caller waits for, and nothing would wake it.
    #[inline]
    pub fn progress(&mut self) -> bool {
        if !self.vci.reports.is_empty() {
            self.vci.send_reports(&mut self.port);
        }
        let activity = self.port.poll(&mut self.vci);
        let flushed = self.vci.has_wishes() && self.vci.flush(&mut self.port, self.procedure);
        let settled = !self.vci.finished.is_empty() && self.settle();
        // After the poll, so that what is missed now is what a sleep looks for.
        let went_on = !self.begun.is_empty() && self.go_on();
        activity == crate::port::Activity::Busy || flushed || settled || went_on
    }

    /// Whether there is something that polls may move on: an operation that has begun, bytes that wait to
    /// leave, or a window that they use.
    pub fn has_work(&self) -> bool {
        let goes_on = |request: &Request| {
            let moves = !matches!(
                request.operation,
                Operation::Persistent(_) | Operation::Both { .. } | Operation::Generalized(_)
            );
            moves && !request.complete
        };
        self.vci.requests.iter().any(|(_, request)| goes_on(request))
            || !(self.vci.is_flushed() && self.port.is_sent())
            || self.windows.iter().next().is_some()
    }

    /// Whether everything that this process sent is delivered and nobody reads its memory.
    pub fn is_quiescent(&self) -> bool {
        self.vci.is_flushed() && self.port.is_flushed()
    }
}
