//! What each message says beside its bytes: who sent it, in the data that providers carry into completions.
//!
//! Providers do not all know who has sent a message, and not all of them gather a header and a body, so the
//! sender stands in the completion's data: 4 bytes everywhere (kind, rank, and a bit of the job's secret), and
//! 4 more where the provider carries 8. A message that was meant for another job, whose process had this
//! address before, is known by these bits and dropped.

/// Bits of a rank.
const RANK_BITS: u32 = 20;
/// Bits of the job in the lower word.
const JOB_BITS: u32 = 10;

/// Ranks that can be told: a process with a higher one cannot use this network.
pub(super) const RANKS: u32 = 1 << RANK_BITS;

/// What a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Bytes for the user of the fabric.
    Message,
    /// The first message of each process to each other.
    Hello,
    /// The immediate value of a write that is in place, where the provider's writes carry none.
    Immediate,
    /// A write that carries its immediate value.
    Write,
}

const KINDS: [Kind; 4] = [Kind::Message, Kind::Hello, Kind::Immediate, Kind::Write];

/// Makes and reads stamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamps {
    job: u64,
    rank: u32,
    is_wide: bool,
}

impl Stamps {
    /// For this rank of a job that `job` names, where `is_wide` says that 8 bytes are carried.
    pub(super) fn new(job: u64, rank: u32, is_wide: bool) -> Stamps {
        debug_assert!(rank < RANKS);
        Stamps { job, rank, is_wide }
    }

    fn low(&self, kind: Kind) -> u64 {
        let job = self.job >> (64 - JOB_BITS);
        (job << RANK_BITS | u64::from(self.rank)) << 2 | kind as u64
    }

    /// What goes with a message.
    #[inline]
    pub(super) fn message(&self, kind: Kind) -> u64 {
        let high = if self.is_wide { self.job << 32 } else { 0 };
        high | self.low(kind)
    }

    /// What goes with a write, if a write has room for it.
    pub(super) fn write(&self, immediate: u32) -> Option<u64> {
        self.is_wide.then(|| u64::from(immediate) << 32 | self.low(Kind::Write))
    }

    /// Which kind and rank a message has, if it is one of this job.
    #[inline]
    pub(super) fn read(&self, data: u64) -> Option<(Kind, u32)> {
        let kind = KINDS[(data & 3) as usize];
        let rank = (data >> 2) as u32 & (RANKS - 1);
        let of_rank = Stamps { rank, ..*self };
        let told = if self.is_wide { data } else { data & u64::from(u32::MAX) };
        (kind != Kind::Write && of_rank.message(kind) == told).then_some((kind, rank))
    }

    /// Which rank wrote and with what value, if it is one of this job.
    pub(super) fn read_write(&self, data: u64) -> Option<(u32, u32)> {
        let rank = (data >> 2) as u32 & (RANKS - 1);
        let immediate = (data >> 32) as u32;
        let of_rank = Stamps { rank, ..*self };
        (of_rank.write(immediate) == Some(data)).then_some((rank, immediate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn stamps_come_back_and_those_of_other_jobs_do_not(job: u64, rank in 0..RANKS, other in 0..RANKS,
                is_wide: bool, immediate: u32, noise: u64) {
            let (from, at) = (Stamps::new(job, rank, is_wide), Stamps::new(job, other, is_wide));
            for kind in [Kind::Message, Kind::Hello, Kind::Immediate] {
                let data = from.message(kind);
                prop_assert_eq!(at.read(data), Some((kind, rank)));
                prop_assert_eq!(at.read_write(data), None);
                prop_assert!(is_wide || data <= u64::from(u32::MAX));
            }
            let written = from.write(immediate);
            prop_assert_eq!(written.is_some(), is_wide);
            if let Some(data) = written {
                prop_assert_eq!(at.read_write(data), Some((rank, immediate)));
                prop_assert_eq!(at.read(data), None);
            }
            let foreign = Stamps::new(job ^ 1 << 63, rank, is_wide).message(Kind::Message);
            prop_assert_eq!(at.read(foreign), None);
            let _ = (at.read(noise), at.read_write(noise));
        }
    }
}
