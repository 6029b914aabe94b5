//! Those who connected to this process and have not proved yet who they are.
//!
//! Each gets a challenge; until its hello is checked it has no effect on anything. Where there are
//! many it is dropped after a while, or for others (`crowd`): a rank to which that happens seeks again.
//! Refusals are logged, at most one a second.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::hello::{self, Answer, HELLO_BYTES, Hello, Nonce, Welcome};
use super::net::{self, Socket};
use super::peer::State;
use super::seek;
use super::stream::Link;
use super::{KEY_GUEST, StreamId, Tcp, crowd};
use crate::sys::epoll::Interest;
use crate::sys::tcp::Run;

/// How long a guest may take to say who it is, where there are more than [`GUESTS_FEW`].
const PATIENCE: Duration = Duration::from_secs(10);
/// The most of it that passes from one look to the next: what was said while this process computed
/// is heard at its next look.
const LOOK_MOST: Duration = Duration::from_millis(200);
/// So many may take as long as they like: a rank that has connected may compute for hours before it
/// looks for the challenge.
const GUESTS_FEW: usize = 64;

/// One of them.
pub(super) struct Guest {
    pub(super) serial: u64,
    socket: Socket,
    from: SocketAddr,
    nonce: Nonce,
    heard: Vec<u8>,
    /// How long it has been listened to, and until when.
    waited: Duration,
    looked_at: Instant,
}

impl Tcp {
    /// Takes the connections that have come, and challenges those who made them.
    pub(super) fn accept_guests(&mut self) {
        loop {
            match self.doors.accept() {
                Ok(Some((socket, from))) => {
                    self.full_since = None;
                    self.make_room(from);
                    if let Err(error) = self.challenge(socket, from) {
                        self.complain(from, &error.to_string());
                    }
                }
                Ok(None) => return self.keep_reserve(),
                // A rank that only waits would never hear of the one that cannot come in.
                Err(_) if self.reserve.take().is_some() => {}
                // The program has the other descriptors; those that guests have are enough for one.
                Err(_) if self.send_away(crowd::oldest_of_most) => {}
                Err(error) => {
                    let nowhere = SocketAddr::from(([0, 0, 0, 0], self.doors.port()));
                    let why = format!("no connection can be accepted: {error} (ulimit -n?)");
                    self.complain(nowhere, &why);
                    return self.give_up_if_full(&error);
                }
            }
        }
    }

    /// Keeps a descriptor for a connection to come, if the last one was needed.
    fn keep_reserve(&mut self) {
        if self.reserve.is_none() {
            self.reserve = self.epoll.as_fd().try_clone_to_owned().ok();
        }
    }

    /// Nobody can be let in. Who is looked for here may be at the door in turn and wait for a word:
    /// where that lasts, it is out of reach.
    fn give_up_if_full(&mut self, error: &io::Error) {
        let now = net::now();
        let since = *self.full_since.get_or_insert(now);
        if now.duration_since(since) < self.config.tcp.silence() {
            return;
        }
        let how = format!(
            "this process cannot accept its connection: {error}; is the limit on open files \
             (ulimit -n) reached?"
        );
        for id in self.seeking.clone() {
            self.lose(id.peer, &how);
        }
    }

    fn challenge(&mut self, socket: Socket, from: SocketAddr) -> io::Result<()> {
        let mut nonce = Nonce::default();
        getrandom::fill(&mut nonce).map_err(io::Error::other)?;
        socket.prepare(self.config.tcp.socket_bytes as usize, self.config.tcp.silence())?;
        say(&socket, &hello::challenge(&nonce))?;
        let serial = self.next_guest;
        self.next_guest += 1;
        self.epoll.add(socket.as_fd(), KEY_GUEST | serial, Interest::Read)?;
        let (heard, waited, looked_at) = (Vec::new(), Duration::ZERO, net::now());
        self.guests.push(Guest { serial, socket, from, nonce, heard, waited, looked_at });
        Ok(())
    }

    /// Makes room for a guest from there, where there are too many.
    fn make_room(&mut self, from: SocketAddr) {
        let (newcomer, ranks) = (crowd::source(from), self.peers.len());
        self.send_away(|guests| crowd::who_goes(guests, newcomer, ranks));
    }

    /// Sends the guest away who is chosen by the sources of all, the oldest first; whether there is
    /// one less. What it has said is heard before: it may be a rank, which only had to wait for us.
    fn send_away(&mut self, choose: impl FnOnce(&[IpAddr]) -> Option<usize>) -> bool {
        let sources: Vec<IpAddr> =
            self.guests.iter().map(|guest| crowd::source(guest.from)).collect();
        let Some(place) = choose(&sources) else { return false };
        let serial = self.guests[place].serial;
        if !self.hear_guest(serial) {
            self.guests.remove(place);
        }
        true
    }

    /// Guests that are too many, the oldest first.
    fn surplus(&self) -> usize {
        self.guests.len().saturating_sub(GUESTS_FEW)
    }

