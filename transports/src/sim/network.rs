//! The network itself: endpoints with inboxes, things under way, virtual time, faults.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::ops::RangeInclusive;
use std::rc::Rc;

use mpi_core::header::{FrameKind, Header, RTS_ADDRESS};
use mpi_core::port::{Advert, Front, ProcessName, Why};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::endpoint::{EndpointId, Nodes};
use super::parked::Parked;
use super::pledges::{Landings, Pledges};
use crate::segment::ALIGN;

/// Messages between processes on different nodes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Crossings {
    /// Their number.
    pub messages: u64,
    /// Their bytes, with those of announced ones.
    pub bytes: u64,
}

/// What the network is like.
#[derive(Clone, PartialEq, Debug)]
pub struct SimOptions {
    /// Nanoseconds that a frame is under way.
    pub delay: RangeInclusive<u64>,
    /// Frames of an ordered pair that may be under way; beyond it a send is refused.
    pub capacity: u32,
    /// Chance that a send is refused although there is room.
    pub refuse: f64,
    /// Largest body of a frame in bytes.
    pub frame_bytes_max: usize,
    /// Largest fragment of bulk data in bytes; the sizes are drawn.
    pub fragment_bytes_max: usize,
    /// Chance that a receiver may fetch offered bytes by itself.
    pub pull: f64,
    /// Chance that a look at one peer's next frame shows it.
    pub front: f64,
    /// Frames of a pair may overtake each other.
    pub reorder: bool,
    /// Chance that a frame arrives twice.
    pub duplicate: f64,
    /// Chance that a frame is lost.
    pub lose: f64,
    /// Which processes of a job can share segments.
    pub nodes: Nodes,
    /// How many processors all processes share, to which they are dealt in turn; without a number
    /// each has one.
    pub processors: Option<u32>,
    /// Segments have fragments as large as in shared memory, also where processors are shared, and nothing is exposed
    /// on them.
    pub large_fragments: bool,
    /// Pairs of processes, by their numbers, the lower one first, between whom nothing passes from the beginning, and
    /// who learn it as by TCP: who has sent something, after a patience, and nobody else.
    pub severed: Vec<(u32, u32)>,
    /// Chance that what is better exposed than written, where processors are shared, is found the other way round.
    pub fickle: f64,
}

impl Default for SimOptions {
    fn default() -> SimOptions {
        SimOptions {
            delay: 100..=10_000,
            capacity: 64,
            refuse: 0.05,
            frame_bytes_max: 8 << 10,
            fragment_bytes_max: 64 << 10,
            pull: 0.5,
            front: 0.5,
            reorder: false,
            duplicate: 0.0,
            lose: 0.0,
            nodes: Nodes::One,
            processors: None,
            large_fragments: false,
            severed: Vec::new(),
            fickle: 0.0,
        }
    }
}

/// A network and its endpoints' common way to it.
pub type SharedNetwork = Rc<RefCell<Network>>;

/// Memory that processes share.
struct Part {
    memory: Box<[u128]>,
}

/// Memory that several processes have at once.
pub(super) type Shared = Rc<[Cell<u128>]>;

/// A segment, and who may fetch it.
pub(super) struct Posted {
    pub(super) memory: Shared,
    pub(super) to: Vec<EndpointId>,
}

/// What an endpoint finds in its inbox.
#[derive(Clone)]
pub(super) enum Item {
    /// A small frame.
    Frame(Header, Vec<u8>),
    /// A pull that was begun here may end.
    Fetched { token: u64 },
    /// A bulk transfer to here begins.
    Begin { transfer: u64, header: Header, len: u64, advert: Option<Advert> },
    /// Bytes of a transfer to here.
    Fragment { transfer: u64, bytes: Vec<u8> },
    /// A transfer to here has ended.
    End { transfer: u64 },
    /// A transfer from here may go on.
    Push { transfer: u64 },
    /// Sending may be tried again.
    Room,
    /// The other side is gone.
    Down(Why),
}

