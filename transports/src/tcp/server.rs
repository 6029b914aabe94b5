//! Connecting to all peers at the start with one server thread per process: the scheme that paper
//! 000 improves upon (§3.2), kept as the baseline to measure the others against.
//!
//! The thread accepts whoever comes, hears hellos as they arrive and welcomes those of the job,
//! until all higher ranks have come; meanwhile the process connects to all lower ones. The thread
//! then ends, and the listening socket belongs to the polls again.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mpi_core::port::PeerId;

use super::hello::{self, Answer, HELLO_BYTES, Hello, Nonce, Secret, Welcome};
use super::listen_sockets::ListenSockets;
use super::net::{Epoll, Socket};
use super::{KEY_LISTENER, KEY_SERVER, StreamId, Tcp, crowd, guest, seek};
use crate::ring_order::Connects;
use crate::sys::epoll::Interest;
use crate::sys::wait;

/// How long one who has connected may take to say its hello.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it sleeps before it looks whether the process still wants it.
const SLEEP_MAX: Duration = Duration::from_millis(200);

/// A connection whose hello was good.
struct Met {
    rank: u32,
    received: u64,
    socket: Socket,
}

/// The thread, and what comes from it.
pub struct Server {
    thread: Option<JoinHandle<io::Result<()>>>,
    met: Receiver<Met>,
    /// Readable when something has come.
    bell: UnixStream,
    /// Says that nobody else is waited for.
    stop: Arc<AtomicBool>,
}

/// What the thread knows.
struct Clerk {
    listen_sockets: ListenSockets,
    secret: Secret,
    job: [u8; 32],
    rank: u32,
    /// Ranks of the job.
    ranks: usize,
    /// Higher ranks that have not come.
    left: usize,
    /// Those who have connected, by a number that counts them.
    callers: BTreeMap<u64, Caller>,
    next_caller: u64,
    out: Sender<Met>,
    bell: UnixStream,
    stop: Arc<AtomicBool>,
}

/// One who has connected to the thread and has not proved yet who it is.
struct Caller {
    socket: Socket,
    from: SocketAddr,
    nonce: Nonce,
    heard: Vec<u8>,
    since: Instant,
}

impl Caller {
    /// Challenges one who has connected.
    fn challenge(socket: Socket, from: SocketAddr) -> io::Result<Caller> {
        let mut nonce = Nonce::default();
        getrandom::fill(&mut nonce).map_err(io::Error::other)?;
        guest::say(&socket, &hello::challenge(&nonce))?;
        Ok(Caller { socket, from, nonce, heard: Vec::new(), since: Instant::now() })
    }
}

impl Clerk {
    fn serve(mut self) -> io::Result<()> {
        let epoll = Epoll::new()?;
        self.listen_sockets.watch(&epoll)?;
        while self.left > 0 && !self.stop.load(Ordering::Acquire) {
            wait::until_readable([Some(epoll.as_fd())], SLEEP_MAX)?;
            let mut news = Vec::new();
            epoll.look(|one| news.push(one.key))?;
            for key in news {
                match key {
                    KEY_LISTENER => self.accept(&epoll)?,
                    number => drop(self.hear(&epoll, number)?),
                }
            }
            self.callers.retain(|_, caller| caller.since.elapsed() < PATIENCE);
        }
        Ok(())
    }

    /// Takes the connections that have come, and challenges those who made them; where there are
    /// too many (`crowd`) others go, once they have been heard.
    fn accept(&mut self, epoll: &Epoll) -> io::Result<()> {
        while let Some((socket, from)) = self.listen_sockets.accept()? {
            let sources: Vec<IpAddr> =
                self.callers.values().map(|caller| crowd::source(caller.from)).collect();
            let goes = crowd::who_goes(&sources, crowd::source(from), self.ranks);
            let goes = goes.and_then(|place| self.callers.keys().nth(place).copied());
            if let Some(number) = goes
                && !self.hear(epoll, number)?
            {
                self.callers.remove(&number);
            }
            let Ok(caller) = Caller::challenge(socket, from) else { continue };
            epoll.add(caller.socket.as_fd(), self.next_caller, Interest::Read)?;
            self.callers.insert(self.next_caller, caller);
            self.next_caller += 1;
        }
        Ok(())
    }

    /// Hears what a caller has said; whether it is one no longer.
    fn hear(&mut self, epoll: &Epoll, number: u64) -> io::Result<bool> {
        let Some(caller) = self.callers.get_mut(&number) else { return Ok(true) };
        let words = match seek::hear(&caller.socket, &mut caller.heard, HELLO_BYTES) {
            Ok(None) => return Ok(false),
            Ok(Some(words)) => Some(words),
            Err(_) => None,
        };
        let caller = self.callers.remove(&number);
        let met = caller.zip(words).and_then(|(caller, words)| self.judge(caller, &words));
        if let Some(met) = met {
            epoll.remove(met.socket.as_fd())?;
            self.announce(met)?;
        }
        Ok(true)
    }

