//! The stream of frames on its way in: datagrams in any order become frames in the order of sending.
//!
//! Where nothing is missing, frames are shown to the sink where they lie in the datagram. What came too
//! early or is not yet whole is kept, at most as much as the peer has credit for and one frame.

use mpi_core::buffer::RawBytes;
use mpi_core::header::{HEADER_BYTES, Header};

use super::outgoing::LENGTH_BYTES;
use super::ranges::Ranges;
use super::{Breach, Listener};

/// Bytes of the stream, from the first frame that was not shown yet.
#[derive(Default)]
pub(super) struct Reassembly {
    /// Place of the first byte of that frame.
    begin: u64,
    /// Places that have come.
    come: Ranges,
    /// Bytes from `begin` on, with gaps.
    kept: Vec<u8>,
}

impl Reassembly {
    /// The first place that has not come.
    #[inline]
    pub(super) fn low(&self) -> u64 {
        self.come.low()
    }

    /// Takes bytes of the stream from the place `at` on, which lie before `limit`; frames may have
    /// bodies of `frame_max` bytes.
    pub(super) fn take(
        &mut self,
        at: u64,
        bytes: &[u8],
        limit: u64,
        frame_max: usize,
        to: &mut impl Listener,
    ) -> Result<(), Breach> {
        let end = at + bytes.len() as u64;
        if end > limit {
            return Err(Breach("it sends more frames than it may"));
        }
        if at == self.begin && self.kept.is_empty() {
            let used = show(bytes, frame_max, to)?;
            self.come.raise(end);
            self.begin += used as u64;
            self.kept.extend_from_slice(&bytes[used..]);
            return Ok(());
        }
        let (begin, kept) = (self.begin, &mut self.kept);
        self.come.insert(at..end, |new| {
            // Nothing new lies before `begin`: all of that has come.
            let [from, to] = [new.start, new.end].map(|place| (place - begin) as usize);
            if kept.len() < to {
                kept.resize(to, 0);
            }
            let source = (new.start - at) as usize;
            kept[from..to].copy_from_slice(&bytes[source..source + (to - from)]);
        });
        let whole = (self.come.low() - begin) as usize;
        let used = show(&self.kept[..whole], frame_max, to)?;
        self.begin += used as u64;
        self.kept.drain(..used);
        Ok(())
    }

    /// Whether something has come that waits for the rest of it.
    pub(super) fn is_waiting(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Gives back the memory that is not in use.
    pub(super) fn trim(&mut self) {
        self.come.trim();
        self.kept.shrink_to_fit();
    }
}

/// Shows all whole frames at the beginning of `bytes`; how many bytes these are.
#[inline]
fn show(bytes: &[u8], frame_max: usize, to: &mut impl Listener) -> Result<usize, Breach> {
    let mut rest = bytes;
    while let Some((length, behind)) = rest.split_first_chunk::<LENGTH_BYTES>() {
        let length = u32::from_le_bytes(*length) as usize;
        if !(HEADER_BYTES..=HEADER_BYTES + frame_max).contains(&length) {
            return Err(Breach("a frame of it has an impossible length"));
        }
        let Some((frame, behind)) = behind.split_at_checked(length) else { break };
        let Some((header, body)) = frame.split_first_chunk::<HEADER_BYTES>() else { break };
        to.frame(&Header::from_bytes(header), RawBytes::from(body));
        rest = behind;
    }
    Ok(bytes.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reliability::tests::Recorder;
    use proptest::prelude::*;

    const MAX: usize = 300;

    fn record(number: u64, len: usize) -> Vec<u8> {
        let header = Header { context: number, ..Header::default() };
        let length = ((HEADER_BYTES + len) as u32).to_le_bytes();
        [&length[..], &header.to_bytes(), &vec![number as u8; len]].concat()
    }

    /// A place and bytes, among which are some that can be lengths.
    fn noise() -> impl Strategy<Value = (u64, Vec<u8>)> {
        let bytes = prop::sample::select(&[0u8, 24, 30, 255][..]);
        (prop_oneof![0u64..4, 0u64..600], prop::collection::vec(bytes, 1..80))
    }

    proptest! {
        #[test]
        fn frames_come_in_order_from_fragments_in_any(
            lens in prop::collection::vec(0usize..MAX, 1..20),
            fragments in prop::collection::vec((any::<prop::sample::Index>(), 1usize..500), 0..60),
        ) {
            let stream: Vec<u8> =
                lens.iter().enumerate().flat_map(|(n, len)| record(n as u64, *len)).collect();
            let (mut all, mut heard) = (Reassembly::default(), Recorder::default());
            let limit = stream.len() as u64;
            let random = fragments.iter().map(|(at, len)| (at.index(stream.len()), *len));
            let rest = (0..stream.len()).step_by(100).map(|at| (at, 100));
            for (at, len) in random.chain(rest) {
                let bytes = &stream[at..stream.len().min(at + len)];
                all.take(at as u64, bytes, limit, MAX, &mut heard).unwrap();
                prop_assert!(all.kept.len() as u64 <= limit - all.begin);
            }
            prop_assert_eq!((all.low(), all.kept.len()), (limit, 0));
            prop_assert_eq!(heard.frames.len(), lens.len());
            for (n, ((header, body), len)) in heard.frames.iter().zip(&lens).enumerate() {
                prop_assert_eq!((header.context, body), (n as u64, &vec![n as u8; *len]));
            }
        }

        #[test]
        fn noise_is_refused_or_waits(chunks in prop::collection::vec(noise(), 1..20)) {
            let (mut all, mut heard) = (Reassembly::default(), Recorder::default());
            for (at, bytes) in chunks {
                // Who is refused may go on, and nothing worse comes of it.
                let taken = all.take(at, &bytes, 500, MAX, &mut heard);
                prop_assert!(taken.is_err() || at + bytes.len() as u64 <= 500);
                prop_assert!(all.kept.len() <= 500);
            }
            prop_assert!(heard.frames.iter().all(|(_, body)| body.len() <= MAX));
        }
    }
}
