//! Storms: several ranks send each other thousands of frames and large messages, as the core would announce and ask
//! for them, and every byte is compared with what was to come. A seed replays.

use std::collections::{HashMap, VecDeque};

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::{Datatype, Form, Packer, Unpacker, basic, predefined};
use mpi_core::header::{FrameKind, Header};
use mpi_core::port::{
    ADVERT_BYTES, Advert, Body, Offer, OfferKind, PeerId, Pulled, Token, Transport,
};
use mpi_core::settings::RdmaRendezvous;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::sim::{End, Sim, Weather};
use super::tests::{connect, small};
use super::{Rdma, RdmaSettings};
use crate::conformance::{Recorder, pattern};
use crate::reliability::sim_storm::seeds;

/// Turns without an end of the storm after which something is lost.
const PATIENCE: u32 = 300_000;

/// One thing that a rank sends another.
#[derive(Clone, Copy, Debug)]
struct Item {
    seed: u64,
    len: usize,
    is_large: bool,
    has_gaps: (bool, bool),
}

impl Item {
    fn new(random: &mut ChaCha8Rng, eager: usize) -> Item {
        let is_large = random.random_bool(0.1);
        let most = if is_large { 200_000 } else { [8, 100, eager][random.random_range(0..3usize)] };
        let has_gaps = (random.random_bool(0.2), random.random_bool(0.2));
        Item { seed: random.random(), len: random.random_range(0..=most), is_large, has_gaps }
    }

    fn bytes(&self) -> Vec<u8> {
        pattern(self.seed, self.len)
    }
}

/// Memory with a message in it, or every other byte of it.
struct Memory {
    bytes: Vec<u8>,
    has_gaps: bool,
}

impl Memory {
    fn new(bytes: &[u8], has_gaps: bool) -> Memory {
        let spread = |bytes: &[u8]| bytes.iter().flat_map(|byte| [*byte, 0xee]).collect();
        Memory { bytes: if has_gaps { spread(bytes) } else { bytes.to_vec() }, has_gaps }
    }

    fn len(&self) -> usize {
        self.bytes.len() / if self.has_gaps { 2 } else { 1 }
    }

    fn place(&mut self) -> UserBuffer {
        UserBuffer(self.bytes.as_mut_ptr())
    }

    fn datatype(&self) -> std::sync::Arc<Datatype> {
        let byte = predefined(basic::BYTE).expect("a byte");
        Datatype::hvector(self.len() as i64, 1, 2, byte, Form::Int).expect("a vector")
    }

    fn packer(&mut self) -> Packer {
        match self.has_gaps {
            true => Packer::new(self.place(), 1, &self.datatype()),
            false => Packer::contiguous(self.place(), self.bytes.len() as u64),
        }
    }

    fn unpacker(&mut self) -> Unpacker {
        match self.has_gaps {
            true => Unpacker::new(self.place(), 1, &self.datatype()),
            false => Unpacker::contiguous(self.place(), self.bytes.len() as u64),
        }
    }
}

/// A large message that leaves, by its token.
struct Leaving {
    to: PeerId,
    memory: Memory,
    offer: Offer,
}

/// A large message that comes, by its token.
struct Coming {
    from: PeerId,
    item: Item,
    memory: Memory,
    sender: u64,
    is_fetching: bool,
}

/// A rank, with a small fragment of the core.
struct Rank {
    transport: Rdma<End>,
    got: Recorder,
    /// What is still to be sent, to each.
    plans: Vec<VecDeque<Item>>,
    /// What is still to come, from each.
    awaited: Vec<VecDeque<Item>>,
    /// Control frames that wait for room.
    outbox: VecDeque<(PeerId, Header, Vec<u8>)>,
    leaving: HashMap<u64, Leaving>,
    coming: HashMap<u64, Coming>,
    next_token: u64,
    controls: u64,
}

