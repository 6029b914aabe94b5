//! First contact with a peer: its card, the way in (see `connect`) or the two hellos (see `hello`), the lanes opened.
//!
//! A process looks at its socket rarely while it is busy, since that is a system call, but
//! always before it sleeps. Each peer writes the lane that has its rank's number.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use mpi_core::port::{PeerId, ProcessName};
use mpi_core::tuning::{DATAGRAMS_PER_LOOK, LOOKS_PER_SETUP_MESSAGE, POLLS_PER_LOOK};

use super::hello::{Card, HELLO_BYTES, Hello, Refusal};
use super::parting::{self, PARTING_BYTES};
use super::setup_message::{Enclosure, SetupMessage};
use super::window_segments::Posting;
use crate::cards::NODE;
use crate::shm::arena::Remote;
use crate::shm::peer::{Peer, State};
use crate::shm::{Contacts, Event};
use crate::sys::cma;
use crate::sys::socket::{Arrival, Name};

/// The longest setup message: a posting is no longer than a hello.
const SETUP_MESSAGE_BYTES: usize =
    if PARTING_BYTES > HELLO_BYTES { PARTING_BYTES } else { HELLO_BYTES };

/// A peer that said hello before the core knew it.
pub(in crate::shm) struct Stray {
    hello: Hello,
    /// Its arena, or why that cannot be mapped.
    remote: Result<Remote, String>,
    pid: i32,
}

impl Contacts {
    /// Makes a peer known (see [`mpi_core::port::Transport::add_peer`]).
    pub(in crate::shm) fn introduce(&mut self, peer: PeerId, name: &ProcessName) {
        let place = peer.0 as usize;
        if place >= self.peers.len() {
            self.peers.resize_with(place + 1, Peer::unmet);
        }
        self.peers[place].rank = name.rank;
        if name.job != self.config.job {
            return self.lose(peer, "it belongs to another job");
        }
        self.by_rank.insert(name.rank, peer);
        self.unmet.push((name.rank, peer));
        if let Some(at) = self.strays.iter().position(|stray| stray.hello.rank == name.rank) {
            let Stray { hello, remote, pid } = self.strays.swap_remove(at);
            match remote {
                Ok(remote) => self.let_in(peer, &hello, remote, pid),
                Err(why) => self.lose(peer, &why),
            }
        }
    }

    /// The card of this kind of a peer, if it has been published.
    ///
    /// # Errors
    /// There is none and will be none; the text says why.
    pub(crate) fn look_up(
        &mut self,
        peer: PeerId,
        kind: &'static str,
    ) -> Result<Option<String>, String> {
        let known = self.peers.get(peer.0 as usize).ok_or("it is not known")?;
        let card = self.directory.card(kind, known.rank)?;
        // Nobody rings when it appears.
        self.refused |= card.is_none();
        Ok(card)
    }

    /// Whether the process with this card runs on this host; `None` for text that is no card.
    pub(crate) fn is_here(&self, text: &str) -> Option<bool> {
        Card::from_text(text).ok().map(|card| card.host == self.card.host)
    }

    /// Something is to be sent to a peer whose lane is not open.
    #[cold]
    pub(in crate::shm) fn approach(&mut self, peer: PeerId) {
        let to = &self.peers[peer.0 as usize];
        if to.state == State::Unmet && to.rank != u32::MAX {
            self.seek(peer);
        }
    }

    /// Meets all peers, as far as that needs no help of theirs.
    pub(crate) fn meet_all(&mut self) {
        for (_, peer) in std::mem::take(&mut self.unmet) {
            self.approach(peer);
        }
    }

    /// Whether all peers have met this process, or cannot.
    pub(crate) fn has_met_all(&mut self) -> bool {
        self.refused = true;
        let mut all = self.by_rank.iter().map(|(rank, peer)| (rank, &self.peers[peer.0 as usize]));
        all.all(|(rank, peer)| peer.state == State::Down || self.arena.has_connect_request(*rank))
    }

