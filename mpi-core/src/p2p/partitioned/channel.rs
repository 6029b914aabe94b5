//! What a partitioned send tells its receiver, once: the context of its messages, and how it is divided.
//!
//! Enters and leaves: the payload of a frame, which matches in a context of the communicator's own.

use super::chunks::Chunks;
use crate::buffer::RawBytes;
use crate::p2p::rendezvous::{Payload, payload, words};

/// A communicator's context for these, but for what it differs by from that of its messages. Contexts are random, so
/// that no other one is met; its last bits are those of [`PARTS`].
const APART: u64 = 0x7061_7274_6974_696e;

/// The last bits of contexts of partitioned operations. Those of messages have 0 there, those of collectives 1.
pub(crate) const PARTS: u64 = 2;

/// The context in which the ends of partitioned operations on a communicator find each other.
pub(crate) fn meeting(context: u64) -> u64 {
    context ^ APART
}

/// Where the chunks of a partitioned send are to be received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Channel {
    /// Their context; the tag of each is its number.
    pub(crate) context: u64,
    /// What they are.
    pub(crate) chunks: Chunks,
}

impl Channel {
    /// The payload that tells it.
    pub(crate) fn to_payload(self) -> Payload {
        let Chunks { partitions, partition_bytes, .. } = self.chunks;
        payload(&[self.context, u64::from(partitions), partition_bytes])
    }

    /// Reads it; `None` if there can be no such send.
    pub(crate) fn from_payload(body: RawBytes<'_>) -> Option<Channel> {
        let [context, partitions, partition_bytes] = words::<3>(body)?;
        let partitions = i32::try_from(partitions).ok()? as u32;
        u64::from(partitions).checked_mul(partition_bytes)?;
        Some(Channel { context, chunks: Chunks::new(partitions, partition_bytes) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_survives_the_wire(context: u64, partitions in 0_u32..1 << 31, bytes in 0_u64..1 << 33) {
            let channel = Channel { context, chunks: Chunks::new(partitions, bytes) };
            let payload = channel.to_payload();
            prop_assert_eq!(Channel::from_payload(RawBytes::from(&payload[..])), Some(channel));
        }

        #[test]
        fn foreign_bytes_are_refused_or_read_but_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = Channel::from_payload(RawBytes::from(&bytes[..]));
        }
    }
}
