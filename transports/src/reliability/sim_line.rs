//! A line between two links, for tests of one thread: delay, loss, duplication, reordering, changed bytes
//! and cuts, each direction for itself, all from a seed and in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::tests::Recorder;
use super::{Config, Datagram, Link};

/// One way over 1,400 and 8,600 miles (paper 004, §5.1).
pub(super) const MILES_1400: Duration = Duration::from_millis(13);
pub(super) const MILES_8600: Duration = Duration::from_micros(81_500);

/// Bytes of a tag.
const TAG_BYTES: usize = 8;

/// What one direction of a line does.
#[derive(Clone, Debug)]
pub(super) struct Weather {
    /// The way of a datagram, and at most so much more, by chance: datagrams overtake each other.
    pub delay: Duration,
    pub jitter: Duration,
    /// How likely a datagram is lost, comes a second time, and is changed.
    pub lose: f64,
    pub repeat: f64,
    pub alter: f64,
    /// Bytes a nanosecond, and how long a queue may last before the line; beyond, datagrams are lost.
    pub rate: f64,
    pub queue: Duration,
    /// When nothing comes through.
    pub cut: Range<Duration>,
    /// Larger datagrams are lost.
    pub mtu: usize,
}

impl Weather {
    /// A line as good as any.
    pub(super) fn fair(delay: Duration) -> Weather {
        Weather {
            delay,
            jitter: Duration::ZERO,
            lose: 0.0,
            repeat: 0.0,
            alter: 0.0,
            rate: f64::INFINITY,
            queue: Duration::MAX,
            cut: Duration::ZERO..Duration::ZERO,
            mtu: usize::MAX,
        }
    }
}

/// One direction of a line.
pub(super) struct Line {
    random: ChaCha8Rng,
    pub weather: Weather,
    /// When each datagram comes, its place among all, and its bytes.
    flying: BinaryHeap<Reverse<(Duration, u64, Vec<u8>)>>,
    places: u64,
    /// When the line has sent what is queued before it.
    free_at: Duration,
    /// Datagrams that were given to the line, and all that happened on it.
    pub sent: u64,
    /// All their bytes.
    pub bytes: u64,
    /// Of these, probes.
    pub probes: u64,
    trace: DefaultHasher,
    /// Memory of datagrams that have come.
    spare: Vec<Vec<u8>>,
}

impl Line {
    fn new(seed: u64, weather: Weather) -> Line {
        Line {
            random: ChaCha8Rng::seed_from_u64(seed),
            weather,
            flying: BinaryHeap::new(),
            places: 0,
            free_at: Duration::ZERO,
            sent: 0,
            bytes: 0,
            probes: 0,
            trace: DefaultHasher::new(),
            spare: Vec::new(),
        }
    }

    fn chance(&mut self, how_likely: f64) -> bool {
        how_likely > 0.0 && self.random.random_bool(how_likely)
    }

    fn send(&mut self, now: Duration, datagram: &Datagram<'_>) {
        self.sent += 1;
        (now, datagram.number(), datagram.bytes()).hash(&mut self.trace);
        let begin = self.free_at.max(now);
        let is_lost = self.chance(self.weather.lose) || self.weather.cut.contains(&now);
        self.bytes += datagram.bytes() as u64;
        self.probes += u64::from(datagram.is_probe());
        if is_lost || datagram.bytes() > self.weather.mtu || begin - now > self.weather.queue {
            return;
        }
        let takes = datagram.bytes() as f64 / self.weather.rate;
        self.free_at = begin + Duration::from_nanos(takes as u64);
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        // SAFETY: the tests keep the memory of their messages until the end.
        unsafe { datagram.copy_to(&mut bytes) };
        bytes.extend(tag(&bytes));
        if self.chance(self.weather.alter) {
            let at = self.random.random_range(0..bytes.len());
            bytes[at] ^= self.random.random_range(1..=u8::MAX);
        }
        if self.chance(self.weather.repeat) {
            self.fly(bytes.clone());
        }
        self.fly(bytes);
    }

