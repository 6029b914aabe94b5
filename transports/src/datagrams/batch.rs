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
pub(super) use crate::sys::udp::BATCH_BYTES_MAX;
use crate::sys::udp::BATCH_MAX;

/// Bytes around those of a link.
pub(super) const AROUND_BYTES: usize = ENVELOPE_BYTES + TAG_BYTES;

/// Bytes of our own for one batch: its fronts and one whole datagram of any length, twice.
const ROOM: usize = 2 * BATCH_BYTES_MAX + BATCH_MAX * 512;

/// One datagram.
struct Entry {
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
pub struct Batch {
    own: Box<[u8]>,
    used: usize,
    runs: Vec<Run>,
    entries: Vec<Entry>,
    /// Those before this one have been sent.
    first: usize,
}

// SAFETY: the addresses in runs are of memory that belongs to links or requests, which any thread may read
// and write; they are touched by the owner of the transport alone, and only within one of its calls.
unsafe impl Send for Batch {}

impl Batch {
    /// An empty batch.
    pub(super) fn new() -> Batch {
        let (own, runs, entries) = (vec![0; ROOM].into_boxed_slice(), Vec::new(), Vec::new());
        Batch { own, used: 0, runs, entries, first: 0 }
    }

    /// Forgets all datagrams.
    pub(super) fn clear(&mut self) {
        (self.used, self.first) = (0, 0);
        self.runs.clear();
        self.entries.clear();
    }

    /// Whether there are no datagrams that were not sent.
    pub(super) fn is_empty(&self) -> bool {
        self.first == self.entries.len()
    }

    /// Whether one more datagram has room, whatever its length.
    pub(super) fn has_room(&self) -> bool {
        self.own.len() - self.used >= BATCH_BYTES_MAX + AROUND_BYTES
            && self.entries.len() - self.first < BATCH_MAX
    }

    /// Adds a datagram.
    ///
    /// # Safety
    /// What it holds is readable, and stays so until the batch is sent or cleared.
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
        self.entries.push(Entry { number, bytes, runs_end, is_probe });
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
        let begins = self.entries.last().map_or(0, |last| last.runs_end);
        match self.runs[begins..].last_mut() {
            Some(last) if last.ends_at(at) => last.extend(range.len()),
            _ => self.runs.push(Run::new(at, range.len())),
        }
    }

    /// The next datagrams that go in one call: of one length, the last of which may be shorter; a single one
    /// unless they may be `joined`.
    #[inline]
    pub fn next(&self, joined: bool) -> Option<Part> {
        let entries = &self.entries[self.first..];
        let Entry { bytes: each, is_probe, .. } = *entries.first()?;
        let joins = joined && !is_probe;
        let most = if joins { BATCH_MAX.min(BATCH_BYTES_MAX / each).max(1) } else { 1 };
        let ordinary = entries.iter().take(most).take_while(|entry| entry.is_probe == is_probe);
        let equal = ordinary.clone().take_while(|entry| entry.bytes == each).count();
        let has_last = ordinary.clone().nth(equal).is_some_and(|last| last.bytes < each);
        let count = equal + usize::from(has_last);
        let begin = self.first.checked_sub(1).map_or(0, |last| self.entries[last].runs_end);
        let runs = begin..entries[count - 1].runs_end;
        Some(Part { runs, each: if count > 1 { each as u16 } else { 0 }, count })
    }

    /// The runs of a part of the batch.
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
        self.entries.get(self.first).map_or(0, |entry| entry.bytes - AROUND_BYTES)
    }

    /// The numbers of those that were not sent, the last one first.
    pub(super) fn unsent(&self) -> impl Iterator<Item = u64> {
        self.entries[self.first..].iter().rev().map(|entry| entry.number)
    }
}
