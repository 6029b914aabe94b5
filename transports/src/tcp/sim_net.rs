//! A simulated network below the transport's sockets, for tests of one thread: what TCP makes of
//! delay, loss and small buffers, and connections that break, all from a seed and in virtual time.
//!
//! Loss is what TCP shows of it: a lost segment comes late, after one or more timeouts, and holds
//! up what is behind it; a lost SYN delays the connection. Reads and writes are cut anywhere. Time
//! passes with each call. Without [`Sim::begin`] in this thread everything is the kernel's.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::hello::{CHALLENGE_BYTES, HELLO_BYTES, WELCOME_BYTES};
use crate::sys::epoll::{Interest, News};

/// The kernel's first retransmission timeout for data, and for a SYN.
const TIMEOUT: Duration = Duration::from_millis(200);
const SYN_TIMEOUT: Duration = Duration::from_secs(1);
/// What a call takes.
const LOOK_TAKES: Duration = Duration::from_micros(500);
const READ_TAKES: Duration = Duration::from_micros(1);
const CLOCK_TAKES: Duration = Duration::from_micros(20);
/// So many bytes each end says first, which are taken whole: every kernel has room for them.
const FIRST_WORDS: [usize; 2] = [HELLO_BYTES, CHALLENGE_BYTES + WELCOME_BYTES];
/// Where who connects comes from, unless a test says otherwise.
pub(super) const HOME: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);
/// Bytes of a segment.
const SEGMENT: usize = 16 << 10;

/// What the network does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weather {
    /// The longest way of a segment that is not lost.
    pub delay: Duration,
    /// How likely a segment is lost, each time it is sent.
    pub lose: f64,
    /// How likely a connection breaks with a segment.
    pub cut: f64,
    /// How likely a byte of a segment is changed, once the first words have passed.
    pub alter: f64,
    /// Bytes that a connection holds in one direction.
    pub buffer: usize,
}

/// One direction of a connection.
#[derive(Default)]
struct Pipe {
    flying: VecDeque<(Duration, Vec<u8>)>,
    ready: VecDeque<u8>,
    held: usize,
    sent: usize,
    last: Duration,
    /// Nothing more will be sent.
    ended: bool,
    /// Its receiver has gone.
    deserted: bool,
}

struct Connection {
    from: SocketAddr,
    open_at: Duration,
    refused: bool,
    cut_at: Option<Duration>,
    /// From the one who connected, and to it.
    pipes: [Pipe; 2],
}

#[derive(Clone, Copy)]
enum What {
    Listener(SocketAddr),
    End(usize, usize),
}

#[derive(Default)]
struct Watch {
    keys: BTreeMap<u64, (u64, Interest)>,
}

/// The network and all that is in it.
pub(super) struct Net {
    random: ChaCha8Rng,
    weather: Weather,
    base: Instant,
    time: Duration,
    listen_sockets: BTreeMap<SocketAddr, VecDeque<usize>>,
    next_port: u16,
    /// Where those who connect now come from.
    source: SocketAddr,
    /// Until then a firewall drops who wants to connect.
    barred_until: Duration,
    connections: Vec<Connection>,
    /// What is behind a descriptor, which is but a name here, with a number of its own.
    things: HashMap<RawFd, (u64, What)>,
    next_thing: u64,
    watches: Vec<Watch>,
    trace: DefaultHasher,
}

thread_local! {
    static NET: RefCell<Option<Net>> = const { RefCell::new(None) };
}

/// The simulated network of this thread, while this lives.
pub(super) struct Sim;

impl Sim {
    pub(super) fn begin(seed: u64, weather: Weather) -> Sim {
        let net = Net {
            random: ChaCha8Rng::seed_from_u64(seed),
            weather,
            base: Instant::now(),
            time: Duration::ZERO,
            listen_sockets: BTreeMap::new(),
            next_port: 1000,
            source: HOME,
            barred_until: Duration::ZERO,
            connections: Vec::new(),
            things: HashMap::new(),
            next_thing: 0,
            watches: Vec::new(),
            trace: DefaultHasher::new(),
        };
        NET.with(|cell| *cell.borrow_mut() = Some(net));
        Sim
    }

