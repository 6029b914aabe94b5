//! A virtual communication interface: the matching shard, the requests and the peers that belong
//! together, and how arriving frames change them.
//!
//! It is the [`Sink`] of the port. What an arrival asks for in return (a CTS, a FIN, a pull, bulk
//! data) cannot be sent while the port is polling, so it is queued and [`Vci::flush`] sends it.

mod cancel;
mod fetch;
mod partitioned;
pub(crate) mod receive;
pub(crate) mod send;

use std::collections::VecDeque;

use crate::buffer::RawBytes;
use crate::coll::mismatch::too_long;
use crate::datatype::Unpacker;
use crate::error::{Error, ErrorClass};
use crate::handle::RequestHandle;
use crate::header::{FrameKind, Header, INLINE_BYTES};
use crate::lost::{failed_elsewhere, lost_peer, lost_source};
use crate::matching::{Envelope, Matcher};
use crate::p2p::rendezvous::{self, Cts, Payload, Rts};
use crate::p2p::{Arrived, Content};
use crate::peers::{Early, Order, Peer};
use crate::port::{Body, Landing, Offer, OfferKind, PeerId, Port, Sink, Token, Why};
use crate::request::{Operation, Owner, Request, Requests};
use crate::status::Status;
use crate::user_memory::gather;

/// What the core wants of the port once it may be used again.
pub(crate) enum Deferred {
    /// The bytes of a send request, as the receiver asks for them.
    Bulk(PeerId, RequestHandle, Cts),
    /// To fetch an announced message into a receive request.
    Pull(RequestHandle, Rts),
    /// To ask for one that could not be fetched.
    Ask(RequestHandle, Rts),
    /// To tell that an announced message has been fetched, by the sender's token.
    Finish(PeerId, u64),
    /// To tell that an announced message was dropped, by the sender's token.
    Cancelled(PeerId, u64),
    /// To tell the transport that an offer is over.
    EndOffer(PeerId, Offer),
    /// To end the job: what the program was told is sent can never arrive.
    End(PeerId, Error),
}

/// Matching, requests and peers of one interface.
pub(crate) struct Vci {
    pub(crate) matcher: Matcher<RequestHandle, Arrived>,
    pub(crate) requests: Requests,
    pub(crate) peers: Vec<Peer>,
    pub(crate) deferred: VecDeque<Deferred>,
    congested: Vec<PeerId>,
    /// Peers to be told what was taken in of their messages.
    pub(crate) reports: Vec<PeerId>,
    /// Completions that an owner other than the program is to be told of.
    pub(crate) finished: Vec<(Owner, Option<Error>)>,
    /// A receive that the fast path began and that failed: the slow path, which is called
    /// next with the same arguments, reports it.
    pub(crate) begun: Option<RequestHandle>,
    /// Messages until the fast path in gives others their turn.
    pub(crate) fast_left: u32,
    /// Answers within handshakes that were sent, less those that came, for who asks whether
    /// anything is on its way.
    pub(crate) answers: u16,
    /// Rendezvous sends whose memory is still in use.
    pub(crate) sends_pending: usize,
}

impl Vci {
    /// An interface that knows no peer.
    pub(crate) fn new() -> Vci {
        Vci {
            matcher: Matcher::default(),
            requests: Requests::new(),
            peers: Vec::new(),
            deferred: VecDeque::new(),
            congested: Vec::new(),
            reports: Vec::new(),
            finished: Vec::new(),
            begun: None,
            fast_left: 0,
            answers: 0,
            sends_pending: 0,
        }
    }

    /// The state kept for `peer`.
    #[inline]
    pub(crate) fn peer(&mut self, peer: PeerId) -> &mut Peer {
        &mut self.peers[peer.0 as usize]
    }

    /// Sends a frame, or keeps a copy of it behind those that wait.
    #[inline]
    pub(crate) fn send<P: Port>(
        &mut self,
        port: &mut P,
        peer: PeerId,
        header: &mut Header,
        body: Body<'_>,
    ) {
        let state = &mut self.peers[peer.0 as usize];
        header.credit = state.credit.report();
        if state.is_clear() {
            self.send_or_keep(port, peer, header, body);
        } else {
            state.wait(*header, own(body));
        }
    }

