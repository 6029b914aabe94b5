//! A simulated network below the transport's sockets, for tests of one thread: hosts, each with an address
//! on every cable, and what cables do to datagrams, all from a seed and in virtual time. Without
//! [`Sim::begin`] in this thread everything is the kernel's.
//!
//! Time stands still unless a test lets it pass ([`Sim::pass_until`]). What comes to a socket waits there, as
//! much as the receive buffer holds, until it is read: who computes loses the rest.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::sys::epoll::Interest;
use crate::sys::udp::{BATCH_BYTES_MAX, BATCH_MAX};

/// Bytes of headers of UDP and IP.
const HEADERS: usize = 28;
/// At most so long a socket has no room once it has none.
const NO_ROOM_MICROS: u64 = 3000;

/// What one direction of a cable does, and the kernel of the host from which it leads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weather {
    /// The way of a datagram, and at most so much more, by chance: datagrams overtake each other.
    pub delay: Duration,
    pub jitter: Duration,
    /// How likely a datagram is lost, comes a second time, and is changed.
    pub lose: f64,
    pub repeat: f64,
    pub alter: f64,
    /// The MTU of the card, with all headers; what the kernel sends in truth; and what comes through.
    pub card: usize,
    pub sends: usize,
    pub carries: usize,
    /// How likely a call finds no room, and no way.
    pub full: f64,
    pub unreachable: f64,
    /// Whether the card takes batches.
    pub joins: bool,
}

/// A cable as good as any.
pub(crate) const FAIR: Weather = Weather {
    delay: Duration::from_micros(50),
    jitter: Duration::ZERO,
    lose: 0.0,
    repeat: 0.0,
    alter: 0.0,
    card: 1500,
    sends: 1500,
    carries: 1500,
    full: 0.0,
    unreachable: 0.0,
    joins: true,
};

/// When a datagram comes, its place among all, where it comes from, and its bytes.
type Flying = Reverse<(Duration, u64, SocketAddr, Vec<u8>)>;

struct Place {
    host: usize,
    port: u16,
    flying: BinaryHeap<Flying>,
    ready: VecDeque<(SocketAddr, Vec<u8>)>,
    ready_bytes: usize,
    holds: usize,
    gathers: bool,
    full_until: Duration,
    wants_room: bool,
}

/// The network and all that is in it.
pub(crate) struct Net {
    random: ChaCha8Rng,
    base: Instant,
    time: Duration,
    /// Of each cable, what leads to higher hosts and to lower ones.
    cables: Vec<[Weather; 2]>,
    /// Cable, from and to where nothing comes through.
    cuts: BTreeSet<(usize, usize, usize)>,
    /// The address, by its cable, that all datagrams of a host bear by whatever cable they go.
    bears: HashMap<usize, usize>,
    /// The host on which sockets are opened.
    host: usize,
    places: HashMap<RawFd, Place>,
    by_port: HashMap<u16, RawFd>,
    next_port: u16,
    flown: u64,
    /// Datagrams by the host that sent them and the cable.
    sent: HashMap<(usize, usize), u64>,
    trace: DefaultHasher,
}

thread_local! {
    static NET: RefCell<Option<Net>> = const { RefCell::new(None) };
}

/// Does something with the network of this thread, if there is one.
pub(crate) fn with<R>(run: impl FnOnce(&mut Net) -> R) -> Option<R> {
    NET.with(|cell| cell.borrow_mut().as_mut().map(run))
}

/// The virtual time, where there is one.
pub(crate) fn now() -> Option<Instant> {
    with(|net| net.base + net.time)
}

/// The address of a host on a cable.
pub(crate) fn address(host: usize, cable: usize) -> IpAddr {
    IpAddr::from([10, cable as u8, 0, host as u8 + 1])
}

/// The cable and the host of an address.
fn place_of(ip: IpAddr) -> (usize, usize) {
    let IpAddr::V4(ip) = ip else { panic!("{ip} is nowhere") };
    let [10, cable, 0, host] = ip.octets() else { panic!("{ip} is nowhere") };
    (cable.into(), usize::from(host) - 1)
}

/// The simulated network of this thread, while this lives.
pub(crate) struct Sim;

impl Sim {
    /// A network of these cables, of each what leads to higher hosts and to lower ones.
    pub(crate) fn begin(seed: u64, cables: Vec<[Weather; 2]>) -> Sim {
        let net = Net {
            random: ChaCha8Rng::seed_from_u64(seed),
            base: Instant::now(),
            time: Duration::ZERO,
            cables,
            cuts: BTreeSet::new(),
            bears: HashMap::new(),
            host: 0,
            places: HashMap::new(),
            by_port: HashMap::new(),
            next_port: 1000,
            flown: 0,
            sent: HashMap::new(),
            trace: DefaultHasher::new(),
        };
        NET.with(|cell| *cell.borrow_mut() = Some(net));
        Sim
    }

