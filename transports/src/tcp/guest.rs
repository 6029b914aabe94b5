//! Those who connected to this process and have not proved yet who they are.
//!
//! Each gets a challenge; until its hello is checked it has no effect on anything. Where there are
//! many it is dropped after a while, or for others (`crowd`): a rank to which that happens seeks again.
//! Refusals are logged, at most one a second.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use super::hello::{self, Answer, HELLO_BYTES, Hello, Nonce, Welcome};
use super::net::{self, Epoll, Socket};
use super::peer::State;
use super::seek;
use super::stream::Link;
use super::{KEY_GUEST, StreamId, Tcp, TcpSettings, crowd};
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

/// What a guest that is one no longer has said: who it is, or nothing at all, or less than that.
pub(super) enum Words {
    Hello(Vec<u8>),
    None,
    Few,
}

/// All of them, the oldest first.
pub(super) struct Guests {
    pub(super) all: Vec<Guest>,
    next: u64,
    /// Since when no connection could be accepted.
    full_since: Option<Instant>,
    /// A descriptor that makes room for one more connection when there is no other.
    reserve: Option<OwnedFd>,
}

impl Guests {
    /// None yet, in a process that waits with this set.
    pub(super) fn new(epoll: &Epoll) -> io::Result<Guests> {
        let reserve = Some(epoll.as_fd().try_clone_to_owned()?);
        Ok(Guests { all: Vec::new(), next: 0, full_since: None, reserve })
    }

    /// Keeps a descriptor for a connection to come, if the last one was needed.
    fn keep_reserve(&mut self, epoll: &Epoll) {
        if self.reserve.is_none() {
            self.reserve = epoll.as_fd().try_clone_to_owned().ok();
        }
    }

    /// Challenges one who has connected.
    fn challenge(
        &mut self,
        (socket, from): (Socket, SocketAddr),
        tcp: &TcpSettings,
        epoll: &Epoll,
    ) -> io::Result<()> {
        let mut nonce = Nonce::default();
        getrandom::fill(&mut nonce).map_err(io::Error::other)?;
        socket.prepare(tcp.socket_bytes as usize, tcp.silence())?;
        say(&socket, &hello::challenge(&nonce))?;
        let serial = self.next;
        self.next += 1;
        epoll.add(socket.as_fd(), KEY_GUEST | serial, Interest::Read)?;
        let (heard, waited, looked_at) = (Vec::new(), Duration::ZERO, net::now());
        self.all.push(Guest { serial, socket, from, nonce, heard, waited, looked_at });
        Ok(())
    }

    /// The guest who is chosen by the sources of all.
    fn chosen(&self, choose: impl FnOnce(&[IpAddr]) -> Option<usize>) -> Option<u64> {
        let sources: Vec<IpAddr> = self.all.iter().map(|guest| crowd::source(guest.from)).collect();
        choose(&sources).map(|place| self.all[place].serial)
    }

    /// Guests that are too many.
    fn surplus(&self) -> usize {
        self.all.len().saturating_sub(GUESTS_FEW)
    }

    /// Sends those away, of too many, who have not said who they are for too long: at the end of a
    /// look, which has heard all that was said before it.
    pub(super) fn drop_silent(&mut self) {
        let now = net::now();
        for guest in &mut self.all {
            guest.waited += now.duration_since(guest.looked_at).min(LOOK_MOST);
            guest.looked_at = now;
        }
        let mut surplus = self.surplus();
        self.all.retain(|guest| {
            let goes = surplus > 0 && guest.waited >= PATIENCE;
            surplus -= usize::from(goes);
            !goes
        });
    }

    /// When the guests are to be looked at again, because one of them may have to go.
    pub(super) fn due(&self) -> Option<Instant> {
        let surplus = self.all.iter().take(self.surplus());
        surplus
            .map(|guest| guest.looked_at + PATIENCE.saturating_sub(guest.waited).min(LOOK_MOST))
            .min()
    }

    /// A guest has said something: if it is one no longer, it and what it has said.
    fn hear(&mut self, serial: u64) -> Option<(Guest, Words)> {
        let place = self.all.iter().position(|guest| guest.serial == serial)?;
        let guest = &mut self.all[place];
        let words = match seek::hear(&guest.socket, &mut guest.heard, HELLO_BYTES) {
            Ok(words) => Words::Hello(words?),
            Err(_) if guest.heard.is_empty() => Words::None,
            Err(_) => Words::Few,
        };
        Some((self.all.remove(place), words))
    }
}

impl Tcp {
    /// Takes the connections that have come, and challenges those who made them.
    pub(super) fn accept_guests(&mut self) {
        let ranks = self.peers.len();
        loop {
            match self.listen_sockets.accept() {
                Ok(Some((socket, from))) => {
                    self.guests.full_since = None;
                    let newcomer = crowd::source(from);
                    self.send_away(|guests| crowd::who_goes(guests, newcomer, ranks));
                    let come = (socket, from);
                    if let Err(error) = self.guests.challenge(come, &self.config.tcp, &self.epoll) {
                        self.complain(from, &error.to_string());
                    }
                }
                Ok(None) => return self.guests.keep_reserve(&self.epoll),
                // A rank that only waits would never hear of the one that cannot come in.
                Err(_) if self.guests.reserve.take().is_some() => {}
                // The program has the other descriptors; those that guests have are enough for one.
                Err(_) if self.send_away(crowd::oldest_of_most) => {}
                Err(error) => {
                    let nowhere = SocketAddr::from(([0, 0, 0, 0], self.listen_sockets.port()));
                    let why = format!("no connection can be accepted: {error} (ulimit -n?)");
                    self.complain(nowhere, &why);
                    return self.give_up_if_full(&error);
                }
            }
        }
    }

    /// Nobody can be let in. Who is looked for here may be at the door in turn and wait for a word:
    /// where that lasts, it is out of reach.
    fn give_up_if_full(&mut self, error: &io::Error) {
        let now = net::now();
        let since = *self.guests.full_since.get_or_insert(now);
        if now.duration_since(since) < self.config.tcp.silence() {
            return;
        }
        let how = format!(
            "this process cannot accept its connection: {error}; is the limit on open files \
             (ulimit -n) reached?"
        );
        for id in self.peers.seeking.clone() {
            self.lose(id.peer, &how);
        }
    }

    /// Sends the guest away who is chosen by the sources of all, the oldest first; whether there is
    /// one less. What it has said is heard before: it may be a rank, which only had to wait for us.
    fn send_away(&mut self, choose: impl FnOnce(&[IpAddr]) -> Option<usize>) -> bool {
        let Some(serial) = self.guests.chosen(choose) else { return false };
        self.hear_guest(serial);
        self.guests.all.retain(|guest| guest.serial != serial);
        true
    }

    /// A guest has said something; whether it is one no longer.
    pub(super) fn hear_guest(&mut self, serial: u64) -> bool {
        let Some((guest, words)) = self.guests.hear(serial) else { return false };
        let from = guest.from;
        let refused = match words {
            Words::Hello(words) => self.judge(guest, &words),
            Words::Few => Err("it left before it had said who it is".to_owned()),
            // Whoever lost the race among addresses goes without a word.
            Words::None => Ok(()),
        };
        if let Err(why) = refused {
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
        let known = self.peers.of_rank(hello.rank).filter(|_| hello.rank != self.config.rank);
        let Some(peer) = known else {
            return Err(format!("its hello is from rank {}, who is unknown", hello.rank));
        };
        let id = StreamId { peer, stream: hello.stream };
        let to = &mut self.peers[peer];
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