    #[inline]
    fn send_or_keep<P: Port>(
        &mut self,
        port: &mut P,
        peer: PeerId,
        header: &Header,
        body: Body<'_>,
    ) {
        let refused = match body {
            Body::Bytes(bytes) => match port.send(peer, header, Body::Bytes(bytes)) {
                Ok(()) => return,
                Err(_) => bytes.to_vec().into(),
            },
            Body::Packed(packer) => match port.send(peer, header, Body::Packed(&mut *packer)) {
                Ok(()) => return,
                Err(_) => gather(packer),
            },
        };
        self.keep(peer, *header, refused);
    }

    #[cold]
    fn keep(&mut self, peer: PeerId, header: Header, body: Box<[u8]>) {
        if self.peers[peer.0 as usize].down().is_none() {
            self.peers[peer.0 as usize].wait(header, body);
            self.congested.push(peer);
        }
    }

    /// Whether [`Vci::flush`] has something to try.
    #[inline]
    pub(crate) fn has_deferred(&self) -> bool {
        !self.congested.is_empty() || !self.deferred.is_empty()
    }

    /// Sends what arrivals asked for and what found no room before, during the procedure with this number; whether
    /// anything went out.
    pub(crate) fn flush<P: Port>(&mut self, port: &mut P, procedure: u16) -> bool {
        let mut moved = false;
        if !self.congested.is_empty() {
            let (peers, before) = (&mut self.peers, self.congested.len());
            self.congested.retain(|&peer| !peers[peer.0 as usize].flush(peer, port));
            moved = self.congested.len() < before;
        }
        let several = self.deferred.len() > 1;
        if several {
            port.hold();
        }
        while let Some(action) = self.deferred.pop_front() {
            moved = true;
            match action {
                Deferred::Bulk(peer, request, cts) => self.send_bulk(port, peer, request, cts),
                Deferred::Pull(request, rts) => self.pull(port, request, rts),
                Deferred::Ask(request, rts) => self.ask(port, request, rts),
                Deferred::Finish(peer, token) => {
                    self.control(port, peer, FrameKind::Fin, rendezvous::fin_payload(token));
                }
                Deferred::Cancelled(peer, token) => {
                    self.control(port, peer, FrameKind::Cancelled, rendezvous::fin_payload(token));
                }
                Deferred::EndOffer(peer, offer) => port.end_offer(peer, &offer),
                Deferred::End(peer, error) => port.end_job(procedure, peer, &error),
            }
        }
        if several {
            port.release();
        }
        moved
    }

    pub(crate) fn control<P: Port>(
        &mut self,
        port: &mut P,
        peer: PeerId,
        kind: FrameKind,
        payload: Payload,
    ) {
        let bytes = match kind {
            FrameKind::Credit => &payload[..0],
            _ => {
                self.answers = self.answers.wrapping_add(1);
                &payload[..]
            }
        };
        let mut header =
            Header { kind: kind as u8, inline_len: bytes.len() as u8, ..Header::default() };
        self.send(port, peer, &mut header, Body::Bytes(RawBytes::from(bytes)));
    }

    fn send_bulk<P: Port>(&mut self, port: &mut P, peer: PeerId, request: RequestHandle, cts: Cts) {
        let Ok(Request { operation: Operation::Send(send), .. }) = self.requests.get_mut(request)
        else {
            return;
        };
        if std::mem::replace(&mut send.handed_over, true) {
            return;
        }
        let source = send.outgoing.take();
        let context = u64::from(cts.receiver);
        let header = Header { kind: FrameKind::Data as u8, context, ..Header::default() };
        port.send_bulk(peer, &header, source, Token(u64::from(request.raw())), cts.advert);
    }

    /// Gives a message in its order to the receive that matches, or keeps it.
    #[inline]
    fn deliver(&mut self, peer: PeerId, header: &Header, body: RawBytes<'_>) {
        let rts = if header.kind == FrameKind::Eager as u8 {
            None
        } else if header.kind == FrameKind::Failed as u8 {
            return self.deliver_failure(peer, header, body);
        } else if header.kind == FrameKind::Cancel as u8 {
            return self.deliver_cancel(peer, body);
        } else if header.kind == FrameKind::Channel as u8 {
            return self.deliver_channel(peer, header, body);
        } else {
            let Some(rts) = Rts::from_payload(peer, body) else {
                tracing::warn!("peer {} announced a message in an unknown form", peer.0);
                return;
            };
            Some(rts)
        };
        match (self.matcher.arrive(header.context, header.source, header.tag), rts) {
            (Some(request), None) => {
                self.consumed(peer, body.len() as u64);
                self.receive_eager(request, header.source, header.tag, body);
            }
            (Some(request), Some(rts)) => {
                self.begin_rendezvous(request, header.source, header.tag);
                self.deferred.push_back(Deferred::Pull(request, rts));
            }
            (None, rts) => {
                let content = match rts {
                    Some(rts) => Content::Announced(rts),
                    None => Content::Whole(body.to_vec().into()),
                };
                let (source, tag) = (header.source, header.tag);
                let arrived = Arrived { peer, source, tag, content };
                self.matcher.add_unexpected(header.context, source, tag, arrived);
            }
        }
    }

