//! The way in: busy streams at every poll, the others when the epoll set names them.

use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Unpacker;
use mpi_core::header::Header;
use mpi_core::port::{Activity, Sink, Token};

use super::input::{Fault, Listener};
use super::output::Output;
use super::peer::{Peer, State};
use super::record::FragmentHead;
use super::stream::{Link, Stream};
use super::transfer::{self, Arriving, Outbound};
use super::{Event, KEY_GUEST, KEY_LISTENER, KEY_SEEK, KEY_SERVER, READ_BYTES, StreamId, Tcp};

/// Bytes read together with the end of a message that is read into place: room for some small
/// frames, but little of a large one, which is read into its own place.
const NEXT_BYTES: usize = 512;
/// Calls of the kernel for one stream before others get their turn.
const READS: usize = 8;

/// One stream's listener: it passes on to the sink.
struct Ears<'a, S> {
    id: StreamId,
    sink: &'a mut S,
    output: &'a mut Output,
    asked: &'a mut bool,
    leaving: &'a mut Outbound,
    arriving: &'a mut Vec<Arriving>,
    /// A message is complete, or the peer has asked: it is to be told how far this end is.
    owes: bool,
    has_left: bool,
}

impl<S: Sink> Listener for Ears<'_, S> {
    #[inline]
    fn acknowledged(&mut self, place: u64) -> Result<(), &'static str> {
        let Ears { sink, leaving, .. } = self;
        self.output.acknowledge(place, |transfer| {
            if let Some(token) = leaving.released(transfer) {
                sink.sent(token);
            }
        })?;
        *self.asked &= !self.output.is_delivered();
        Ok(())
    }

    #[inline]
    fn frame(&mut self, header: &Header, body: RawBytes<'_>) {
        self.sink.frame(self.id.peer, header, body);
    }

    fn frame_begins(&mut self, header: &Header, len: u64) -> Option<(Unpacker, Token)> {
        self.sink.begin_eager(self.id.peer, header, len)
    }

    fn frame_done(&mut self, token: Token) {
        self.sink.landed(self.id.peer, token);
    }

    fn fragment(
        &mut self,
        head: &FragmentHead,
        len: u64,
    ) -> Result<Option<Unpacker>, &'static str> {
        let Ears { id, sink, arriving, .. } = self;
        let landing = || sink.begin(id.peer, &head.header, head.total);
        transfer::begin_fragment(arriving, id.stream, head, len, landing)
    }

    fn fragment_done(&mut self, id: u64) -> Result<(), &'static str> {
        if let Some(wanted) = transfer::end_fragment(self.arriving, self.id.stream, id)? {
            if let Some(token) = wanted {
                self.sink.landed(self.id.peer, token);
            }
            self.owes = true;
        }
        Ok(())
    }

    fn ping(&mut self) {
        self.owes = true;
    }

    fn bye(&mut self) {
        self.has_left = true;
    }
}

/// What one reading of a stream came to.
enum Read {
    /// So many bytes, and there may be more.
    Some(usize),
    /// So many bytes, and no more now.
    Last(usize),
    /// The connection has ended; why, if it did not end well.
    End(String),
}

impl Tcp {
    /// Takes in what has come (see [`mpi_core::port::Transport::poll`]).
    #[inline]
    pub(super) fn poll_sockets<S: Sink>(&mut self, sink: &mut S) -> Activity {
        let mut busy = false;
        if !self.announcing.is_empty() {
            self.announce();
        }
        if !self.peers.seeking.is_empty() {
            busy |= self.seek_on_all();
        }
        busy |= self.read_hot(sink);
        if self.looks.is_due() || self.blocked > 0 {
            busy |= self.look(sink);
        }
        if self.flush_asked.get() {
            self.ask_all();
        }
        if !self.owing.is_empty() {
            self.send_acks();
        }
        for event in std::mem::take(&mut self.events) {
            busy = true;
            match event {
                Event::Sent(token) => sink.sent(token),
                Event::Down(peer, why) => sink.peer_down(peer, why),
            }
        }
        if busy { Activity::Busy } else { Activity::Idle }
    }

    /// Reads the busy streams, if they are few; forgets those that are so no longer.
    #[inline]
    fn read_hot<S: Sink>(&mut self, sink: &mut S) -> bool {
        let (mut busy, mut at) = (false, 0);
        while let Some((id, is_read)) = self.looks.hot(at) {
            let found = is_read && self.read(id, sink);
            busy |= found;
            at = self.looks.step(at, id, found);
        }
        busy
    }

