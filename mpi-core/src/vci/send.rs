//! Sends: eager when small and credit lasts, announced otherwise (MPI-5.0 §3.4, §3.5, §3.7).

use super::Vci;
use crate::buffer::RawBytes;
use crate::datatype::Packer;
use crate::error::{ErrorClass, Result};
use crate::handle::CommHandle;
use crate::header::{FrameKind, Header};
use crate::lost::lost_peer;
use crate::matching::Envelope;
use crate::p2p::Begun;
use crate::p2p::rendezvous::Rts;
use crate::port::{Body, Offer, PeerId, Port};
use crate::request::{Operation, Owner, Request, SendState};
use crate::tuning::{BLOCKING_BYTES, COPIED_ASIDE_BYTES};
use crate::user_memory::Outgoing;

/// How a send may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Manner {
    /// Its process does nothing else until it is complete.
    Blocking,
    /// Its process goes on meanwhile, so it may be announced if that is better.
    Begun,
    /// It is announced whatever its size, so that completion tells of the receive.
    Synchronous,
}

/// Where a message goes: found once from communicator and rank.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    pub(crate) peer: PeerId,
    pub(crate) context: u64,
    /// The sender's own rank in the communicator.
    pub(crate) source: i32,
    pub(crate) tag: i32,
}

impl Vci {
    /// Begins a send of all that `packer` has along `route`.
    #[inline]
    pub(crate) fn start_send<P: Port>(
        &mut self,
        port: &mut P,
        mut packer: Packer,
        route: Route,
        manner: Manner,
        owner: Owner,
        comm: CommHandle,
    ) -> Result<Begun> {
        let len = packer.remaining();
        let peer = self.peer(route.peer);
        if let Some(why) = peer.down() {
            return Err(lost_peer(route.peer, why));
        }
        let eager_max = port.caps(route.peer).frame_bytes_max as u64;
        let mut header = Header {
            kind: FrameKind::Eager as u8,
            context: route.context,
            source: route.source,
            tag: route.tag,
            ..Header::default()
        };
        let fits = len <= eager_max && manner != Manner::Synchronous;
        let blocks = manner == Manner::Blocking && len <= BLOCKING_BYTES;
        let plain = packer.as_contiguous().is_some();
        // A long message that would have to wait is announced rather than copied aside.
        let goes = fits
            && (len <= COPIED_ASIDE_BYTES
                || blocks && peer.waiting_bytes() < 2 * BLOCKING_BYTES
                || peer.is_clear() && port.has_room(route.peer, len, plain));
        if goes && peer.credit.take(len) {
            header.sequence = peer.number_out();
            self.send(port, route.peer, &mut header, Body::Packed(&mut packer));
            return Ok(Begun::Complete);
        }
        let outgoing = Outgoing::new(packer);
        let offer = match outgoing.as_contiguous() {
            Some((address, len)) => port.offer(route.peer, address, len),
            None => Offer::default(),
        };
        let Route { context, source, tag, .. } = route;
        let envelope = Envelope { context, source, tag };
        let (copy, handed_over, cancelled) = (None, false, false);
        let peer = route.peer;
        let state = SendState { peer, envelope, outgoing, offer, copy, handed_over, cancelled };
        let request = Request::active(Operation::Send(state), owner, comm);
        let request = self.requests.insert(request);
        let request = request.inspect_err(|_| port.end_offer(peer, &offer))?;
        self.sends_pending += 1;
        let rts = Rts { peer: route.peer, len, offer, token: u64::from(request.raw()) };
        let payload = rts.to_payload();
        header.kind = FrameKind::Rts as u8;
        header.inline_len = payload.len() as u8;
        header.sequence = self.peer(route.peer).number_out();
        let body = Body::Bytes(RawBytes::from(&payload[..]));
        self.send(port, route.peer, &mut header, body);
        Ok(Begun::Pending(request))
    }

    /// Sends in place of a message that the operation failed here with this class.
    #[cold]
    pub(crate) fn send_failure<P: Port>(&mut self, port: &mut P, route: Route, class: ErrorClass) {
        let payload = class.0.to_le_bytes();
        let peer = self.peer(route.peer);
        if peer.down().is_some() {
            return;
        }
        let mut header = Header {
            kind: FrameKind::Failed as u8,
            inline_len: payload.len() as u8,
            sequence: peer.number_out(),
            context: route.context,
            source: route.source,
            tag: route.tag,
            ..Header::default()
        };
        let body = Body::Bytes(RawBytes::from(&payload[..]));
        self.send(port, route.peer, &mut header, body);
    }
}
