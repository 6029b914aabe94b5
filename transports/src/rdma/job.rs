//! What a number of work says: whose it is and what is to be done when it is over.

use mpi_core::port::PeerId;

use super::fabric::Work;
use super::pool::Buffer;

/// A work request of this transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Job {
    /// A message or a write into a ring; the buffer that it lies in, if it needs one. `carries` if it is the
    /// program's.
    Message { peer: PeerId, buffer: Option<Buffer>, carries: bool },
    /// A posted buffer.
    Posted(Buffer),
    /// A fragment of a large message, by the number of the move.
    Move(u32),
}

const BUFFER_BITS: u32 = 24;
const CARRIES: u64 = 1 << 59;
const KIND_SHIFT: u32 = 60;

impl Job {
    #[inline]
    pub(super) fn to_work(self) -> Work {
        let of = |kind: u64, low: u64, high: u64| low | high << 32 | kind << KIND_SHIFT;
        Work(match self {
            Job::Message { peer, buffer, carries } => {
                let carries = if carries { CARRIES } else { 0 };
                let (kind, place) = buffer.map_or((0, 0), |buffer| (1, buffer.0.into()));
                of(kind, peer.0.into(), place) | carries
            }
            Job::Posted(buffer) => of(2, 0, buffer.0.into()),
            Job::Move(number) => of(3, number.into(), 0),
        })
    }

    #[inline]
    pub(super) fn from_work(work: Work) -> Job {
        let low = work.0 as u32;
        let buffer = Buffer((work.0 >> 32) as u32 & ((1 << BUFFER_BITS) - 1));
        let carries = work.0 & CARRIES != 0;
        match work.0 >> KIND_SHIFT {
            0 => Job::Message { peer: PeerId(low), buffer: None, carries },
            1 => Job::Message { peer: PeerId(low), buffer: Some(buffer), carries },
            2 => Job::Posted(buffer),
            _ => Job::Move(low),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn jobs_come_back(number: u32, place in 0u32..1 << BUFFER_BITS, carries: bool) {
            let (peer, buffer) = (PeerId(number), Buffer(place));
            for job in [
                Job::Message { peer, buffer: None, carries },
                Job::Message { peer, buffer: Some(buffer), carries },
                Job::Posted(buffer),
                Job::Move(number),
            ] {
                prop_assert_eq!(Job::from_work(job.to_work()), job);
            }
        }
    }
}