    fn with<R>(&self, run: impl FnOnce(&mut Net) -> R) -> R {
        with(run).expect("it is this thread's")
    }

    /// The hash of all that happened.
    pub(crate) fn trace(&self) -> u64 {
        self.with(|net| net.trace.finish())
    }

    /// The time that has passed.
    pub(crate) fn time(&self) -> Duration {
        self.with(|net| net.time)
    }

    /// Time passes until then.
    pub(crate) fn pass_until(&self, time: Duration) {
        self.with(|net| net.time = net.time.max(time));
    }

    /// Sockets are opened on this host from now on.
    pub(crate) fn be_at(&self, host: usize) {
        self.with(|net| net.host = host);
    }

    /// Whether anything comes through a cable in one direction between two hosts.
    pub(crate) fn set_cut(&self, cable: usize, [from, to]: [usize; 2], is_cut: bool) {
        self.with(|net| match is_cut {
            true => net.cuts.insert((cable, from, to)),
            false => net.cuts.remove(&(cable, from, to)),
        });
    }

    /// All datagrams of a host bear its address on this cable, as where a kernel has several cards in one network.
    pub(crate) fn set_sender(&self, host: usize, cable: usize) {
        self.with(|net| net.bears.insert(host, cable));
    }

    /// Cables have other weather from now on.
    pub(crate) fn set_weather(&self, cables: Vec<[Weather; 2]>) {
        self.with(|net| net.cables = cables);
    }

    /// Datagrams that a host has sent by a cable, or tried to.
    pub(crate) fn sent(&self, host: usize, cable: usize) -> u64 {
        self.with(|net| net.sent.get(&(host, cable)).copied().unwrap_or(0))
    }

    /// Anybody's datagram comes to a port now.
    pub(crate) fn throw(&self, from: SocketAddr, port: u16, bytes: Vec<u8>) {
        self.with(|net| net.arrive(from, port, net.time, bytes));
    }

    /// What has come to a port and was not read is taken away.
    pub(crate) fn catch(&self, port: u16) -> Vec<Vec<u8>> {
        self.with(|net| {
            let Some(place) = net.at_port(port) else { return Vec::new() };
            let flying = std::mem::take(&mut place.flying).into_sorted_vec();
            flying.into_iter().rev().map(|Reverse((.., bytes))| bytes).collect()
        })
    }

    /// When the set of who hears at a port has news.
    pub(crate) fn news_at(&self, port: u16) -> Option<Duration> {
        self.with(|net| {
            let now = net.time;
            let place = net.at_port(port)?;
            let comes = place.flying.peek().map(|Reverse((at, ..))| *at);
            let comes = if place.ready.is_empty() { comes } else { Some(now) };
            let host = place.host;
            let waits = net.places.values().filter(|place| place.host == host && place.wants_room);
            let room = waits.map(|place| place.full_until);
            comes.into_iter().chain(room).min().map(|at| at.max(now))
        })
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        NET.with(|cell| *cell.borrow_mut() = None);
    }
}

/// For the sockets.
impl Net {
    pub(crate) fn open(&mut self, fd: RawFd) -> u16 {
        let port = self.next_port;
        self.next_port += 1;
        let place = Place {
            host: self.host,
            port,
            flying: BinaryHeap::new(),
            ready: VecDeque::new(),
            ready_bytes: 0,
            holds: 200 << 10,
            gathers: false,
            full_until: Duration::ZERO,
            wants_room: false,
        };
        self.places.insert(fd, place);
        self.by_port.insert(port, fd);
        port
    }

    pub(crate) fn close(&mut self, fd: RawFd) {
        if let Some(place) = self.places.remove(&fd) {
            self.by_port.remove(&place.port);
        }
    }

    fn place(&mut self, fd: RawFd) -> &mut Place {
        self.places.get_mut(&fd).expect("an open socket")
    }

    fn at_port(&mut self, port: u16) -> Option<&mut Place> {
        self.places.get_mut(self.by_port.get(&port)?)
    }

    pub(crate) fn set_receive_bytes(&mut self, fd: RawFd, bytes: usize) {
        self.place(fd).holds = bytes;
    }

    pub(crate) fn gather(&mut self, fd: RawFd) {
        self.place(fd).gathers = true;
    }