fn header(kind: FrameKind) -> Header {
    Header { kind: kind as u8, ..Header::default() }
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn word(bytes: &[u8], i: usize) -> u64 {
    crate::fields::word(bytes, i)
}

impl Rank {
    fn token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token
    }

    fn control(&mut self, peer: PeerId, kind: FrameKind, body: Vec<u8>) {
        self.controls += 1;
        self.outbox.push_back((peer, header(kind), body));
    }

    fn try_send(&mut self, peer: PeerId, header: &Header, body: &[u8]) -> bool {
        self.transport.send(peer, header, Body::Bytes(RawBytes::from(body))).is_ok()
    }

    /// Sends what there is, as far as there is room.
    fn send(&mut self, random: &mut ChaCha8Rng) {
        while let Some((peer, header, body)) = self.outbox.pop_front() {
            if !self.try_send(peer, &header, &body) {
                self.outbox.push_front((peer, header, body));
                return;
            }
        }
        let to = random.random_range(0..self.plans.len());
        for _ in 0..random.random_range(1..10) {
            let Some(item) = self.plans[to].front().copied() else { return };
            let peer = PeerId(to as u32);
            let goes = match item.is_large {
                true => self.announce(peer, item),
                false => self.try_send(peer, &header(FrameKind::Eager), &item.bytes()),
            };
            if !goes {
                return;
            }
            self.plans[to].pop_front();
        }
    }

    /// Announces a large message, in the order of frames, if there is room.
    fn announce(&mut self, to: PeerId, item: Item) -> bool {
        let mut memory = Memory::new(&item.bytes(), item.has_gaps.0);
        let run = memory.packer().as_contiguous();
        let offer = run.map(|(at, len)| self.transport.offer(to, at, len)).unwrap_or_default();
        let token = self.token();
        let body = words(&[token, offer.words[0], offer.words[1], offer.kind.0.into()]);
        let goes = self.try_send(to, &header(FrameKind::Rts), &body);
        if goes {
            self.controls += 1;
            self.leaving.insert(token, Leaving { to, memory, offer });
        } else if offer.kind != OfferKind::NONE {
            self.transport.end_offer(to, &offer);
        }
        goes
    }

    /// Deals with what has come.
    fn receive(&mut self) {
        self.transport.poll(&mut self.got);
        for frame in std::mem::take(&mut self.got.frames) {
            let body = &frame.body;
            match FrameKind::from_wire(frame.header.kind).expect("a kind") {
                FrameKind::Eager => {
                    let item = self.awaited[frame.peer.0 as usize].pop_front().expect("an item");
                    assert!(!item.is_large && item.bytes() == *body, "{item:?}: wrong frame");
                }
                FrameKind::Rts => self.fetch(frame.peer, body),
                FrameKind::Cts => {
                    let (sender, receiver, kind) = (word(body, 0), word(body, 1), word(body, 2));
                    let bytes: [u8; ADVERT_BYTES] = body[24..].try_into().expect("an advert");
                    let kind = OfferKind(kind as u8);
                    let advert = (kind != OfferKind::NONE).then_some(Advert { kind, bytes });
                    let source = self.leaving.get_mut(&sender).expect("it leaves").memory.packer();
                    let head = Header { context: receiver, ..header(FrameKind::Data) };
                    let (peer, token) = (frame.peer, Token(sender));
                    self.transport.send_bulk(peer, &head, source, token, advert);
                }
                FrameKind::Fin => self.end_leaving(word(body, 0), true),
                kind => panic!("a frame of kind {kind:?}"),
            }
        }
        for token in std::mem::take(&mut self.got.sent) {
            self.end_leaving(token.0, false);
        }
        for token in std::mem::take(&mut self.got.landed) {
            self.end_coming(token.0);
        }
        assert!(self.got.stranded.is_empty() && self.got.down.is_empty(), "{:?}", self.got.down);
    }

    fn fetch(&mut self, from: PeerId, body: &[u8]) {
        let [sender, first, second, kind] = [0, 1, 2, 3].map(|i| word(body, i));
        let item = self.awaited[from.0 as usize].pop_front().expect("an item");
        assert!(item.is_large, "{item:?} was announced");
        let mut memory = Memory::new(&vec![0; item.len], item.has_gaps.1);
        let (token, mut room) = (self.token(), memory.unpacker());
        let offer = Offer { kind: OfferKind(kind as u8), words: [first, second] };
        let len = item.len as u64;
        let pulled = self.transport.pull(from, &offer, len, &mut room, Token(token));
        let is_fetching = pulled == Pulled::Begun;
        if !is_fetching {
            let advert = self.transport.advertise(from, &room, len, Token(token));
            let kind = advert.map_or(0, |advert| advert.kind.0.into());
            let bytes = advert.map_or([0; ADVERT_BYTES], |advert| advert.bytes);
            let body = [words(&[sender, token, kind]), bytes.to_vec()].concat();
            self.control(from, FrameKind::Cts, body);
            self.got.landings.push((token, room));
        }
        self.coming.insert(token, Coming { from, item, memory, sender, is_fetching });
    }

    fn end_leaving(&mut self, token: u64, is_fetched: bool) {
        let Leaving { to, offer, mut memory, .. } = self.leaving.remove(&token).expect("it leaves");
        if offer.kind != OfferKind::NONE {
            self.transport.end_offer(to, &offer);
        }
        assert!(!is_fetched || offer.kind != OfferKind::NONE);
        // It belongs to the program again, which changes it.
        memory.bytes.fill(0x55);
    }

    fn end_coming(&mut self, token: u64) {
        let one = self.coming.remove(&token).expect("it comes");
        let right = Memory::new(&one.item.bytes(), one.item.has_gaps.1);
        let bytes = if one.memory.has_gaps {
            // Gaps were filled with something else.
            one.memory.bytes.chunks(2).zip(right.bytes.chunks(2)).all(|(a, b)| a == b)
        } else {
            one.memory.bytes == right.bytes
        };
        assert!(bytes, "{:?} is wrong", one.item);
        if one.is_fetching {
            self.control(one.from, FrameKind::Fin, words(&[one.sender]));
        }
    }

    fn is_done(&self) -> bool {
        self.plans.iter().chain(&self.awaited).all(VecDeque::is_empty)
            && self.outbox.is_empty()
            && self.leaving.is_empty()
            && self.coming.is_empty()
            && self.transport.is_flushed()
    }
}