    fn fly(&mut self, bytes: Vec<u8>) {
        let jitter = self.random.random_range(0..=self.weather.jitter.as_nanos() as u64);
        let at = self.free_at + self.weather.delay + Duration::from_nanos(jitter);
        self.places += 1;
        self.flying.push(Reverse((at, self.places, bytes)));
    }

    fn next_at(&self) -> Option<Duration> {
        self.flying.peek().map(|Reverse((at, _, _))| *at)
    }

    /// The next datagram that has come by now, with its tag.
    fn take(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.next_at().filter(|at| *at <= now)?;
        self.flying.pop().map(|Reverse((_, _, bytes))| bytes)
    }
}

/// What a transport's keyed tag would be.
fn tag(bytes: &[u8]) -> [u8; TAG_BYTES] {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish().to_le_bytes()
}

/// Two links and the line between them.
pub(super) struct World {
    pub now: Duration,
    pub links: [Link; 2],
    pub heard: [Recorder; 2],
    /// From each end to the other.
    pub lines: [Line; 2],
    /// Until when each end computes, and neither sends nor receives.
    pub busy: [Duration; 2],
    /// Larger datagrams are refused by the system of either.
    pub refused: usize,
    /// When somebody else does something, where nothing else happens before.
    pub next_push: Option<Duration>,
    /// Datagrams that came with a wrong tag.
    pub altered: u64,
}

impl World {
    pub(super) fn new(seed: u64, config: &Config, weather: [Weather; 2]) -> World {
        let mut salt = 0;
        let lines = weather.map(|weather| {
            salt += 1;
            Line::new(seed * 2 + salt, weather)
        });
        World {
            now: Duration::from_secs(1),
            links: [Link::new(config), Link::new(config)],
            heard: Default::default(),
            lines,
            busy: [Duration::ZERO; 2],
            refused: usize::MAX,
            next_push: None,
            altered: 0,
        }
    }

    /// Both ends send what they may; then time passes until something happens, and what has come by then
    /// is received.
    pub(super) fn step(&mut self) {
        for end in self.awake() {
            while let Some(datagram) = self.links[end].next(self.now) {
                let (number, bytes) = (datagram.number(), datagram.bytes());
                if bytes <= self.refused {
                    self.lines[end].send(self.now, &datagram);
                } else {
                    self.links[end].take_back(number);
                    self.links[end].too_big(self.now, bytes);
                }
            }
        }
        let at = [0, 1].into_iter().filter_map(|end| {
            let times = [self.links[end].wake_at(), self.lines[1 - end].next_at()];
            times.into_iter().flatten().min().map(|at| at.max(self.busy[end]))
        });
        let at = at.chain(self.next_push.take()).min().expect("nothing will ever happen again");
        assert!(at > self.now, "at {:?} somebody is woken for nothing", self.now);
        self.now = at;
        for end in self.awake() {
            self.receive(end);
        }
    }

    /// The ends that do not compute.
    fn awake(&self) -> impl Iterator<Item = usize> + use<> {
        let awake = self.busy.map(|until| until <= self.now);
        (0..2).filter(move |end| awake[*end])
    }

    fn receive(&mut self, end: usize) {
        while let Some(bytes) = self.lines[1 - end].take(self.now) {
            let (datagram, came) = bytes.split_at(bytes.len() - TAG_BYTES);
            if tag(datagram) == came {
                let heard = self.links[end].receive(self.now, datagram, &mut self.heard[end]);
                assert_eq!(heard, Ok(()));
            } else {
                self.altered += 1;
            }
            self.lines[1 - end].spare.push(bytes);
        }
    }

    /// Goes on until `done`, at most an hour.
    pub(super) fn run_until(&mut self, what: &str, mut done: impl FnMut(&mut World) -> bool) {
        let begin = self.now;
        while !done(self) {
            let counters = [0, 1].map(|end| self.links[end].counters());
            assert!(self.now - begin < Duration::from_secs(3600), "not {what}: {counters:?}");
            self.step();
        }
    }

    /// The hash of all that happened.
    pub(super) fn trace(&self) -> u64 {
        self.lines[0].trace.finish() ^ self.lines[1].trace.finish().rotate_left(1)
    }
}