    /// Looks a peer's card up and goes in to it or sends it a hello.
    fn seek(&mut self, peer: PeerId) {
        let rank = self.peers[peer.0 as usize].rank;
        let text = match self.directory.card(NODE, rank) {
            Ok(Some(text)) => text,
            Ok(None) => {
                self.peers[peer.0 as usize].state = State::Wanted;
                if !self.wanted.contains(&peer) {
                    self.wanted.push(peer);
                }
                return;
            }
            Err(why) => return self.lose(peer, &why),
        };
        self.greet(peer, &text);
    }

    /// Goes in to a peer that has not been met, by its card, or sends it a hello.
    pub(crate) fn greet(&mut self, peer: PeerId, text: &str) {
        let known = self.peers.get(peer.0 as usize);
        if known.is_none_or(|known| known.greeted || known.remote.is_some()) {
            return;
        }
        let card = match Card::from_text(text) {
            Ok(card) => card,
            Err(why) => return self.lose(peer, &why),
        };
        if card.host != self.card.host {
            let how = "it runs on another host, or in another network namespace of this one, and \
                       this process has no network open; FERRITE_TRANSPORT=tcp opens it";
            return self.lose(peer, how);
        }
        // From here on the peer may hear of this process, so that it is told when that gives it up.
        self.peers[peer.0 as usize].name = Some(card.name);
        if self.enter(peer, &card.name) {
            return;
        }
        self.post_hello(peer, card.name);
        let to = &mut self.peers[peer.0 as usize];
        if to.state != State::Down {
            to.state = State::Greeted;
            self.greeted += 1;
            self.unmet.retain(|(_, unmet)| *unmet != peer);
        }
        self.look_soon();
    }

    /// This process's hello to another.
    pub(in crate::shm) fn hello(&self, to_rank: u32, to: Name) -> Hello {
        Hello {
            rank: self.config.rank,
            to_rank,
            fences: self.fences,
            geometry: *self.arena.geometry(),
            probe: self.arena.probe(),
            from: self.card.name,
            to,
            job: self.job,
        }
    }

    /// Sends a peer this process's hello, which happens once.
    pub(in crate::shm) fn post_hello(&mut self, peer: PeerId, to: Name) {
        let known = &mut self.peers[peer.0 as usize];
        known.greeted = true;
        known.name = Some(to);
        let rank = known.rank;
        let bytes = self.hello(rank, to).to_bytes(&self.config.secret).to_vec();
        let enclosed = Enclosure::Arena;
        self.outbox.push_back(SetupMessage { peer: Some(peer), to, bytes, enclosed });
        self.send_setup_messages();
    }

    /// Looks for who has asked for a connection and, now and then, at the socket; does again what could not be done
    /// before.
    pub(in crate::shm) fn look_around(&mut self) {
        self.until_look = POLLS_PER_LOOK;
        self.until_setup_messages -= 1;
        self.answer_connect_requests();
        if self.until_setup_messages == 0 {
            self.until_setup_messages = LOOKS_PER_SETUP_MESSAGE;
            self.look_for_setup_messages();
        }
        if self.greeted > 0 || !self.outbox.is_empty() || !self.wanted.is_empty() {
            self.until_setup_messages = 1;
        }
    }

    /// Notices who has left: nobody rings for that, and this process may wait for one of them.
    fn lose_leavers(&mut self) {
        let has_left = |peer: &PeerId| {
            let Peer { state, remote, .. } = &self.peers[peer.0 as usize];
            *state == State::Open && remote.as_ref().is_some_and(Remote::has_left)
        };
        let leavers: Vec<PeerId> = self.row.iter().copied().filter(has_left).collect();
        leavers.into_iter().for_each(|peer| self.lose(peer, "it has left"));
    }

