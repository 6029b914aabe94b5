//! The way out: a small frame into a cell, or its body into the exchange buffer of the pair, a
//! slot, or a run of the ring.

use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Packer;
use mpi_core::header::{BODY_ELSEWHERE, Header, INLINE_BYTES};
use mpi_core::port::{Body, Full, PeerId, Why};

use super::exchange::EXCHANGE;
use super::lane::{BESIDE_BYTES, Class, PAYLOAD_WORDS, Reader};
use super::peer::{IMPOSSIBLE_COUNT, State};
use super::{Event, Shm};
use crate::reach::Reach;
use crate::sys::socket::Datagram;

/// Bodies that the cells of one lane may name before the sender looks how far the reader is: so
/// many slots stay in the cache.
const BODIES_BEFORE_LOOK: u32 = 8;

/// [`BODY_ELSEWHERE`] as it stands in the first word of a header.
const BODY_ELSEWHERE_WORD: u64 = (BODY_ELSEWHERE as u64) << 56;

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
        self.peers.get(peer.0 as usize).is_some_and(|to| to.writer.has_room())
    }

    /// Writes a frame whose body fits into its cell, if there is an open lane with room; whether
    /// there is (see [`mpi_core::port::Transport::send_inline`]).
    #[inline(always)]
    pub(super) fn write_inline(
        &mut self,
        peer: PeerId,
        header: Header,
        bytes: RawBytes<'_>,
    ) -> bool {
        let Some(to) = self.peers.get_mut(peer.0 as usize) else { return false };
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
            self.ring(peer, word);
        }
        true
    }

    /// Sends a small frame (see [`mpi_core::port::Transport::send`]).
    #[inline]
    pub(super) fn send_frame(
        &mut self,
        peer: PeerId,
        header: &Header,
        body: Body<'_>,
    ) -> Result<(), Full> {
        let len = body_len(&body);
        if peer.0 as usize >= self.peers.len() {
            return self.refuse();
        }
        if !self.has_cell(peer) {
            return self.send_slowly(peer, header, body, len);
        }
        let packer = match body {
            Body::Bytes(bytes) if len <= INLINE_BYTES as u64 => {
                self.write_inline(peer, *header, bytes);
                return Ok(());
            }
            Body::Bytes(bytes) if self.write_body(peer, header.to_words(0), bytes) => return Ok(()),
            Body::Packed(packer) if len <= INLINE_BYTES as u64 => packer,
            body => return self.send_slowly(peer, header, body, len),
        };
        let to = &mut self.peers[peer.0 as usize];
        let words = Header { inline_len: len as u8, ..*header }.to_words(0);
        let ride = to.reader.ride();
        to.writer.write(Class::Inline, ride, words, &gather_packed(packer));
        if let Some(word) = to.sleeps() {
            self.ring(peer, word);
        }
        Ok(())
    }

    /// Writes a longer body that goes in one piece, beside the cells if it is short, and the frame
    /// that names it, if there is an open lane with room, and room for the body; whether there is.
    /// The header comes in words: its fields, written one by one to memory and read back as words
    /// at once, would have to wait until all stores before them have left the processor.
    #[inline(never)]
    pub(super) fn write_body(
        &mut self,
        peer: PeerId,
        header: [u64; 3],
        body: RawBytes<'_>,
    ) -> bool {
        let Some(to) = self.peers.get_mut(peer.0 as usize) else { return false };
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
                self.ring(peer, word);
            }
            return true;
        }
        let offset = if let Some(at) = to.exchange.hand_over(len) {
            // SAFETY: the buffer has so many bytes; the body is readable by `Body`'s contract.
            unsafe { body.copy_small_to(at) };
            EXCHANGE
        } else {
            let slots = len <= self.config.shm.slot_bytes.into();
            if !slots || to.held.len() >= BODIES_BEFORE_LOOK as usize {
                return false;
            }
            let Some(offset) = self.slots.take() else { return false };
            let at = self.arena.at(offset, body.len());
            // SAFETY: a slot has so many bytes; as above.
            unsafe { to.reach.copy(body, at) };
            to.held.note(to.writer.tail(), offset, 0);
            offset
        };
        to.writer.write(Class::Body, to.reader.ride(), words, &[offset, len]);
        if let Some(word) = to.sleeps() {
            self.ring(peer, word);
        }
        true
    }

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
        if let Some(word) = to.sleeps() {
            self.ring(peer, word);
        }
    }

    #[cold]
    pub(super) fn refuse(&mut self) -> Result<(), Full> {
        self.refused = true;
        Err(Full)
    }

    /// Everything else: no room yet, or a body that is not one run of memory.
    #[inline(never)]
    fn send_slowly(
        &mut self,
        peer: PeerId,
        header: &Header,
        body: Body<'_>,
        len: u64,
    ) -> Result<(), Full> {
        if !self.make_room(peer) {
            // The hello that is awaited rings; room in a lane does not.
            return match self.peers[peer.0 as usize].state {
                State::Greeted => Err(Full),
                _ => self.refuse(),
            };
        }
        if len <= INLINE_BYTES as u64 {
            return self.send_frame(peer, header, body);
        }
        if len > self.eager_most {
            debug_assert!(false, "a body of {len} bytes is no small frame");
            return self.refuse();
        }
        if len > self.whole_most {
            return self.send_stream(peer, header, body, len);
        }
        let Some(place) = self.take_place(peer, len) else { return self.refuse() };
        let reach = &self.peers[peer.0 as usize].reach;
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
        self.name_place(peer, header, place, len);
        Ok(())
    }

    /// Room for a body that goes to `peer` in one piece, ours until the peer has consumed the
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
    pub(super) fn reclaim(&mut self) {
        for i in 0..self.peers.len() {
            let to = &mut self.peers[i];
            if !to.held.is_empty() && to.look(&mut self.slots, &mut self.ring).is_err() {
                self.drop_peer(PeerId(i as u32), IMPOSSIBLE_COUNT);
            }
        }
    }

    /// Finds out whether the lane to `peer` can take a frame, connecting it if need be.
    pub(super) fn make_room(&mut self, peer: PeerId) -> bool {
        if self.peers[peer.0 as usize].state != State::Open {
            self.approach(peer);
        }
        let to = &mut self.peers[peer.0 as usize];
        if to.state != State::Open {
            return false;
        }
        let due = !to.writer.has_room()
            || to.held.len() % BODIES_BEFORE_LOOK as usize == BODIES_BEFORE_LOOK as usize - 1;
        if due && to.look(&mut self.slots, &mut self.ring).is_err() {
            self.drop_peer(peer, IMPOSSIBLE_COUNT);
            return false;
        }
        self.peers[peer.0 as usize].writer.has_room()
    }

    /// Wakes a sleeping peer; nobody there means that it is gone. A full queue is that of the peer, which wakes it as
    /// well, or of this process, many of whose bells have not been heard yet: then it is rung again later.
    #[cold]
    #[inline(never)]
    pub(super) fn ring(&mut self, peer: PeerId, word: u32) {
        let to = &mut self.peers[peer.0 as usize];
        let (Some(name), Some(socket)) = (to.name, &self.socket) else { return };
        let before = std::mem::replace(&mut to.rung, word);
        match ring_bell(socket, &name) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                self.lose(peer, "nobody answers on its socket any more");
            }
            Err(_) => {
                to.rung = before;
                self.unrung.push(peer);
                self.chores = true;
            }
        }
    }

    /// Rings again for those who still sleep although it was tried.
    pub(super) fn ring_again(&mut self) {
        for peer in std::mem::take(&mut self.unrung) {
            if self.peers[peer.0 as usize].state == State::Open {
                self.wake(peer);
            }
        }
    }

    /// Notes that `peer` is gone, and tells it so, since it may be there all the same; what it had sent before stays
    /// readable.
    pub(crate) fn lose(&mut self, peer: PeerId, how: &str) {
        let to = &self.peers[peer.0 as usize];
        let addressee = to.name.map(|name| (to.rank, name)).filter(|_| to.is_there());
        self.give_up(peer, how, Why::Lost);
        if let Some((rank, name)) = addressee {
            self.part_from(rank, name, how);
        }
    }

    /// Notes that `peer` is gone without a word to it.
    pub(super) fn give_up(&mut self, peer: PeerId, how: &str, lost: fn(String) -> Why) {
        let to = &mut self.peers[peer.0 as usize];
        if to.state == State::Down {
            return;
        }
        let has_left = to.has_left();
        self.greeted -= u32::from(to.state == State::Greeted);
        to.state = State::Down;
        self.strangers.retain(|(_, stranger)| *stranger != peer);
        to.writer = super::lane::Writer::closed();
        to.bulk_out.clear();
        to.held.give_all_back(&mut self.slots, &mut self.ring);
        let rank = to.rank;
        let why = if has_left {
            Why::Finalized
        } else {
            lost(format!(
                "rank {} cannot reach rank {rank} by shared memory: {how}",
                self.config.rank
            ))
        };
        self.note(Event::Down(peer, why));
    }

    /// Gives up a peer that broke the protocol: its lane is not read any more either.
    pub(super) fn drop_peer(&mut self, peer: PeerId, how: &str) {
        self.row.retain(|open| *open != peer);
        self.peers[peer.0 as usize].reader = Reader::closed();
        self.lose(peer, how);
    }
}

