//! The one message that a receive of the fast path takes, put so that three comparisons of words
//! tell whether a frame is it: everything that can be worked out before it comes is.
//!
//! Enters: what the receive asks for and the number of the next message of its source. Leaves: to
//! the transport, whether a header is the expected one, and where the body goes.

use crate::buffer::{RawBytes, UserBuffer};
use crate::constants::ANY_TAG;
use crate::header::{FrameKind, Header};
use crate::user_memory::put;

/// Of the first word of a header: the message's number and the kind. The credit and the length
/// may be any, and the lowest bits are the transport's.
const FIRST_CARE: u64 = 0x00ff_ffff_0000_0000;
/// Of the last word, where any tag will do: the source.
const SOURCE_CARE: u64 = 0xffff_ffff;

/// A message that may be taken as soon as it is there.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    words: [u64; 3],
    last_care: u64,
    room: usize,
    to: UserBuffer,
}

impl Expected {
    /// The eager message with this number, of `source` in `context`, with `tag` or, for
    /// `MPI_ANY_TAG`, any; its body is to go to the `room` bytes at `to`.
    #[inline(always)]
    pub(crate) fn new(
        sequence: u16,
        (context, source, tag): (u64, i32, i32),
        room: usize,
        to: UserBuffer,
    ) -> Expected {
        let kind = FrameKind::Eager as u8;
        let header = Header { sequence, kind, context, source, tag, ..Header::default() };
        let last_care = if tag == ANY_TAG { SOURCE_CARE } else { u64::MAX };
        Expected { words: header.to_words(0), last_care, room, to }
    }

    /// In what the words of a header differ from the expected ones; 0 if they are it.
    #[inline(always)]
    pub fn differs(&self, words: &[u64; 3]) -> u64 {
        (words[0] ^ self.words[0]) & FIRST_CARE
            | (words[1] ^ self.words[1])
            | (words[2] ^ self.words[2]) & self.last_care
    }

    /// Writes its body to where it is to go, if there is room for it; whether there is.
    #[inline(always)]
    pub fn fill(&self, body: RawBytes<'_>) -> bool {
        let fits = body.len() <= self.room;
        if fits {
            put(body, self.to);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The comparison of words says what the comparison of fields says.
        #[test]
        fn what_is_expected_is_told_from_all_else(credit: u16, len: u8, transport: u16,
                number in 0u16..2, context in 0u64..2, source in 0i32..2, tag in 0i32..2, any: bool,
                other in (0u16..2, 0u8..4, 0u64..2, 0i32..2, 0i32..2)) {
            let asked = if any { ANY_TAG } else { tag };
            let expected = Expected::new(number, (context, source, asked), 0, UserBuffer::BOTTOM);
            let (sequence, kind, its_context, its_source, its_tag) = other;
            let header = Header { credit, sequence, kind, inline_len: len, context: its_context,
                source: its_source, tag: its_tag };
            let fits = sequence == number && kind == FrameKind::Eager as u8
                && its_context == context && its_source == source && (any || its_tag == tag);
            prop_assert_eq!(expected.differs(&header.to_words(transport)) == 0, fits);
        }
    }
}
