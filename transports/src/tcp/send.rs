//! The way out: records onto streams, streams into sockets.

use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Packer;
use mpi_core::header::{FrameKind, HEADER_BYTES, Header};
use mpi_core::port::{Body, Full, PeerId, Token};

use super::output::RUNS_MAX;
use super::peer::State;
use super::record::{Kind, LONG_BYTES};
use super::seal::Tag;
use super::stream::{Link, Stream};
use super::{DATAGRAM, StreamId, Tcp};
use crate::sys::epoll::Interest;
use crate::sys::tcp::Run;

/// Fragments of large messages join a call of the kernel until it has so many bytes.
const WRITE_BYTES: u64 = 256 << 10;
/// Calls of the kernel for one stream before others get their turn.
const WRITES: usize = 4;

const NOTHING: Body<'_> = Body::Bytes(RawBytes::EMPTY);

impl Tcp {
    /// Sends a small frame (see [`mpi_core::port::Transport::send`]).
    #[inline]
    pub(super) fn send_frame(
        &mut self,
        peer: PeerId,
        header: &Header,
        body: Body<'_>,
    ) -> Result<(), Full> {
        let len = match &body {
            Body::Bytes(bytes) => bytes.len(),
            Body::Packed(packer) => packer.remaining() as usize,
        };
        let Some(to) = self.peers.get_mut(peer) else { return Err(Full) };
        if to.state != State::Up {
            return Err(Full);
        }
        to.want_streams(1, &self.config, &self.job);
        if !to.fits(len as u64, self.config.tcp.window_bytes) {
            return Err(Full);
        }
        let stream = &mut to.streams[0];
        let ack = stream.tell();
        let (kind, header) = (header.kind, header.to_bytes());
        match len {
            LONG_BYTES.. if kind != DATAGRAM => {
                let sent = stream.push_long(ack, header, body, len, !self.holds);
                self.counters.writes += u64::from(sent > 0);
            }
            _ => stream.output.push(Kind::Frame, ack, &header, body, len),
        }
        if kind != FrameKind::Credit as u8 && kind != DATAGRAM {
            stream.output.expect_delivery();
        }
        if !stream.output.is_sent() {
            let id = StreamId { peer, stream: 0 };
            if kind != FrameKind::Rts as u8 || self.announcing.is_first(id) {
                self.push_on(id);
            }
        }
        Ok(())
    }

    /// Sends the announcements that were kept back.
    #[cold]
    pub(super) fn announce(&mut self) {
        while let Some(id) = self.announcing.0.pop() {
            if self.peers.stream_mut(id).is_some_and(|stream| !stream.output.is_sent()) {
                self.push_on(id);
            }
        }
    }

    /// Takes over a large message (see [`mpi_core::port::Transport::send_bulk`]).
    pub(super) fn start_bulk(
        &mut self,
        peer: PeerId,
        header: &Header,
        source: Packer,
        token: Token,
    ) {
        let Some(to) = self.peers.get_mut(peer) else { return };
        if to.state != State::Up {
            return;
        }
        let tcp = &self.config.tcp;
        to.want_streams(tcp.streams, &self.config, &self.job);
        let cut = (tcp.streams, tcp.stripe_bytes, tcp.fragment_bytes);
        let streams = to.leaving.add(header, source, token, cut);
        for stream in streams {
            self.push_on(StreamId { peer, stream });
        }
    }

    /// Something was put onto a stream: sends it, or sees to it that it will be.
    #[inline]
    pub(super) fn push_on(&mut self, id: StreamId) {
        let stream = &self.peers[id.peer].streams[id.stream as usize];
        match &stream.link {
            Link::Open(_) if stream.is_blocked => {}
            Link::Open(_) if self.holds => {
                if !self.held.contains(&id) {
                    self.held.push(id);
                }
            }
            Link::Open(_) => self.write(id),
            Link::Seeking(_) => {}
            Link::Idle => self.seek(id),
        }
    }

