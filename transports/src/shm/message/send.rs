//! The way out: a small frame into a cell, or its body into the pair's exchange buffer, a slot, or a run of the ring.

use mpi_core::buffer::RawBytes;
use mpi_core::header::{BODY_ELSEWHERE, BODY_ELSEWHERE_WORD, Header, INLINE_BYTES};
use mpi_core::port::{Body, Full, PeerId};
use mpi_core::tuning::BODIES_PER_LOOK;

use super::gather::{gather_bytes, gather_packed, gather_pair, gather_word};
use crate::reach::Reach;
use crate::shm::peer::{IMPOSSIBLE_COUNT, State};
use crate::shm::ring::exchange::EXCHANGE;
use crate::shm::ring::lane::{BESIDE_BYTES, Class};
use crate::shm::{Contacts, Shm};

/// Where a body goes: into the exchange buffer, a slot, or a run of the ring of so many bytes.
#[derive(Clone, Copy)]
struct Place {
    offset: u64,
    run_bytes: u32,
    at: *mut u8,
}

impl Place {
    /// Copies a body there.
    ///
    /// # Safety
    /// The body is readable, and the place is as long.
    #[inline(always)]
    unsafe fn fill(self, reach: &Reach, body: RawBytes<'_>) {
        // SAFETY: by the caller's promise; slots and runs begin on a line.
        unsafe {
            if self.offset >= EXCHANGE {
                body.copy_small_to(self.at);
            } else {
                reach.copy(body, self.at);
            }
        }
    }
}

/// Bytes of a body not yet sent.
fn body_len(body: &Body<'_>) -> u64 {
    match body {
        Body::Bytes(bytes) => bytes.len() as u64,
        Body::Packed(packer) => packer.remaining(),
    }
}

impl Shm {
    /// Whether there is an open lane to `peer` that surely can take a frame.
    #[inline(always)]
    pub fn has_cell(&self, peer: PeerId) -> bool {
        self.contacts.peers.get(peer.0 as usize).is_some_and(|to| to.writer.has_room())
    }

    /// Writes a frame whose body fits into its cell, if there is room (see [`mpi_core::port::Transport::send_inline`]).
    #[inline(always)]
    pub(in crate::shm) fn write_inline(
        &mut self,
        peer: PeerId,
        header: Header,
        bytes: RawBytes<'_>,
    ) -> bool {
        let Some(to) = self.contacts.peers.get_mut(peer.0 as usize) else { return false };
        let len = bytes.len();
        if !to.writer.has_room() || len > INLINE_BYTES {
            return false;
        }
        let words = Header { inline_len: len as u8, ..header }.to_words(0);
        let ride = to.reader.ride();
        if len <= 8 {
            to.writer.write(Class::Inline, ride, words, &[gather_word(bytes)]);
        } else if len <= 16 {
            to.writer.write(Class::Inline, ride, words, &gather_pair(bytes));
        } else {
            to.writer.write(Class::Inline, ride, words, &gather_bytes(bytes));
        }
        if let Some(word) = to.sleeps() {
            self.contacts.wake_sleeper(peer, word);
        }
        true
    }

    /// Sends a small frame (see [`mpi_core::port::Transport::send`]).
    #[inline]
    pub(in crate::shm) fn send_frame(
        &mut self,
        peer: PeerId,
        header: &Header,
        body: Body<'_>,
    ) -> Result<(), Full> {
        let len = body_len(&body);
        if peer.0 as usize >= self.contacts.peers.len() {
            return self.contacts.refuse();
        }
        if !self.has_cell(peer) {
            return self.send_slow(peer, header, body, len);
        }
        let packer = match body {
            Body::Bytes(bytes) if len <= INLINE_BYTES as u64 => {
                self.write_inline(peer, *header, bytes);
                return Ok(());
            }
            Body::Bytes(bytes) if self.write_body(peer, header.to_words(0), bytes) => return Ok(()),
            Body::Packed(packer) if len <= INLINE_BYTES as u64 => packer,
            body => return self.send_slow(peer, header, body, len),
        };
        let to = &mut self.contacts.peers[peer.0 as usize];
        let words = Header { inline_len: len as u8, ..*header }.to_words(0);
        let ride = to.reader.ride();
        to.writer.write(Class::Inline, ride, words, &gather_packed(packer));
        if let Some(word) = to.sleeps() {
            self.contacts.wake_sleeper(peer, word);
        }
        Ok(())
    }

    /// Writes a longer body that goes in one fragment, beside the cells if it is short, and the frame
    /// that names it, if there is an open lane with room, and room for the body; whether there is.
    /// The header comes in words: its fields, written one by one to memory and read back as words
    /// at once, would have to wait until all stores before them have left the processor.
    #[inline(never)]
    pub(in crate::shm) fn write_body(
        &mut self,
        peer: PeerId,
        header: [u64; 3],
        body: RawBytes<'_>,
    ) -> bool {
        let Some(to) = self.contacts.peers.get_mut(peer.0 as usize) else { return false };
        let len = body.len() as u64;
        if !to.writer.has_room() || len > self.whole_most {
            return false;
        }
        let words = [header[0] | BODY_ELSEWHERE_WORD, header[1], header[2]];
        if len <= BESIDE_BYTES as u64
            && let Some(at) = to.writer.beside()
        {
            // SAFETY: the place has so many bytes; the body is readable by `Body`'s contract.
            unsafe { body.copy_small_to(at) };
            to.writer.write(Class::Beside, to.reader.ride(), words, &[len]);
            if let Some(word) = to.sleeps() {
                self.contacts.wake_sleeper(peer, word);
            }
            return true;
        }
        let offset = if let Some(at) = to.exchange.hand_over(len) {
            // SAFETY: the buffer has so many bytes; the body is readable by `Body`'s contract.
            unsafe { body.copy_small_to(at) };
            EXCHANGE
        } else {
            let slots = len <= self.contacts.config.shm.slot_bytes.into();
            if !slots || to.held.len() >= BODIES_PER_LOOK {
                return false;
            }
            let Some(offset) = self.contacts.slots.take() else { return false };
            let at = self.contacts.arena.at(offset, body.len());
            // SAFETY: a slot has so many bytes; as above.
            unsafe { to.reach.copy(body, at) };
            to.held.note(to.writer.tail(), offset, 0);
            offset
        };
        to.writer.write(Class::Body, to.reader.ride(), words, &[offset, len]);
        if let Some(word) = to.sleeps() {
            self.contacts.wake_sleeper(peer, word);
        }
        true
    }

