//! The first bytes of each datagram, before those of a link: a number for the job 2, the length of the whole
//! datagram 2, the sender's rank 4, little-endian. By the length a batch that the kernel has joined is cut
//! again; the number saves the work of a tag for what is of another job.
//!
//! In: bytes from anybody, which the tag covers too.

/// Bytes of it.
pub(super) const ENVELOPE_BYTES: usize = 8;

/// The shortest datagram: an envelope, the head of a link's, a tag.
const DATAGRAM_BYTES_MIN: usize = 60;

/// What stands there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Envelope {
    pub job: u16,
    pub length: u16,
    pub rank: u32,
}

impl Envelope {
    /// That of a process's datagrams, whose length is to follow.
    pub(super) fn new(job: &[u8; 32], rank: u32) -> Envelope {
        Envelope { job: u16::from_le_bytes([job[0], job[1]]), length: 0, rank }
    }

    #[inline]
    pub(super) fn to_bytes(self) -> [u8; ENVELOPE_BYTES] {
        let word = u64::from(self.job) | u64::from(self.length) << 16 | u64::from(self.rank) << 32;
        word.to_le_bytes()
    }

    #[inline]
    pub(super) fn from_bytes(bytes: [u8; ENVELOPE_BYTES]) -> Envelope {
        let word = u64::from_le_bytes(bytes);
        Envelope { job: word as u16, length: (word >> 16) as u16, rank: (word >> 32) as u32 }
    }

    /// The length that the first of some joined datagrams has, by its own word, if that is possible.
    #[inline]
    pub(super) fn length_of(batch: &[u8]) -> Option<usize> {
        let length = usize::from(Envelope::from_bytes(*batch.first_chunk()?).length);
        (DATAGRAM_BYTES_MIN..=batch.len()).contains(&length).then_some(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn envelopes_come_back(job: u16, length: u16, rank: u32) {
            let envelope = Envelope { job, length, rank };
            prop_assert_eq!(Envelope::from_bytes(envelope.to_bytes()), envelope);
            let batch = [&envelope.to_bytes()[..], &[0; 1000]].concat();
            let found = Envelope::length_of(&batch);
            prop_assert_eq!(found, Some(length.into()).filter(|length| (60..=1008).contains(length)));
        }
    }
}