    /// Sends what was kept back.
    pub(super) fn let_go(&mut self) {
        self.holds = false;
        while let Some(id) = self.held.pop() {
            self.write(id);
        }
    }

    /// Writes what a stream has, as far as the kernel takes it.
    #[inline]
    pub(super) fn write(&mut self, id: StreamId) {
        let mut runs = [Run::new(std::ptr::null(), 0); RUNS_MAX];
        for _ in 0..WRITES {
            let Some(peer) = self.peers.get_mut(id.peer) else { return };
            let stream = &peer.streams[id.stream as usize];
            if stream.is_mute || !stream.is_open() {
                return;
            }
            let fragments = self.config.tcp.fragment_bytes;
            let stream = &mut peer.streams[id.stream as usize];
            while stream.output.unsent() < WRITE_BYTES
                && peer.leaving.push_fragment(id.stream, stream, fragments)
            {}
            let count = stream.output.fill(&mut runs);
            if count == 0 {
                return self.set_blocked(id, false);
            }
            let Link::Open(socket) = &stream.link else { return };
            let wanted: usize = runs[..count].iter().map(Run::bytes).sum();
            // SAFETY: the output keeps its bytes until they are acknowledged; those of requests
            // are readable until `sent`, by the contract of `send_bulk`.
            match unsafe { socket.send(&runs[..count]) } {
                Ok(n) => {
                    self.counters.writes += 1;
                    stream.output.advance(n);
                    if n < wanted {
                        return self.set_blocked(id, true);
                    }
                }
                Err(_) => {
                    // What the peer sent before it closed is still to be read, and then the end.
                    stream.is_mute = true;
                    self.looks.soon();
                    return self.set_blocked(id, false);
                }
            }
            if stream.output.is_sent() && peer.leaving.is_empty() {
                return self.set_blocked(id, false);
            }
        }
        self.set_blocked(id, true);
    }

    /// Waits for room in the kernel, or no longer.
    #[inline]
    fn set_blocked(&mut self, id: StreamId, blocked: bool) {
        let stream = &mut self.peers[id.peer].streams[id.stream as usize];
        if stream.is_blocked == blocked {
            return;
        }
        stream.is_blocked = blocked;
        self.blocked = if blocked { self.blocked + 1 } else { self.blocked - 1 };
        let interest = if blocked { Interest::ReadWrite } else { Interest::Read };
        if let Link::Open(socket) = &stream.link
            && let Err(error) =
                self.epoll.change(std::os::fd::AsFd::as_fd(socket), id.key(), interest)
        {
            self.break_link(id, &error.to_string());
        }
    }

    /// Tells peers how far this end is, unless another record has done so meanwhile.
    pub(super) fn send_acks(&mut self) {
        while let Some(id) = self.owing.pop() {
            if self.peers.stream_mut(id).is_some_and(|one| one.owes_ack && one.is_open()) {
                self.say(id, Kind::Ack);
            }
        }
    }

    /// Asks all peers that have not acknowledged everything how far they are.
    pub(super) fn ask_all(&mut self) {
        self.flush_asked.set(false);
        for id in self.peers.open_streams() {
            let Some(stream) = self.peers.stream_mut(id) else { continue };
            let output = &stream.output;
            if !stream.asked && !output.is_delivered() && output.is_sent() {
                stream.asked = true;
                self.say(id, Kind::Ping);
            }
        }
    }

    /// Tells all peers how far this end is; whether all of that has left. For a process that falls
    /// silent without leaving: a peer that ends waits until it knows that its messages are here.
    pub fn tell_all(&mut self) -> bool {
        let mut all_left = true;
        // Who makes the next connection of another stream hears it in the first words.
        for id in self.peers.open_streams() {
            if self.peers.stream_mut(id).is_some_and(|one| one.input.received() > one.told) {
                self.say(id, Kind::Ack);
            }
            let stream = self.peers.stream_mut(id);
            all_left &= stream.is_none_or(|one| !one.is_open() || one.output.is_sent());
        }
        all_left
    }