fn ring_bell(socket: &Datagram, name: &crate::sys::socket::Name) -> std::io::Result<()> {
    socket.send(name, super::hello::BELL, None)
}

/// A body of at most 8 bytes in one word; a copy of unknown length would be a call.
#[inline(always)]
fn gather_word(bytes: RawBytes<'_>) -> u64 {
    let (at, len) = (bytes.as_ptr(), bytes.len());
    // SAFETY: each load ends at or before the last of `len` bytes.
    unsafe {
        match len {
            8 => at.cast::<u64>().read_unaligned(),
            4..=7 => {
                let high = at.add(len - 4).cast::<u32>().read_unaligned();
                let low = at.cast::<u32>().read_unaligned();
                u64::from(low) | u64::from(high) << (8 * (len - 4))
            }
            1..=3 => (0..len).fold(0, |word, i| word | u64::from(at.add(i).read()) << (8 * i)),
            _ => 0,
        }
    }
}

/// A body of 9 to 16 bytes in two words, by loads that overlap.
#[inline(always)]
fn gather_pair(bytes: RawBytes<'_>) -> [u64; 2] {
    let (at, len) = (bytes.as_ptr(), bytes.len());
    // SAFETY: both loads are within the `len` bytes.
    let [low, high] =
        [0, len - 8].map(|from| unsafe { at.add(from).cast::<u64>().read_unaligned() });
    [low, high >> (8 * (16 - len))]
}

