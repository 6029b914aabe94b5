//! A simulated fabric: ends in one process, seeded, in a time of its own that polls move on.
//!
//! Messages take a while, completions come late and several at once, queues of work are small, connections take
//! time. Memory is touched when the simulated wire comes to it: what is sent is read late, some time before its
//! completion, and what is written becomes visible in runs of bytes. Every access is checked against what is
//! registered; one that is not allowed ends the connection, or the test where it asks for that.

mod end;
mod wire;

pub(super) use end::End;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;

use mpi_core::port::PeerId;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::fabric::{Abilities, Access, Completion, Local, Target, Work};

/// What the fabric is like. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weather {
    pub abilities: Abilities,
    /// A way of a message takes from so long to so long.
    pub delay: (u64, u64),
    /// A completion comes at most so late; the larger, the more come at once.
    pub late: u64,
    /// Bytes that the wire takes in a microsecond.
    pub bytes_per_us: u64,
    /// Work requests to one peer on one rail, and posted buffers.
    pub depth: usize,
    pub posts: usize,
    /// To connect takes so long.
    pub connect: u64,
    /// Registrations at once at most; what one costs, and each of its pages.
    pub regions: usize,
    pub register: (u64, u64),
    /// Completion queues: the rails' in turn. The first is looked at first; of each other one a look takes only one
    /// completion.
    pub queues: usize,
    /// Whether peers name places by addresses, or count from where a region begins.
    pub has_addresses: bool,
    /// Whether registrations hold whatever the program maps.
    pub follows_mappings: bool,
    /// Whether an access that is not allowed ends the test.
    pub is_strict: bool,
}

impl Weather {
    /// An ordinary fabric.
    pub(super) const FAIR: Weather = Weather {
        abilities: Abilities {
            inline_bytes: 64,
            message_bytes_max: 1 << 20,
            rails: 1,
            writes_in_order: true,
            message_after_writes: true,
            tells_in_order: true,
            reads: true,
            atomics: true,
        },
        delay: (1_000, 3_000),
        late: 2_000,
        bytes_per_us: 1_000,
        depth: 64,
        posts: 4096,
        connect: 20_000,
        regions: 10_000,
        register: (0, 0),
        queues: 1,
        has_addresses: true,
        follows_mappings: true,
        is_strict: true,
    };
}

/// Who has not answered for so long is late.
pub(super) const LATE: u64 = 200_000;
/// Dropped work lasts at most so long, after what was dropped before.
const LINGER: u64 = 10_000;
/// A write that was overtaken is so much later.
const OVERTAKEN: u64 = 20_000;
/// Where messages are told out of order, one is told so many times [`Weather::late`] later at most.
const ASTRAY: u64 = 4;

/// What happened.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Counts {
    pub registrations: u64,
    pub registered: usize,
    /// Times that a message found no buffer.
    pub not_ready: u64,
    pub messages: u64,
    pub writes: u64,
    pub reads: u64,
}

struct Region {
    address: usize,
    len: usize,
    access: Access,
}

/// The number of a registration, which is its key too.
pub(super) type Key = u64;

/// One process's end.
#[derive(Default)]
struct Side {
    regions: HashMap<Key, Region>,
    posted: VecDeque<(Local<Key>, Work)>,
    /// Completions and when they may be seen, in order.
    news: VecDeque<(u64, Completion)>,
    /// Those of all further completion queues, which are seen at once.
    further: VecDeque<Completion>,
    /// Peers by place, with the end that they are; and who is connected.
    peers: HashMap<PeerId, usize>,
    up: HashMap<usize, Link>,
    /// Peers that were reached for, and when they are late.
    late: VecDeque<(u64, PeerId)>,
    counts: Counts,
    is_dead: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Link {
    Connecting,
    Up,
    Broken,
}

/// What a work request does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Deed {
    Send,
    Write(Target, Option<u32>),
    Read(Target),
    Add(Target, u64),
    Swap(Target, u64, u64),
}

/// A work request under way.
struct Op {
    deed: Deed,
    local: Local<Key>,
    /// The bytes, where they were copied when it was posted.
    inline: Option<Vec<u8>>,
    work: Option<Work>,
    at: u64,
    /// Bytes that are in place.
    moved: usize,
}