    /// The hash of all that happened.
    pub(super) fn trace(&self) -> u64 {
        with(|net| net.trace.finish()).unwrap_or(0)
    }

    /// So much time passes without a call of anybody's.
    pub(super) fn pass(&self, time: Duration) {
        with(|net| net.time += time);
    }

    /// The time that has passed.
    pub(super) fn time(&self) -> Duration {
        with(|net| net.time).unwrap_or_default()
    }

    /// Those who connect from now on come from this address.
    pub(super) fn come_from(&self, source: SocketAddr) {
        with(|net| net.source = source);
    }

    /// All connections break, with what is on its way.
    pub(super) fn cut_all(&self) {
        with(|net| net.connections.iter_mut().for_each(|one| one.cut_at = Some(net.time)));
    }

    /// Nobody can connect until so much time has passed, and nobody says why.
    pub(super) fn bar_until(&self, time: Duration) {
        with(|net| net.barred_until = time);
    }

    /// The weather changes.
    pub(super) fn turn(&self, weather: Weather) {
        with(|net| net.weather = weather);
    }

    /// Connections so far.
    pub(super) fn connections(&self) -> usize {
        with(|net| net.connections.len()).unwrap_or(0)
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        NET.with(|cell| *cell.borrow_mut() = None);
    }
}

/// Does something with the network of this thread, if there is one.
pub(super) fn with<R>(run: impl FnOnce(&mut Net) -> R) -> Option<R> {
    NET.with(|cell| cell.borrow_mut().as_mut().map(run))
}

/// The virtual time, where there is one.
pub(super) fn now() -> Option<Instant> {
    with(|net| {
        net.time += CLOCK_TAKES;
        net.base + net.time
    })
}

/// A descriptor that is but a name.
pub(super) fn name() -> io::Result<OwnedFd> {
    Ok(File::open("/dev/null")?.into())
}

/// What is told of a connection that broke.
pub(super) fn gone() -> io::Error {
    ErrorKind::ConnectionReset.into()
}

impl Net {
    fn name(&mut self, what: What) -> io::Result<OwnedFd> {
        let fd = name()?;
        self.things.insert(fd.as_raw_fd(), (self.next_thing, what));
        self.next_thing += 1;
        Ok(fd)
    }

    fn note(&mut self, what: &str, number: usize, bytes: usize) {
        (self.time, what, number, bytes).hash(&mut self.trace);
    }

    /// How long a segment takes, with what it costs when it is lost.
    fn way(&mut self, timeout: Duration) -> Duration {
        let delay = self.weather.delay.as_nanos() as u64;
        let mut way = Duration::from_nanos(self.random.random_range(0..=delay));
        let mut again = timeout;
        while self.weather.lose > 0.0 && self.random.random_bool(self.weather.lose) {
            way += again;
            again *= 2;
        }
        way
    }

    fn end(&self, fd: RawFd) -> io::Result<(usize, usize)> {
        match self.things.get(&fd) {
            Some((_, What::End(connection, side))) => Ok((*connection, *side)),
            _ => Err(gone()),
        }
    }

    pub(super) fn connect(&mut self, to: SocketAddr) -> io::Result<OwnedFd> {
        let (mut way, mut again) = (self.way(SYN_TIMEOUT), SYN_TIMEOUT);
        while self.time + way < self.barred_until {
            way += again;
            again *= 2;
        }
        let number = self.connections.len();
        let refused = !self.listen_sockets.contains_key(&to);
        self.connections.push(Connection {
            from: self.source,
            open_at: self.time + way,
            refused,
            cut_at: None,
            pipes: Default::default(),
        });
        if let Some(queue) = self.listen_sockets.get_mut(&to) {
            queue.push_back(number);
        }
        self.note("connect", number, 0);
        self.name(What::End(number, 0))
    }

