//! The head of a fragment of a large message, the same on all networks: each fragment says by itself where it
//! belongs (decision 42).

use mpi_core::header::{HEADER_BYTES, Header};

use crate::fields::word;

/// Bytes of a fragment's head.
pub(crate) const FRAGMENT_BYTES: usize = HEADER_BYTES + 24;

/// Which message a fragment belongs to, and where in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FragmentHead {
    /// The header under which the message was handed over.
    pub header: Header,
    /// The sender's number of the transfer.
    pub id: u64,
    /// Bytes of the whole message.
    pub total: u64,
    /// Where in the message the fragment begins.
    pub at: u64,
}

impl FragmentHead {
    pub(crate) fn to_bytes(self) -> [u8; FRAGMENT_BYTES] {
        let mut bytes = [0; FRAGMENT_BYTES];
        bytes[..HEADER_BYTES].copy_from_slice(&self.header.to_bytes());
        let words = [self.id, self.total, self.at];
        for (chunk, word) in bytes[HEADER_BYTES..].chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Reads the head of a fragment of `len` bytes.
    pub(crate) fn from_bytes(bytes: &[u8; FRAGMENT_BYTES], len: u64) -> Result<Self, &'static str> {
        let [header @ .., _, _, _] = [0, 1, 2, 3, 4, 5].map(|i| word(bytes, i));
        let (header, _) = Header::from_words(header);
        let [id, total, at] = [3, 4, 5].map(|i| word(bytes, i));
        if at.checked_add(len).is_none_or(|end| end > total) || len == 0 && total != 0 {
            return Err("a fragment of it lies outside its message");
        }
        Ok(FragmentHead { header, id, total, at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fragments_come_back(context: u64, id: u64, total: u64, at: u64, len: u64) {
            let header = Header { context, tag: -7, kind: 5, ..Header::default() };
            let fragment = FragmentHead { header, id, total, at };
            let inside = at.checked_add(len).is_some_and(|end| end <= total);
            match FragmentHead::from_bytes(&fragment.to_bytes(), len) {
                Ok(read) => prop_assert!(read == fragment && inside),
                Err(_) => prop_assert!(!inside || len == 0),
            }
        }

        #[test]
        fn noise_is_refused_or_lies_inside_its_message(
            bytes in prop::array::uniform::<_, FRAGMENT_BYTES>(any::<u8>()), len: u64,
        ) {
            if let Ok(fragment) = FragmentHead::from_bytes(&bytes, len) {
                prop_assert!(fragment.at.checked_add(len).is_some_and(|end| end <= fragment.total));
                prop_assert_eq!(FragmentHead::from_bytes(&fragment.to_bytes(), len), Ok(fragment));
            }
        }
    }
}