/// Work on one rail from one end to another.
#[derive(Default)]
struct Rail {
    ops: VecDeque<Op>,
    /// When the wire is free, and when the last one comes.
    free_at: u64,
    last_at: u64,
    /// Work requests that have not completed.
    open: usize,
}

impl Rail {
    /// The last work request, a write, goes before the one that was posted before it, if that is a write which has
    /// not begun.
    fn pass_a_write(&mut self) {
        let is_write = |op: &Op| matches!(op.deed, Deed::Write(..)) && op.moved == 0;
        let last = self.ops.len() - 1;
        if last > 0 && is_write(&self.ops[last]) && is_write(&self.ops[last - 1]) {
            self.ops.swap(last - 1, last);
            let at = self.ops[last].at;
            self.ops[last - 1].at = std::mem::replace(&mut self.ops[last].at, at + OVERTAKEN);
            self.last_at = at + OVERTAKEN;
        }
    }
}

enum Event {
    /// The first work request of a rail may go on.
    Step(usize, usize, usize),
    /// A work request on a rail completes.
    Done(usize, usize, usize, Option<Work>),
    /// A work request of an end that was dropped fails.
    Dropped(usize, Op),
    Up(usize, usize),
    Down(usize, usize, String),
}

/// All ends and what is between them.
pub(super) struct World {
    pub weather: Weather,
    pub now: u64,
    random: ChaCha8Rng,
    events: BTreeMap<(u64, u64), Event>,
    number: u64,
    sides: Vec<Side>,
    rails: HashMap<(usize, usize, usize), Rail>,
    next_key: Key,
    /// Pairs of ends that never hear each other, the lower first.
    blocked: Vec<(usize, usize)>,
}

/// The world as ends and tests share it.
#[derive(Clone)]
pub(super) struct Sim(Rc<RefCell<World>>);

impl Sim {
    /// A world of so many ends.
    pub(super) fn new(seed: u64, count: usize, weather: Weather) -> (Sim, Vec<End>) {
        let world = World {
            weather,
            now: 0,
            random: ChaCha8Rng::seed_from_u64(seed),
            events: BTreeMap::new(),
            number: 0,
            sides: (0..count).map(|_| Side::default()).collect(),
            rails: HashMap::new(),
            next_key: 1,
            blocked: Vec::new(),
        };
        let sim = Sim(Rc::new(RefCell::new(world)));
        let ends = (0..count).map(|own| End::new(&sim.0, own)).collect();
        (sim, ends)
    }

    /// The time.
    pub(super) fn now(&self) -> u64 {
        self.0.borrow().now
    }

    /// What happened at an end.
    pub(super) fn counts(&self, end: usize) -> Counts {
        let world = self.0.borrow();
        let side = &world.sides[end];
        Counts { registered: side.regions.len(), ..side.counts }
    }

    /// Two ends never hear each other.
    pub(super) fn block(&self, one: usize, other: usize) {
        self.0.borrow_mut().blocked.push((one.min(other), one.max(other)));
    }

    /// A connection between two ends cannot be made: each hears it in its time.
    pub(super) fn refuse(&self, one: usize, other: usize) {
        let mut world = self.0.borrow_mut();
        for (at, to) in [(one, other), (other, one)] {
            world.sides[at].up.insert(to, Link::Broken);
            let delay = world.weather.delay.1 * 10;
            let when = world.now + world.random((0, delay));
            world.at(when, Event::Down(at, to, "there is no way".to_owned()));
        }
    }

    /// An end dies, without a word.
    pub(super) fn kill(&self, end: usize) {
        self.0.borrow_mut().close(end, "its process has died");
    }
}

impl World {
    fn random(&mut self, (from, to): (u64, u64)) -> u64 {
        self.random.random_range(from..=to)
    }

    fn at(&mut self, time: u64, event: Event) {
        self.number += 1;
        self.events.insert((time.max(self.now), self.number), event);
    }

    /// The address of bytes that a peer names, if they are registered for that.
    fn place(
        &self,
        end: usize,
        target: Target,
        len: usize,
        access: Access,
    ) -> Result<usize, String> {
        let region = self.sides[end].regions.get(&target.key);
        let region = region.ok_or_else(|| format!("key {} names nothing", target.key))?;
        let start = if self.weather.has_addresses { 0 } else { region.address };
        let begin = start.wrapping_add(target.address as usize);
        let fits = begin >= region.address
            && begin.checked_add(len).is_some_and(|end| end <= region.address + region.len);
        let may = region.access == Access::All || region.access == access;
        match fits && may {
            true => Ok(begin),
            false => Err(format!(
                "{len} bytes at {:#x} are not open for {access:?} by key {}",
                target.address, target.key
            )),
        }
    }

