//! What a process waits for, worked out only when somebody asks: the roll call's line.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::attached_buffer::BufferId;
use crate::coll::tags::number_of;
use crate::comm::Comm;
use crate::constants::{ANY_SOURCE, ANY_TAG};
use crate::group::Group;
use crate::handle::{CommHandle, RequestHandle, WinHandle};
use crate::lost::in_vain;
use crate::matching::Envelope;
use crate::objects::Objects;
use crate::p2p::partitioned::{End, Plan};
use crate::peers::Peer as State;
use crate::port::{PeerId, Port};
use crate::process::Process;
use crate::request::{Operation, Owner, Request, SendState};
use crate::roll_call::{Answer, Call, Peer};

/// The processes by the ranks that messages on `comm` name: those of a collective call are of both groups of
/// an intercommunicator.
fn numbered(comm: &Comm, is_collective: bool) -> &Group {
    if is_collective { comm.roster() } else { comm.targets() }
}

impl Objects {
    /// A collective call on the communicator that the program made it on, where it goes by those of its groups.
    fn as_the_program_knows(&self, call: Call) -> Call {
        let has = |comm: &Comm, context: u64| {
            let inner = comm.level.as_ref().map(|level| [level.within, level.across]);
            let of = |inner| self.comm(inner).is_ok_and(|inner| inner.context == context & !1);
            inner.is_some_and(|inner| inner.into_iter().any(of))
        };
        let outer = self.comms.iter().map(|(_, comm)| comm).find(|comm| has(comm, call.context));
        match outer.filter(|_| call.collective.is_some()) {
            // A group may have groups.
            Some(outer) => self.as_the_program_knows(Call {
                comm: outer.name.to_string(),
                context: outer.context,
                collective: Some(outer.collective_number.wrapping_sub(1)),
                ..call
            }),
            None => call,
        }
    }

    /// The call that this process is in, waiting for a lock of a window at this target.
    pub(crate) fn waits_for_lock(&self, win: WinHandle, target: u32) -> Call {
        let name =
            self.window(win).map_or_else(|_| String::new(), |window| window.name.to_string());
        Call { peer: Peer::Target(target as i32), comm: name, ..self.waits_somehow() }
    }

    /// The call that this process is in, waiting for a message that fits.
    pub(crate) fn waits_for_message(&self, envelope: Envelope) -> Call {
        let mut call = self.waits_somehow();
        call.peer = Peer::Source(envelope.source);
        call.context = envelope.context;
        match self.comm_name(envelope.context) {
            Some((name, true)) => {
                call.comm = name;
                call.collective = Some(number_of(envelope.tag));
            }
            Some((name, false)) => {
                call.comm = name;
                call.tag = Some(envelope.tag);
            }
            None => call.tag = Some(envelope.tag),
        }
        call
    }

    /// The call that this process is in, waiting for a message to be received.
    fn waits_for_delivery(&self, send: &SendState) -> Call {
        let mut call = self.waits_somehow();
        let Envelope { context, tag, .. } = send.envelope;
        call.context = context;
        if let Some(comm) = self.comm_of(context) {
            let rank = numbered(comm, context & 1 == 1).rank_of(send.peer);
            call.peer = Peer::Dest(rank.map_or(-1, |rank| rank as i32));
            call.comm = comm.name.to_string();
        }
        match context & 1 {
            0 => call.tag = Some(tag),
            _ => call.collective = Some(number_of(tag)),
        }
        call
    }

    /// The call that this process is in, waiting for the end of a partitioned operation.
    fn waits_for_partitions(&self, comm: CommHandle, plan: &Plan) -> Call {
        let mut call = self.waits_somehow();
        call.context = self.comm(comm).map_or(0, |comm| comm.context);
        call.comm = self.name_of(comm);
        call.tag = Some(plan.tag);
        call.peer = match plan.end {
            End::Send { .. } => Peer::Dest(plan.rank),
            End::Receive { .. } => Peer::Source(plan.rank),
        };
        call
    }

    /// The call that this process is in, waiting for a first answer of `peer`.
    pub(crate) fn waits_to_meet(&self, comm: CommHandle, peer: PeerId) -> Call {
        let mut call = self.waits_somehow();
        if let Ok(comm) = self.comm(comm) {
            call.context = comm.context;
            call.comm = comm.name.to_string();
            call.collective = Some(comm.collective_number);
            call.peer = comm.roster().rank_of(peer).map_or(Peer::None, |r| Peer::Source(r as i32));
        }
        call
    }

