//! Datagrams of one peer that leave together, in one call where the carrier can: fronts and short contents in memory of
//! our own, longer contents where they are.
//!
//! Before the bytes of a link stands an envelope, behind them a tag.

use std::ops::Range;

use mpi_core::buffer::RawBytes;

use super::envelope::{ENVELOPE_BYTES, Envelope};
use super::tag::{Keys, SHORT_BYTES, TAG_BYTES};
use crate::reliability::{Content, Datagram};
use crate::sys::inet::Run;
pub(super) use crate::sys::udp::TRAIN_BYTES_MAX;
use crate::sys::udp::TRAIN_MAX;

/// Bytes around those of a link.
pub(super) const AROUND_BYTES: usize = ENVELOPE_BYTES + TAG_BYTES;

/// Bytes of our own for one train: its fronts and one whole datagram of any length, twice.
const ROOM: usize = 2 * TRAIN_BYTES_MAX + TRAIN_MAX * 512;

/// One datagram.
struct Wagon {
    number: u64,
    bytes: usize,
    /// Behind its last run.
    runs_end: usize,
    /// Whether it tries a length: then it goes by itself.
    is_probe: bool,
}

/// Datagrams that go in one call.
pub struct Part {
    /// Where their bytes are.
    pub runs: Range<usize>,
    /// Bytes of each but the last; 0 if there is but one.
    pub each: u16,
    /// How many they are.
    pub count: usize,
}

/// Datagrams that are sent together. Their contents stay where they are until then.
pub struct Train {
    own: Box<[u8]>,
    used: usize,
    runs: Vec<Run>,
    wagons: Vec<Wagon>,
    /// Those before this one have been sent.
    first: usize,
}

// SAFETY: the addresses in runs are of memory that belongs to links or requests, which any thread may read
// and write; they are touched by the owner of the transport alone, and only within one of its calls.
unsafe impl Send for Train {}

impl Train {
    /// An empty train.
    pub(super) fn new() -> Train {
        let (own, runs, wagons) = (vec![0; ROOM].into_boxed_slice(), Vec::new(), Vec::new());
        Train { own, used: 0, runs, wagons, first: 0 }
    }

    /// Forgets all datagrams.
    pub(super) fn clear(&mut self) {
        (self.used, self.first) = (0, 0);
        self.runs.clear();
        self.wagons.clear();
    }

    /// Whether there are no datagrams that were not sent.
    pub(super) fn is_empty(&self) -> bool {
        self.first == self.wagons.len()
    }

    /// Whether one more datagram has room, whatever its length.
    pub(super) fn has_room(&self) -> bool {
        self.own.len() - self.used >= TRAIN_BYTES_MAX + AROUND_BYTES
            && self.wagons.len() - self.first < TRAIN_MAX
    }

    /// Adds a datagram.
    ///
    /// # Safety
    /// What it holds is readable, and stays so until the train is sent or cleared.
    #[inline]
    pub(super) unsafe fn push(&mut self, datagram: &Datagram<'_>, envelope: Envelope, keys: &Keys) {
        let begin = self.used;
        let bytes = ENVELOPE_BYTES + datagram.bytes() + TAG_BYTES;
        self.add(&Envelope { length: bytes as u16, ..envelope }.to_bytes());
        self.add(datagram.front());
        let stays = bytes > SHORT_BYTES + TAG_BYTES;
        // SAFETY: by the caller's promise.
        let content = unsafe { self.add_content(datagram.content(), stays) };
        let (number, front) = (datagram.number(), begin..self.used);
        let own = &self.own[front.clone()];
        let tag = match stays {
            false => keys.of_short(number, own),
            // SAFETY: by the caller's promise.
            true => unsafe { keys.of_long(number, own, content) },
        };
        self.own(front);
        if !content.is_empty() {
            self.runs.push(Run::new(content.as_ptr(), content.len()));
        }
        let end = self.used;
        self.add(&tag);
        self.own(end..end + TAG_BYTES);
        let (runs_end, is_probe) = (self.runs.len(), datagram.is_probe());
        self.wagons.push(Wagon { number, bytes, runs_end, is_probe });
    }

    /// Copies bytes behind those of our own.
    #[inline]
    fn add(&mut self, bytes: &[u8]) {
        self.own[self.used..self.used + bytes.len()].copy_from_slice(bytes);
        self.used += bytes.len();
    }

    /// Copies a content behind those, or gives it back if it is one run that `stays` where it is.
    unsafe fn add_content<'a>(&mut self, content: &Content<'a>, stays: bool) -> RawBytes<'a> {
        match content {
            Content::Nothing => {}
            Content::Own([only, []]) if stays => return RawBytes::from(*only),
            Content::Own(runs) => runs.iter().for_each(|run| self.add(run)),
            Content::User(packer) => {
                if let Some((at, len)) = packer.as_contiguous()
                    && stays
                {
                    // SAFETY: by the caller's promise.
                    return unsafe { RawBytes::new(at, len as usize) };
                }
                let to = &mut self.own[self.used..];
                // SAFETY: `to` is ours; the message is readable by the caller's promise.
                self.used += unsafe { packer.clone().pack_into(to.as_mut_ptr(), to.len()) };
            }
        }
        RawBytes::EMPTY
    }

    /// Adds a run of our own memory, to the last one if it follows that.
    #[inline]
    fn own(&mut self, range: Range<usize>) {
        let at = self.own[range.clone()].as_ptr();
        let begins = self.wagons.last().map_or(0, |last| last.runs_end);
        match self.runs[begins..].last_mut() {
            Some(last) if last.ends_at(at) => last.extend(range.len()),
            _ => self.runs.push(Run::new(at, range.len())),
        }
    }

    /// The next datagrams that go in one call: of one length, the last of which may be shorter; a single one
    /// unless they may be `joined`.
    #[inline]
    pub fn next(&self, joined: bool) -> Option<Part> {
        let wagons = &self.wagons[self.first..];
        let Wagon { bytes: each, is_probe, .. } = *wagons.first()?;
        let joins = joined && !is_probe;
        let most = if joins { TRAIN_MAX.min(TRAIN_BYTES_MAX / each).max(1) } else { 1 };
        let ordinary = wagons.iter().take(most).take_while(|wagon| wagon.is_probe == is_probe);
        let equal = ordinary.clone().take_while(|wagon| wagon.bytes == each).count();
        let has_last = ordinary.clone().nth(equal).is_some_and(|last| last.bytes < each);
        let count = equal + usize::from(has_last);
        let begin = self.first.checked_sub(1).map_or(0, |last| self.wagons[last].runs_end);
        let runs = begin..wagons[count - 1].runs_end;
        Some(Part { runs, each: if count > 1 { each as u16 } else { 0 }, count })
    }

    /// The runs of a part of the train.
    pub fn runs(&self, range: Range<usize>) -> &[Run] {
        &self.runs[range]
    }

    /// So many datagrams have been sent.
    pub(super) fn sent(&mut self, count: usize) {
        self.first += count;
        if self.is_empty() {
            self.clear();
        }
    }

    /// Bytes of the first that was not sent, those around a link's aside.
    pub(super) fn refused_bytes(&self) -> usize {
        self.wagons.get(self.first).map_or(0, |wagon| wagon.bytes - AROUND_BYTES)
    }

    /// The numbers of those that were not sent, the last one first.
    pub(super) fn unsent(&self) -> impl Iterator<Item = u64> {
        self.wagons[self.first..].iter().rev().map(|wagon| wagon.number)
    }
}