    /// Gives what came in place of a message to the receive that matches, or keeps it.
    #[cold]
    fn deliver_failure(&mut self, peer: PeerId, header: &Header, body: RawBytes<'_>) {
        let (context, source, tag) = (header.context, header.source, header.tag);
        let mut class = [0; 4];
        if body.len() >= class.len() {
            class.copy_from_slice(&body.to_vec()[..4]);
        }
        let class = ErrorClass::from_wire(i32::from_le_bytes(class));
        match self.matcher.arrive(context, source, tag) {
            Some(request) => self.fail_receive(request, source, class),
            None => {
                let content = Content::Failed(class);
                let arrived = Arrived { peer, source, tag, content };
                self.matcher.add_unexpected(context, source, tag, arrived);
            }
        }
    }

    /// Completes a receive whose sender failed.
    #[cold]
    pub(crate) fn fail_receive(&mut self, request: RequestHandle, source: i32, class: ErrorClass) {
        self.complete(request, Some(failed_elsewhere(source as u32, class)));
    }

    /// Counts an eager message as taken in, and notes when that is to be reported.
    #[inline]
    pub(crate) fn consumed(&mut self, peer: PeerId, bytes: u64) {
        let credit = &mut self.peer(peer).credit;
        let was_due = credit.is_due();
        if credit.consume(bytes) && !was_due {
            self.reports.push(peer);
        }
    }

    /// Reports what was taken in of the messages of those noted, unless a frame that went there
    /// meanwhile has done so: an answer most often has.
    #[cold]
    pub(crate) fn send_reports<P: Port>(&mut self, port: &mut P) {
        while let Some(peer) = self.reports.pop() {
            if self.peer(peer).credit.is_due() {
                self.report_consumed(port, peer);
            }
        }
    }

    /// Reports to `peer` by a frame of its own what was taken in of its messages.
    #[cold]
    pub(crate) fn report_consumed<P: Port>(&mut self, port: &mut P, peer: PeerId) {
        self.control(port, peer, FrameKind::Credit, [0; INLINE_BYTES]);
    }

    /// Puts a whole message into a matched receive and completes it.
    #[inline]
    pub(crate) fn receive_eager(
        &mut self,
        request: RequestHandle,
        source: i32,
        tag: i32,
        body: RawBytes<'_>,
    ) {
        let Ok(entry) = self.requests.get_mut(request) else { return };
        let bytes = body.len() as u64;
        let mut fits = false;
        if let Operation::Receive(receive) = &mut entry.operation {
            receive.incoming.fill(body);
            fits = bytes <= receive.incoming.capacity();
        }
        entry.status.source = source;
        entry.status.tag = tag;
        if fits && entry.owner == Owner::Program {
            entry.status.bytes = bytes;
            entry.complete = true;
            entry.operation = Operation::Finished;
        } else {
            self.complete_receive(request, bytes);
        }
    }

    /// Notes which message a receive has matched.
    pub(crate) fn begin_rendezvous(&mut self, request: RequestHandle, source: i32, tag: i32) {
        if let Ok(entry) = self.requests.get_mut(request) {
            entry.status.source = source;
            entry.status.tag = tag;
            if let Operation::Receive(receive) = &mut entry.operation {
                receive.posted = None;
            }
        }
    }

    /// Completes a receive whose message had `len` bytes.
    pub(crate) fn complete_receive(&mut self, request: RequestHandle, len: u64) {
        let Ok(entry) = self.requests.get_mut(request) else { return };
        let mut failure = None;
        if let Operation::Receive(receive) = &entry.operation {
            let capacity = receive.incoming.capacity();
            entry.status.bytes = len.min(capacity);
            if len > capacity {
                failure = Some(match entry.owner {
                    Owner::Step { .. } => too_long(entry.status.source as u32, len - capacity),
                    _ => truncated(&entry.status, len, capacity),
                });
            }
        }
        self.complete(request, failure);
    }

