//! What a datagram is made of: a head, ranges of numbers that have come, and a load.
//!
//! The head is 36 bytes, little-endian: number 0..8 · all numbers of the opposite direction below this
//! one are settled there 8..16 · frames may be sent up to this place 16..24 · how far below the number the
//! oldest one lies about which its sender is still in doubt 24..28 · microseconds from the arrival of the
//! highest number that is acknowledged to the sending of this 28..32 · kind of the load 32 · flags 33 ·
//! ranges 34 · zero 35. Then follow the ranges above the settled numbers, the lowest first: numbers
//! missing below it 4, numbers that came 4. Then, to the end of the datagram, the load: of frames the
//! place in their stream 8 and bytes of it; of a fragment its head (see [`crate::fragment`]) and its bytes; of a
//! probe bytes that nobody reads.
//!
//! In: bytes from anybody, looked at in their whole length before anything is believed. The number is
//! the datagram's own for ever, so it can be the nonce of a tag, which a transport puts around this.

use std::ops::Range;

use crate::fields::Fields;
use crate::fragment::{FRAGMENT_BYTES, FragmentHead};

/// Bytes of a head.
const HEAD_BYTES: usize = 36;
/// Bytes of a range.
const RANGE_BYTES: usize = 8;
/// Ranges in one datagram. Each loss is told in several acknowledgements, and what is not told in time
/// is only sent again.
pub(super) const RANGES_MAX: usize = 16;
/// The most bytes before the body of a load.
pub(super) const FRONT_BYTES_MAX: usize = HEAD_BYTES + RANGES_MAX * RANGE_BYTES + FRAGMENT_BYTES;
/// Numbers end here, so that nothing overflows that is computed from one.
const NUMBER_MAX: u64 = u64::MAX >> 2;

/// The flag by which an acknowledgement is wanted at once.
const ASKS: u8 = 1;

/// What every datagram says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    /// The datagram's own number.
    pub number: u64,
    /// The oldest number about which its sender is in doubt: what is missing below is not awaited.
    pub oldest: u64,
    /// All numbers of the opposite direction below this one are settled.
    pub settled: u64,
    /// Place in the opposite direction's stream of frames up to which it may be sent.
    pub credit: u64,
    /// Microseconds for which the acknowledgement was held back.
    pub held_micros: u32,
    /// An acknowledgement is wanted at once.
    pub asks: bool,
}

/// What a datagram carries: `B` stands for the bytes of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Load<B> {
    /// Acknowledgements alone, which are not acknowledged.
    Nothing,
    /// Nothing, but an acknowledgement is wanted.
    Ping,
    /// Nothing but bytes that make the datagram long, to find out whether it comes.
    Probe,
    /// Nothing, by a path that the sender does not use: an acknowledgement is wanted at once, by the same path.
    Trial,
    /// That acknowledgement, which says nothing of the path that its sender uses.
    TrialAnswer,
    /// The sender leaves: it has got all that it wanted, and knows that the receiver has.
    Bye,
    /// Bytes of the stream of frames from a place on.
    Frames(u64, B),
    /// Bytes of a large message.
    Fragment(FragmentHead, B),
}

/// The beginning of a datagram that is being written.
#[derive(Clone, Debug)]
pub(super) struct Front {
    bytes: [u8; FRONT_BYTES_MAX],
    len: usize,
}

impl Front {
    /// Bytes of the front of a datagram with so many ranges, without what a load adds.
    #[inline]
    pub(super) fn bytes_with(ranges: usize) -> usize {
        HEAD_BYTES + ranges * RANGE_BYTES
    }

    /// The front of a datagram; `ranges` are at most [`RANGES_MAX`], in order.
    pub(super) fn new<'a>(
        head: &Head,
        ranges: impl Iterator<Item = &'a Range<u64>>,
        load: &Load<()>,
    ) -> Front {
        let mut front = Front { bytes: [0; FRONT_BYTES_MAX], len: HEAD_BYTES };
        let (mut count, mut end) = (0, head.settled);
        for range in ranges.take(RANGES_MAX) {
            front.push(&((range.start - end) as u32).to_le_bytes());
            front.push(&((range.end - range.start) as u32).to_le_bytes());
            (count, end) = (count + 1, range.end);
        }
        let kind = match load {
            Load::Nothing => 0,
            Load::Ping => 1,
            Load::Frames(at, ()) => {
                front.push(&at.to_le_bytes());
                2
            }
            Load::Fragment(fragment, ()) => {
                front.push(&fragment.to_bytes());
                3
            }
            Load::Probe => 4,
            Load::Bye => 5,
            Load::Trial => 6,
            Load::TrialAnswer => 7,
        };
        let back = (head.number - head.oldest) as u32;
        let words = [head.number, head.settled, head.credit];
        for (chunk, word) in front.bytes[..24].chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        front.bytes[24..28].copy_from_slice(&back.to_le_bytes());
        front.bytes[28..32].copy_from_slice(&head.held_micros.to_le_bytes());
        front.bytes[32..35].copy_from_slice(&[kind, u8::from(head.asks) * ASKS, count]);
        front
    }

    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Its bytes.
    #[inline]
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Numbers that came, above those that are settled: checked bytes of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Acks<'a> {
    settled: u64,
    bytes: &'a [u8],
}

