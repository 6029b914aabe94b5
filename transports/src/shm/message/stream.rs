//! Eager messages of several fragments: one run of the ring, or the exchange buffer, told of fragment by fragment.
//!
//! The first cell carries the header and where all of the body will lie, each further one that so many bytes more lie
//! there. So the receiver copies a fragment out while the sender copies the next one in. A message whose receive is
//! posted goes straight to its memory; one that nobody waits for yet stays in the ring until it is whole, and is then a
//! frame like any other. The cells of one message follow each other in the lane, and the last one gives its run back.

use crate::copy;
use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::header::{BODY_ELSEWHERE, Header};
use mpi_core::port::{Body, Fragments, Full, PeerId, Sink};
use mpi_core::tuning::LOOKS_FOR_FRAGMENT;

use super::fragments::{answer_fragment, fragment, fragments};
use crate::shm::peer::{IMPOSSIBLE_COUNT, Peer, State};
use crate::shm::ring::exchange::EXCHANGE;
use crate::shm::ring::lane::{Class, Words};
use crate::shm::transfers::Arriving;
use crate::shm::{Contacts, Shm};

impl Peer {
    /// The next fragment of a message of which `left` bytes are to come, if it comes soon, and is one.
    #[inline]
    fn next_fragment(&mut self, left: u64) -> Option<(Words, u64)> {
        let words = self.reader.peek_within(LOOKS_FOR_FRAGMENT)?;
        let part = self.reader.payload_word(0);
        (words.class() == Some(Class::Fragment) && part <= left).then_some((words, part))
    }
}

impl Shm {
    /// Whether there is room now for an eager message of `len` bytes to `peer`, as far as known without a look at
    /// shared memory, and it is not better announced: a `plain` one, one run of memory, can come across.
    pub(in crate::shm) fn holds_eager(&mut self, peer: PeerId, len: u64, plain: bool) -> bool {
        if self.contacts.peers.get(peer.0 as usize).is_none_or(|to| to.state != State::Open) {
            return false;
        }
        if plain && self.is_better_announced(peer, len) {
            return false;
        }
        let shm = &self.contacts.config.shm;
        if len > shm.eager_bytes.into() && !self.contacts.peers[peer.0 as usize].exchange.takes(len)
        {
            return false;
        }
        len <= shm.slot_bytes.into() || self.contacts.make_stream_room(peer, len)
    }

    /// Sends an eager message of `len` bytes to an open peer.
    pub(in crate::shm) fn send_stream(
        &mut self,
        peer: PeerId,
        header: &Header,
        mut body: Body<'_>,
        len: u64,
    ) -> Result<(), Full> {
        if !self.contacts.make_stream_room(peer, len) {
            return self.contacts.refuse();
        }
        let Some((offset, base)) = self.contacts.take_stream_place(peer, len) else {
            return self.contacts.refuse();
        };
        let most = self.contacts.config.shm.chunk_bytes as usize;
        let mut header = Some(Header { inline_len: BODY_ELSEWHERE, ..*header });
        let mut moved = 0;
        while moved < len {
            let next = if offset >= EXCHANGE { answer_fragment } else { fragment };
            let part = next(moved, most).min((len - moved) as usize);
            let at = base.wrapping_add(moved as usize);
            let to = &mut self.contacts.peers[peer.0 as usize];
            if let Body::Bytes(bytes) = &body {
                copy::ask_pages(bytes.as_ptr(), part);
            }
            // SAFETY: the place is ours until the reader has consumed the last cell of the
            // message, and it has `len` bytes; it begins on a line, as every fragment but the
            // last ends on one. The body is readable by `Body`'s contract.
            unsafe {
                match &mut body {
                    Body::Bytes(bytes) if offset >= EXCHANGE => bytes.take(part).copy_to(at),
                    Body::Bytes(bytes) => to.reach.copy(bytes.take(part), at),
                    Body::Packed(packer) if offset >= EXCHANGE => {
                        packer.pack_into(at, part);
                    }
                    Body::Packed(packer) => {
                        to.reach.pack(packer, at, part);
                    }
                }
            }
            moved += part as u64;
            if moved == len && offset < EXCHANGE {
                to.held.note(to.writer.tail(), offset, len as u32);
            }
            let ride = to.reader.ride();
            match header.take() {
                Some(header) => {
                    let payload = [offset, len, part as u64];
                    to.writer.write(Class::Stream, ride, header.to_words(0), &payload);
                }
                None => to.writer.write(Class::Fragment, ride, [0; 3], &[part as u64]),
            }
            self.contacts.wake(peer);
            if self.contacts.peers[peer.0 as usize].state != State::Open {
                break;
            }
        }
        Ok(())
    }

