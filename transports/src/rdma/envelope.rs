//! The first bytes of each message and of each frame in a ring: its number in the order of both channels 2, how
//! many messages its receiver may send in all 2, how many slots of its receiver's ring are read in all 2, kind 1,
//! flags 1, little-endian. The counts are modulo 2¹⁶.
//!
//! In: bytes of a peer, which may be anything.

use super::fabric::Target;
use crate::fields::word;

/// Bytes of it.
pub(super) const ENVELOPE_BYTES: usize = 8;

/// The sender would send more than it may.
pub(super) const STARVES: u8 = 1;
/// The receiver is to give back credits of which it has no need.
pub(super) const YIELD: u8 = 2;

/// What follows an envelope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A frame: header and body.
    Frame = 1,
    /// A fragment of a large message.
    Fragment = 2,
    /// Nothing: the envelope says it all.
    Note = 3,
    /// Where the receiver's frames may be written: a [`RingPlace`].
    RingOpen = 4,
    /// They are to be written there no more.
    RingClose = 5,
    /// They will not be.
    RingClosed = 6,
    /// How many credits were given back in all, 2.
    Returned = 7,
    /// Nothing more comes.
    Goodbye = 8,
}

impl Kind {
    fn from_wire(code: u8) -> Option<Kind> {
        Some(match code {
            1 => Kind::Frame,
            2 => Kind::Fragment,
            3 => Kind::Note,
            4 => Kind::RingOpen,
            5 => Kind::RingClose,
            6 => Kind::RingClosed,
            7 => Kind::Returned,
            8 => Kind::Goodbye,
            _ => return None,
        })
    }

    /// Whether a message of this kind takes a credit: those of the program do. The few others go without, so that
    /// they can never wait for each other.
    #[inline]
    pub(super) fn is_counted(self) -> bool {
        matches!(self, Kind::Frame | Kind::Fragment)
    }
}

/// What stands there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Envelope {
    pub sequence: u16,
    pub granted: u16,
    pub freed: u16,
    pub kind: Kind,
    pub flags: u8,
}

impl Envelope {
    #[inline]
    pub(super) fn to_bytes(self) -> [u8; ENVELOPE_BYTES] {
        let word = u64::from(self.sequence)
            | u64::from(self.granted) << 16
            | u64::from(self.freed) << 32
            | (self.kind as u64) << 48
            | u64::from(self.flags) << 56;
        word.to_le_bytes()
    }

    /// Reads one; `None` if its kind is unknown.
    #[inline]
    pub(super) fn from_bytes(bytes: [u8; ENVELOPE_BYTES]) -> Option<Envelope> {
        let word = u64::from_le_bytes(bytes);
        Some(Envelope {
            sequence: word as u16,
            granted: (word >> 16) as u16,
            freed: (word >> 32) as u16,
            kind: Kind::from_wire((word >> 48) as u8)?,
            flags: (word >> 56) as u8,
        })
    }
}

/// Bytes of a [`RingPlace`].
pub(super) const RING_PLACE_BYTES: usize = 24;

/// Where a ring lies: address 8, key 8, slots 4, bytes of each 4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RingPlace {
    pub target: Target,
    pub slots: u32,
    pub slot_bytes: u32,
}

impl RingPlace {
    pub(super) fn to_bytes(self) -> [u8; RING_PLACE_BYTES] {
        let mut bytes = [0; RING_PLACE_BYTES];
        let shape = u64::from(self.slots) | u64::from(self.slot_bytes) << 32;
        let words = [self.target.address, self.target.key, shape];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<RingPlace> {
        let bytes: &[u8; RING_PLACE_BYTES] = bytes.try_into().ok()?;
        let [address, key, shape] = [0, 1, 2].map(|i| word(bytes, i));
        let target = Target { address, key };
        Some(RingPlace { target, slots: shape as u32, slot_bytes: (shape >> 32) as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn envelopes_come_back(
            sequence: u16, granted: u16, freed: u16, code in 1u8..=8, flags: u8,
        ) {
            let kind = Kind::from_wire(code).unwrap();
            let envelope = Envelope { sequence, granted, freed, kind, flags };
            prop_assert_eq!(Envelope::from_bytes(envelope.to_bytes()), Some(envelope));
        }

        #[test]
        fn noise_is_refused_or_means_itself(
            bytes: [u8; ENVELOPE_BYTES], place in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            match Envelope::from_bytes(bytes) {
                Some(envelope) => prop_assert_eq!(envelope.to_bytes(), bytes),
                None => prop_assert!(!(1..=8).contains(&bytes[6])),
            }
            match RingPlace::from_bytes(&place) {
                Some(read) => prop_assert_eq!(&read.to_bytes()[..], &place[..]),
                None => prop_assert!(place.len() != RING_PLACE_BYTES),
            }
        }
    }
}
