//! Receives: take what has arrived, or are posted (MPI-5.0 §3.5, §3.7).

use super::Vci;
use crate::buffer::RawBytes;
use crate::datatype::Unpacker;
use crate::error::Result;
use crate::handle::{CommHandle, RequestHandle};
use crate::lost::lost_source;
use crate::matching::Envelope;
use crate::p2p::{Arrived, Content};
use crate::port::{PeerId, Port};
use crate::request::{Operation, Owner, ReceiveState, Request};
use crate::user_memory::Incoming;

/// What a receive matches.
#[derive(Clone, Copy)]
pub(crate) struct Pattern {
    pub(crate) context: u64,
    pub(crate) source: i32,
    pub(crate) tag: i32,
    /// The peer that `source` is, unless it is a wildcard.
    pub(crate) from: Option<PeerId>,
}

impl Vci {
    /// Posts a receive for which no message has arrived.
    #[inline]
    pub(crate) fn post(
        &mut self,
        unpacker: Unpacker,
        pattern: Pattern,
        owner: Owner,
        comm: CommHandle,
    ) -> Result<RequestHandle> {
        let Pattern { context, source, tag, from } = pattern;
        // The place is known before the request is, whose handle stands there.
        let request = self.requests.next_handle()?;
        let posted = Some(self.matcher.post(context, source, tag, request));
        let incoming = Incoming::new(unpacker);
        let state =
            ReceiveState { incoming, posted, from, awaited: None, landing: false, fetching: false };
        self.requests.insert(Request::active(Operation::Receive(state), owner, comm))
    }

    /// Begins a receive; the request may be complete on return.
    #[inline]
    pub(crate) fn start_receive<P: Port>(
        &mut self,
        port: &mut P,
        unpacker: Unpacker,
        pattern: Pattern,
        owner: Owner,
        comm: CommHandle,
    ) -> Result<RequestHandle> {
        let Pattern { context, source, tag, from } = pattern;
        if let Some(arrived) = self.matcher.take_unexpected(context, source, tag) {
            let state = ReceiveState {
                incoming: Incoming::new(unpacker),
                posted: None,
                from,
                awaited: None,
                landing: false,
                fetching: false,
            };
            let request =
                self.requests.insert(Request::active(Operation::Receive(state), owner, comm))?;
            self.take(port, request, arrived);
            return Ok(request);
        }
        if let Some(peer) = from
            && let Some(why) = self.peer(peer).down().cloned()
        {
            let wanted = Envelope { context, source, tag };
            let here =
                self.matcher.unexpected().map(|(envelope, arrived)| (envelope, arrived.peer));
            return Err(lost_source(here, wanted, peer, &why));
        }
        self.post(unpacker, pattern, owner, comm)
    }

    /// Gives an arrived message to a receive.
    pub(crate) fn take<P: Port>(&mut self, port: &mut P, request: RequestHandle, arrived: Arrived) {
        let Arrived { peer, source, tag, content } = arrived;
        match content {
            Content::Whole(bytes) => {
                self.consumed(peer, bytes.len() as u64);
                self.receive_eager(request, source, tag, RawBytes::from(&*bytes));
            }
            Content::Announced(rts) => {
                self.begin_rendezvous(request, source, tag);
                self.pull(port, request, rts);
            }
            Content::Failed(class) => self.fail_receive(request, source, class),
            Content::Channel(channel) => self.learn_channel(request, channel),
        }
    }
}
