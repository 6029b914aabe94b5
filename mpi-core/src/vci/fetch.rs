//! The receiver's end of a rendezvous: the bytes of an announced message are fetched or asked for,
//! and the sender hears of it when they have been fetched.

use super::{Deferred, Vci};
use crate::handle::RequestHandle;
use crate::header::FrameKind;
use crate::lost::lost_peer;
use crate::p2p::rendezvous::{self, Cts, Rts};
use crate::port::{PeerId, Port, Pulled, Token};
use crate::request::{Operation, ReceiveState, Request};

impl Vci {
    /// Fetches the announced message `rts` into the receive `request`, or asks for its bytes.
    pub(crate) fn pull<P: Port>(&mut self, port: &mut P, request: RequestHandle, rts: Rts) {
        let Ok(Request { operation: Operation::Receive(receive), .. }) =
            self.requests.get_mut(request)
        else {
            return;
        };
        if let Some(why) = self.peers[rts.peer.0 as usize].down() {
            let lost = lost_peer(rts.peer, why);
            return self.complete(request, Some(lost));
        }
        if rts.len > receive.incoming.capacity() {
            self.control(port, rts.peer, FrameKind::Fin, rendezvous::fin_payload(rts.token));
            return self.complete_receive(request, rts.len);
        }
        let pulled = match rts.len {
            0 => Pulled::Done,
            len => {
                let token = Token(u64::from(request.raw()));
                port.pull(rts.peer, &rts.offer, len, receive.incoming.room(), token)
            }
        };
        match pulled {
            Pulled::Done => {
                self.control(port, rts.peer, FrameKind::Fin, rendezvous::fin_payload(rts.token));
                self.complete_receive(request, rts.len);
                // The sender has waited for this long, and others may wait for what it does next.
                port.yield_processor();
            }
            Pulled::Begun => {
                receive.awaited = Some(rts);
                (receive.landing, receive.fetching) = (true, true);
            }
            Pulled::Unavailable => self.ask(port, request, rts),
        }
    }

    /// Asks for the bytes of the announced message `rts` for the receive `request`.
    pub(crate) fn ask<P: Port>(&mut self, port: &mut P, request: RequestHandle, rts: Rts) {
        let Ok(sender) = u32::try_from(rts.token) else { return };
        if let Some(receive) = self.receive_mut(request) {
            receive.awaited = Some(rts);
            let receiver = request.raw();
            let token = Token(u64::from(receiver));
            let advert = port.advertise(rts.peer, receive.incoming.room(), rts.len, token);
            let cts = Cts { sender, receiver, advert };
            self.control(port, rts.peer, FrameKind::Cts, cts.to_payload());
        }
    }

    /// The state of a pending receive.
    fn receive_mut(&mut self, request: RequestHandle) -> Option<&mut ReceiveState> {
        match self.requests.get_mut(request) {
            Ok(Request { operation: Operation::Receive(receive), .. }) => Some(receive),
            _ => None,
        }
    }

    /// All bytes under a receive's `token` are where they belong.
    pub(crate) fn end_landing(&mut self, peer: PeerId, token: Token) {
        let Ok(token) = u32::try_from(token.0) else { return };
        let request = RequestHandle::from_raw(token);
        let Some(receive) = self.receive_mut(request).filter(|receive| receive.landing) else {
            return;
        };
        let fetching = receive.fetching;
        if let Some(rts) = receive.awaited.filter(|rts| rts.peer == peer) {
            if fetching {
                self.deferred.push_back(Deferred::Finish(peer, rts.token));
            }
            self.complete_receive(request, rts.len);
        }
    }

    /// The bytes under a receive's `token` could not be fetched after all: they are asked for.
    pub(crate) fn end_fetching_in_vain(&mut self, peer: PeerId, token: Token) {
        let Ok(token) = u32::try_from(token.0) else { return };
        let request = RequestHandle::from_raw(token);
        let Some(receive) = self.receive_mut(request).filter(|receive| receive.fetching) else {
            return;
        };
        (receive.landing, receive.fetching) = (false, false);
        if let Some(rts) = receive.awaited.filter(|rts| rts.peer == peer) {
            self.deferred.push_back(Deferred::Ask(request, rts));
        }
    }
}