    /// The call that this process is in.
    fn waits_somehow(&self) -> Call {
        Call { procedure: self.procedure, ..Call::default() }
    }

    fn name_of(&self, comm: CommHandle) -> String {
        self.comm(comm).map_or_else(|_| String::new(), |comm| comm.name.to_string())
    }

    /// The communicator with this context.
    pub(crate) fn comm_of(&self, context: u64) -> Option<&Comm> {
        self.comms.iter().map(|(_, comm)| comm).find(|comm| comm.context == context & !1)
    }

    /// The name of the communicator with this context, and whether it is its collectives'.
    fn comm_name(&self, context: u64) -> Option<(String, bool)> {
        Some((self.comm_of(context)?.name.to_string(), context & 1 == 1))
    }
}

impl<P: Port> Process<P> {
    /// What to tell about `call`, which this process is in.
    pub fn answer(&self, call: Call) -> Answer {
        let comm = self.comm_of(call.context);
        let awaited = match call.peer {
            _ if call.any => None,
            Peer::Source(rank) | Peer::Dest(rank) => u32::try_from(rank).ok(),
            // Who has a lock of its target is not known.
            Peer::None | Peer::Root(_) | Peer::Target(_) => None,
        };
        Answer {
            awaited: comm
                .zip(awaited)
                .and_then(|(comm, rank)| numbered(comm, call.collective.is_some()).peer(rank))
                .map(|peer| peer.0),
            instead: self.instead(&call),
            moved: self.motion(),
            balance: self.balance(),
            call: self.as_the_program_knows(call),
        }
    }

    /// See [`Answer::instead`].
    fn instead(&self, call: &Call) -> Option<String> {
        let Peer::Source(source) = call.peer else { return None };
        if call.collective.is_some() {
            return None;
        }
        let from = match source {
            ANY_SOURCE => None,
            rank => Some(self.comm_of(call.context)?.targets().peer(u32::try_from(rank).ok()?)?),
        };
        let wanted = Envelope { context: call.context, source, tag: call.tag.unwrap_or(ANY_TAG) };
        let here = self.vci.matcher.unexpected();
        let here = here.map(|(envelope, arrived)| (envelope, arrived.peer));
        let (Envelope { context, tag, .. }, peer) = in_vain(here, wanted, from)?;
        // By its rank in the job, as all else that is said of whom a process waits for.
        let start = format!("from rank {} has tag {tag}", peer.0);
        let name = self.comm_of(context).map(|comm| &comm.name).filter(|name| !name.is_empty());
        Some(match name {
            _ if context == call.context => start,
            Some(name) => format!("{start}, but was sent on {name}"),
            None => format!("{start}, but was sent on another communicator"),
        })
    }

    /// A number that changes when messages come or go, with every collective call, and when what this process waited
    /// for has come, whatever it was.
    fn motion(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.rests.hash(&mut hasher);
        self.vci.peers.iter().for_each(|peer| peer.numbers().hash(&mut hasher));
        self.comms.iter().for_each(|(_, comm)| comm.collective_number.hash(&mut hasher));
        hasher.finish()
    }

    /// See [`Answer::balance`].
    fn balance(&self) -> Option<u16> {
        // Another thread may send whatever is waited for.
        if self.has_several_threads() {
            return None;
        }
        let comes = |request: &Request| match &request.operation {
            Operation::Receive(receive) => receive.awaited.is_some(),
            // It ends when the transport hears that all has arrived.
            Operation::Send(send) => send.handed_over,
            // The program itself may complete it, from wherever it likes.
            Operation::Generalized(_) => !request.complete,
            _ => false,
        };
        if self.vci.has_deferred() || self.vci.requests.iter().any(|(_, request)| comes(request)) {
            return None;
        }
        let here = self.vci.peers.iter().filter(|peer| peer.down().is_none()).map(State::numbers);
        Some(
            here.fold(self.vci.answers, |sum, (out, came)| {
                sum.wrapping_add(out).wrapping_sub(came)
            }),
        )
    }