    /// The first fragment of a message from `peer` has come.
    pub(in crate::shm) fn begin_stream<S: Sink>(
        &mut self,
        peer: PeerId,
        header: &Header,
        [offset, len, part]: [u64; 3],
        sink: &mut S,
    ) -> Result<(), &'static str> {
        let from = &mut self.contacts.peers[peer.0 as usize];
        if from.arriving.is_some() {
            return Err("it began a message within another");
        }
        from.body(offset, len).ok_or("a frame of it names a body outside its ring")?;
        let landing = sink.begin_eager(peer, header, len);
        let header = *header;
        from.arriving = Some(Arriving { header, offset, len, taken: 0, landing });
        self.take_fragment(peer, part, sink)
    }

    /// Shows a message of `peer` whose first fragment has come to `wanted`, and copies its fragments as
    /// they come (see [`mpi_core::port::Transport::take_fragments`]).
    pub(in crate::shm) fn show_fragments(
        &mut self,
        peer: PeerId,
        wanted: impl FnOnce(&Header, u64) -> Option<UserBuffer>,
    ) -> Fragments {
        let Some(from) = self.contacts.peers.get_mut(peer.0 as usize) else {
            return Fragments::Other;
        };
        let first = from.reader.peek().filter(|words| words.class() == Some(Class::Stream));
        let Some(first) = first.filter(|_| from.arriving.is_none()) else {
            return Fragments::Other;
        };
        let [offset, len, part] = [0, 1, 2].map(|i| from.reader.payload_word(i));
        // What is wrong is said by the poll that finds the same.
        let Some(body) = from.body(offset, len).filter(|_| part <= len) else {
            return Fragments::Other;
        };
        let (header, _) = Header::from_words(first.header);
        let Some(to) = wanted(&header, len) else { return Fragments::Other };
        let mut arriving = Arriving { header, offset, len, taken: 0, landing: None };
        let mut next = Some((first, part));
        while let Some((words, part)) = next {
            if from
                .learn(words.consumed(), &mut self.contacts.slots, &mut self.contacts.ring)
                .is_err()
            {
                self.contacts.drop_peer(peer, IMPOSSIBLE_COUNT);
                return Fragments::Begun(arriving.taken);
            }
            let at = arriving.taken as usize;
            copy::claim_pages(to.0.wrapping_add(at), part as usize);
            // SAFETY: `body` checked the whole range against the mapping, which `self` keeps, and
            // no part goes beyond it; `wanted` gave room for all of it.
            unsafe {
                let fragment = RawBytes::new(body.wrapping_add(at), part as usize);
                fragment.copy_to(to.0.wrapping_add(at));
            }
            arriving.taken += part;
            from.reader.advance();
            from.reader.publish();
            if arriving.taken == len {
                if offset >= EXCHANGE {
                    from.exchange.receive();
                }
                self.counters.bytes_eager += len;
                return Fragments::Taken;
            }
            next = from.next_fragment(len - arriving.taken);
        }
        let taken = arriving.taken;
        from.arriving = Some(arriving);
        Fragments::Begun(taken)
    }

    /// So many bytes more of a message from `peer` have come.
    pub(in crate::shm) fn take_fragment<S: Sink>(
        &mut self,
        peer: PeerId,
        part: u64,
        sink: &mut S,
    ) -> Result<(), &'static str> {
        let from = &mut self.contacts.peers[peer.0 as usize];
        let Some((at, left)) = from.arriving.as_ref().map(Arriving::next) else {
            return Err("a fragment of it belongs to no message");
        };
        if part > left {
            return Err("a message of it is longer than it said");
        }
        let body = from.body(at, part).ok_or("a frame of it names a body outside its ring")?;
        let Some(arriving) = &mut from.arriving else { return Ok(()) };
        arriving.taken += part;
        if let Some((to, _)) = &mut arriving.landing {
            // SAFETY: `body` checked the range against the mapping, which `self` keeps; the
            // request's memory is writable until `landed`, by the contract of `begin_eager`.
            unsafe { to.unpack_from(RawBytes::new(body, part as usize)) };
        }
        if arriving.taken < arriving.len {
            return Ok(());
        }
        let Some(whole) = from.arriving.take() else { return Ok(()) };
        self.counters.bytes_eager += whole.len;
        match whole.landing {
            Some((_, token)) => sink.landed(peer, token),
            None => {
                let body = self.contacts.peers[peer.0 as usize].body(whole.offset, whole.len);
                let body = body.ok_or("a frame of it names a body outside its ring")?;
                // SAFETY: `body` checked the range against the mapping, which `self` keeps; the sender leaves it alone
                // until its last cell is consumed, and if it does not, only what is copied out is wrong.
                sink.frame(peer, &whole.header, unsafe { RawBytes::new(body, whole.len as usize) });
            }
        }
        if whole.offset >= EXCHANGE {
            self.contacts.peers[peer.0 as usize].exchange.receive();
        }
        Ok(())
    }
}

impl Contacts {
    /// Finds out whether the lane has cells for all fragments, and the ring so many bytes.
    fn make_stream_room(&mut self, peer: PeerId, len: u64) -> bool {
        let most = self.config.shm.chunk_bytes as usize;
        let to = &mut self.peers[peer.0 as usize];
        let (from_ring, needed) = match to.exchange.takes(len) {
            true => (0, fragments(len, most, answer_fragment)),
            false => (len, fragments(len, most, fragment)),
        };
        if !to.writer.has_room_for(needed) || !self.ring.may_have(from_ring) {
            if to.look(&mut self.slots, &mut self.ring).is_err() {
                self.drop_peer(peer, IMPOSSIBLE_COUNT);
                return false;
            }
            if !self.ring.may_have(from_ring) {
                self.reclaim();
            }
        }
        self.peers[peer.0 as usize].writer.has_room_for(needed) && self.ring.may_have(from_ring)
    }

    /// Room for an eager message of `len` bytes to `peer`: the offset by which frames name it, and its address.
    fn take_stream_place(&mut self, peer: PeerId, len: u64) -> Option<(u64, *mut u8)> {
        if let Some(at) = self.peers[peer.0 as usize].exchange.hand_over(len) {
            return Some((EXCHANGE, at));
        }
        let offset = self.take_run_for(peer, len)?;
        Some((offset, self.arena.at(offset, len as usize)))
    }
}
