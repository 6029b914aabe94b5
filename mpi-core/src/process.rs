//! `Process`: everything that one MPI process is, as an ordinary value.
//!
//! It owns its port and is owned by whoever runs it: the node of a real process behind the C
//! interface, or a simulated world that holds many. Calls go through [`Entry`](crate::entry).

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::always::Always;
use crate::callout::{Reduction, UserCode};
use crate::coll::execute::Executions;
use crate::coll::node::{Pending, Scratch};
use crate::coll::schedule_cache::ScheduleCache;
use crate::handle::*;
use crate::node_memory::SegmentId;
use crate::objects::{Identity, Objects};
use crate::p2p::buffered::AttachedBuffer;
use crate::peers::Peer;
use crate::port::{Opened, PeerId, Port, ProcessName};
use crate::request::{MatchedMessage, Operation, Request, Requests};
use crate::table::Table;
use crate::vci::Vci;

/// One MPI process.
pub struct Process<P: Port> {
    /// The world below.
    pub port: Opened<P>,
    /// What it has of MPI objects.
    pub objects: Objects,
    /// Messages taken by matched probes.
    pub(crate) matched: Table<MessageKind, MatchedMessage>,
    pub(crate) vci: Vci,
    pub(crate) buffer: Option<AttachedBuffer>,
    /// Buffered sends of this process so far, in whichever buffer.
    pub(crate) buffered_sends: u64,
    /// Communicators that the program has freed and that operations hold (see [`held`](crate::comm)).
    pub(crate) freed_comms: Vec<CommHandle>,
    pub(crate) executions: Executions,
    /// Nonblocking collectives under way on segments.
    pub(crate) pending: Pending,
    /// Schedules of collectives called lately.
    pub(crate) schedules: ScheduleCache,
    /// Segments that are closed when all their members have left, by the operations that tell.
    pub(crate) closing: Vec<(RequestHandle, SegmentId)>,
    pub(crate) segment_scratch: Scratch,
    /// Persistent collectives that have a segment of their own.
    pub(crate) shadows: u32,
    pub(crate) reductions: VecDeque<(u32, u32, Reduction)>,
    pub(crate) user: &'static dyn UserCode,
    /// Rests within waits, each behind something that moved or at the begin of a wait: answers from two of them
    /// differ for who asks whether anything moves.
    pub(crate) rests: u64,
}

impl<P: Port> Process<P> {
    /// A process that is part of no job yet: objects that need no communication can be made.
    pub fn new(port: Option<P>, user: &'static dyn UserCode, always: Arc<Always>) -> Process<P> {
        Process {
            port: Opened::new(port),
            objects: Objects::new(always),
            matched: Table::new(),
            vci: Vci::new(),
            buffer: None,
            buffered_sends: 0,
            freed_comms: Vec::new(),
            executions: Executions::default(),
            pending: Pending::default(),
            schedules: ScheduleCache::default(),
            closing: Vec::new(),
            segment_scratch: Scratch::default(),
            shadows: 0,
            reductions: VecDeque::new(),
            user,
            rests: 0,
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

    /// Polls the port once and does what follows; whether anything moved. What went out counts
    /// too: it may be what the caller waits for, and nothing would wake it.
    #[inline]
    pub fn progress(&mut self) -> bool {
        if !self.vci.reports.is_empty() {
            self.vci.send_reports(&mut *self.port);
        }
        let activity = self.port.poll(&mut self.vci);
        let flushed =
            self.vci.has_deferred() && self.vci.flush(&mut *self.port, self.objects.procedure);
        let settled = !self.vci.finished.is_empty() && self.executor().settle();
        // After the poll, so that what is missed now is what a sleep looks for.
        let went_on = !self.pending.is_empty() && self.go_on();
        activity == crate::port::Activity::Busy || flushed || settled || went_on
    }

    /// Its requests.
    #[inline(always)]
    pub fn requests(&self) -> &Requests {
        &self.vci.requests
    }

    /// Its requests, to be reported.
    #[inline(always)]
    pub fn requests_mut(&mut self) -> &mut Requests {
        &mut self.vci.requests
    }

    /// Whether there is something that polls may move on: an operation that has begun, bytes that wait to
    /// leave, or a window that they use.
    pub fn has_work(&self) -> bool {
        let goes_on = |request: &Request| {
            let moves = !matches!(
                request.operation,
                Operation::Persistent(_)
                    | Operation::Partitioned(_)
                    | Operation::Both { .. }
                    | Operation::Generalized(_)
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

impl<P: Port> Deref for Process<P> {
    type Target = Objects;

    #[inline]
    fn deref(&self) -> &Objects {
        &self.objects
    }
}

impl<P: Port> DerefMut for Process<P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Objects {
        &mut self.objects
    }
}
