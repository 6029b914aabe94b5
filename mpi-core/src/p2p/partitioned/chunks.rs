//! How the partitions of a send are divided into the messages that carry them.
//!
//! Enters: how many partitions there are, and their bytes. Leaves: chunks of neighbouring partitions, of which each is
//! one message, sent when all of its partitions are ready. A long partition is a chunk of its own; short ones share
//! chunks of equal numbers of them, since each message has a price. The receiver, whose partitions may be others,
//! knows the chunks from both numbers.

use std::ops::Range;

use crate::limits::CHUNKS_MAX;
use crate::tuning::JOINED_BYTES;

/// The chunks of a partitioned send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Chunks {
    /// Partitions of the send.
    pub(super) partitions: u32,
    /// Bytes of each.
    pub(super) partition_bytes: u64,
    /// Partitions of each chunk; the last one may have fewer.
    joined: u32,
}

impl Chunks {
    /// Those of so many partitions of so many bytes.
    pub(crate) fn new(partitions: u32, partition_bytes: u64) -> Chunks {
        let most = partitions.max(1);
        let fit = match JOINED_BYTES.checked_div(partition_bytes) {
            Some(fit) => fit.min(u64::from(most)) as u32,
            None => most,
        };
        let chunks = most.div_ceil(fit.max(most.div_ceil(CHUNKS_MAX)));
        Chunks { partitions, partition_bytes, joined: most.div_ceil(chunks) }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u32 {
        self.partitions.div_ceil(self.joined)
    }

    /// Bytes of all.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.partitions) * self.partition_bytes
    }

    /// The chunk that has a partition.
    pub(crate) fn of(&self, partition: u32) -> u32 {
        partition / self.joined
    }

    /// The partitions of a chunk.
    pub(crate) fn partitions_of(&self, chunk: u32) -> Range<u32> {
        let first = chunk * self.joined;
        first..(first + self.joined).min(self.partitions)
    }

    /// The bytes of a chunk, of those of all partitions.
    pub(crate) fn bytes_of(&self, chunk: u32) -> Range<u64> {
        let Range { start, end } = self.partitions_of(chunk);
        u64::from(start) * self.partition_bytes..u64::from(end) * self.partition_bytes
    }

    /// The chunks that have some of these bytes. Of no bytes it is all, so that a message of none tells of all that
    /// was made ready.
    pub(crate) fn over(&self, bytes: Range<u64>) -> Range<u32> {
        let chunk_bytes = u64::from(self.joined) * self.partition_bytes;
        if bytes.is_empty() || chunk_bytes == 0 {
            return 0..self.len();
        }
        let chunk_at = |byte: u64| (byte / chunk_bytes).min(u64::from(self.len())) as u32;
        let end = (chunk_at(bytes.end - 1) + 1).min(self.len());
        chunk_at(bytes.start)..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn short_partitions_share_a_chunk_and_long_ones_do_not() {
        let chunks = |partitions, bytes| {
            let chunks = Chunks::new(partitions, bytes);
            Vec::from_iter((0..chunks.len()).map(|chunk| chunks.partitions_of(chunk).len()))
        };
        assert_eq!(chunks(8, 128 << 10), [1; 8]);
        assert_eq!(chunks(4, 64 << 10), [1; 4]);
        assert_eq!(chunks(8, 8 << 10), [8]);
        assert_eq!(chunks(9, 8 << 10), [5, 4]);
        assert_eq!(chunks(1000, 0), [1000]);
        assert_eq!(chunks(0, 17), [0; 0]);
    }

    proptest! {
        #[test]
        fn every_byte_is_in_one_chunk_of_a_moderate_length(partitions in 0_u32..300, bytes in 0_u64..200_000) {
            let chunks = Chunks::new(partitions, bytes);
            let mut end = (0, 0);
            for chunk in 0..chunks.len() {
                let (partitions, range) = (chunks.partitions_of(chunk), chunks.bytes_of(chunk));
                prop_assert_eq!((partitions.start, range.start), end);
                prop_assert!(!partitions.is_empty());
                prop_assert!(partitions.clone().all(|partition| chunks.of(partition) == chunk));
                prop_assert!(partitions.len() == 1 || range.end - range.start <= JOINED_BYTES);
                end = (partitions.end, range.end);
            }
            prop_assert_eq!(end, (partitions, chunks.bytes()));
        }

        #[test]
        fn the_chunks_over_some_bytes_are_those_that_have_any(
            partitions in 1_u32..60, bytes in 1_u64..100_000, from in 0_u64..1000, to in 0_u64..1000,
        ) {
            let chunks = Chunks::new(partitions, bytes);
            let (from, to) = (from.min(to) * chunks.bytes() / 1000, from.max(to) * chunks.bytes() / 1000);
            prop_assume!(from < to);
            let over = |chunk: &u32| {
                let range = chunks.bytes_of(*chunk);
                range.start < to && range.end > from
            };
            prop_assert!(chunks.over(from..to).eq((0..chunks.len()).filter(over)));
        }

        #[test]
        fn no_bytes_that_another_process_names_overflow(
            partitions in 0_u32..1 << 31, smaller in 0_u32..64, from: u64, to: u64,
        ) {
            let bytes = (u64::MAX >> smaller) / u64::from(partitions.max(1));
            let chunks = Chunks::new(partitions, bytes);
            let over = chunks.over(from..to);
            prop_assert!(over.end <= chunks.len() && chunks.len() <= CHUNKS_MAX);
            if let Some(last) = chunks.len().checked_sub(1) {
                prop_assert_eq!(chunks.bytes_of(last).end, chunks.bytes());
            }
        }
    }
}
