//! What travels on a stream: records, each with its length first.
//!
//! A record's head is 16 bytes, little-endian: bytes of front and body 0..4 · kind 4..6 · VCI 6..8 ·
//! bytes of the opposite direction of this stream received so far 8..16, so that every record
//! also acknowledges. Behind the head come the front, which says what the body is, and the body: of a
//! short record both are one part, of a long one two, so that nothing is done with a body on the word
//! of a front that may have been changed. Where streams are sealed ([`super::seal`]), a tag follows
//! the head and each part.
//!
//! A frame's front is the core's header. A fragment's is a [`FragmentHead`], so that each fragment says by
//! itself where it belongs: fragments of one message may take any streams in any order, and the last
//! one to come ends the transfer; a finish can therefore not overtake the data that it is about
//! (paper 000, §4.2).

use mpi_core::header::HEADER_BYTES;

use crate::fields::word;
pub(super) use crate::fragment::{FRAGMENT_BYTES, FragmentHead};

/// Bytes of a record's head.
pub(super) const RECORD_BYTES: usize = 16;

/// Frames with a body from this length on are long records, as all fragments are.
pub(super) const LONG_BYTES: usize = 2 << 10;

/// What a record is. Wire codes, fixed by version 2 of the hello.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub(super) enum Kind {
    /// A frame of the core.
    Frame = 1,
    /// A fragment of a large message.
    Fragment = 2,
    /// Nothing but the acknowledgement in the head.
    Ack = 3,
    /// The sender wants an acknowledgement now.
    Ping = 4,
    /// The sender leaves in good order; nothing follows.
    Bye = 5,
}

/// A record's head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Record {
    /// Bytes of front and body.
    pub len: u32,
    /// What it is.
    pub kind: Kind,
    /// Bytes of the opposite direction received.
    pub ack: u64,
}

impl Record {
    /// Whether front and body are two parts.
    #[inline]
    pub(super) fn is_long(&self) -> bool {
        self.kind == Kind::Fragment
            || self.kind == Kind::Frame && self.len as usize >= HEADER_BYTES + LONG_BYTES
    }

    pub(super) fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let first = u64::from(self.len) | u64::from(self.kind as u16) << 32;
        let mut bytes = [0; RECORD_BYTES];
        bytes[..8].copy_from_slice(&first.to_le_bytes());
        bytes[8..].copy_from_slice(&self.ack.to_le_bytes());
        bytes
    }

    /// Reads a head; frames may have bodies of `frame_max` bytes.
    pub(super) fn from_bytes(
        bytes: &[u8; RECORD_BYTES],
        frame_max: usize,
    ) -> Result<Record, &'static str> {
        let first = word(bytes, 0);
        let (len, code, vci) = (first as u32, (first >> 32) as u16, first >> 48);
        if vci != 0 {
            return Err("a record of it is for a VCI that does not exist");
        }
        let size = len as usize;
        let (kind, fits) = match code {
            1 => (Kind::Frame, (HEADER_BYTES..=HEADER_BYTES + frame_max).contains(&size)),
            2 => (Kind::Fragment, size >= FRAGMENT_BYTES),
            3 => (Kind::Ack, size == 0),
            4 => (Kind::Ping, size == 0),
            5 => (Kind::Bye, size == 0),
            _ => return Err("a record of it is of no known kind"),
        };
        if !fits {
            return Err("a record of it has an impossible length");
        }
        Ok(Record { len, kind, ack: word(bytes, 1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn heads_come_back(len in 0u32..70_000, ack: u64) {
            let kind = if len == 0 { Kind::Ack } else { Kind::Fragment };
            let record = Record { len, kind, ack };
            let read = Record::from_bytes(&record.to_bytes(), 1000);
            match len as usize {
                0 | FRAGMENT_BYTES.. => prop_assert_eq!(read, Ok(record)),
                _ => prop_assert!(read.is_err()),
            }
        }

        #[test]
        fn noise_is_refused_or_within_bounds(bytes: [u8; RECORD_BYTES], max in 0usize..9000) {
            if let Ok(record) = Record::from_bytes(&bytes, max) {
                prop_assert!(record.kind == Kind::Fragment
                    || record.len as usize <= max + HEADER_BYTES);
            }
        }
    }
}
