//! Connections: looked for, opened, broken and made again.
//!
//! Whoever first has something to send looks for the peer; both do when a connection breaks. Of
//! two that cross, the one that the lower rank made is kept (`guest`). A peer that cannot be
//! reached for as long as the setting says is lost.

use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use mpi_core::port::{PeerId, Why};

use super::hello::{self, Answer, Hello, Nonce, VERSION, Welcome};
use super::net::{self, Socket};
use super::peer::State;
use super::record::Kind;
use super::seek::{Attempt, Seek, Stage};
use super::stream::{Link, Stream};
use super::{Event, KEY_SEEK, StreamId, Tcp, guest};
use crate::sys::epoll::Interest;

/// So often in a row data may come changed.
const ALTERED_MOST: u32 = 8;
/// What may be wrong then.
const ALTERED_HINT: &str = "Is there a device or a program between the hosts that changes it, does the program \
                            write to a buffer that it still sends, or is memory broken? \
                            FERRITE_TCP_SECURITY=off takes the data as it comes.";

/// What may help where a peer's addresses do not answer.
const NOBODY_ANSWERS: &str = "Do firewalls let TCP pass between the hosts of the ranks? FERRITE_TCP_INTERFACES and \
                              FERRITE_TCP_PORTS choose where ranks listen, FERRITE_TCP_PATIENCE how long they try.";

/// The same on one host.
const NOBODY_ANSWERS_HERE: &str = "Both ranks are on this host: does something here, such as a sandbox, keep TCP from \
                                   its loopback interface? FERRITE_TRANSPORT=shm does without.";

impl Tcp {
    /// Begins to look for the peer of a stream that has no connection.
    #[cold]
    pub(super) fn seek(&mut self, id: StreamId) {
        let (now, patience) = (net::now(), self.config.tcp.patience);
        let Some(peer) = self.peers.get_mut(id.peer) else { return };
        if peer.state != State::Up {
            return;
        }
        let seek = Seek::from(id.stream, patience, now);
        peer.streams[id.stream as usize].link = Link::Seeking(Box::new(seek));
        self.peers.seeking.push(id);
        self.seek_on(id, now);
    }

    /// Looks again for the peer of a stream whose connection was given up for another that came
    /// to nothing.
    pub(super) fn seek_again(&mut self, id: StreamId) {
        if self.peers.stream_mut(id).is_some_and(|stream| matches!(stream.link, Link::Idle)) {
            self.seek(id);
        }
    }

    /// Goes on with all searches; whether anything moved.
    pub(super) fn seek_on_all(&mut self) -> bool {
        let (now, mut moved) = (net::now(), false);
        for id in self.peers.seeking.clone() {
            moved |= self.seek_on(id, now);
        }
        moved
    }

    /// Tries the next address of a peer if its time has come; gives the peer up if all has taken
    /// too long. Whether a connection was begun.
    fn seek_on(&mut self, id: StreamId, now: Instant) -> bool {
        let (patience, silence) = (self.config.tcp.patience, self.config.tcp.silence());
        let Some(peer) = self.peers.get_mut(id.peer) else { return false };
        let Link::Seeking(seek) = &mut peer.streams[id.stream as usize].link else { return false };
        seek.drop_stale(now);
        if seek.missed(now) > patience {
            let how = match peer.routes.is_empty() {
                true => "it has told no address at which it can be reached from here (FERRITE_TCP_INTERFACES \
                          names the interfaces whose addresses a process tells)"
                    .to_owned(),
                false => format!(
                    "for {} s it could not be reached at {}",
                    patience.as_secs_f32(),
                    seek.tell(&peer.routes)
                ),
            };
            let is_here = peer.routes.iter().all(|way| way.ip().is_loopback());
            let hint = match (peer.routes.is_empty(), is_here) {
                (true, _) => None,
                (false, true) => Some(NOBODY_ANSWERS_HERE),
                (false, false) => Some(NOBODY_ANSWERS),
            };
            self.lose_with(id.peer, &how, hint);
            return true;
        }
        let mut begun = false;
        while let Some(way) = seek.next_route(peer.routes.len(), now) {
            begun = true;
            let socket = Socket::begin_connect(peer.routes[way]).and_then(|socket| {
                socket.prepare(self.config.tcp.socket_bytes as usize, silence)?;
                self.epoll.add(socket.as_fd(), KEY_SEEK | id.key(), Interest::Read)?;
                Ok(socket)
            });
            match socket {
                Ok(socket) => seek.attempts.push(Attempt::new(socket, way, now)),
                Err(error) => seek.note_failure(way, error.to_string(), now),
            }
        }
        begun
    }

