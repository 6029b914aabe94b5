//! Large messages through the ring: sender and receiver copy at the same time, fragment by fragment.
//!
//! A begin cell carries the header and the length, then each chunk of the sender's ring is
//! named by a cell of its own; the chunk is free again when the receiver's count has passed the
//! cell. A few chunks at most are under way to one peer, and some cells of the lane stay free,
//! so that small messages are not held up. Transfers to one peer take turns.

use crate::copy;
use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Packer;
use mpi_core::header::{BODY_ELSEWHERE, Header};
use mpi_core::port::{Landing, PeerId, Sink, Token};
use mpi_core::tuning::{CELLS_LEFT, PIPELINE_FRAGMENTS};

use super::fragments::fragment;
use crate::shm::peer::{IMPOSSIBLE_COUNT, Peer, State};
use crate::shm::ring::exchange::EXCHANGE;
use crate::shm::ring::lane::Class;
use crate::shm::transfers::{Incoming, Outgoing};
use crate::shm::{Contacts, Event, Shm};

impl Shm {
    /// Takes over a transfer (see [`mpi_core::port::Transport::send_bulk`]).
    pub(in crate::shm) fn start_bulk(
        &mut self,
        peer: PeerId,
        header: &Header,
        source: Packer,
        token: Token,
    ) {
        let Some(to) = self.contacts.peers.get_mut(peer.0 as usize) else { return };
        if to.state == State::Down {
            return;
        }
        let id = u64::from(to.bulk_next);
        to.bulk_next = to.bulk_next.wrapping_add(1);
        to.bulk_out.push_back(Outgoing {
            header: *header,
            source,
            token,
            id,
            begun: false,
            moved: 0,
            exchanged: false,
        });
        self.contacts.chores = true;
        if self.contacts.make_room(peer) {
            self.pump_peer(peer);
        }
    }

    /// Moves some fragments of what goes to each peer. Whether anything is left to do.
    pub(in crate::shm) fn pump(&mut self) -> bool {
        let mut busy = false;
        for i in 0..self.contacts.peers.len() {
            let peer = PeerId(i as u32);
            for _ in 0..PIPELINE_FRAGMENTS {
                let waits = !self.contacts.peers[i].bulk_out.is_empty();
                if !waits || !self.contacts.make_room(peer) || !self.pump_peer(peer) {
                    break;
                }
            }
            busy |= !self.contacts.peers[i].bulk_out.is_empty();
        }
        busy
    }

    /// Fills one chunk for `peer`; `false` if there is no room for it on the way.
    fn pump_peer(&mut self, peer: PeerId) -> bool {
        if !self.contacts.has_bulk_room(peer) {
            return false;
        }
        let to = &mut self.contacts.peers[peer.0 as usize];
        let Some(front) = to.bulk_out.front_mut() else { return false };
        let left = front.source.remaining();
        let most =
            u64::from(self.contacts.config.shm.chunk_bytes).min(self.contacts.ring.chunk_most());
        let room = (fragment(front.moved, most as usize) as u64).min(left);
        if !front.begun {
            front.exchanged = room > 0 && to.exchange.hand_over(room).is_some();
        }
        let exchanged = front.exchanged.then(|| to.exchange.part(front.moved, room)).flatten();
        let chunk = match exchanged {
            _ if room == 0 => None,
            Some(at) => Some((EXCHANGE + front.moved, at)),
            None => self
                .contacts
                .take_run(room)
                .map(|at| (at, self.contacts.arena.at(at, room as usize))),
        };
        let to = &mut self.contacts.peers[peer.0 as usize];
        if to.state != State::Open {
            let runs = chunk.into_iter().filter(|(offset, _)| *offset < EXCHANGE);
            runs.for_each(|(offset, _)| self.contacts.ring.give(offset, room));
            return false;
        }
        let ride = to.reader.ride();
        let Some(mut out) = to.bulk_out.pop_front() else { return false };
        if !out.begun {
            let header = Header { inline_len: BODY_ELSEWHERE, ..out.header };
            let payload = [out.source.remaining(), out.id];
            to.writer.write(Class::Begin, ride, header.to_words(0), &payload);
            out.begun = true;
        }
        if let Some((offset, at)) = chunk {
            if let Some((from, left)) = out.source.as_contiguous() {
                copy::ask_pages(from, left.min(room) as usize);
            }
            // SAFETY: the chunk is ours until the reader has consumed the cell that names it;
            // the message is readable until `sent`, by the contract of `send_bulk`.
            let len = unsafe {
                if offset >= EXCHANGE {
                    out.source.pack_into(at, room as usize)
                } else {
                    to.held.note(to.writer.tail(), offset, room as u32);
                    to.reach.pack(&mut out.source, at, room as usize)
                }
            };
            out.moved += len as u64;
            self.pumped = true;
            to.writer.write(Class::Chunk, ride, [0; 3], &[out.id, offset, len as u64]);
        }
        if out.source.remaining() == 0 {
            self.contacts.events.push(Event::Sent(out.token));
        } else {
            to.bulk_out.push_back(out);
        }
        self.contacts.wake(peer);
        room == 0 || chunk.is_some()
    }