impl Acks<'_> {
    /// All ranges of numbers that came, the lowest first; the first one may be empty.
    pub(super) fn ranges(self) -> impl Iterator<Item = Range<u64>> {
        let mut end = self.settled;
        let above = self.bytes.chunks_exact(RANGE_BYTES).map(move |bytes| {
            let [gap, len] = pair(bytes);
            let start = end + gap;
            end = start + len;
            start..end
        });
        std::iter::once(0..self.settled).chain(above)
    }

    /// Behind the highest number that came.
    pub(super) fn end(self) -> u64 {
        let above = self.bytes.chunks_exact(RANGE_BYTES).map(pair);
        self.settled + above.flatten().sum::<u64>()
    }
}

/// The two numbers of a range.
fn pair(bytes: &[u8]) -> [u64; 2] {
    let mut fields = Fields { bytes };
    [(); 2].map(|()| fields.u32().unwrap_or(0).into())
}

/// A datagram that has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Arrival<'a> {
    pub head: Head,
    pub acks: Acks<'a>,
    pub load: Load<&'a [u8]>,
}

/// The number of a datagram, if these bytes are one: the nonce of its tag.
pub fn number_of(bytes: &[u8]) -> Option<u64> {
    Fields { bytes }.u64().filter(|number| *number <= NUMBER_MAX)
}

impl Arrival<'_> {
    /// Reads a datagram.
    pub(super) fn parse(bytes: &[u8]) -> Result<Arrival<'_>, &'static str> {
        let mut fields = Fields { bytes };
        let (head, [kind, _, ranges, _]) = parse_head(&mut fields)?;
        let len = usize::from(ranges) * RANGE_BYTES;
        if usize::from(ranges) > RANGES_MAX || fields.bytes.len() < len {
            return Err("a datagram of it acknowledges more ranges than it has room for");
        }
        let (ranges, rest) = fields.bytes.split_at(len);
        if ranges.chunks_exact(RANGE_BYTES).any(|bytes| pair(bytes).contains(&0)) {
            return Err("a datagram of it acknowledges an empty range");
        }
        let acks = Acks { settled: head.settled, bytes: ranges };
        let load = parse_load(kind, rest)?;
        Ok(Arrival { head, acks, load })
    }
}