    pub(super) fn accept(&mut self, at: SocketAddr) -> io::Result<Option<(OwnedFd, SocketAddr)>> {
        let (time, connections) = (self.time, &self.connections);
        let queue = self.listen_sockets.get_mut(&at).ok_or_else(gone)?;
        let Some(place) = queue.iter().position(|number| connections[*number].open_at <= time)
        else {
            return Ok(None);
        };
        let number = queue.remove(place).ok_or_else(gone)?;
        self.note("accept", number, 0);
        let from = self.connections[number].from;
        Ok(Some((self.name(What::End(number, 1))?, from)))
    }

    pub(super) fn send(&mut self, fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
        let (number, side) = self.end(fd)?;
        let (time, weather) = (self.time, self.weather);
        let connection = &mut self.connections[number];
        if connection.refused || connection.cut_at.is_some_and(|at| at <= time) {
            return Err(gone());
        }
        if connection.pipes[side].deserted {
            // The answer is a reset, which ends what is under way to here as well.
            connection.cut_at.get_or_insert(time);
            return Err(gone());
        }
        let pipe = &connection.pipes[side];
        let room = weather.buffer - pipe.held;
        if connection.open_at > time || room == 0 || bytes.is_empty() {
            return Ok(0);
        }
        let most = bytes.len().min(room);
        let cuts = pipe.sent >= FIRST_WORDS[side] && self.random.random_bool(0.5);
        let taken = if cuts { self.random.random_range(1..=most) } else { most };
        for segment in bytes[..taken].chunks(SEGMENT) {
            let way = self.way(TIMEOUT);
            let cuts = weather.cut > 0.0 && self.random.random_bool(weather.cut);
            let mut segment = segment.to_vec();
            let has_met = self.connections[number].pipes[side].sent >= FIRST_WORDS[side];
            if has_met && weather.alter > 0.0 && self.random.random_bool(weather.alter) {
                let at = self.random.random_range(0..segment.len());
                segment[at] ^= self.random.random_range(1..=u8::MAX);
            }
            let connection = &mut self.connections[number];
            let pipe = &mut connection.pipes[side];
            pipe.last = pipe.last.max(time + way);
            pipe.held += segment.len();
            pipe.sent += segment.len();
            pipe.flying.push_back((pipe.last, segment));
            if cuts && connection.cut_at.is_none() {
                connection.cut_at = Some(time + way);
            }
        }
        self.note("send", number, taken);
        Ok(taken)
    }

