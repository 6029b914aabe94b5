//! Which bytes of a message have come, and which are on their way on some stream.
//!
//! Fragments of one message come on any streams in any order, and streams write them to its memory side
//! by side. So no byte may belong to two of them: a count of bytes would be full while some are
//! missing, and the program would have its memory back while a stream still writes there.
//!
//! In: fragments that begin and end. Out: whether they may, and whether all bytes have come.

use std::ops::Range;

/// What is covered of a message. Each stream is within one fragment at most.
#[derive(Default)]
pub(super) struct Coverage {
    /// What has come: in order, and no range touches the next. Fragments leave in order, so that mostly
    /// there are no more ranges than streams.
    come: Vec<Range<u64>>,
    /// The fragments that streams are within.
    coming: Vec<(u32, Range<u64>)>,
}

impl Coverage {
    /// A fragment begins on a stream, which is within none.
    pub(super) fn begin(&mut self, stream: u32, fragment: Range<u64>) -> Result<(), &'static str> {
        let next = self.come.partition_point(|range| range.end <= fragment.start);
        let has_come = self.come.get(next).is_some_and(|range| overlap(range, &fragment));
        if has_come || self.coming.iter().any(|(_, range)| overlap(range, &fragment)) {
            return Err("two fragments of it are for the same bytes of a message");
        }
        self.coming.push((stream, fragment));
        Ok(())
    }

    /// The fragment that a stream is within has come.
    pub(super) fn end(&mut self, stream: u32) -> Result<(), &'static str> {
        let place = self.coming.iter().position(|(other, _)| *other == stream);
        let place = place.ok_or("a fragment of it ends that has not begun")?;
        let (_, fragment) = self.coming.swap_remove(place);
        if fragment.is_empty() {
            return Ok(());
        }
        let first = self.come.partition_point(|range| range.end < fragment.start);
        let behind = self.come.partition_point(|range| range.start <= fragment.end);
        let beside = &self.come[first..behind];
        let start = beside.first().map_or(fragment.start, |range| range.start.min(fragment.start));
        let end = beside.last().map_or(fragment.end, |range| range.end.max(fragment.end));
        self.come.splice(first..behind, std::iter::once(start..end));
        Ok(())
    }

    /// Whether all of a message of `total` bytes has come, and no stream is within a fragment of it.
    pub(super) fn is_whole(&self, total: u64) -> bool {
        let has_come = match &self.come[..] {
            [] => total == 0,
            [range] => *range == (0..total),
            _ => false,
        };
        has_come && self.coming.is_empty()
    }
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Begin(u32, u64, u64),
        End(u32),
    }

    const STREAMS: u32 = 4;

    fn steps() -> impl Strategy<Value = (u64, Vec<Step>)> {
        (0u64..40).prop_flat_map(|total| {
            let fragment = (0..=total).prop_flat_map(move |at| (Just(at), 0..=(total - at).min(12)));
            let step = prop_oneof![
                1 => (0..STREAMS, fragment).prop_map(|(stream, (at, len))| Step::Begin(stream, at, len)),
                1 => (0..STREAMS).prop_map(Step::End),
            ];
            (Just(total), prop::collection::vec(step, 0..80))
        })
    }

    proptest! {
        /// A map of all bytes says the same. None may be empty of a message that is not.
        #[test]
        fn a_map_of_the_bytes_agrees((total, steps) in steps()) {
            let mut coverage = Coverage::default();
            let mut come = vec![false; total as usize];
            let mut coming: Vec<Option<Range<usize>>> = vec![None; STREAMS as usize];
            for step in steps {
                match step {
                    Step::Begin(_, _, 0) if total > 0 => {}
                    Step::Begin(stream, ..) if coming[stream as usize].is_some() => {}
                    Step::Begin(stream, at, len) => {
                        let fragment = at as usize..(at + len) as usize;
                        let taken = |byte: usize| {
                            come[byte] || coming.iter().flatten().any(|one| one.contains(&byte))
                        };
                        let is_free = !fragment.clone().any(taken);
                        prop_assert_eq!(coverage.begin(stream, at..at + len).is_ok(), is_free);
                        coming[stream as usize] = is_free.then_some(fragment);
                    }
                    Step::End(stream) => {
                        let fragment = coming[stream as usize].take();
                        prop_assert_eq!(coverage.end(stream).is_ok(), fragment.is_some());
                        come[fragment.unwrap_or(0..0)].fill(true);
                    }
                }
                let is_whole = come.iter().all(|byte| *byte) && coming.iter().all(Option::is_none);
                prop_assert_eq!(coverage.is_whole(total), is_whole);
                let ranges = come.chunk_by(PartialEq::eq).filter(|bytes| bytes[0]).count();
                prop_assert_eq!(coverage.come.len(), ranges, "what touches is one range");
            }
        }
    }
}