/// Something under way.
pub(super) struct Event {
    pub(super) time: u64,
    pub(super) number: u64,
    pub(super) from: EndpointId,
    pub(super) to: EndpointId,
    pub(super) item: Item,
}

impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    /// The earliest event is the greatest, as the heap wants it.
    fn cmp(&self, other: &Event) -> Ordering {
        (other.time, other.number).cmp(&(self.time, self.number))
    }
}

/// One ordered pair of endpoints.
#[derive(Default)]
pub(super) struct Path {
    /// When the last small frame and the last fragment of bulk data arrive.
    last: [u64; 2],
    under_way: u32,
    cut: bool,
    /// Whether something was sent that will never arrive, which the sender has not learnt.
    pub(super) owing: bool,
}

#[derive(Default)]
struct Endpoint {
    inbox: VecDeque<(EndpointId, Item)>,
    /// Senders that were refused and have not been told since that there is room.
    refused: Vec<EndpointId>,
    gone: bool,
    parked: Parked,
}

/// Endpoints and what is under way between them.
pub struct Network {
    pub(super) options: SimOptions,
    random: ChaCha8Rng,
    pub(super) now: u64,
    pub(super) events: BinaryHeap<Event>,
    pub(super) numbers: u64,
    transfers: u64,
    endpoints: Vec<Endpoint>,
    names: HashMap<ProcessName, EndpointId>,
    pub(super) paths: HashMap<(EndpointId, EndpointId), Path>,
    /// Endpoints whose inboxes stopped being empty, since last asked.
    news: Vec<EndpointId>,
    trace: u64,
    crossings: Crossings,
    /// Parts of segments, by number.
    parts: HashMap<u64, Part>,
    parts_made: u64,
    /// Segments that are being posted, by mark.
    pub(super) window_segments: HashMap<u64, Posted>,
    /// Why a process has ended the job.
    ended: Option<String>,
    pub(super) pledges: Pledges,
}

impl Network {
    /// A network with no endpoints.
    pub fn new(seed: u64, options: SimOptions) -> SharedNetwork {
        Rc::new(RefCell::new(Network {
            options,
            random: ChaCha8Rng::seed_from_u64(seed),
            now: 0,
            events: BinaryHeap::new(),
            numbers: 0,
            transfers: 0,
            endpoints: Vec::new(),
            names: HashMap::new(),
            paths: HashMap::new(),
            news: Vec::new(),
            trace: seed,
            crossings: Crossings::default(),
            parts: HashMap::new(),
            parts_made: 0,
            window_segments: HashMap::new(),
            ended: None,
            pledges: Pledges::default(),
        }))
    }

    /// Memory for a part of a segment.
    pub(super) fn take_part(&mut self, bytes: usize) -> u64 {
        self.parts_made += 1;
        let part = Part { memory: vec![0u128; (bytes + ALIGN) / 16].into() };
        self.parts.insert(self.parts_made, part);
        self.parts_made
    }

    pub(super) fn drop_part(&mut self, part: u64) {
        self.parts.remove(&part);
    }

    /// Where the `bytes` bytes of a part lie.
    pub(super) fn part(&self, part: u64, bytes: usize) -> Option<*mut u8> {
        let memory = &self.parts.get(&part)?.memory;
        let base = memory.as_ptr().cast::<u8>().cast_mut();
        let base = base.wrapping_add(base.align_offset(ALIGN));
        ((bytes + ALIGN) / 16 <= memory.len()).then_some(base)
    }

    pub(super) fn options(&self) -> &SimOptions {
        &self.options
    }

    /// What has gone from node to node.
    pub fn crossings(&self) -> Crossings {
        self.crossings
    }

    /// Counts a message from one node to another.
    fn count(&mut self, from: EndpointId, to: EndpointId, header: &Header, body: &[u8]) {
        let bytes = match FrameKind::from_wire(header.kind) {
            Some(FrameKind::Eager) => body.len() as u64,
            Some(FrameKind::Rts) => {
                body.first_chunk().map_or(0, |length| u64::from_le_bytes(*length))
            }
            _ => return,
        };
        if self.options.nodes.of(from) != self.options.nodes.of(to) {
            self.crossings.messages += 1;
            self.crossings.bytes += bytes;
        }
    }