    /// Whether bytes of an end's own are registered as it says.
    fn is_local(&self, end: usize, local: &Local<Key>) -> bool {
        let begin = local.address.addr();
        self.sides[end].regions.get(&local.region).is_some_and(|region| {
            begin >= region.address && begin + local.len <= region.address + region.len
        })
    }

    /// A completion on a rail, in the queue of that.
    fn tell_on(&mut self, end: usize, rail: usize, completion: Completion) {
        match rail % self.weather.queues {
            0 => self.tell(end, completion),
            _ => self.sides[end].further.push_back(completion),
        }
    }

    /// A completion that an end sees some time later.
    fn tell(&mut self, end: usize, completion: Completion) {
        let late = self.weather.late.max(1);
        let at = self.now + self.random((0, late));
        // They come several at once.
        let at = at.next_multiple_of(late);
        if matches!(completion, Completion::Received { .. })
            && !self.weather.abilities.tells_in_order
        {
            return self.tell_astray(end, completion, at);
        }
        let news = &mut self.sides[end].news;
        let after = news.back().map_or(0, |(at, _)| *at);
        news.push_back((at.max(after), completion));
    }

    /// The same for one that may be seen before those that came before it, but for a connection's beginning or end.
    fn tell_astray(&mut self, end: usize, completion: Completion, at: u64) {
        let at = at + self.random((0, ASTRAY)) * self.weather.late.max(1);
        let news = &mut self.sides[end].news;
        let is_fixed =
            |(_, one): &(u64, Completion)| matches!(one, Completion::Up(_) | Completion::Down(..));
        let first = news.iter().rposition(is_fixed).map_or(0, |place| place + 1);
        let after = first.checked_sub(1).and_then(|place| news.get(place)).map_or(0, |(at, _)| *at);
        let at = at.max(after);
        let place = first + news.range(first..).take_while(|(other, _)| *other <= at).count();
        news.insert(place, (at, completion));
    }

    /// An end is there no more.
    fn close(&mut self, end: usize, why: &str) {
        if std::mem::replace(&mut self.sides[end].is_dead, true) {
            return;
        }
        self.sides[end].posted.clear();
        for other in 0..self.sides.len() {
            if other != end && self.sides[end].up.contains_key(&other) {
                self.sever(end, other, why);
            }
        }
        self.sides[end].news.clear();
        self.sides[end].further.clear();
        self.sides[end].regions.clear();
    }

    /// Ends a connection: all work is dropped at once, and both ends hear of it, each in its time.
    fn sever(&mut self, one: usize, other: usize, why: &str) {
        for (from, to) in [(one, other), (other, one)] {
            self.drop_work(from, to);
            let was = self.sides[from].up.insert(to, Link::Broken);
            if was != Some(Link::Broken) {
                let at = self.now + self.weather.delay.1;
                self.at(at, Event::Down(from, to, why.to_owned()));
            }
        }
    }

    /// What an end has not seen yet of a peer is of no interest to it.
    fn hush(&mut self, end: usize, peer: PeerId) {
        self.sides[end].news.retain_mut(|(_, one)| {
            let (of, work) = match one {
                Completion::Received { peer, work, .. } => (*peer, Some(*work)),
                Completion::Written { peer, work, .. } => (*peer, *work),
                Completion::Up(peer) | Completion::Down(peer, _) => (*peer, None),
                _ => return true,
            };
            match work.filter(|_| of == peer) {
                Some(work) => *one = Completion::Unused(work),
                None => return of != peer,
            }
            true
        });
    }

    /// All work from one end to another fails, some of it later than the end of the connection is told; until then
    /// its memory is touched.
    fn drop_work(&mut self, from: usize, to: usize) {
        for rail in 0..self.weather.abilities.rails {
            let Some(rail) = self.rails.get_mut(&(from, to, rail)) else { continue };
            let dropped: Vec<Op> = rail.ops.drain(..).collect();
            rail.open -= dropped.len();
            let mut at = self.now;
            for op in dropped {
                at += self.random((0, LINGER));
                self.at(at, Event::Dropped(from, op));
            }
        }
    }
}