    pub(crate) fn watch(&mut self, fd: RawFd, interest: Interest) {
        self.place(fd).wants_room = interest != Interest::Read;
    }

    pub(crate) fn mtu_to(&mut self, to: SocketAddr) -> usize {
        let (cable, _) = place_of(to.ip());
        // The cards of one cable are alike.
        self.cables[cable][0].card
    }

    pub(crate) fn send(
        &mut self,
        fd: RawFd,
        to: SocketAddr,
        bytes: &[u8],
        each: usize,
    ) -> io::Result<bool> {
        let (time, place) = (self.time, self.place(fd));
        let (host, from_port) = (place.host, place.port);
        let (cable, there) = place_of(to.ip());
        let weather = self.cables[cable][usize::from(host > there)];
        if self.place(fd).full_until > time {
            return Ok(false);
        }
        if self.chance(weather.full) {
            let micros = self.random.random_range(1..=NO_ROOM_MICROS);
            self.place(fd).full_until = time + Duration::from_micros(micros);
            return Ok(false);
        }
        let failed = |code| Err(io::Error::from_raw_os_error(code));
        if self.chance(weather.unreachable) {
            return failed(libc::ENETUNREACH);
        }
        let is_batch = each > 0;
        let each = if is_batch { each } else { bytes.len() };
        assert!(bytes.len() <= BATCH_BYTES_MAX && bytes.len().div_ceil(each.max(1)) <= BATCH_MAX);
        if is_batch && !weather.joins {
            return failed(libc::EIO);
        }
        if each + HEADERS > weather.sends {
            return failed(libc::EMSGSIZE);
        }
        let bears = self.bears.get(&host).copied().unwrap_or(cable);
        let from = SocketAddr::new(address(host, bears), from_port);
        for datagram in bytes.chunks(each) {
            *self.sent.entry((host, cable)).or_default() += 1;
            if !self.cuts.contains(&(cable, host, there)) {
                self.fly(&weather, from, to.port(), datagram.to_vec());
            }
        }
        Ok(true)
    }

    pub(crate) fn receive(&mut self, fd: RawFd, to: &mut [u8]) -> Option<(usize, SocketAddr)> {
        let joins = self.random.random_bool(0.5);
        let (time, place) = (self.time, self.place(fd));
        while place.flying.peek().is_some_and(|Reverse((at, ..))| *at <= time) {
            let Some(Reverse((_, _, from, bytes))) = place.flying.pop() else { break };
            if place.ready_bytes + bytes.len() <= place.holds {
                place.ready_bytes += bytes.len();
                place.ready.push_back((from, bytes));
            }
        }
        let (from, first) = place.ready.pop_front()?;
        let (each, mut len, mut last) = (first.len(), 0, first);
        loop {
            to[len..len + last.len()].copy_from_slice(&last);
            len += last.len();
            let follows = |next: &mut (SocketAddr, Vec<u8>)| {
                let fits = len + next.1.len() <= to.len() && !next.1.is_empty();
                next.0 == from && next.1.len() <= each && fits
            };
            let is_open = joins && place.gathers && last.len() == each;
            match if is_open { place.ready.pop_front_if(follows) } else { None } {
                Some((_, next)) => last = next,
                None => break,
            }
        }
        place.ready_bytes -= len;
        (time, place.port, len).hash(&mut self.trace);
        Some((len, from))
    }
}

impl Net {
    fn chance(&mut self, likely: f64) -> bool {
        likely > 0.0 && self.random.random_bool(likely)
    }

    /// A datagram is on its way.
    fn fly(&mut self, weather: &Weather, from: SocketAddr, port: u16, mut bytes: Vec<u8>) {
        let is_too_long = bytes.len() + HEADERS > weather.carries;
        if is_too_long || self.chance(weather.lose) {
            return;
        }
        if self.chance(weather.alter) && !bytes.is_empty() {
            for _ in 0..self.random.random_range(1..4) {
                let bit = self.random.random_range(0..bytes.len() * 8);
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
        let mut copies = 1 + usize::from(self.chance(weather.repeat));
        while copies > 0 {
            copies -= 1;
            let jitter = self.random.random_range(0..=weather.jitter.as_nanos() as u64);
            let at = self.time + weather.delay + Duration::from_nanos(jitter);
            self.arrive(from, port, at, bytes.clone());
        }
    }

    fn arrive(&mut self, from: SocketAddr, port: u16, at: Duration, bytes: Vec<u8>) {
        self.flown += 1;
        let number = self.flown;
        if let Some(place) = self.at_port(port) {
            place.flying.push(Reverse((at, number, from, bytes)));
        }
    }
}