    /// Completes a request and tells its owner.
    pub(crate) fn complete(&mut self, request: RequestHandle, failure: Option<Error>) {
        let Ok(entry) = self.requests.get_mut(request) else { return };
        if let Some(failure) = &failure {
            entry.status.error = failure.class();
        }
        if let Operation::Send(send) = &entry.operation {
            self.sends_pending -= 1;
            if send.offer.kind != OfferKind::NONE {
                self.deferred.push_back(Deferred::EndOffer(send.peer, send.offer));
            }
        }
        entry.complete = true;
        entry.failure = failure;
        if !matches!(entry.operation, Operation::Generalized(_)) {
            entry.operation = Operation::Finished;
        }
        match entry.owner {
            Owner::Program => {}
            Owner::Nobody => drop(self.requests.remove(request)),
            owner => {
                let failure = self.requests.remove(request).ok().and_then(|done| done.failure);
                self.finished.push((owner, failure));
            }
        }
    }

    fn clear_to_send(&mut self, peer: PeerId, body: RawBytes<'_>) {
        self.answers = self.answers.wrapping_sub(1);
        let Some(cts) = Cts::from_payload(body) else { return };
        if let Some(request) = self.send_request(peer, u64::from(cts.sender)) {
            self.deferred.push_back(Deferred::Bulk(peer, request, cts));
        }
    }

    fn finish_send(&mut self, peer: PeerId, body: RawBytes<'_>) {
        self.answers = self.answers.wrapping_sub(1);
        let Some(sender) = rendezvous::read_fin(body) else { return };
        if let Some(request) = self.send_request(peer, sender) {
            self.complete(request, None);
        }
    }

    /// The send to `peer` that a token of the wire names, if there is one on whose bytes the peer
    /// has a say: not one whose memory the transport reads.
    pub(crate) fn send_request(&self, peer: PeerId, token: u64) -> Option<RequestHandle> {
        let handle = RequestHandle::from_raw(u32::try_from(token).ok()?);
        match &self.requests.get(handle).ok()?.operation {
            Operation::Send(send) if send.peer == peer && !send.handed_over => Some(handle),
            _ => None,
        }
    }

    /// Whether nothing waits to be sent and no send's memory is in use.
    pub(crate) fn is_flushed(&self) -> bool {
        self.congested.is_empty() && self.deferred.is_empty() && self.sends_pending == 0
    }

    fn fail_all_with(&mut self, peer: PeerId, why: &Why) {
        let concerns = |request: &Request| match &request.operation {
            Operation::Send(send) => send.peer == peer,
            Operation::Receive(receive) => {
                receive.from == Some(peer) || receive.awaited.is_some_and(|rts| rts.peer == peer)
            }
            _ => false,
        };
        let lost: Vec<RequestHandle> = self
            .requests
            .iter()
            .filter(|(_, request)| !request.complete && concerns(request))
            .map(|(handle, _)| handle)
            .collect();
        let here = self.matcher.unexpected().map(|(envelope, arrived)| (envelope, arrived.peer));
        let here: Vec<(Envelope, PeerId)> = here.filter(|(_, from)| *from == peer).collect();
        for request in lost {
            // Mostly there is none, and then it is all the same what was wanted.
            let wanted = match here.is_empty() {
                true => None,
                false => self.matcher.posted().find(|(_, posted)| **posted == request),
            };
            let error = match wanted {
                Some((wanted, _)) => lost_source(here.iter().copied(), wanted, peer, why),
                None => lost_peer(peer, why),
            };
            if let Ok(Request { operation: Operation::Receive(receive), .. }) =
                self.requests.get_mut(request)
                && let Some(posted) = receive.posted.take()
            {
                self.matcher.cancel(posted);
            }
            self.end_with(request, why, error);
        }
    }

    /// Ends an operation whose peer is gone.
    fn end_with(&mut self, request: RequestHandle, why: &Why, error: Error) {
        let Ok(state) = self.requests.get_mut(request) else { return };
        // Who is gone has not received what it was asked to drop.
        let dropped = matches!(&state.operation, Operation::Send(send) if send.cancelled && !send.handed_over);
        let unmatched = *why == Why::Finalized && matches!(&state.operation, Operation::Send(_));
        if dropped {
            state.status = Status { cancelled: true, ..Status::EMPTY };
            return self.complete(request, None);
        }
        self.complete(request, Some(error));
        if unmatched && let Ok(state) = self.requests.get_mut(request) {
            state.operation = Operation::Unmatched;
        }
    }
}