    /// Welcomes a caller if its hello is good; whoever is no rank of this job gets no answer.
    fn judge(&self, caller: Caller, words: &[u8]) -> Option<Met> {
        let hello = Hello::from_bytes(words.first_chunk()?, &self.secret, &caller.nonce).ok()?;
        let is_due = hello.job == self.job
            && hello.to_rank == self.rank
            && hello.rank > self.rank
            && (hello.stream, hello.epoch) == (0, 0);
        if !is_due {
            return None;
        }
        let welcome = Welcome { answer: Answer::Taken, epoch: 1, received: 0 };
        let words = welcome.to_bytes(&self.secret, [&caller.nonce, &hello.nonce]);
        guest::say(&caller.socket, &words).ok()?;
        Some(Met { rank: hello.rank, received: hello.received, socket: caller.socket })
    }

    /// Hands a connection over to the process.
    fn announce(&mut self, met: Met) -> io::Result<()> {
        self.left -= 1;
        self.out.send(met).map_err(io::Error::other)?;
        match self.bell.write(b"!") {
            // A full bell rings already.
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }
}

impl Tcp {
    /// Starts the thread that accepts those of `peers` with higher ranks.
    ///
    /// # Errors
    /// The kernel gives no thread or no descriptor.
    pub fn start_server(&mut self, peers: &[PeerId]) -> io::Result<Server> {
        let (out, met) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let (bell, theirs) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        self.epoll.add(bell.as_fd(), KEY_SERVER, Interest::Read)?;
        let own = self.config.rank;
        let higher = peers.iter().filter(|peer| self.peers[**peer].rank > own);
        let clerk = Clerk {
            listen_sockets: self.listen_sockets.share()?,
            secret: self.config.secret,
            job: self.job,
            rank: own,
            ranks: self.peers.len(),
            left: higher.count(),
            callers: BTreeMap::new(),
            next_caller: 0,
            out,
            bell: theirs,
            stop: Arc::clone(&stop),
        };
        self.listen_sockets.unwatch(&self.epoll)?;
        let thread = std::thread::Builder::new()
            .name("ferrite-accept".into())
            .spawn(move || clerk.serve())?;
        Ok(Server { thread: Some(thread), met, bell, stop })
    }

    /// Goes on connecting to `peers`; whether all are connected or lost.
    pub fn connect_served(&mut self, server: &mut Server, peers: &[PeerId]) -> bool {
        // Rung for each; how often does not matter.
        while matches!(server.bell.read(&mut [0; 64]), Ok(1..)) {}
        while let Ok(Met { rank, received, socket }) = server.met.try_recv() {
            let Some(peer) = self.peers.of_rank(rank) else { continue };
            let added = self.epoll.add(socket.as_fd(), KEY_SERVER, Interest::Read);
            let buffer = self.config.tcp.socket_bytes as usize;
            match added.and_then(|()| socket.prepare(buffer, self.config.tcp.silence())) {
                Ok(()) => {
                    self.peers[peer].want_streams(1, &self.config, &self.job);
                    self.open_link(StreamId { peer, stream: 0 }, socket, 1, received);
                }
                Err(error) => self.lose(peer, &error.to_string()),
            }
        }
        let own = self.config.rank;
        for &peer in peers {
            if self.peers[peer].rank < own {
                self.approach(peer);
            }
        }
        let all = peers.iter().all(|peer| self.is_settled(*peer));
        let is_over = all || server.thread.as_ref().is_some_and(JoinHandle::is_finished);
        if let Some(thread) = server.thread.take_if(|_| is_over) {
            // It may still wait for somebody who is lost; if it has failed, the polls accept.
            server.stop.store(true, Ordering::Release);
            if !matches!(thread.join(), Ok(Ok(()))) {
                tracing::warn!("the thread that accepted connections has failed");
            }
            if let Err(error) = self.listen_sockets.watch(&self.epoll) {
                tracing::warn!(%error, "nobody can connect to this process any more");
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::World;
    use crate::tcp::tests::{small, world};
    use mpi_core::port::Transport;

    #[test]
    fn servers_connect_all_with_one_connection_for_each_pair_and_end() {
        for size in [2, 3, 6] {
            let mut world = World::new(world(size, &small()));
            let others = |own: u32| (0..size).filter(move |k| *k != own).map(PeerId);
            let peers: Vec<Vec<PeerId>> = (0..size).map(|own| others(own).collect()).collect();
            let mut servers: Vec<Server> = (0..size as usize)
                .map(|end| world.transport(end).start_server(&peers[end]).unwrap())
                .collect();
            world.run_until("all are connected", |world| {
                let mut missing = 0;
                for (end, server) in servers.iter_mut().enumerate() {
                    let tcp = world.transport(end);
                    missing += u32::from(!tcp.connect_served(server, &peers[end]));
                }
                missing == 0
            });
            for (end, server) in servers.iter().enumerate() {
                let tcp = world.transport(end);
                assert_eq!(tcp.counters().connections, u64::from(size) - 1);
                assert!(tcp.is_flushed() && server.thread.is_none());
            }
        }
    }
}