    /// The program has closed the socket, with all descriptors it does not know: gives up who can come no other way.
    fn lose_unheard(&mut self) {
        let is_findable = self.arena.is_findable();
        let is_unheard = |(rank, peer): &(&u32, &PeerId)| match self.peers[peer.0 as usize].state {
            State::Greeted => true,
            State::Open => !is_findable && !self.arena.has_connect_request(**rank),
            _ => false,
        };
        let unheard = self.by_rank.iter().filter(is_unheard).map(|(_, peer)| *peer);
        for peer in unheard.collect::<Vec<_>>() {
            self.lose(peer, "the program has closed descriptors of the library (closefrom, close)");
        }
    }

    fn look_for_setup_messages(&mut self) {
        self.lose_leavers();
        let mut buffer = [0; SETUP_MESSAGE_BYTES + 1];
        for _ in 0..DATAGRAMS_PER_LOOK {
            match self.socket.as_ref().map_or(Ok(None), |socket| socket.receive(&mut buffer)) {
                Ok(Some(arrival)) if arrival.len == 1 => self.was_rung = true,
                Ok(Some(arrival)) => self.take_datagram(&buffer[..arrival.len], arrival),
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(%error, "the shared-memory socket cannot be read");
                    self.lose_unheard();
                    break;
                }
            }
        }
        for peer in std::mem::take(&mut self.wanted) {
            self.seek(peer);
        }
        self.send_setup_messages();
    }

    /// The next poll looks at the socket.
    pub(in crate::shm) fn look_soon(&mut self) {
        (self.until_look, self.until_setup_messages) = (1, 1);
    }

    /// A datagram that is no bell.
    fn take_datagram(&mut self, bytes: &[u8], arrival: Arrival) {
        let (pid, uid) = (arrival.pid, arrival.uid);
        let taken = if Posting::is_meant(bytes) {
            self.take_posting(bytes, arrival)
        } else if parting::is_meant(bytes) {
            self.take_parting(bytes)
        } else {
            self.take_hello(bytes, arrival)
        };
        if let Err(why) = taken {
            self.refusals += 1;
            if !self.restraint.may_speak(Instant::now()) {
                return;
            }
            tracing::warn!(
                rank = self.config.rank,
                pid,
                uid,
                why,
                so_far = self.refusals,
                "refused a stranger at the shared-memory socket"
            );
        }
    }

    fn take_hello(&mut self, bytes: &[u8], arrival: Arrival) -> Result<(), String> {
        let hello = Hello::from_bytes(bytes, &self.config.secret).map_err(|why| match why {
            Refusal::Form => "it sent no hello".into(),
            Refusal::Version(theirs) => {
                format!("it speaks version {theirs}, this process {}", crate::shm::arena::VERSION)
            }
            Refusal::Secret => "it does not know the secret of this job".to_string(),
        })?;
        let to_this = hello.to == self.card.name && hello.to_rank == self.config.rank;
        if !to_this || hello.job != self.job || hello.rank == self.config.rank {
            return Err("its hello is for another process".into());
        }
        let known = self.by_rank.get(&hello.rank).copied();
        if known.is_some_and(|peer| self.peers[peer.0 as usize].state == State::Down) {
            self.part_from(hello.rank, hello.from, "it was given up before");
            return Ok(());
        }
        if let Some(peer) = known
            && self.peers[peer.0 as usize].remote.is_some()
        {
            if self.peers[peer.0 as usize].greeted {
                return Err("it has said hello before".into());
            }
            // It was entered here, and cannot enter in turn.
            self.post_hello(peer, hello.from);
            return Ok(());
        }
        // Who knows the secret and cannot be reached gets an answer: that ends in an error, not in a wait.
        let (remote, pid) = (map_arena(arrival.fd, &hello), arrival.pid);
        match (known, remote) {
            (Some(peer), Ok(remote)) => self.let_in(peer, &hello, remote, pid),
            (Some(peer), Err(why)) => {
                self.peers[peer.0 as usize].name = Some(hello.from);
                self.lose(peer, &why);
            }
            (None, _) if self.strays.len() >= self.arena.geometry().lanes as usize => {
                return Err("too many unknown peers said hello".into());
            }
            (None, remote) => {
                remote.as_ref().inspect_err(|why| self.part_from(hello.rank, hello.from, why)).ok();
                self.strays.push(Stray { hello, remote, pid });
            }
        }
        Ok(())
    }

    /// Opens the lanes to a peer whose hello has come, and lets it do the same.
    fn let_in(&mut self, peer: PeerId, hello: &Hello, remote: Remote, pid: i32) {
        let known = &self.peers[peer.0 as usize];
        if !known.greeted && known.state != State::Down {
            self.post_hello(peer, hello.from);
        }
        self.open(peer, hello, remote, pid);
    }

    /// Opens both lanes between this process and a peer, of which this is the hello and the arena.
    pub(in crate::shm) fn open(
        &mut self,
        peer: PeerId,
        hello: &Hello,
        mut remote: Remote,
        pid: i32,
    ) {
        let known = &self.peers[peer.0 as usize];
        if matches!(known.state, State::Open | State::Down) {
            return;
        }
        let (inbound, outbound) = (hello.rank, self.config.rank);
        if inbound >= self.arena.geometry().lanes {
            return self.lose(peer, "this process has no lane for it");
        }
        let writer = match remote.writer(outbound) {
            Ok(writer) => writer,
            Err(error) => return self.lose(peer, &error.to_string()),
        };
        let exchange = match outbound < inbound {
            true => self.arena.exchange(inbound),
            false => remote.exchange(outbound),
        };
        let exchange = match exchange {
            Ok(exchange) => exchange,
            Err(error) => return self.lose(peer, &cannot_be_mapped(&error)),
        };
        self.wanted.retain(|wanted| *wanted != peer);
        self.unmet.retain(|(_, unmet)| *unmet != peer);
        let known = &mut self.peers[peer.0 as usize];
        known.name = Some(hello.from);
        known.writer = writer;
        known.exchange = exchange;
        known.parked = remote.parked();
        known.pid = pid;
        known.readable = may_read(pid, hello.probe).then_some(pid);
        known.fences = hello.fences;
        known.remote = Some(remote);
        self.greeted -= u32::from(known.state == State::Greeted);
        known.state = State::Open;
        known.reader = self.arena.reader(inbound);
        self.all_fence &= hello.fences;
        self.row.push(peer);
        self.request_connection(peer);
        tracing::debug!(rank = self.config.rank, peer = hello.rank, "shared memory is open");
    }

    /// Reports a peer that cannot be reached to the sink at the next poll.
    pub(in crate::shm) fn note(&mut self, event: Event) {
        self.events.push(event);
        self.chores = true;
    }
}

/// Maps the arena whose descriptor came with a hello.
fn map_arena(fd: Option<OwnedFd>, hello: &Hello) -> Result<Remote, String> {
    let missing = "its hello brought no memory; is the limit on open files (ulimit -n) reached?";
    Remote::new(fd.ok_or(missing)?, hello.geometry).map_err(|error| cannot_be_mapped(&error))
}

fn cannot_be_mapped(error: &io::Error) -> String {
    let is_full = error.raw_os_error() == Some(libc::ENOMEM);
    let limit = if is_full { "; is there a limit on addresses (ulimit -v)?" } else { "" };
    format!("its shared memory cannot be mapped: {error}{limit}; FERRITE_TRANSPORT=tcp needs none")
}

/// Whether the kernel lets this process read the memory of `pid`: tried on a known word, never on a message.
fn may_read(pid: i32, probe: (u64, u64)) -> bool {
    let mut word = 0u64;
    // SAFETY: eight bytes, ours.
    let read = unsafe { cma::read(pid, probe.0, (&raw mut word).cast(), size_of_val(&word)) };
    pid > 0 && matches!(read, Ok(8)) && word == probe.1
}
