//! How the ends of a partitioned operation find each other (MPI-5.0 chapter 4): a sender tells its channel in its place
//! among the messages, and the receive that waits for it notes it.

use super::Vci;
use super::send::Route;
use crate::buffer::RawBytes;
use crate::handle::RequestHandle;
use crate::header::{FrameKind, Header};
use crate::p2p::partitioned::{Channel, End, meeting};
use crate::p2p::{Arrived, Content};
use crate::port::{Body, PeerId, Port};
use crate::request::{Operation, Owner, Recipe, Request};

impl Vci {
    /// Tells the receiver of a partitioned send along `route` of its channel. It costs no credit: there are as many as
    /// the program has made.
    #[cold]
    pub(crate) fn announce<P: Port>(&mut self, port: &mut P, route: Route, channel: Channel) {
        let peer = self.peer(route.peer);
        if peer.down().is_some() {
            return;
        }
        let payload = channel.to_payload();
        let mut header = Header {
            kind: FrameKind::Channel as u8,
            inline_len: payload.len() as u8,
            sequence: peer.number_out(),
            context: meeting(route.context),
            source: route.source,
            tag: route.tag,
            ..Header::default()
        };
        let body = Body::Bytes(RawBytes::from(&payload[..]));
        self.send(port, route.peer, &mut header, body);
    }

    /// A sender tells its channel.
    #[cold]
    pub(super) fn deliver_channel(&mut self, peer: PeerId, header: &Header, body: RawBytes<'_>) {
        let Some(channel) = Channel::from_payload(body) else {
            tracing::warn!("peer {} announced partitions in an unknown form", peer.0);
            return;
        };
        let Header { context, source, tag, .. } = *header;
        match self.matcher.arrive(context, source, tag) {
            Some(awaited) => self.learn_channel(awaited, channel),
            None => {
                let content = Content::Channel(channel);
                let arrived = Arrived { peer, source, tag, content };
                self.matcher.add_unexpected(context, source, tag, arrived);
            }
        }
    }

    /// Notes the channel that was waited for, unless the program has given that up.
    #[cold]
    pub(super) fn learn_channel(&mut self, awaited: RequestHandle, told: Channel) {
        if let Ok(Request { owner: Owner::Channel { of }, .. }) = self.requests.get(awaited)
            && let Ok(Request { operation: Operation::Persistent(persistent), .. }) =
                self.requests.get(*of)
            && let Recipe::Partitioned(plan) = &persistent.recipe
            && let End::Receive { channel, .. } = &plan.end
        {
            _ = channel.set(Ok(told));
        }
        self.complete(awaited, None);
    }
}