/// What a storm came to: times and counts, which a seed gives again.
#[derive(PartialEq, Eq, Debug)]
struct Outcome {
    time: u64,
    counters: Vec<super::RdmaCounters>,
    controls: u64,
    large: u64,
}

fn storm(
    seed: u64,
    count: usize,
    each: usize,
    weather: Weather,
    settings: &RdmaSettings,
) -> Outcome {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let eager = settings.eager_bytes;
    let mut plans = vec![vec![VecDeque::new(); count]; count];
    for (from, row) in plans.iter_mut().enumerate() {
        for (to, plan) in row.iter_mut().enumerate().filter(|(to, _)| *to != from) {
            let number = if (from + to) % 2 == 0 { each / 4 } else { each };
            *plan = (0..number).map(|_| Item::new(&mut random, eager)).collect();
        }
    }
    let large = plans.iter().flatten().flatten().filter(|item| item.is_large).count() as u64;
    let (sim, ends) = Sim::new(seed, count, weather);
    let mut ranks: Vec<Rank> = connect(ends, settings)
        .into_iter()
        .enumerate()
        .map(|(rank, transport)| Rank {
            transport,
            got: Recorder::default(),
            plans: plans[rank].clone(),
            awaited: (0..count).map(|from| plans[from][rank].clone()).collect(),
            outbox: VecDeque::new(),
            leaving: HashMap::new(),
            coming: HashMap::new(),
            next_token: 0,
            controls: 0,
        })
        .collect();
    let mut turns = 0;
    while !ranks.iter().all(Rank::is_done) {
        turns += 1;
        assert!(
            turns < PATIENCE,
            "seed {seed}: the storm has no end: {:?}",
            ranks[0].transport.counters()
        );
        let rank = random.random_range(0..count);
        ranks[rank].send(&mut random);
        ranks[rank].receive();
    }
    Outcome {
        time: sim.now(),
        counters: ranks.iter().map(|rank| rank.transport.counters()).collect(),
        controls: ranks.iter().map(|rank| rank.controls).sum(),
        large,
    }
}

