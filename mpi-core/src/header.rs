//! The header of every frame between two processes (decision 22).
//!
//! 24 bytes, little-endian, so that 40 are left in a cache line: control 0..4 · sequence 4..6 ·
//! kind 6 · inline length 7 · context id 8..16 · source rank 16..20 · tag 20..24. The control
//! word belongs to the transport (a shared-memory lane keeps the lap bit in it and writes it
//! last) but for its upper half, in which the core's cumulative credit rides back.

use std::ops::Range;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 24;
/// Bytes of payload that fit into one cache line behind a header.
pub const INLINE_BYTES: usize = 40;
/// `inline_len` of a frame whose body does not lie behind its header; the transport knows where.
pub const BODY_ELSEWHERE: u8 = 0xff;
/// The same as it stands in the first word of a header.
pub const BODY_ELSEWHERE_WORD: u64 = (BODY_ELSEWHERE as u64) << 56;

/// The bytes of a request to send that may say where the message lies in its sender's memory: no two
/// runs of a program have them alike.
pub const RTS_ADDRESS: Range<usize> = 8..16;

/// What a frame is. Wire codes, fixed by protocol version 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FrameKind {
    /// A whole message.
    Eager = 1,
    /// Request to send: a message whose bytes stay with the sender for now.
    Rts = 2,
    /// Clear to send: the receiver asks for the bytes of an RTS.
    Cts = 3,
    /// The receiver of a rendezvous has all bytes and the sender's memory is free.
    Fin = 4,
    /// Bytes of a rendezvous.
    Data = 5,
    /// Nothing but the credit in the control word.
    Credit = 6,
    /// In place of a message whose sender failed before it: the number of the error class.
    Failed = 7,
    /// The sender of an RTS would take it back; numbered like a message, so that it comes after it.
    Cancel = 8,
    /// The receiver has dropped an announced message, as its sender wished.
    Cancelled = 9,
    /// Where the partitions of a send are to be received (MPI-5.0 chapter 4).
    Channel = 10,
}

impl FrameKind {
    /// The kind with this wire code.
    pub fn from_wire(code: u8) -> Option<FrameKind> {
        Some(match code {
            1 => FrameKind::Eager,
            2 => FrameKind::Rts,
            3 => FrameKind::Cts,
            4 => FrameKind::Fin,
            5 => FrameKind::Data,
            6 => FrameKind::Credit,
            7 => FrameKind::Failed,
            8 => FrameKind::Cancel,
            9 => FrameKind::Cancelled,
            10 => FrameKind::Channel,
            _ => return None,
        })
    }

    /// Whether frames of this kind are numbered in order.
    pub fn is_message(self) -> bool {
        use FrameKind::{Cancel, Channel, Eager, Failed, Rts};
        matches!(self, Eager | Rts | Failed | Cancel | Channel)
    }
}

/// The header of one frame. `kind` is kept as its wire code: it comes from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// Cumulative credit (see `credit`): the upper half of the control word.
    pub credit: u16,
    /// Number of the message among those of its ordered pair of VCIs, modulo 2¹⁶.
    pub sequence: u16,
    /// Wire code of the [`FrameKind`].
    pub kind: u8,
    /// Bytes of body behind the header, or [`BODY_ELSEWHERE`].
    pub inline_len: u8,
    /// Context id of the communicator.
    pub context: u64,
    /// Rank of the sender in the communicator.
    pub source: i32,
    /// Tag.
    pub tag: i32,
}

impl Header {
    /// The three words of the header, with a control word whose lower half is `transport`.
    #[inline]
    pub fn to_words(self, transport: u16) -> [u64; 3] {
        let control = u32::from(transport) | u32::from(self.credit) << 16;
        [
            u64::from(control)
                | u64::from(self.sequence) << 32
                | u64::from(self.kind) << 48
                | u64::from(self.inline_len) << 56,
            self.context,
            u64::from(self.source as u32) | u64::from(self.tag as u32) << 32,
        ]
    }

    /// The header in three words, and the lower half of its control word.
    #[inline]
    pub fn from_words(words: [u64; 3]) -> (Header, u16) {
        let [first, context, last] = words;
        let header = Header {
            credit: (first >> 16) as u16,
            sequence: (first >> 32) as u16,
            kind: (first >> 48) as u8,
            inline_len: (first >> 56) as u8,
            context,
            source: last as u32 as i32,
            tag: (last >> 32) as u32 as i32,
        };
        (header, first as u16)
    }

    /// The header as it travels on a byte stream.
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(self.to_words(0)) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The header in the bytes of a stream.
    pub fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Header {
        let word = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[i * 8 + k]));
        Header::from_words([word(0), word(1), word(2)]).0
    }
}

const _: () = assert!(HEADER_BYTES + INLINE_BYTES == 64);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_and_bytes_carry_every_field(credit: u16, sequence: u16, kind: u8, inline_len: u8,
                context: u64, source: i32, tag: i32, transport: u16) {
            let header = Header { credit, sequence, kind, inline_len, context, source, tag };
            prop_assert_eq!(Header::from_words(header.to_words(transport)), (header, transport));
            prop_assert_eq!(Header::from_bytes(&header.to_bytes()), header);
        }
    }
}
