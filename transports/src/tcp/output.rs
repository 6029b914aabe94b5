//! The outgoing half of a stream: a sequence of bytes that outlives connections.
//!
//! Bytes stay until the peer has acknowledged them, so a new connection goes on from whatever
//! place the peer says it has reached: nothing is lost and nothing comes twice. Small records
//! are kept in a ring of our own, fragments of large messages in the memory of their requests. Each part
//! of a record is sealed where it is added ([`super::seal`]). No input or output happens here:
//! [`Output::fill`] says what to send and [`Output::advance`] hears how much was.

use std::collections::VecDeque;

use mpi_core::buffer::RawBytes;
use mpi_core::port::Body;

use super::record::{FRAGMENT_BYTES, Kind, Record};
use super::seal::{Seal, Tag};
use crate::ring::Ring;
use crate::sys::tcp::Run;

/// Runs of memory handed to the kernel at once.
pub(super) const RUNS_MAX: usize = 16;

/// Bytes of a ring that was just used for the first time.
const RING_BYTES: usize = 4 << 10;

/// Where the bytes of a segment lie.
enum Place {
    /// The next bytes of the ring.
    Own,
    /// Memory of a request, until the transfer with this number has been told of its release.
    User(*const u8, u64),
    /// Packed bytes of such a transfer.
    Packed(Box<[u8]>, usize, u64),
}

struct Segment {
    place: Place,
    len: usize,
}

/// Bytes that are not acknowledged yet, and how far they were sent.
#[derive(Default)]
pub(super) struct Output {
    seal: Seal,
    ring: Ring<RING_BYTES>,
    segments: VecDeque<Segment>,
    /// Places in the sequence: of the first byte kept, of the first not sent, behind the last,
    /// and behind the last that the core waits for.
    acked: u64,
    sent: u64,
    end: u64,
    matters: u64,
    /// Behind the last byte that any connection was given: the peer may have all before it, also
    /// when a new connection has begun further back.
    reached: u64,
    /// Where `sent` is: number of the segment, bytes of it that were sent, and the place in the
    /// ring of its next own byte.
    segment: usize,
    offset: usize,
    ring_sent: u64,
}

impl Output {
    /// Nothing yet, for a stream that is protected so.
    pub(super) fn new(seal: Seal) -> Output {
        Output { seal, ..Output::default() }
    }

    /// Bytes of our own that are kept.
    #[inline]
    pub(super) fn kept(&self) -> usize {
        self.ring.len()
    }

    /// Whether all bytes were handed to the kernel.
    #[inline]
    pub(super) fn is_sent(&self) -> bool {
        self.sent == self.end
    }

    /// Bytes that were not handed to the kernel yet.
    #[inline]
    pub(super) fn unsent(&self) -> u64 {
        self.end - self.sent
    }

    /// Whether the peer has all frames and fragments that the core waits for.
    pub(super) fn is_delivered(&self) -> bool {
        self.acked >= self.matters
    }

    /// Whether bodies have to be copied, because they leave in another form than they have.
    #[inline]
    pub(super) fn encrypts(&self) -> bool {
        self.seal.encrypts()
    }

    /// Adds a short record: its head, `front`, and a body of `len` bytes.
    #[inline]
    pub(super) fn push(&mut self, kind: Kind, ack: u64, front: &[u8], body: Body<'_>, len: usize) {
        let rest = front.len() + len;
        self.push_sealed(Record { len: rest as u32, kind, ack }.to_bytes());
        if rest > 0 {
            self.ring.push(front);
            self.ring.push_body(body, len);
            let (seal, place) = (self.seal, self.end);
            let tag = match seal {
                Seal::Off => None,
                _ => self.ring.with_last(rest, |part| seal.close(place, part)),
            };
            self.note_own(rest);
            self.push_tag(tag);
        }
    }

    /// Adds the beginning of a long record, whose body of `len` bytes is to follow: its head and
    /// `front`.
    pub(super) fn push_front<const N: usize>(
        &mut self,
        kind: Kind,
        ack: u64,
        front: [u8; N],
        len: usize,
    ) {
        const { assert!(N <= FRAGMENT_BYTES) };
        self.push_sealed(Record { len: (N + len) as u32, kind, ack }.to_bytes());
        self.push_sealed(front);
    }

    /// Adds a part of our own and its tag.
    #[inline]
    fn push_sealed<const N: usize>(&mut self, mut part: [u8; N]) {
        let tag = self.seal.close(self.end, &mut part);
        self.ring.push(&part);
        self.note_own(N);
        self.push_tag(tag);
    }

    #[inline]
    fn push_tag(&mut self, tag: Option<Tag>) {
        if let Some(tag) = tag {
            self.ring.push(&tag);
            self.note_own(tag.len());
        }
    }

    /// The tag of a body that will be added next and goes as it lies.
    pub(super) fn tag_of(&self, body: RawBytes<'_>) -> Option<Tag> {
        self.seal.read_body(self.end).map(|mut reading| {
            reading.add(body);
            reading.tag()
        })
    }

    /// Adds a copy of the body of a long record; its tag, if that is known.
    pub(super) fn push_body(&mut self, body: Body<'_>, len: usize, tag: Option<Tag>) {
        self.ring.push_body(body, len);
        let (seal, place) = (self.seal, self.end);
        let tag = match seal {
            Seal::Off => None,
            _ => tag.or_else(|| self.ring.with_last(len, |body| seal.close_body(place, body))),
        };
        self.note_own(len);
        self.push_tag(tag);
    }

