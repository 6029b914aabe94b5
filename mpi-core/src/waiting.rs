//! What a process waits for, worked out only when somebody asks: the roll call's line.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::matching::Envelope;
use crate::port::Port;
use crate::process::Process;
use crate::request::Operation;
use crate::roll_call::{Call, Peer};

/// What a process tells whoever asks what it is doing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Answer {
    /// The call that it is in.
    pub call: Call,
    /// The process that it waits for, by its rank in the job, where it is a certain one.
    pub awaited: Option<u32>,
    /// A message that is here in vain: it comes from whom the process waits for, but is another.
    pub instead: Option<Envelope>,
    /// A number that stays the same as long as nothing moves.
    pub moved: u64,
}

impl Answer {
    /// One line, given the procedures' names.
    pub fn describe(&self, name_of: impl Fn(u16) -> Option<&'static str>) -> String {
        let mut text = self.call.describe(name_of);
        if let Some(Envelope { source, tag, .. }) = self.instead {
            text += &format!("; what is here from rank {source} has tag {tag}");
        }
        text
    }
}

impl<P: Port> Process<P> {
    /// What to tell about `call`, which this process is in.
    pub fn answer(&self, call: Call) -> Answer {
        let comm = self.comms.iter().map(|(_, comm)| comm);
        let comm = comm.into_iter().find(|comm| comm.context == call.context & !1);
        let awaited = match call.peer {
            Peer::Source(rank) | Peer::Dest(rank) => u32::try_from(rank).ok(),
            Peer::None | Peer::Root(_) => None,
        };
        let here = self.vci.matcher.unexpected().map(|(envelope, _)| envelope);
        let instead = here.into_iter().find(|message| {
            call.collective.is_none()
                && message.context == call.context
                && (call.peer == Peer::Source(message.source)
                    || call.peer == Peer::Source(crate::constants::ANY_SOURCE))
        });
        Answer {
            awaited: comm
                .zip(awaited)
                .and_then(|(comm, rank)| comm.targets().peer(rank))
                .map(|peer| peer.0),
            instead,
            moved: self.motion(),
            call,
        }
    }

    /// A number that changes when messages come or go, and with every collective call.
    fn motion(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.busy_polls.hash(&mut hasher);
        self.vci.peers.iter().for_each(|peer| peer.numbers().hash(&mut hasher));
        self.comms.iter().for_each(|(_, comm)| comm.collective_number.hash(&mut hasher));
        hasher.finish()
    }

    /// The call that this process is in and what it lacks: the oldest posted receive, else the
    /// oldest send whose bytes nobody has fetched.
    pub fn roll_call(&self) -> Call {
        let mut call = Call { procedure: self.procedure, ..Call::default() };
        if let Some((envelope, _)) = self.vci.matcher.posted().next() {
            call.peer = Peer::Source(envelope.source);
            call.context = envelope.context;
            match self.comm_name(envelope.context) {
                Some((name, true)) => {
                    call.comm = name;
                    call.collective = Some(envelope.tag as u32);
                }
                Some((name, false)) => {
                    call.comm = name;
                    call.tag = Some(envelope.tag);
                }
                None => call.tag = Some(envelope.tag),
            }
            return call;
        }
        let sends = self.vci.requests.iter().filter_map(|(_, request)| match &request.operation {
            Operation::Send(send) => Some((send.peer, request.comm)),
            _ => None,
        });
        if let Some((peer, comm)) = sends.min_by_key(|(peer, _)| *peer)
            && let Ok(comm) = self.comm(comm)
        {
            call.peer = Peer::Dest(comm.targets().rank_of(peer).map_or(-1, |rank| rank as i32));
            call.context = comm.context;
            call.comm.clone_from(&comm.name);
        }
        call
    }

    /// The name of the communicator with this context, and whether it is its collectives'.
    fn comm_name(&self, context: u64) -> Option<(String, bool)> {
        let (_, comm) = self.comms.iter().find(|(_, comm)| comm.context == context & !1)?;
        Some((comm.name.clone(), context & 1 == 1))
    }
}