    /// Everything else: no room yet, or a body that is not one run of memory.
    #[inline(never)]
    fn send_slow(
        &mut self,
        peer: PeerId,
        header: &Header,
        body: Body<'_>,
        len: u64,
    ) -> Result<(), Full> {
        if !self.contacts.make_room(peer) {
            // The hello that is awaited rings; room in a lane does not.
            return match self.contacts.peers[peer.0 as usize].state {
                State::Greeted => Err(Full),
                _ => self.contacts.refuse(),
            };
        }
        if len <= INLINE_BYTES as u64 {
            return self.send_frame(peer, header, body);
        }
        if len > self.eager_most {
            debug_assert!(false, "a body of {len} bytes is no small frame");
            return self.contacts.refuse();
        }
        if len > self.whole_most {
            return self.send_stream(peer, header, body, len);
        }
        let Some(place) = self.contacts.take_place(peer, len) else {
            return self.contacts.refuse();
        };
        let reach = &self.contacts.peers[peer.0 as usize].reach;
        match body {
            // SAFETY: `take_place` gave so many bytes; the body is readable by `Body`'s contract.
            Body::Bytes(bytes) => unsafe { place.fill(reach, bytes) },
            // SAFETY: as above.
            Body::Packed(packer) if place.offset >= EXCHANGE => unsafe {
                packer.pack_into(place.at, len as usize);
            },
            // SAFETY: as above.
            Body::Packed(packer) => unsafe {
                reach.pack(packer, place.at, len as usize);
            },
        }
        self.contacts.name_place(peer, header, place, len);
        Ok(())
    }
}

impl Contacts {
    /// Writes the cell that names a filled place.
    #[inline]
    fn name_place(&mut self, peer: PeerId, header: &Header, place: Place, len: u64) {
        let to = &mut self.peers[peer.0 as usize];
        if place.offset < EXCHANGE {
            to.held.note(to.writer.tail(), place.offset, place.run_bytes);
        }
        let words = Header { inline_len: BODY_ELSEWHERE, ..*header }.to_words(0);
        let ride = to.reader.ride();
        to.writer.write(Class::Body, ride, words, &[place.offset, len]);
        self.wake(peer);
    }

    #[cold]
    pub(in crate::shm) fn refuse(&mut self) -> Result<(), Full> {
        self.refused = true;
        Err(Full)
    }

    /// Room for a body that goes to `peer` in one fragment, ours until the peer has consumed the
    /// cell that names it: the exchange buffer if this side holds it, or else, if need be after a
    /// look at how far all readers are, a slot, or a run of the ring for one that is longer.
    #[inline(always)]
    fn take_place(&mut self, peer: PeerId, len: u64) -> Option<Place> {
        match self.peers[peer.0 as usize].exchange.hand_over(len) {
            Some(at) => Some(Place { offset: EXCHANGE, run_bytes: 0, at }),
            None => self.take_own_place(peer, len),
        }
    }

    #[inline]
    fn take_own_place(&mut self, peer: PeerId, len: u64) -> Option<Place> {
        let (offset, run_bytes) = if len > self.config.shm.slot_bytes.into() {
            (self.take_run_for(peer, len)?, len as u32)
        } else {
            let slot = self.slots.take().or_else(|| {
                self.reclaim();
                let open = self.peers[peer.0 as usize].state == State::Open;
                open.then(|| self.slots.take()).flatten()
            });
            (slot?, 0)
        };
        Some(Place { offset, run_bytes, at: self.arena.at(offset, len as usize) })
    }

    /// Takes back all slots and runs that were read.
    #[cold]
    pub(in crate::shm) fn reclaim(&mut self) {
        for i in 0..self.peers.len() {
            let to = &mut self.peers[i];
            if !to.held.is_empty() && to.look(&mut self.slots, &mut self.ring).is_err() {
                self.drop_peer(PeerId(i as u32), IMPOSSIBLE_COUNT);
            }
        }
    }

    /// Finds out whether the lane to `peer` can take a frame, connecting it if need be.
    pub(in crate::shm) fn make_room(&mut self, peer: PeerId) -> bool {
        if self.peers[peer.0 as usize].state != State::Open {
            self.approach(peer);
        }
        let to = &mut self.peers[peer.0 as usize];
        if to.state != State::Open {
            return false;
        }
        let due = !to.writer.has_room() || to.held.len() % BODIES_PER_LOOK == BODIES_PER_LOOK - 1;
        if due && to.look(&mut self.slots, &mut self.ring).is_err() {
            self.drop_peer(peer, IMPOSSIBLE_COUNT);
            return false;
        }
        self.peers[peer.0 as usize].writer.has_room()
    }
}