    /// A transfer from `peer` begins.
    pub(in crate::shm) fn begin_bulk<S: Sink>(
        &mut self,
        peer: PeerId,
        header: &Header,
        len: u64,
        id: u64,
        sink: &mut S,
    ) -> Result<(), &'static str> {
        let from = &mut self.contacts.peers[peer.0 as usize];
        if from.bulk_in.iter().any(|incoming| incoming.id == id) {
            return Err("it began one bulk transfer twice");
        }
        let token = Token(header.context);
        let landing = sink.begin(peer, header, len);
        if len == 0 {
            if matches!(landing, Landing::User(_)) {
                sink.landed(peer, token);
            }
        } else {
            let incoming = Incoming { id, token, landing, left: len, exchanged: false };
            from.bulk_in.push(incoming);
        }
        Ok(())
    }

    /// A chunk from `peer` has come: of which transfer, where it lies, and its length.
    pub(in crate::shm) fn receive_chunk<S: Sink>(
        &mut self,
        peer: PeerId,
        [id, offset, len]: [u64; 3],
        sink: &mut S,
    ) -> Result<(), &'static str> {
        let from = &mut self.contacts.peers[peer.0 as usize];
        let place = from.bulk_in.iter().position(|incoming| incoming.id == id);
        let place = place.ok_or("a chunk of it belongs to no bulk transfer")?;
        let body = from.body(offset, len).ok_or("a frame of it names a chunk outside its arena")?;
        let incoming = &mut from.bulk_in[place];
        incoming.exchanged |= offset >= EXCHANGE;
        if len > incoming.left {
            return Err("a bulk transfer of it is longer than it said");
        }
        if let Landing::User(to) = &mut incoming.landing {
            // SAFETY: `body` checked the range against the mapping, which `self` keeps; the
            // request's memory is writable until `landed`, by the contract of `Landing`.
            unsafe {
                let fragment = RawBytes::new(body, len as usize);
                if let Some((target, _)) = to.as_contiguous() {
                    copy::claim_pages(target, len as usize);
                }
                to.unpack_from(fragment);
            }
        }
        incoming.left -= len;
        self.counters.bytes_pipelined += len;
        if incoming.left == 0 {
            let Incoming { token, landing, exchanged, .. } = from.bulk_in.swap_remove(place);
            if exchanged {
                from.exchange.receive();
            }
            if matches!(landing, Landing::User(_)) {
                sink.landed(peer, token);
            }
        }
        Ok(())
    }
}

impl Contacts {
    /// Whether another chunk may go to `peer` now, after a look if it seems not.
    fn has_bulk_room(&mut self, peer: PeerId) -> bool {
        let most = self.config.shm.chunks_per_peer;
        let to = &mut self.peers[peer.0 as usize];
        if to.has_bulk_room(most) {
            return true;
        }
        if to.look(&mut self.slots, &mut self.ring).is_err() {
            self.drop_peer(peer, IMPOSSIBLE_COUNT);
            return false;
        }
        to.has_bulk_room(most)
    }

    /// A free run of the ring, after a look at the readers if need be: beyond the way round only if that is unread.
    fn take_run(&mut self, bytes: u64) -> Option<u64> {
        let run = self.ring.take_near(bytes).or_else(|| {
            self.reclaim();
            self.ring.take_near(bytes).or_else(|| self.ring.take(bytes))
        })?;
        if let Some((from, len)) = self.touched.step(run, bytes, self.arena.geometry().ring_end()) {
            self.arena.populate(from, len);
        }
        Some(run)
    }

    /// As [`Contacts::take_run`], for a frame to `peer`: nothing if the look has shown that it breaks the protocol.
    #[inline]
    pub(in crate::shm) fn take_run_for(&mut self, peer: PeerId, bytes: u64) -> Option<u64> {
        let run = self.take_run(bytes)?;
        if self.peers[peer.0 as usize].state == State::Open {
            return Some(run);
        }
        self.ring.give(run, bytes);
        None
    }
}

impl Peer {
    /// Whether a begin and a chunk may go, of which `most` may be under way.
    fn has_bulk_room(&self, most: u32) -> bool {
        let capacity = self.writer.capacity();
        self.held.runs() < most && self.writer.outstanding() + 2 + capacity / CELLS_LEFT <= capacity
    }
}
