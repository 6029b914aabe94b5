//! What another process says ends no transfer whose memory a transport has.

use super::*;
use crate::buffer::UserBuffer;
use crate::datatype::Packer;
use crate::matching::Envelope;
use crate::request::{Incoming, Outgoing, ReceiveState, SendState};

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
fn what_has_not_begun_does_not_land() {
    let (mut vci, mut buf) = (interface(), [0; LEN as usize]);
    let request = awaited_receive(&mut vci, &mut buf);
    vci.landed(PEER, Token(u64::from(request.raw())));
    assert!(!is_complete(&vci, request));
}

#[test]
fn no_frame_ends_a_send_whose_bytes_the_transport_has() {
    let (mut vci, bytes) = (interface(), [0; LEN as usize]);
    let packer = Packer::contiguous(UserBuffer(bytes.as_ptr().cast_mut()), LEN);
    let state = SendState {
        peer: PEER,
        envelope: Envelope { context: 1, source: 0, tag: 0 },
        outgoing: Outgoing::new(packer),
        copy: None,
        handed_over: true,
        cancelled: false,
    };
    let request = insert(&mut vci, Operation::Send(state));
    vci.sends_pending = 1;
    let token = u64::from(request.raw());
    let payload = rendezvous::cts_payload(token, 7);
    for kind in [FrameKind::Fin, FrameKind::Cancelled, FrameKind::Cts] {
        let header = Header { kind: kind as u8, ..Header::default() };
        vci.frame(PEER, &header, RawBytes::from(&payload[..]));
        assert!(!is_complete(&vci, request), "{kind:?}");
        assert!(vci.wishes.is_empty(), "{kind:?}");
    }
    vci.sent(Token(token));
    assert!(is_complete(&vci, request));
}
