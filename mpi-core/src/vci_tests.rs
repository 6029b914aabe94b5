//! What another process says ends no transfer whose memory a transport has.

use super::*;
use crate::buffer::UserBuffer;
use crate::datatype::Packer;
use crate::handle::CommHandle;
use crate::matching::Envelope;
use crate::request::{ReceiveState, SendState};
use crate::user_memory::{Incoming, Outgoing};

const PEER: PeerId = PeerId(0);
const LEN: u64 = 64;

fn interface() -> Vci {
    let mut vci = Vci::new();
    vci.peers.push(Peer::default());
    vci
}

fn insert(vci: &mut Vci, operation: Operation) -> RequestHandle {
    let world = CommHandle::from_raw(crate::comm::WORLD);
    vci.requests.insert(Request::active(operation, Owner::Program, world)).expect("room")
}

fn is_complete(vci: &Vci, request: RequestHandle) -> bool {
    vci.requests.get(request).expect("not freed").complete
}

fn awaited_receive(vci: &mut Vci, buf: &mut [u8]) -> RequestHandle {
    let room = Unpacker::contiguous(UserBuffer(buf.as_mut_ptr()), buf.len() as u64);
    let rts = Rts { peer: PEER, len: buf.len() as u64, offer: Offer::default(), token: 5 };
    let state = ReceiveState {
        incoming: Incoming::new(room),
        posted: None,
        from: Some(PEER),
        awaited: Some(rts),
        landing: false,
        fetching: false,
    };
    insert(vci, Operation::Receive(state))
}

fn data_for(request: RequestHandle) -> Header {
    Header { kind: FrameKind::Data as u8, context: u64::from(request.raw()), ..Header::default() }
}

#[test]
fn a_second_transfer_for_a_receive_is_discarded() {
    let (mut vci, mut buf) = (interface(), [0; LEN as usize]);
    let request = awaited_receive(&mut vci, &mut buf);
    let header = data_for(request);
    assert!(matches!(vci.begin(PEER, &header, LEN), Landing::User(_)));
    for len in [LEN, 0, LEN + 1] {
        assert!(matches!(vci.begin(PEER, &header, len), Landing::Discard), "{len} bytes");
    }
    assert!(!is_complete(&vci, request));
    vci.landed(PEER, Token(header.context));
    assert!(is_complete(&vci, request));
}

#[test]
fn a_message_that_is_too_long_may_be_one_of_another_type() {
    let error = truncated(&Status::EMPTY, 80, 40);
    assert_eq!(error.class(), ErrorClass::TRUNCATE);
    assert!(error.advice().contains("counts and the datatypes of both sides"));
}

#[test]
fn what_has_not_begun_does_not_land() {
    let (mut vci, mut buf) = (interface(), [0; LEN as usize]);
    let request = awaited_receive(&mut vci, &mut buf);
    vci.landed(PEER, Token(u64::from(request.raw())));
    assert!(!is_complete(&vci, request));
}

/// A send of these bytes with an offer, which the transport may have already.
fn announced_send(vci: &mut Vci, bytes: &[u8], of: (Offer, bool)) -> RequestHandle {
    let from = UserBuffer(bytes.as_ptr().cast_mut());
    let state = SendState {
        peer: PEER,
        envelope: Envelope { context: 1, source: 0, tag: 0 },
        outgoing: Outgoing::new(Packer::contiguous(from, bytes.len() as u64)),
        offer: of.0,
        copy: None,
        handed_over: of.1,
        cancelled: false,
    };
    vci.sends_pending += 1;
    insert(vci, Operation::Send(state))
}

#[test]
fn an_offer_ends_once_however_its_rendezvous_ends() {
    let answer = |vci: &mut Vci, kind: FrameKind, token: u64| {
        let payload = rendezvous::fin_payload(token);
        let header = Header { kind: kind as u8, ..Header::default() };
        vci.frame(PEER, &header, RawBytes::from(&payload[..]));
    };
    type End<'a> = &'a dyn Fn(&mut Vci, u64);
    let ends: [(bool, End<'_>); 4] = [
        (false, &|vci, token| answer(vci, FrameKind::Fin, token)),
        (false, &|vci, token| answer(vci, FrameKind::Cancelled, token)),
        (true, &|vci, token| vci.sent(Token(token))),
        (false, &|vci, _| vci.peer_down(PEER, Why::Lost("it is gone".into()))),
    ];
    for (n, (handed_over, end)) in ends.into_iter().enumerate() {
        let (mut vci, bytes) = (interface(), [0; LEN as usize]);
        let offer = Offer { kind: OfferKind(7), words: [3, n as u64] };
        let request = announced_send(&mut vci, &bytes, (offer, handed_over));
        assert!(vci.deferred.is_empty());
        for _ in 0..2 {
            end(&mut vci, u64::from(request.raw()));
        }
        assert!(is_complete(&vci, request), "end {n}");
        let is_end = |action: &&Deferred| matches!(action, Deferred::EndOffer(PEER, ended) if *ended == offer);
        assert_eq!(vci.deferred.iter().filter(is_end).count(), 1, "end {n}");
    }
}

#[test]
fn no_frame_ends_a_send_whose_bytes_the_transport_has() {
    let (mut vci, bytes) = (interface(), [0; LEN as usize]);
    let request = announced_send(&mut vci, &bytes, (Offer::default(), true));
    let token = u64::from(request.raw());
    let payload = Cts { sender: request.raw(), receiver: 7, advert: None }.to_payload();
    for kind in [FrameKind::Fin, FrameKind::Cancelled, FrameKind::Cts] {
        let header = Header { kind: kind as u8, ..Header::default() };
        vci.frame(PEER, &header, RawBytes::from(&payload[..]));
        assert!(!is_complete(&vci, request), "{kind:?}");
        assert!(vci.deferred.is_empty(), "{kind:?}");
    }
    vci.sent(Token(token));
    assert!(is_complete(&vci, request));
}