    /// Virtual time in nanoseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// A number that differs, most likely, if anything in the course of events did.
    pub fn trace_hash(&self) -> u64 {
        self.trace
    }

    /// A draw from the network's seed, for choices that belong to the run.
    ///
    /// # Panics
    /// If `below` is 0.
    pub fn draw(&mut self, below: usize) -> usize {
        self.random.random_range(0..below)
    }

    pub(super) fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && self.random.random_bool(p)
    }

    /// Whether something waits in the endpoint's inbox.
    pub fn has_news(&self, endpoint: EndpointId) -> bool {
        self.endpoints.get(endpoint.0 as usize).is_some_and(|e| !e.inbox.is_empty())
    }

    /// Endpoints that got news since the last call.
    pub fn take_news(&mut self) -> Vec<EndpointId> {
        std::mem::take(&mut self.news)
    }

    /// Moves time on to the next event and puts it into its inbox; false when nothing is under
    /// way.
    pub fn advance(&mut self) -> bool {
        let Some(event) = self.events.pop() else { return false };
        self.now = self.now.max(event.time);
        self.note(&event);
        let endpoint = &mut self.endpoints[event.to.0 as usize];
        if !endpoint.gone {
            if endpoint.inbox.is_empty() {
                self.news.push(event.to);
            }
            if event.from != event.to {
                endpoint.parked.ring(event.from);
            }
            endpoint.inbox.push_back((event.from, event.item));
        }
        true
    }

    /// Takes note of an event in the trace.
    fn note(&mut self, event: &Event) {
        let mut mix = |word: u64| {
            self.trace = (self.trace ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        };
        mix(event.time);
        mix(u64::from(event.from.0) << 32 | u64::from(event.to.0));
        match &event.item {
            Item::Frame(header, bytes) => {
                header.to_words(1).into_iter().for_each(&mut mix);
                let of_the_run = header.kind == FrameKind::Rts as u8;
                let differs = |at: &usize| of_the_run && RTS_ADDRESS.contains(at);
                let told = bytes.iter().enumerate().filter(|(at, _)| !differs(at));
                told.for_each(|(_, byte)| mix(u64::from(*byte)));
            }
            Item::Begin { header, len, .. } => {
                header.to_words(2).into_iter().for_each(&mut mix);
                mix(*len);
            }
            Item::Fragment { bytes, .. } => {
                mix(bytes.len() as u64);
                bytes.iter().for_each(|byte| mix(u64::from(*byte)));
            }
            Item::End { transfer } => mix(*transfer << 8 | 3),
            Item::Push { transfer } => mix(*transfer << 8 | 4),
            Item::Fetched { token } => mix(*token << 8 | 7),
            Item::Room => mix(5),
            Item::Down(_) => mix(6),
        }
    }

    pub(super) fn join(&mut self, name: &ProcessName) -> EndpointId {
        let id = EndpointId(self.endpoints.len() as u32);
        let earlier = self.names.insert(name.clone(), id);
        assert!(earlier.is_none(), "two endpoints are called {name:?}");
        self.endpoints.push(Endpoint::default());
        id
    }

    /// The endpoint with this name.
    pub fn find(&self, name: &ProcessName) -> Option<EndpointId> {
        self.names.get(name).copied()
    }

    pub(super) fn new_transfer(&mut self) -> u64 {
        self.transfers += 1;
        self.transfers
    }

    pub(super) fn take_item(&mut self, endpoint: EndpointId) -> Option<(EndpointId, Item)> {
        let (from, item) = self.endpoints[endpoint.0 as usize].inbox.pop_front()?;
        self.count_own(from, endpoint, -1);
        if let Item::Frame(..) = item {
            self.make_room(from, endpoint);
        }
        Some((from, item))
    }

    pub(super) fn parked(&mut self, endpoint: EndpointId) -> &mut Parked {
        &mut self.endpoints[endpoint.0 as usize].parked
    }

    /// One more thing of an endpoint's own is under way, or one less.
    fn count_own(&mut self, from: EndpointId, to: EndpointId, more: i32) {
        if from == to {
            let parked = self.parked(to);
            parked.own = parked.own.wrapping_add_signed(more);
        }
    }

    /// Shows the first item from `from` in the endpoint's inbox, if it is a frame, to `wanted`,
    /// and takes it out if that says so.
    pub(super) fn show_front(
        &mut self,
        endpoint: EndpointId,
        from: EndpointId,
        wanted: impl FnOnce(&Header, &[u8]) -> bool,
    ) -> Front {
        let exposed = self.options.front;
        if !self.chance(exposed) {
            return Front::Other;
        }
        let inbox = &mut self.endpoints[endpoint.0 as usize].inbox;
        let Some(at) = inbox.iter().position(|(sender, _)| *sender == from) else {
            return Front::Empty;
        };
        match &inbox[at].1 {
            Item::Frame(header, body) if wanted(header, body) => {
                inbox.remove(at);
                self.make_room(from, endpoint);
                Front::Taken
            }
            _ => Front::Other,
        }
    }

    fn make_room(&mut self, from: EndpointId, to: EndpointId) {
        let Some(path) = self.paths.get_mut(&(from, to)) else { return };
        path.under_way = path.under_way.saturating_sub(1);
        let refused = &mut self.endpoints[to.0 as usize].refused;
        if let Some(place) = refused.iter().position(|sender| *sender == from) {
            refused.swap_remove(place);
            self.schedule(to, from, Item::Room);
        }
    }

    /// Whether a frame from `from` to `to` is refused now; if so the sender will be told when
    /// to try again. A path that leads nowhere any more swallows everything.
    pub(super) fn refuses(&mut self, from: EndpointId, to: EndpointId) -> bool {
        if !self.is_open(from, to) {
            return false;
        }
        let (capacity, refuse) = (self.options.capacity, self.options.refuse);
        let under_way = self.paths.get(&(from, to)).map_or(0, |path| path.under_way);
        if under_way >= capacity {
            let refused = &mut self.endpoints[to.0 as usize].refused;
            if !refused.contains(&from) {
                refused.push(from);
            }
            return true;
        }
        // An empty path takes a frame: a transport that never does would be broken.
        let refused = under_way > 0 && self.chance(refuse);
        if refused {
            self.schedule(to, from, Item::Room);
        }
        refused
    }

    /// Sends a frame with the faults that the options ask for.
    pub(super) fn send_frame(
        &mut self,
        from: EndpointId,
        to: EndpointId,
        header: Header,
        body: Vec<u8>,
    ) {
        self.count(from, to, &header, &body);
        let (lose, duplicate) = (self.options.lose, self.options.duplicate);
        if self.chance(lose) {
            return;
        }
        if self.chance(duplicate) {
            self.send_one(from, to, Item::Frame(header, body.clone()));
        }
        self.send_one(from, to, Item::Frame(header, body));
    }

    fn send_one(&mut self, from: EndpointId, to: EndpointId, frame: Item) {
        if self.schedule(from, to, frame) {
            self.paths.entry((from, to)).or_default().under_way += 1;
        }
    }

    fn delay(&mut self) -> u64 {
        let delay = self.options.delay.clone();
        self.random.random_range(delay)
    }

    /// Sets something on its way; false when it will never arrive.
    pub(super) fn schedule(&mut self, from: EndpointId, to: EndpointId, item: Item) -> bool {
        let mut time = self.now + self.delay();
        let gone = |id: EndpointId| self.endpoints[id.0 as usize].gone;
        if gone(to) || gone(from) && from != to {
            return false;
        }
        if self.is_severed(from, to) && !matches!(item, Item::Down(_)) {
            self.swallow(from, to);
            return true;
        }
        let mut unused = Path::default();
        let path = match item {
            // Without an entry: there is one such event for every pair of a world.
            Item::Down(_) => self.paths.get_mut(&(from, to)).unwrap_or(&mut unused),
            _ => self.paths.entry((from, to)).or_default(),
        };
        if path.cut {
            return false;
        }
        match item {
            // Down comes after everything that was sent before.
            Item::Down(_) => time = time.max(path.last[0]).max(path.last[1]),
            Item::Room | Item::Push { .. } | Item::Fetched { .. } => {}
            Item::Frame(..) if self.options.reorder => path.last[0] = path.last[0].max(time),
            Item::Frame(..) => {
                time = time.max(path.last[0]);
                path.last[0] = time;
            }
            Item::Begin { .. } | Item::Fragment { .. } | Item::End { .. } => {
                time = time.max(path.last[1]);
                path.last[1] = time;
            }
        }
        self.numbers += 1;
        self.events.push(Event { time, number: self.numbers, from, to, item });
        self.count_own(from, to, 1);
        true
    }

    /// A process ends the job.
    pub(super) fn note_end(&mut self, why: String) {
        self.ended.get_or_insert(why);
    }

    /// Why the job has been ended, if it has.
    pub fn ended(&self) -> Option<&str> {
        self.ended.as_deref()
    }

    /// The endpoint leaves in good order: what it sent still arrives, then its end shows.
    pub(super) fn leave(&mut self, endpoint: EndpointId) {
        self.tell_others(endpoint, &Why::Finalized);
        self.remove(endpoint);
    }

    /// The endpoint dies: what it sent and has not arrived is lost, and the others learn it.
    pub fn kill(&mut self, endpoint: EndpointId) {
        if self.endpoints[endpoint.0 as usize].gone {
            return;
        }
        self.drop_events(|event| event.from == endpoint);
        self.tell_others(endpoint, &Why::Lost("the simulation killed it".to_owned()));
        self.remove(endpoint);
    }

    fn remove(&mut self, endpoint: EndpointId) {
        let gone = &mut self.endpoints[endpoint.0 as usize];
        gone.gone = true;
        gone.inbox.clear();
        let refused = std::mem::take(&mut gone.refused);
        // Whoever was refused finds now that the path swallows everything.
        for from in refused {
            self.schedule(from, from, Item::Room);
        }
    }

    fn tell_others(&mut self, endpoint: EndpointId, why: &Why) {
        for other in (0..self.endpoints.len() as u32).map(EndpointId) {
            if other != endpoint {
                self.schedule(endpoint, other, Item::Down(why.clone()));
            }
        }
    }

    fn drop_events(&mut self, mut which: impl FnMut(&Event) -> bool) {
        self.events.retain(|event| !which(event));
    }

    /// Cuts the link between two endpoints: what is under way is lost, and both learn it.
    pub fn cut(&mut self, a: EndpointId, b: EndpointId) {
        self.drop_events(|event| {
            (event.from, event.to) == (a, b) || (event.from, event.to) == (b, a)
        });
        for (from, to) in [(a, b), (b, a)] {
            self.schedule(
                from,
                to,
                Item::Down(Why::Lost("the simulation cut the link".to_owned())),
            );
            self.paths.entry((from, to)).or_default().cut = true;
        }
    }

    /// Whether frames from `from` to `to` can arrive.
    pub(super) fn is_open(&self, from: EndpointId, to: EndpointId) -> bool {
        let gone = |id: EndpointId| self.endpoints[id.0 as usize].gone;
        !gone(from) && !gone(to) && self.paths.get(&(from, to)).is_none_or(|path| !path.cut)
    }

    /// The landings that were told in this network.
    pub fn landings(&self) -> Landings {
        self.pledges.landings()
    }

    /// A poll that found nothing takes a nanosecond, so that time never stands still.
    pub(super) fn tick(&mut self) {
        self.now += 1;
    }
}