    /// Asks the epoll set what has news.
    #[inline(never)]
    fn look<S: Sink>(&mut self, sink: &mut S) -> bool {
        let (mut news, mut busy) = ([None; 64], false);
        let mut count = 0;
        let looked = self.epoll.look(|one| {
            news[count] = Some(one);
            count += 1;
        });
        if let Err(error) = looked {
            self.lose_all(&error);
        }
        for one in news.into_iter().flatten() {
            if one.key == KEY_LISTENER {
                self.accept_guests();
            } else if one.key == KEY_SERVER {
                // Whoever waits for the thread asks it.
                busy = true;
            } else if one.key & KEY_GUEST != 0 {
                busy |= self.hear_guest(one.key & !KEY_GUEST);
            } else if one.key & KEY_SEEK != 0 {
                busy |= self.hear_attempts(StreamId::from_key(one.key & !KEY_SEEK));
            } else {
                let id = StreamId::from_key(one.key);
                if one.writable {
                    self.write(id);
                    busy = true;
                }
                if one.readable && self.read(id, sink) {
                    busy = true;
                    if self.peers.stream_mut(id).is_some_and(|stream| stream.is_open()) {
                        self.looks.warm_up(id);
                    }
                }
            }
        }
        if !self.guests.all.is_empty() {
            self.guests.drop_silent();
        }
        let connections = self.open as usize + self.peers.seeking.len() + self.guests.all.len();
        self.looks.note(count > 0, connections);
        busy
    }

    /// Takes in what has come on one stream; whether there was anything.
    #[inline]
    pub(super) fn read<S: Sink>(&mut self, id: StreamId, sink: &mut S) -> bool {
        let mut busy = false;
        for _ in 0..READS {
            match self.read_once(id, sink) {
                Ok(Read::Some(n)) => busy |= n > 0,
                Ok(Read::Last(n)) => return busy || n > 0,
                Ok(Read::End(why)) => {
                    self.break_link(id, &why);
                    return true;
                }
                Err(Fault::Breach(breach)) => {
                    self.lose(id.peer, breach);
                    return true;
                }
                Err(Fault::Altered) => {
                    self.drop_altered(id);
                    return true;
                }
            }
        }
        busy
    }

    /// One call of the kernel for a stream, and what follows from it.
    #[inline]
    fn read_once<S: Sink>(&mut self, id: StreamId, sink: &mut S) -> Result<Read, Fault> {
        let frame_max = self.config.tcp.frame_bytes_max();
        let Some(peer) = self.peers.get_mut(id.peer) else { return Ok(Read::Last(0)) };
        let Peer { streams, leaving, arriving, state, .. } = peer;
        let Some(stream) = streams.get_mut(id.stream as usize) else { return Ok(Read::Last(0)) };
        let Stream { link, output, input, asked, .. } = stream;
        let (Link::Open(socket), State::Up) = (&*link, *state) else { return Ok(Read::Last(0)) };
        let (owes, has_left) = (false, false);
        let mut ears = Ears { id, sink, output, asked, leaving, arriving, owes, has_left };
        let (read, wanted) = if let Some((at, len)) = input.landing() {
            // What comes behind it begins with a head, which says where the rest is to go.
            if self.scratch.len() < NEXT_BYTES {
                self.scratch.resize(NEXT_BYTES, 0);
            }
            let next = &mut self.scratch[..NEXT_BYTES];
            // SAFETY: the request's memory is writable until its transfer has landed, by the
            // contract of `Landing`.
            let read = unsafe { socket.receive_two(at, len, next) };
            if let Ok(Some(n)) = read {
                input.landed(n.min(len), &mut ears)?;
                self.counters.bytes_in_place += n.min(len) as u64;
                if let Some(fresh) = n.checked_sub(len).filter(|fresh| *fresh > 0) {
                    input.take(&mut self.scratch[..fresh], frame_max, &mut ears)?;
                    self.counters.bytes_buffered += fresh as u64;
                }
            }
            (read, len + NEXT_BYTES)
        } else {
            let kept = input.partial().len();
            let room = READ_BYTES.max(input.missing());
            if self.scratch.len() < kept + room {
                self.scratch.resize(kept + room, 0);
            }
            self.scratch[..kept].copy_from_slice(input.partial());
            // SAFETY: the buffer has `room` bytes from `kept` on.
            let read = unsafe { socket.receive(self.scratch[kept..].as_mut_ptr(), room) };
            if let Ok(Some(n)) = read {
                let bytes = &mut self.scratch[..kept + n];
                input.take(bytes, frame_max, &mut ears)?;
                self.counters.bytes_buffered += n as u64;
            }
            (read, room)
        };
        let (owes, has_left) = (ears.owes, ears.has_left);
        match read {
            Ok(None) => Ok(Read::Last(0)),
            Ok(Some(0)) => Ok(Read::End("it closed the connection".to_owned())),
            Err(error) => Ok(Read::End(error.to_string())),
            Ok(Some(n)) => {
                let due = u64::from(self.config.tcp.window_bytes / 4);
                peer.note_debts(id.peer, owes, due, &mut self.owing);
                if has_left {
                    self.part(id);
                    return Ok(Read::Last(n));
                }
                Ok(if n < wanted { Read::Last(n) } else { Read::Some(n) })
            }
        }
    }
}
