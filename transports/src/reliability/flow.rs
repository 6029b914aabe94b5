//! What is left to send of a sequence of bytes: the stream of frames, or one large message.
//!
//! A flow knows places, not memory. It gives out ranges to send, hears of each range that it was lost
//! or has arrived, and gives out again what was lost and has not arrived in another datagram. Ranges
//! may be cut anew each time, so that datagrams may change their size on the way.

use std::collections::VecDeque;
use std::ops::Range;

use super::ranges::Ranges;

#[derive(Default)]
pub(super) struct Flow {
    /// What the peer has.
    acked: Ranges,
    /// What was lost, in the order in which it showed.
    lost: VecDeque<Range<u64>>,
    /// Behind what was given out, and behind the last byte that there is.
    sent: u64,
    end: u64,
}

impl Flow {
    /// A flow of so many bytes.
    pub(super) fn new(end: u64) -> Flow {
        Flow { end, ..Flow::default() }
    }

    /// There are so many more bytes.
    #[inline]
    pub(super) fn extend(&mut self, bytes: usize) {
        self.end += bytes as u64;
    }

    /// The first byte that the peer does not have.
    #[inline]
    pub(super) fn low(&self) -> u64 {
        self.acked.low()
    }

    /// Whether the peer has everything.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.acked.low() == self.end
    }

    /// Whether there may be something to send that lies before `limit`.
    #[inline]
    pub(super) fn has_next(&self, limit: u64) -> bool {
        self.sent < self.end.min(limit) || !self.lost.is_empty()
    }

    /// The next at most `max` bytes to send, at least one, which lie before `limit`.
    #[inline]
    pub(super) fn next(&mut self, max: usize, limit: u64) -> Option<Range<u64>> {
        if let Some(again) = self.next_lost(max) {
            return Some(again);
        }
        let end = self.end.min(limit).min(self.sent + max as u64);
        let next = (self.sent < end).then_some(self.sent..end)?;
        self.sent = end;
        Some(next)
    }

    fn next_lost(&mut self, max: usize) -> Option<Range<u64>> {
        while let Some(lost) = self.lost.front_mut() {
            let Some(gap) = self.acked.first_gap(lost.clone()) else {
                self.lost.pop_front();
                continue;
            };
            let again = gap.start..gap.end.min(gap.start + max as u64);
            if again.end == lost.end {
                self.lost.pop_front();
            } else {
                lost.start = again.end;
            }
            return Some(again);
        }
        None
    }

    /// The peer has these bytes, which were given out.
    #[inline]
    pub(super) fn acknowledge(&mut self, range: Range<u64>) {
        self.acked.insert(range, drop);
    }

    /// These bytes, which were given out, have to go again.
    pub(super) fn lose(&mut self, range: Range<u64>) {
        if !range.is_empty() {
            self.lost.push_back(range);
        }
    }

    /// Gives back the memory that is not in use.
    pub(super) fn trim(&mut self) {
        self.acked.trim();
        self.lost.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever becomes of the datagrams, what is given out are bytes that the peer does not
        /// have, and it goes on until the peer has all of them.
        #[test]
        fn all_bytes_are_given_out_until_they_have_arrived(
            len in 0usize..2000,
            steps in prop::collection::vec((1usize..300, 0u8..4, any::<usize>()), 0..80),
        ) {
            let mut flow = Flow::new(len as u64 / 2);
            flow.extend(len - len / 2);
            let (mut has, mut flying) = (vec![false; len], Vec::<Range<u64>>::new());
            let settled = steps.iter().copied().map(|step| (step, len as u64 / 2));
            // At the end everything arrives.
            let rest = (0..2 * len).map(|_| ((100, 0, 0), u64::MAX));
            for ((max, fate, which), limit) in settled.chain(rest) {
                let expects = flow.has_next(limit);
                let next = flow.next(max, limit);
                prop_assert!(next.is_none() || expects);
                if let Some(range) = next {
                    prop_assert!(!range.is_empty() && range.end - range.start <= max as u64);
                    prop_assert!(range.clone().all(|place| !has[place as usize]));
                    flying.push(range);
                }
                if flying.is_empty() {
                    continue;
                }
                let range = flying.swap_remove(which % flying.len());
                match fate {
                    0 => {
                        range.clone().for_each(|place| has[place as usize] = true);
                        flow.acknowledge(range);
                    }
                    1 => flow.lose(range),
                    _ => flying.push(range),
                }
                let low = has.iter().position(|has| !has).unwrap_or(len);
                prop_assert_eq!(flow.low(), low as u64);
            }
            prop_assert!(flow.is_done() && has.iter().all(|has| *has), "{:?}", has);
        }
    }
}