    /// There is news on attempts to connect a stream; whether anything moved.
    pub(super) fn hear_attempts(&mut self, id: StreamId) -> bool {
        let (mut place, mut moved) = (0, false);
        loop {
            let Some(seek) = self.peers.seek_mut(id) else { return moved };
            let Some(attempt) = seek.attempts.get_mut(place) else { return moved };
            let heard = attempt.socket.failure().map_or_else(|| attempt.hear(), Err);
            match heard {
                Ok(None) => place += 1,
                Ok(Some(words)) => {
                    moved = true;
                    if let Err(why) = self.answer(id, place, &words)
                        && let Some(seek) = self.peers.seek_mut(id)
                    {
                        seek.fail(place, why);
                    }
                }
                Err(error) => {
                    moved = true;
                    seek.fail(place, error.to_string());
                }
            }
        }
    }

    /// Answers the complete words that came on an attempt. An error ends the attempt.
    fn answer(&mut self, id: StreamId, place: usize, words: &[u8]) -> Result<(), String> {
        let form = "its words are too short";
        let Some(peer) = self.peers.get_mut(id.peer) else { return Ok(()) };
        let stream = &mut peer.streams[id.stream as usize];
        let Link::Seeking(seek) = &mut stream.link else { return Ok(()) };
        match &seek.attempts[place].stage {
            Stage::Challenge => {
                let theirs = hello::read_challenge(words.first_chunk().ok_or(form)?)
                    .map_err(|why| why.to_string())?;
                let mut nonce = Nonce::default();
                getrandom::fill(&mut nonce).map_err(|error| error.to_string())?;
                let hello = Hello {
                    rank: self.config.rank,
                    to_rank: peer.rank,
                    face: self.config.face,
                    stream: id.stream,
                    epoch: stream.epoch,
                    received: stream.input.received(),
                    nonce,
                    job: self.job,
                };
                let bytes = hello.to_bytes(&self.config.secret, &theirs);
                guest::say(&seek.attempts[place].socket, &bytes).map_err(|e| e.to_string())?;
                seek.attempts[place].stage = Stage::Welcome(theirs, nonce);
                // The first to answer has won the race.
                seek.attempts.swap(0, place);
                seek.attempts.truncate(1);
                Ok(())
            }
            Stage::Welcome(theirs, ours) => {
                let words = words.first_chunk().ok_or(form)?;
                let welcome = Welcome::from_bytes(words, &self.config.secret, [theirs, ours])
                    .map_err(|why| why.to_string())?;
                let attempt = seek.attempts.remove(place);
                match welcome.answer {
                    Answer::Taken => {
                        self.open_link(id, attempt.socket, welcome.epoch, welcome.received);
                    }
                    Answer::Later => seek.rest(net::now()),
                    Answer::Never => self.lose(id.peer, "that rank has given this one up"),
                }
                Ok(())
            }
        }
    }

    /// A stream goes on over a new connection, from where the peer says it is.
    pub(super) fn open_link(&mut self, id: StreamId, socket: Socket, epoch: u32, received: u64) {
        self.peers.seeking.retain(|one| *one != id);
        let added = self
            .epoll
            .change(socket.as_fd(), id.key(), Interest::Read)
            .map_err(|error| error.to_string());
        let peer = &mut self.peers[id.peer];
        peer.waits = false;
        let stream = &mut peer.streams[id.stream as usize];
        let mut released = Vec::new();
        let resumed = stream.output.resume(received, |transfer| released.push(transfer));
        if let Err(how) = resumed.map_err(str::to_owned).and(added) {
            return self.lose(id.peer, &how);
        }
        socket.hurry_within_host();
        stream.link = Link::Open(socket);
        self.open += 1;
        self.counters.connections += 1;
        self.counters.repairs += u64::from(stream.epoch > 0);
        stream.epoch = epoch;
        (stream.is_mute, stream.asked, stream.owes_ack) = (false, false, false);
        stream.told = stream.input.received();
        for transfer in released {
            if let Some(token) = peer.leaving.released(transfer) {
                self.events.push(Event::Sent(token));
            }
        }
        self.write(id);
        if self.leaves {
            self.say(id, Kind::Bye);
        }
        self.looks.soon();
    }