fn parse_head(fields: &mut Fields<'_>) -> Result<(Head, [u8; 4]), &'static str> {
    const SHORT: &str = "a datagram of it is shorter than a head";
    let [number, settled, credit] = fields.words().ok_or(SHORT)?;
    let (back, held_micros) = (fields.u32().ok_or(SHORT)?, fields.u32().ok_or(SHORT)?);
    let last = fields.take::<4>().ok_or(SHORT)?;
    if [number, settled, credit].iter().any(|number| *number > NUMBER_MAX) {
        return Err("a datagram of it has a number that is never reached");
    }
    let oldest = number.checked_sub(back.into());
    let oldest = oldest.ok_or("a datagram of it is in doubt about numbers below the first")?;
    if last[1] & !ASKS != 0 || last[3] != 0 {
        return Err("a datagram of it has a flag that is not known");
    }
    let asks = last[1] & ASKS != 0;
    Ok((Head { number, oldest, settled, credit, held_micros, asks }, last))
}

fn parse_load(kind: u8, bytes: &[u8]) -> Result<Load<&[u8]>, &'static str> {
    let mut fields = Fields { bytes };
    match kind {
        0 | 1 | 5..=7 if !bytes.is_empty() => {
            Err("a datagram of it has bytes that belong to nothing")
        }
        0 => Ok(Load::Nothing),
        1 => Ok(Load::Ping),
        2 => match fields.u64() {
            Some(at) if at <= NUMBER_MAX && !fields.bytes.is_empty() => {
                Ok(Load::Frames(at, fields.bytes))
            }
            _ => Err("a datagram of it has frames without a place or without bytes"),
        },
        3 => {
            let head = fields.take().ok_or("a fragment of it is shorter than its head")?;
            let fragment = FragmentHead::from_bytes(&head, fields.bytes.len() as u64)?;
            if fragment.total.max(fragment.id) > NUMBER_MAX {
                return Err("a message of it is longer than any memory");
            }
            Ok(Load::Fragment(fragment, fields.bytes))
        }
        4 => Ok(Load::Probe),
        5 => Ok(Load::Bye),
        6 => Ok(Load::Trial),
        7 => Ok(Load::TrialAnswer),
        _ => Err("a datagram of it is of no known kind"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi_core::header::Header;
    use proptest::prelude::*;

    impl<B> Load<B> {
        fn map<C>(self, f: impl FnOnce(B) -> C) -> Load<C> {
            match self {
                Load::Nothing => Load::Nothing,
                Load::Ping => Load::Ping,
                Load::Probe => Load::Probe,
                Load::Bye => Load::Bye,
                Load::Trial => Load::Trial,
                Load::TrialAnswer => Load::TrialAnswer,
                Load::Frames(at, body) => Load::Frames(at, f(body)),
                Load::Fragment(fragment, body) => Load::Fragment(fragment, f(body)),
            }
        }
    }

    fn heads() -> impl Strategy<Value = Head> {
        let numbers = (0..NUMBER_MAX, any::<u32>(), 0..NUMBER_MAX, 0..NUMBER_MAX);
        (numbers, any::<u32>(), any::<bool>()).prop_map(|(numbers, held_micros, asks)| {
            let (number, back, settled, credit) = numbers;
            let oldest = number - u64::from(back).min(number);
            Head { number, oldest, settled, credit, held_micros, asks }
        })
    }

    fn loads() -> impl Strategy<Value = Load<Vec<u8>>> {
        let body = || prop::collection::vec(any::<u8>(), 1..100);
        prop_oneof![
            Just(Load::Nothing),
            Just(Load::Ping),
            Just(Load::Probe),
            Just(Load::Bye),
            Just(Load::Trial),
            Just(Load::TrialAnswer),
            (0..NUMBER_MAX, body()).prop_map(|(at, body)| Load::Frames(at, body)),
            (any::<u32>(), any::<u32>(), any::<u64>(), body()).prop_map(
                |(at, more, context, body)| {
                    let header = Header { context, tag: 5, ..Header::default() };
                    let (at, id) = (at.into(), more.into());
                    let total = at + body.len() as u64 + u64::from(more);
                    Load::Fragment(FragmentHead { header, id, total, at }, body)
                }
            ),
        ]
    }

    proptest! {
        #[test]
        fn datagrams_come_back_and_shorter_ones_are_no_others(
            head in heads(), load in loads(),
            pairs in prop::collection::vec((1u32.., 1u32..), 0..=RANGES_MAX),
            cut: prop::sample::Index,
        ) {
            let mut end = head.settled;
            let ranges: Vec<Range<u64>> = pairs.iter().map(|(gap, len)| {
                let start = end + u64::from(*gap);
                end = start + u64::from(*len);
                start..end
            }).collect();
            let (kind, mut body) = (load.clone().map(drop), Vec::new());
            load.clone().map(|bytes| body = bytes);
            let front = Front::new(&head, ranges.iter(), &kind);
            let bytes = [front.as_bytes(), &body].concat();
            prop_assert!(bytes.len() >= Front::bytes_with(ranges.len()) + body.len());
            let read = Arrival::parse(&bytes).unwrap();
            prop_assert_eq!(read.head, head);
            prop_assert_eq!(number_of(&bytes), Some(head.number));
            prop_assert_eq!(read.acks.end(), end);
            let told: Vec<Range<u64>> = read.acks.ranges().skip(1).collect();
            prop_assert_eq!(told, ranges);
            prop_assert_eq!(read.load.map(<[u8]>::to_vec), load);
            if let Ok(shorter) = Arrival::parse(&bytes[..cut.index(bytes.len())]) {
                prop_assert!(shorter.load != read.load);
            }
        }

        #[test]
        fn noise_is_refused_or_within_bounds(
            mut bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0u8..7, ranges in 0u8..20,
        ) {
            // Most noise would not get beyond the first check.
            for number in [7, 15, 23] {
                if let Some(byte) = bytes.get_mut(number) { *byte &= 0x3f; }
            }
            if let Some(last) = bytes.get_mut(32..36) {
                last.copy_from_slice(&[kind, kind & ASKS, ranges, 0]);
            }
            if let Ok(read) = Arrival::parse(&bytes) {
                prop_assert!(read.acks.ranges().count() <= RANGES_MAX + 1);
                prop_assert!(read.acks.ranges().skip(1).all(|range| !range.is_empty()));
                prop_assert_eq!(read.acks.ranges().last().map(|last| last.end), Some(read.acks.end()));
                prop_assert!(read.head.oldest <= read.head.number);
                if let Load::Fragment(fragment, body) = read.load {
                    prop_assert!(fragment.at + body.len() as u64 <= fragment.total);
                }
            }
        }
    }
}