    /// Says goodbye on every stream, unless that is done.
    pub fn leave(&mut self) {
        if !std::mem::replace(&mut self.leaves, true) {
            self.peers.open_streams().into_iter().for_each(|id| self.say(id, Kind::Bye));
        }
    }

    /// Whether the kernels of all peers have the goodbyes. Until then the sockets stay: one that is closed answers
    /// what still comes with a reset, and the peer would never hear the goodbye, had it been lost on the way.
    pub fn has_left(&self) -> bool {
        let up = self.peers.all().filter(|peer| peer.state == State::Up);
        up.flat_map(|peer| &peer.streams).all(|stream| match &stream.link {
            Link::Open(socket) => stream.output.is_sent() && socket.is_acknowledged(),
            // Who has never been connected waits for no goodbye.
            Link::Seeking(_) => stream.epoch == 0,
            Link::Idle => true,
        })
    }

    /// Sends a record that says all by its kind.
    pub(super) fn say(&mut self, id: StreamId, kind: Kind) {
        if let Some(stream) = self.peers.stream_mut(id) {
            let place = stream.tell();
            stream.output.push(kind, place, &[], NOTHING, 0);
            self.push_on(id);
        }
    }
}

/// Streams on which messages were announced since the last poll. What is announced in a row goes out together: its
/// bytes leave during a poll in any case.
#[derive(Default)]
pub(super) struct Announcing(Vec<StreamId>);

impl Announcing {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes an announcement; whether it is the first on its stream.
    #[cold]
    fn is_first(&mut self, id: StreamId) -> bool {
        let is_first = !self.0.contains(&id);
        if is_first {
            self.0.push(id);
        }
        is_first
    }
}

impl Stream {
    /// Adds a long frame. Its body is written from where it lies and copied afterwards, while the
    /// peer reads already, if nothing is before it and the body is one run; how many bytes the kernel
    /// took so.
    fn push_long(
        &mut self,
        ack: u64,
        header: [u8; HEADER_BYTES],
        body: Body<'_>,
        len: usize,
        at_once: bool,
    ) -> usize {
        let is_next = at_once && !self.is_blocked && !self.is_mute && self.output.is_sent();
        self.output.push_front(Kind::Frame, ack, header, len);
        let run = match &body {
            Body::Bytes(bytes) => Some(*bytes),
            Body::Packed(packer) => packer.as_contiguous().map(|(at, len)| {
                // SAFETY: readable by `Body`'s contract.
                unsafe { RawBytes::new(at, len as usize) }
            }),
        };
        let run = run.filter(|_| !self.output.encrypts());
        let tag = run.and_then(|run| self.output.tag_of(run));
        let sent = match run {
            Some(run) if is_next => self.send_first(run, tag),
            _ => 0,
        };
        self.output.push_body(body, len, tag);
        self.output.advance(sent);
        sent
    }

    /// Writes what was added and a body that is about to be, with its tag; how many bytes the kernel
    /// took.
    fn send_first(&self, body: RawBytes<'_>, tag: Option<Tag>) -> usize {
        let Link::Open(socket) = &self.link else { return 0 };
        let mut runs = [Run::new(std::ptr::null(), 0); RUNS_MAX];
        let count = self.output.fill(&mut runs);
        let tag = tag.as_ref().map_or(&[][..], |tag| tag);
        // A front is at most two runs.
        runs[count] = Run::new(body.as_ptr(), body.len());
        runs[count + 1] = Run::new(tag.as_ptr(), tag.len());
        // SAFETY: the front and the tag are ours; the body is readable by `Body`'s contract.
        let sent = unsafe { socket.send(&runs[..count + 2]) };
        // What is wrong shows again when the rest is written.
        sent.unwrap_or(0)
    }
}