    /// The core waits for the delivery of what was added, when it ends: not of credit, which is for
    /// a sender who may be silent by then.
    #[inline]
    pub(super) fn expect_delivery(&mut self) {
        self.matters = self.end;
    }

    #[inline]
    fn note_own(&mut self, bytes: usize) {
        match self.segments.back_mut() {
            Some(Segment { place: Place::Own, len }) => *len += bytes,
            _ => self.segments.push_back(Segment { place: Place::Own, len: bytes }),
        }
        self.end += bytes as u64;
    }

    /// Adds a body of `len` bytes of a request's memory, for the transfer with this number.
    ///
    /// # Safety
    /// The bytes stay readable until the transfer is released.
    pub(super) unsafe fn push_user(&mut self, at: *const u8, len: usize, transfer: u64) {
        // SAFETY: by the caller's promise.
        let tag = self.tag_of(unsafe { RawBytes::new(at, len) });
        self.push_foreign(Place::User(at, transfer), len, tag);
    }

    /// Adds packed bytes as a body, which may be empty.
    pub(super) fn push_packed(&mut self, mut bytes: Box<[u8]>, transfer: u64) {
        let len = bytes.len();
        let tag = match len {
            0 => None,
            _ => self.seal.close_body(self.end, &mut bytes),
        };
        self.push_foreign(Place::Packed(bytes, 0, transfer), len, tag);
    }

    fn push_foreign(&mut self, place: Place, len: usize, tag: Option<Tag>) {
        self.segments.push_back(Segment { place, len });
        self.end += len as u64;
        self.push_tag(tag);
        self.expect_delivery();
    }

    /// Puts what is to be sent next into `runs`; how many there are.
    #[inline]
    pub(super) fn fill(&self, runs: &mut [Run; RUNS_MAX]) -> usize {
        let (mut count, mut offset, mut own) = (0, self.offset, self.ring_sent);
        for segment in self.segments.iter().skip(self.segment) {
            if count + 2 > RUNS_MAX {
                break;
            }
            let len = segment.len - offset;
            let mut add = |run: Run| {
                if run.bytes() > 0 {
                    runs[count] = run;
                    count += 1;
                }
            };
            match &segment.place {
                Place::Own => {
                    self.ring.to_send(own, len).into_iter().flatten().for_each(&mut add);
                    own += len as u64;
                }
                Place::User(at, _) => add(Run::new(at.wrapping_add(offset), len)),
                Place::Packed(bytes, from, _) => {
                    add(Run::new(bytes[from + offset..].as_ptr(), len));
                }
            }
            offset = 0;
        }
        count
    }

    /// Notes that the kernel took the next `n` bytes.
    #[inline]
    pub(super) fn advance(&mut self, mut n: usize) {
        self.sent += n as u64;
        self.reached = self.reached.max(self.sent);
        while n > 0 {
            let segment = &self.segments[self.segment];
            let step = n.min(segment.len - self.offset);
            if matches!(segment.place, Place::Own) {
                self.ring_sent += step as u64;
            }
            self.offset += step;
            n -= step;
            // An own segment at the end stays current: more may be added to it.
            if self.offset == segment.len && self.segment + 1 < self.segments.len() {
                self.segment += 1;
                self.offset = 0;
            }
        }
    }

    /// The peer has everything before `place`; `released` hears the transfer of each fragment that
    /// lies before it. An error when that much was never sent.
    #[inline]
    pub(super) fn acknowledge(
        &mut self,
        place: u64,
        mut released: impl FnMut(u64),
    ) -> Result<(), &'static str> {
        if place <= self.acked {
            return Ok(());
        }
        if place > self.sent {
            return Err("it acknowledges more than was sent");
        }
        let mut left = (place - self.acked) as usize;
        self.acked = place;
        while let Some(front) = self.segments.front_mut() {
            let step = left.min(front.len);
            front.len -= step;
            left -= step;
            match &mut front.place {
                Place::Own => self.ring.release(step),
                Place::User(at, _) => *at = at.wrapping_add(step),
                Place::Packed(_, from, _) => *from += step,
            }
            if self.segment == 0 {
                self.offset -= step;
            }
            if front.len > 0 {
                break;
            }
            if let Place::User(_, transfer) | Place::Packed(_, _, transfer) = front.place {
                released(transfer);
            }
            self.segments.pop_front();
            self.segment = self.segment.saturating_sub(1);
        }
        Ok(())
    }

    /// Whether a connection can go on from `place`: the peer is not known to be further, and was
    /// sent that much.
    pub(super) fn can_resume(&self, place: u64) -> bool {
        (self.acked..=self.reached).contains(&place)
    }

    /// Goes on from `place` over a new connection: the peer has all before it. Says as
    /// [`Output::acknowledge`].
    pub(super) fn resume(
        &mut self,
        place: u64,
        released: impl FnMut(u64),
    ) -> Result<(), &'static str> {
        if place < self.acked {
            return Err("it has lost what it had acknowledged");
        }
        if place > self.sent && self.can_resume(place) {
            // It was sent over an earlier connection than the last.
            self.advance((place - self.sent) as usize);
        }
        self.acknowledge(place, released)?;
        (self.segment, self.offset, self.ring_sent) = (0, 0, self.ring.start());
        self.sent = self.acked;
        Ok(())
    }

    /// Forgets everything: nobody will ever take it.
    pub(super) fn clear(&mut self) {
        *self = Output::new(self.seal);
    }
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