    /// Sends those away, of too many, who have not said who they are for too long: at the end of a
    /// look, which has heard all that was said before it.
    pub(super) fn drop_silent_guests(&mut self) {
        let now = net::now();
        for guest in &mut self.guests {
            guest.waited += now.duration_since(guest.looked_at).min(LOOK_MOST);
            guest.looked_at = now;
        }
        let mut surplus = self.surplus();
        self.guests.retain(|guest| {
            let goes = surplus > 0 && guest.waited >= PATIENCE;
            surplus -= usize::from(goes);
            !goes
        });
    }

    /// When the guests are to be looked at again, because one of them may have to go.
    pub(super) fn guests_due(&self) -> Option<Instant> {
        let surplus = self.guests.iter().take(self.surplus());
        surplus
            .map(|guest| guest.looked_at + PATIENCE.saturating_sub(guest.waited).min(LOOK_MOST))
            .min()
    }

    /// A guest has said something; whether it is one no longer.
    pub(super) fn hear_guest(&mut self, serial: u64) -> bool {
        let Some(place) = self.guests.iter().position(|guest| guest.serial == serial) else {
            return false;
        };
        let guest = &mut self.guests[place];
        let words = seek::hear(&guest.socket, &mut guest.heard, HELLO_BYTES);
        let said_nothing = guest.heard.is_empty();
        let words = match words {
            Ok(None) => return false,
            Ok(Some(words)) => words,
            Err(_) => {
                let guest = self.guests.remove(place);
                // Whoever lost the race among addresses goes without a word.
                if !said_nothing {
                    self.complain(guest.from, "it left before it had said who it is");
                }
                return true;
            }
        };
        let guest = self.guests.remove(place);
        let from = guest.from;
        if let Err(why) = self.judge(guest, &words) {
            self.complain(from, &why);
        }
        true
    }

    /// Checks a hello and gives the stream that it asks for its connection.
    fn judge(&mut self, guest: Guest, words: &[u8]) -> Result<(), String> {
        let words = words.first_chunk().ok_or("its hello is too short")?;
        let hello = Hello::from_bytes(words, &self.config.secret, &guest.nonce)
            .map_err(|why| why.to_string())?;
        if hello.job != self.job || hello.to_rank != self.config.rank {
            return Err("its hello is for another process".to_owned());
        }
        let streams = self.config.tcp.streams;
        if hello.stream >= streams {
            return Err(format!("it wants stream {}, but there are {streams}", hello.stream));
        }
        let known = self.by_rank.get(&hello.rank).filter(|_| hello.rank != self.config.rank);
        let Some(&peer) = known else {
            return Err(format!("its hello is from rank {}, who is unknown", hello.rank));
        };
        let id = StreamId { peer, stream: hello.stream };
        let to = &mut self.peers[peer.0 as usize];
        if to.state != State::Up {
            if to.state == State::Down {
                // It would seek for ever.
                let never = Welcome { answer: Answer::Never, epoch: hello.epoch, received: 0 };
                let words = never.to_bytes(&self.config.secret, [&guest.nonce, &hello.nonce]);
                say(&guest.socket, &words).map_err(|error| error.to_string())?;
            }
            return Err(format!("rank {} was given up before", hello.rank));
        }
        to.want_streams(hello.stream + 1, &self.config, &self.job);
        let stream = &to.streams[hello.stream as usize];
        // Of two connections that cross, the one that the lower rank made is kept. A hello may have
        // been on its way while another connection came and went (its sender's host sends it again
        // and again, also when the sender has given it up): then it is behind what this end knows.
        let is_taken = match &stream.link {
            _ if !stream.output.can_resume(hello.received) => false,
            Link::Open(_) => hello.epoch >= stream.epoch,
            Link::Seeking(seek) => !(seek.has_greeted() && self.config.rank < hello.rank),
            Link::Idle => true,
        };
        let Some(epoch) = stream.epoch.max(hello.epoch).checked_add(1) else {
            return Err(format!("its hello counts {} connections before it", hello.epoch));
        };
        let answer = if is_taken { Answer::Taken } else { Answer::Later };
        let welcome = Welcome { answer, epoch, received: stream.input.received() };
        if is_taken {
            self.close_link(id);
        }
        let nonces = [&guest.nonce, &hello.nonce];
        say(&guest.socket, &welcome.to_bytes(&self.config.secret, nonces))
            .map_err(|error| format!("it cannot be welcomed: {error}"))
            .inspect_err(|_| self.seek_again(id))?;
        if is_taken {
            tracing::debug!(rank = self.config.rank, peer = hello.rank, face = hello.face, "met");
            self.open_link(id, guest.socket, epoch, hello.received);
        }
        Ok(())
    }

    /// One log line about a stranger.
    pub(super) fn complain(&mut self, from: SocketAddr, why: &str) {
        self.counters.strangers += 1;
        if !self.restraint.may_speak(net::now()) {
            return;
        }
        let (rank, so_far) = (self.config.rank, self.counters.strangers);
        tracing::warn!(rank, %from, why, so_far, "refused a stranger's connection");
    }
}

/// Sends first words, which a new connection has room for.
pub(super) fn say(socket: &Socket, words: &[u8]) -> io::Result<()> {
    // SAFETY: the words are ours for the call.
    let n = unsafe { socket.send(&[Run::new(words.as_ptr(), words.len())])? };
    if n == words.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}