    /// The call that this process is in and, if it is not known which operation it waits for, what
    /// it lacks: the oldest posted receive, else the oldest send whose bytes nobody has fetched.
    pub fn roll_call(&self) -> Call {
        let of_the_program = |(_, request): &(_, &RequestHandle)| {
            let request = self.vci.requests.get(**request);
            !request.is_ok_and(|r| matches!(r.owner, Owner::Channel { .. } | Owner::Chunk { .. }))
        };
        if let Some((envelope, _)) = self.vci.matcher.posted().find(of_the_program) {
            return self.waits_for_message(envelope);
        }
        let sends = self.vci.requests.iter().filter_map(|(_, request)| match &request.operation {
            Operation::Send(send) => Some(send),
            _ => None,
        });
        match sends.min_by_key(|send| send.peer) {
            Some(send) => self.waits_for_delivery(send),
            None => self.waits_somehow(),
        }
    }

    /// The call that this process is in, waiting for the first of these requests that is not complete.
    pub fn waits_for_requests(&self, requests: impl IntoIterator<Item = RequestHandle>) -> Call {
        let lacks = |request: &RequestHandle| !self.is_complete(*request).unwrap_or(true);
        match requests.into_iter().find(lacks) {
            Some(request) => self.waits_for_request(request),
            None => self.waits_somehow(),
        }
    }

    /// The same, waiting for any of them.
    pub fn waits_for_any(&self, requests: impl IntoIterator<Item = RequestHandle> + Clone) -> Call {
        let lacks = |request: &RequestHandle| !self.is_complete(*request).unwrap_or(true);
        let any = requests.clone().into_iter().filter(lacks).nth(1).is_some();
        Call { any, ..self.waits_for_requests(requests) }
    }

    /// The call that this process is in, waiting until a buffer holds no message any more.
    pub(crate) fn waits_for_buffer(&self, id: BufferId) -> Call {
        let in_it = |request: &Request| matches!(request.owner, Owner::Buffer { buffer, .. } if buffer == id);
        match self.vci.requests.iter().find(|(_, request)| in_it(request)) {
            Some((request, _)) => self.waits_for_request(request),
            None => self.waits_somehow(),
        }
    }

    /// The call that this process is in, waiting until nothing goes on on a communicator.
    pub(crate) fn waits_for_pending(&self, comm: CommHandle) -> Call {
        match self.pending_on(comm) {
            Some(request) => self.waits_for_request(request),
            None => self.waits_somehow(),
        }
    }

    fn waits_for_request(&self, handle: RequestHandle) -> Call {
        let Ok(request) = self.vci.requests.get(handle) else { return self.waits_somehow() };
        match &request.operation {
            Operation::Persistent(persistent) => self.waits_for_requests(persistent.active),
            Operation::Both { send, receive } => self.waits_for_requests([*receive, *send]),
            Operation::Send(send) => self.waits_for_delivery(send),
            Operation::Receive(_) => {
                let mut posted = self.vci.matcher.posted();
                match posted.find(|(_, posted)| **posted == handle) {
                    Some((envelope, _)) => self.waits_for_message(envelope),
                    // It has its message, whose bytes are still to come.
                    None => Call { comm: self.name_of(request.comm), ..self.waits_somehow() },
                }
            }
            Operation::Collective => {
                if let Some((context, tag)) = self.executions.what(handle) {
                    return self.waits_for_collective(context, tag);
                }
                let Some((context, tag)) = self.pending.what(handle) else {
                    return self.waits_somehow();
                };
                let call = self.waits_for_collective(context, tag);
                let awaited = self.pending.awaited(self, handle);
                Call { peer: awaited.map_or(call.peer, |rank| Peer::Source(rank as i32)), ..call }
            }
            Operation::Partitioned(round) => self.waits_for_partitions(request.comm, &round.plan),
            Operation::Finished
            | Operation::Unmatched
            | Operation::Flush { .. }
            | Operation::Generalized(_) => self.waits_somehow(),
        }
    }

    /// The call that this process is in, waiting for messages of a collective operation.
    fn waits_for_collective(&self, context: u64, tag: i32) -> Call {
        let mut posted = self.vci.matcher.posted().map(|(envelope, _)| envelope);
        if let Some(envelope) = posted.find(|e| e.context == context && e.tag == tag) {
            return self.waits_for_message(envelope);
        }
        let of_it =
            |send: &&SendState| send.envelope.context == context && send.envelope.tag == tag;
        let mut sends =
            self.vci.requests.iter().filter_map(|(_, request)| match &request.operation {
                Operation::Send(send) => Some(send),
                _ => None,
            });
        match sends.find(of_it) {
            Some(send) => self.waits_for_delivery(send),
            None => {
                let envelope = Envelope { context, source: crate::constants::PROC_NULL, tag };
                Call { peer: Peer::None, ..self.waits_for_message(envelope) }
            }
        }
    }
}