    /// Ends the connection or the search of a stream, which goes on when there is another.
    pub(super) fn close_link(&mut self, id: StreamId) {
        self.peers.seeking.retain(|one| *one != id);
        let Some(stream) = self.peers.stream_mut(id) else { return };
        let was_open = stream.is_open();
        let was_blocked = std::mem::take(&mut stream.is_blocked);
        // Closing it takes a socket out of the epoll set.
        stream.link = Link::Idle;
        stream.input.restart();
        self.looks.forget(id);
        self.open -= u32::from(was_open);
        self.blocked -= u32::from(was_blocked);
    }

    /// A connection has broken: it is made again.
    pub(super) fn break_link(&mut self, id: StreamId, why: &str) {
        let peer = &self.peers[id.peer];
        tracing::info!(rank = self.config.rank, peer = peer.rank, why, "a connection broke");
        self.close_link(id);
        if self.peers[id.peer].says_goodbye {
            self.part_at_last(id.peer);
        } else if !self.leaves {
            // Who has heard this end's goodbye ends the connection and answers no other.
            self.seek(id);
        }
    }

    /// What came on a connection was changed on its way: it ends, and another brings the same again.
    /// Where all are changed, something between the hosts does it, and the peer is lost.
    pub(super) fn drop_altered(&mut self, id: StreamId) {
        self.counters.altered += 1;
        let Some(stream) = self.peers.stream_mut(id) else { return };
        let times = stream.note_altered();
        let from = self.peers[id.peer].rank;
        if times >= ALTERED_MOST {
            let how = format!("{times} times in a row its data did not come as it was sent");
            // What it has sent never gets here, whoever waits for it.
            return self.end_with(id.peer, &how, Some(ALTERED_HINT), true);
        }
        if self.restraint.may_speak(net::now()) {
            let (rank, so_far) = (self.config.rank, self.counters.altered);
            tracing::warn!(
                rank,
                from,
                so_far,
                "data was changed on its way, and is sent once more"
            );
        }
        self.break_link(id, "its data was changed on its way");
    }

    /// A peer has said goodbye on one stream, as it does on each, behind all that it sent there.
    pub(super) fn part(&mut self, id: StreamId) {
        self.peers[id.peer].says_goodbye = true;
        self.close_link(id);
        self.part_at_last(id.peer);
    }

    /// The peer has left once nothing more can come on any stream.
    fn part_at_last(&mut self, peer: PeerId) {
        if !self.peers[peer].streams.iter().any(Stream::is_open) {
            self.end_all(peer, State::Left);
            self.events.push(Event::Down(peer, Why::Finalized));
        }
    }

    /// A peer is lost.
    pub(super) fn lose(&mut self, peer: PeerId, how: &str) {
        self.lose_with(peer, how, None);
    }

    /// The same, with what may help.
    fn lose_with(&mut self, peer: PeerId, how: &str, hint: Option<&'static str>) {
        if self.peers[peer].state != State::Up {
            return;
        }
        // Who waits for the connection does not look for it, and would wait for ever.
        let owes = self.peers[peer].owes() || self.peers[peer].waits;
        self.end_with(peer, how, hint, owes);
    }

    /// Ends all that there is with a peer; whether something was sent that now never arrives.
    fn end_with(
        &mut self,
        peer: PeerId,
        how: &str,
        hint: Option<&'static str>,
        is_undelivered: bool,
    ) {
        self.end_all(peer, State::Down);
        let how = format!(
            "rank {} cannot reach rank {} by TCP (version {VERSION}): {how}",
            self.config.rank, self.peers[peer].rank
        );
        let why = if is_undelivered { Why::Undelivered { how, hint } } else { Why::Lost(how) };
        self.events.push(Event::Down(peer, why));
    }

    /// Nothing that comes is noticed any more: the program has closed the set of connections, as those do that close
    /// all descriptors they do not know. Whoever has sent something would never hear of that.
    pub(super) fn lose_all(&mut self, error: &io::Error) {
        for peer in self.peers.up() {
            let how = format!(
                "rank {} hears nothing from rank {} any more: {error}; has the program closed descriptors of the \
                 library (closefrom, close)?",
                self.config.rank, self.peers[peer].rank
            );
            self.end_all(peer, State::Down);
            self.events.push(Event::Down(peer, Why::Undelivered { how, hint: None }));
        }
    }

    fn end_all(&mut self, peer: PeerId, state: State) {
        for number in 0..self.peers[peer].streams.len() {
            self.close_link(StreamId { peer, stream: number as u32 });
        }
        self.peers[peer].end(state);
        self.owing.retain(|id| id.peer != peer);
    }
}
