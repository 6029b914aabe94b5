//! The handshake of large messages: RTS, then a pull with FIN, or CTS, data.
//!
//! The RTS announces a message in its place in the order and says where its bytes can be fetched.
//! The receiver, once a receive matches, fetches them itself and says FIN, or asks for them by a
//! CTS; a way that fails falls back to the next inside the same handshake. Payloads are
//! little-endian words (decision 22).

use crate::buffer::RawBytes;
use crate::header::INLINE_BYTES;
use crate::port::{ADVERT_BYTES, Advert, Offer, OfferKind, PeerId};

/// The version of the handshake's payloads.
const VERSION: u32 = 2;

/// An announced message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rts {
    /// Who sends it.
    pub(crate) peer: PeerId,
    /// Its bytes.
    pub(crate) len: u64,
    /// Where they can be fetched.
    pub(crate) offer: Offer,
    /// The sender's name of the transfer.
    pub(crate) token: u64,
}

/// The body of a control frame.
pub(crate) type Payload = [u8; INLINE_BYTES];

/// Words as such a body.
pub(super) fn payload(words: &[u64]) -> Payload {
    let mut bytes = [0; INLINE_BYTES];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// The first words of such a body, if it has so many.
pub(super) fn words<const N: usize>(body: RawBytes<'_>) -> Option<[u64; N]> {
    if body.len() < N * 8 {
        return None;
    }
    let bytes = body.to_vec();
    let word = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[i * 8 + k]));
    Some(std::array::from_fn(word))
}

impl Rts {
    /// The announcement's payload.
    pub(crate) fn to_payload(self) -> Payload {
        let Offer { kind, words: [first, second] } = self.offer;
        let form = u64::from(kind.0) | u64::from(VERSION) << 32;
        payload(&[self.len, first, second, self.token, form])
    }

    /// Reads an announcement of `peer`; `None` if it is not one of this version.
    pub(crate) fn from_payload(peer: PeerId, body: RawBytes<'_>) -> Option<Rts> {
        let [len, first, second, token, form] = words::<5>(body)?;
        let kind = OfferKind(u8::try_from(form & u64::from(u32::MAX)).ok()?);
        if form >> 32 != u64::from(VERSION) {
            return None;
        }
        Some(Rts { peer, len, offer: Offer { kind, words: [first, second] }, token })
    }
}

/// The request for an announced message's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cts {
    /// The sender's name of the transfer.
    pub(crate) sender: u32,
    /// The receiver's.
    pub(crate) receiver: u32,
    /// Where the bytes go, if the receiver's transport tells it.
    pub(crate) advert: Option<Advert>,
}

impl Cts {
    /// The request's payload.
    pub(crate) fn to_payload(self) -> Payload {
        let kind = self.advert.map_or(OfferKind::NONE, |advert| advert.kind);
        let first = u64::from(self.sender) | u64::from(kind.0) << 32;
        let mut bytes = payload(&[first, u64::from(self.receiver)]);
        if let Some(advert) = self.advert {
            bytes[INLINE_BYTES - ADVERT_BYTES..].copy_from_slice(&advert.bytes);
        }
        bytes
    }

    /// Reads a request; `None` if it is none of this version.
    pub(crate) fn from_payload(body: RawBytes<'_>) -> Option<Cts> {
        let [first, receiver, rest @ ..] = words::<5>(body)?;
        let kind = OfferKind(u8::try_from(first >> 32).ok()?);
        let mut bytes = [0; ADVERT_BYTES];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(rest) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        let advert = (kind != OfferKind::NONE).then_some(Advert { kind, bytes });
        Some(Cts { sender: first as u32, receiver: u32::try_from(receiver).ok()?, advert })
    }
}

/// The notice that a transfer is over, by the sender's name of it.
pub(crate) fn fin_payload(sender: u64) -> Payload {
    payload(&[sender])
}

/// Bytes of a payload that a FIN has need of.
pub(crate) const INLINE_FIN: u8 = 8;

/// Reads a FIN: the sender's name of the transfer.
pub(crate) fn read_fin(body: RawBytes<'_>) -> Option<u64> {
    words::<1>(body).map(|[sender]| sender)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_announcement_survives_the_wire(len: u64, kind: u8, words: [u64; 2], token: u64) {
            let offer = Offer { kind: OfferKind(kind), words };
            let rts = Rts { peer: PeerId(3), len, offer, token };
            let payload = rts.to_payload();
            prop_assert_eq!(Rts::from_payload(PeerId(3), RawBytes::from(&payload[..])), Some(rts));
            prop_assert_eq!(&payload[crate::header::RTS_ADDRESS], words[0].to_le_bytes());
        }

        #[test]
        fn a_request_survives_the_wire(sender: u32, receiver: u32, kind: u8, bytes: [u8; ADVERT_BYTES]) {
            let told = OfferKind(kind) != OfferKind::NONE;
            let advert = told.then_some(Advert { kind: OfferKind(kind), bytes });
            let cts = Cts { sender, receiver, advert };
            let payload = cts.to_payload();
            prop_assert_eq!(Cts::from_payload(RawBytes::from(&payload[..])), Some(cts));
        }

        #[test]
        fn foreign_bytes_are_refused_or_read_but_never_panic(
                bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let body = RawBytes::from(&bytes[..]);
            let _ = (Rts::from_payload(PeerId(0), body), Cts::from_payload(body), read_fin(body));
        }
    }
}