fn odd() -> Weather {
    let abilities = super::fabric::Abilities { rails: 2, ..Weather::FAIR.abilities };
    Weather { abilities, late: 30_000, has_addresses: false, ..Weather::FAIR }
}

#[test]
fn everything_comes_as_it_was_sent() {
    for seed in seeds(2) {
        let settings = RdmaSettings { ring_slots: 64, ..small() };
        let outcome = storm(seed, 3, 1000, odd(), &settings);
        assert_eq!(outcome.controls, 2 * outcome.large, "a rendezvous has two control frames");
        let sum =
            |of: fn(&super::RdmaCounters) -> u64| outcome.counters.iter().map(of).sum::<u64>();
        assert!(sum(|counters| counters.ring_frames_in) > 300, "{outcome:?}");
        assert!(sum(|counters| counters.written) > 10 && sum(|counters| counters.pieced) > 10);
    }
}

#[test]
fn everything_comes_as_it_was_sent_by_reading() {
    for seed in seeds(2) {
        let settings = RdmaSettings { rendezvous: RdmaRendezvous::Read, ..small() };
        let outcome = storm(seed, 3, 500, odd(), &settings);
        assert_eq!(outcome.controls, 2 * outcome.large, "a rendezvous has two control frames");
        assert!(outcome.counters.iter().map(|counters| counters.read).sum::<u64>() > 10);
    }
}

#[test]
fn everything_comes_through_few_credits_tiny_queues_and_rings_that_change_hands() {
    for seed in seeds(2) {
        let settings = RdmaSettings {
            credits: 1,
            ring_slots: 2,
            ring_peers: 1,
            pool_bytes: 1 << 16,
            ..small()
        };
        let weather = Weather { depth: 3, posts: 12, late: 50_000, ..odd() };
        let outcome = storm(seed, 4, 300, weather, &settings);
        assert!(outcome.counters.iter().any(|counters| counters.rings > 1), "{outcome:?}");
    }
}

/// As [`odd`], where messages are told in another order than they were sent.
fn astray() -> Weather {
    let abilities = super::fabric::Abilities { tells_in_order: false, ..odd().abilities };
    Weather { abilities, ..odd() }
}

#[test]
fn everything_comes_where_messages_are_told_out_of_order() {
    for seed in seeds(2) {
        for ring_slots in [0, 64] {
            let outcome = storm(seed, 3, 500, astray(), &RdmaSettings { ring_slots, ..small() });
            let ahead = outcome.counters.iter().map(|counters| counters.ahead).sum::<u64>();
            assert!(ahead > 100, "{outcome:?}");
        }
        let settings = RdmaSettings { credits: 1, ring_slots: 2, pool_bytes: 1 << 16, ..small() };
        storm(seed, 4, 300, Weather { depth: 3, posts: 12, ..astray() }, &settings);
    }
}

#[test]
fn everything_comes_where_writes_overtake_each_other() {
    for seed in seeds(4) {
        let mut weather = Weather { late: 100, ..odd() };
        weather.abilities.message_after_writes = false;
        weather.abilities.rails = 1 + seed as usize % 2;
        let outcome =
            storm(seed, 3, 500, weather, &RdmaSettings { fragment_bytes: 9_000, ..small() });
        let written = outcome.counters.iter().map(|counters| counters.written).sum::<u64>();
        assert!(written > 10, "{outcome:?}");
    }
}

#[test]
fn everything_comes_where_registering_is_refused_now_and_then() {
    for seed in seeds(2) {
        let weather = Weather { regions: 4, follows_mappings: seed % 2 == 0, ..odd() };
        let outcome = storm(seed, 3, 500, weather, &small());
        assert!(outcome.counters.iter().any(|counters| counters.refused > 0), "{outcome:?}");
    }
}

#[test]
fn a_seed_replays() {
    let run = || storm(7, 3, 200, odd(), &small());
    let first = run();
    assert_eq!(first, run());
    assert!(first.time > 0);
}