impl Sink for Vci {
    #[inline]
    fn frame(&mut self, peer: PeerId, header: &Header, body: RawBytes<'_>) {
        let state = self.peer(peer);
        state.credit.acknowledge(header.credit);
        match FrameKind::from_wire(header.kind) {
            Some(kind) if kind.is_message() => match state.order_in(header.sequence) {
                Order::Deliver => {
                    self.deliver(peer, header, body);
                    while let Some(Early { header, body }) = self.peer(peer).next_early() {
                        self.deliver(peer, &header, RawBytes::from(&*body));
                    }
                }
                Order::Keep => state.keep_early(*header, body),
                Order::Double => {}
            },
            Some(FrameKind::Cts) => self.clear_to_send(peer, body),
            Some(FrameKind::Fin) => self.finish_send(peer, body),
            Some(FrameKind::Credit) => {}
            Some(FrameKind::Cancelled) => self.take_back(peer, body),
            Some(_) | None => {
                tracing::warn!("peer {} sent a frame of unknown kind {}", peer.0, header.kind);
            }
        }
    }

    fn begin_eager(
        &mut self,
        peer: PeerId,
        header: &Header,
        len: u64,
    ) -> Option<(Unpacker, Token)> {
        if header.kind != FrameKind::Eager as u8 || !self.peer(peer).is_next(header.sequence) {
            return None;
        }
        let request = self.matcher.arrive(header.context, header.source, header.tag)?;
        let state = self.peer(peer);
        state.credit.acknowledge(header.credit);
        state.count_in();
        self.begin_rendezvous(request, header.source, header.tag);
        self.consumed(peer, len);
        let Ok(Request { operation: Operation::Receive(receive), .. }) =
            self.requests.get_mut(request)
        else {
            return None;
        };
        receive.awaited = Some(Rts { peer, len, offer: Offer::default(), token: 0 });
        receive.landing = true;
        let room = receive.incoming.take();
        Some((room, Token(u64::from(request.raw()))))
    }

    fn begin(&mut self, peer: PeerId, header: &Header, len: u64) -> Landing {
        let Ok(token) = u32::try_from(header.context) else { return Landing::Discard };
        match self.requests.get_mut(RequestHandle::from_raw(token)) {
            Ok(Request { operation: Operation::Receive(receive), .. })
                if !receive.landing
                    && receive.awaited.is_some_and(|rts| rts.peer == peer && rts.len == len) =>
            {
                receive.landing = true;
                Landing::User(receive.incoming.take())
            }
            _ => Landing::Discard,
        }
    }

    fn landed(&mut self, peer: PeerId, token: Token) {
        self.end_landing(peer, token);
    }

    fn stranded(&mut self, peer: PeerId, token: Token) {
        self.end_fetching_in_vain(peer, token);
    }

    fn sent(&mut self, token: Token) {
        if let Ok(token) = u32::try_from(token.0) {
            self.complete(RequestHandle::from_raw(token), None);
        }
    }

    fn peer_down(&mut self, peer: PeerId, why: Why) {
        let dropped = self.peer(peer).drop_waiting();
        let undelivered = match why {
            // Who leaves in good order has all that it waits for.
            Why::Finalized => false,
            Why::Lost(_) => dropped,
            Why::Undelivered { .. } => true,
        };
        if undelivered {
            self.deferred.push_front(Deferred::End(peer, lost_peer(peer, &why)));
        }
        self.fail_all_with(peer, &why);
        self.peer(peer).close(why);
    }
}

/// The body of a frame in memory of our own.
fn own(body: Body<'_>) -> Box<[u8]> {
    match body {
        Body::Bytes(bytes) => bytes.to_vec().into(),
        Body::Packed(packer) => gather(packer),
    }
}

#[cold]
fn truncated(status: &Status, len: u64, capacity: u64) -> Error {
    Error::new(
        ErrorClass::TRUNCATE,
        format!(
            "the message from rank {} with tag {} has {len} bytes, but the receive has room for \
             {capacity}",
            status.source, status.tag
        ),
    )
    .hint(
        "Compare the counts and the datatypes of both sides: the receive needs room for all bytes \
         that are sent. Or probe for the size first.",
    )
}

#[cfg(test)]
#[path = "vci_tests.rs"]
mod tests;