/// A body of at most 40 bytes in words.
fn gather_packed(packer: &mut Packer) -> [u64; PAYLOAD_WORDS] {
    let mut words = [0u64; PAYLOAD_WORDS];
    // SAFETY: the array has `INLINE_BYTES` bytes; the message is readable by contract.
    unsafe { packer.pack_into(words.as_mut_ptr().cast(), INLINE_BYTES) };
    words
}

/// The bytes in words, by loads that overlap at the end: a copy of unknown length would be a call.
#[inline(always)]
fn gather_bytes(bytes: RawBytes<'_>) -> [u64; PAYLOAD_WORDS] {
    let (at, len) = (bytes.as_ptr(), bytes.len().min(INLINE_BYTES));
    let Some(last) = len.checked_sub(8) else {
        let mut words = [0; PAYLOAD_WORDS];
        words[0] = gather_word(bytes);
        return words;
    };
    std::array::from_fn(|i| {
        let from = last.min(8 * i);
        // SAFETY: the eight bytes end at or before the last of `len`.
        let word = unsafe { at.add(from).cast::<u64>().read_unaligned() };
        word.checked_shr(8 * (8 * i - from) as u32).unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_short_length_is_gathered_as_it_lies() {
        let bytes: Vec<u8> = (1..=INLINE_BYTES as u8).collect();
        for len in 0..=INLINE_BYTES {
            let words = gather_bytes(RawBytes::from(&bytes[..len]));
            let flat: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(&flat[..len], &bytes[..len]);
            if len <= 8 {
                assert_eq!(gather_word(RawBytes::from(&bytes[..len])), words[0]);
            } else if len <= 16 {
                assert_eq!(gather_pair(RawBytes::from(&bytes[..len])), words[..2]);
            }
            assert!(flat[len..].iter().all(|byte| *byte == 0));
        }
    }
}