    pub(super) fn receive(&mut self, fd: RawFd, len: usize) -> io::Result<Option<Vec<u8>>> {
        self.time += READ_TAKES;
        let (number, side) = self.end(fd)?;
        let time = self.time;
        let connection = &mut self.connections[number];
        if connection.open_at > time {
            return Ok(None);
        }
        if connection.refused {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        let pipe = &mut connection.pipes[1 - side];
        let until = connection.cut_at.unwrap_or(time).min(time);
        while pipe.flying.front().is_some_and(|(at, _)| *at <= until) {
            let (_, bytes) = pipe.flying.pop_front().expect("it was there");
            pipe.ready.extend(bytes);
        }
        if !pipe.ready.is_empty() && len > 0 {
            let most = len.min(pipe.ready.len());
            let n = if self.random.random_bool(0.7) {
                most
            } else {
                self.random.random_range(1..=most)
            };
            pipe.held -= n;
            let bytes = pipe.ready.drain(..n).collect();
            self.note("receive", number, n);
            return Ok(Some(bytes));
        }
        match () {
            () if connection.cut_at.is_some_and(|at| at <= time) => Err(gone()),
            () if pipe.ended && pipe.flying.is_empty() => Ok(Some(Vec::new())),
            () => Ok(None),
        }
    }

    /// What there is to be said of a thing: to read, and to write.
    fn state(&self, what: What) -> (bool, bool) {
        match what {
            What::Listener(at) => {
                let waits = |number: &usize| self.connections[*number].open_at <= self.time;
                (self.listen_sockets.get(&at).is_some_and(|queue| queue.iter().any(waits)), false)
            }
            What::End(number, side) => {
                let connection = &self.connections[number];
                let (to, from) = (&connection.pipes[side], &connection.pipes[1 - side]);
                let is_open = connection.open_at <= self.time;
                let is_over = connection.refused
                    || to.deserted
                    || connection.cut_at.is_some_and(|at| at <= self.time);
                let has_come = from.flying.front().is_some_and(|(at, _)| *at <= self.time);
                let reads = has_come || !from.ready.is_empty() || from.ended || is_over;
                let writes = to.held < self.weather.buffer || is_over;
                (is_open && reads, is_open && writes)
            }
        }
    }

    pub(super) fn look(&mut self, watch: usize) -> Vec<News> {
        self.time += LOOK_TAKES;
        let mut things: Vec<(u64, What)> = self.things.values().copied().collect();
        things.sort_by_key(|(serial, _)| *serial);
        let mut news = Vec::new();
        for (serial, what) in things {
            let Some(&(key, interest)) = self.watches[watch].keys.get(&serial) else { continue };
            let (readable, writable) = self.state(what);
            let writable = writable && interest == Interest::ReadWrite;
            if readable || writable {
                news.push(News { key, readable, writable });
            }
        }
        news.truncate(64);
        news
    }

    pub(super) fn close(&mut self, fd: RawFd) {
        let Some((serial, what)) = self.things.remove(&fd) else { return };
        for watch in &mut self.watches {
            watch.keys.remove(&serial);
        }
        match what {
            What::Listener(at) => drop(self.listen_sockets.remove(&at)),
            What::End(number, side) => {
                let pipes = &mut self.connections[number].pipes;
                pipes[side].ended = true;
                pipes[1 - side].deserted = true;
            }
        }
    }

    pub(super) fn listen(&mut self, mut at: SocketAddr) -> io::Result<(OwnedFd, SocketAddr)> {
        if at.port() == 0 {
            at.set_port(self.next_port);
            self.next_port += 1;
        }
        self.listen_sockets.insert(at, VecDeque::new());
        Ok((self.name(What::Listener(at))?, at))
    }

    pub(super) fn is_connected(&self, fd: RawFd) -> bool {
        self.end(fd).is_ok_and(|(number, _)| {
            let connection = &self.connections[number];
            !connection.refused && connection.open_at <= self.time
        })
    }

    pub(super) fn is_acknowledged(&self, fd: RawFd) -> bool {
        self.end(fd).map_or(true, |(number, side)| {
            self.connections[number].pipes[side].flying.iter().all(|(at, _)| *at <= self.time)
        })
    }

    pub(super) fn end_one_way(&mut self, fd: RawFd) {
        if let Ok((number, side)) = self.end(fd) {
            self.connections[number].pipes[side].ended = true;
        }
    }

    pub(super) fn new_watch(&mut self) -> usize {
        self.watches.push(Watch::default());
        self.watches.len() - 1
    }

    pub(super) fn watch(
        &mut self,
        watch: usize,
        fd: RawFd,
        key: u64,
        interest: Interest,
    ) -> io::Result<()> {
        let (serial, _) = *self.things.get(&fd).ok_or_else(gone)?;
        self.watches[watch].keys.insert(serial, (key, interest));
        Ok(())
    }

    pub(super) fn unwatch(&mut self, watch: usize, fd: RawFd) {
        if let Some((serial, _)) = self.things.get(&fd) {
            self.watches[watch].keys.remove(serial);
        }
    }
}
