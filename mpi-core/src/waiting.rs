//! What a process waits for, worked out only when somebody asks: the roll call's line.

use crate::port::Port;
use crate::process::Process;
use crate::request::Operation;
use crate::roll_call::{Call, Peer};

impl<P: Port> Process<P> {
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
