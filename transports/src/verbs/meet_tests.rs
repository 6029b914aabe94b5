//! Handshakes over a network that loses, repeats, reorders and changes datagrams.

use std::collections::HashMap;

use proptest::prelude::*;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::address::PortAddress;
use super::super::choice::Link;
use super::super::hello::Pair;
use super::*;

const MS: Duration = Duration::from_millis(1);
const LATE: Duration = Duration::from_secs(20);

/// Queue pairs that are only counted.
struct Device {
    me: u32,
    /// Ranks up to this are known.
    known: u32,
    made: HashMap<u32, u32>,
    connected: HashMap<u32, Numbers>,
    refuses: Option<u32>,
    is_full: bool,
}

fn numbers(from: u32, to: u32) -> Numbers {
    let port = PortAddress { link: Link::Ethernet, gid: [from as u8; 16], lid: 0 };
    let pairs = vec![Pair { number: from * 100 + to, psn: 7 }];
    Numbers { devices: vec![(port, 1024)], pairs, reads: 4 }
}

impl Ends for Device {
    fn make(&mut self, rank: u32) -> Option<Result<Numbers, String>> {
        if rank > self.known {
            return None;
        }
        *self.made.entry(rank).or_default() += 1;
        if self.is_full {
            return Some(Err("no further queue pair".to_owned()));
        }
        Some(Ok(numbers(self.me, rank)))
    }

    fn connect(&mut self, rank: u32, theirs: &Numbers) -> Result<(), String> {
        if self.refuses == Some(rank) {
            return Err("no way leads there".to_owned());
        }
        assert!(self.connected.insert(rank, theirs.clone()).is_none(), "connected twice");
        assert_eq!(*theirs, numbers(rank, self.me));
        Ok(())
    }
}

fn address(rank: u32) -> Address {
    let port = PortAddress { link: Link::Ethernet, gid: [rank as u8; 16], lid: 0 };
    Address { port, queue_pair: rank, qkey: 1 }
}

fn meet_of(me: u32, secret: u8) -> Meet {
    let job = Job { hash: [1; 32], secret: [secret; 32] };
    Meet::new(me, u64::from(me) + 1000, job, address(me), LATE)
}

struct World {
    ends: Vec<(Meet, Device)>,
    wire: Vec<(Duration, usize, Vec<u8>)>,
    turns: Vec<Vec<Turn>>,
    now: Duration,
    random: ChaCha8Rng,
    loss: u32,
}

impl World {
    fn new(number: u32, seed: u64, loss: u32) -> World {
        let device = |me| Device {
            me,
            known: number,
            made: HashMap::new(),
            connected: HashMap::new(),
            refuses: None,
            is_full: false,
        };
        World {
            ends: (0..number).map(|me| (meet_of(me, 5), device(me))).collect(),
            wire: Vec::new(),
            turns: vec![Vec::new(); number as usize],
            now: Duration::ZERO,
            random: ChaCha8Rng::seed_from_u64(seed),
            loss,
        }
    }

    fn reach(&mut self, from: usize, to: usize) {
        let (meet, device) = &mut self.ends[from];
        meet.reach(device, to as u32, address(to as u32), self.now);
    }

    /// Puts what an end has said on the wire, with the wire's faults, and takes its turns.
    fn collect(&mut self, i: usize) {
        for Outgoing { to, bytes, .. } in std::mem::take(&mut self.ends[i].0.out) {
            for _ in 0..self.random.random_range(1..3) {
                if self.random.random_range(0..100) < self.loss {
                    continue;
                }
                let mut bytes = bytes.clone();
                if self.random.random_range(0..20) == 0 {
                    let place = self.random.random_range(0..bytes.len());
                    bytes[place] ^= 1 << self.random.random_range(0..8);
                }
                let delay = MS * self.random.random_range(1..60);
                self.wire.push((self.now + delay, to.queue_pair as usize, bytes));
            }
        }
        for turn in std::mem::take(&mut self.ends[i].0.turns) {
            if let Turn::Up(peer) = turn {
                let other = &self.ends[peer as usize].1;
                assert!(other.connected.contains_key(&(i as u32)), "up before the peer can hear");
            }
            self.turns[i].push(turn);
        }
    }

    /// A millisecond passes for these ends.
    fn step(&mut self, awake: impl Fn(usize) -> bool) {
        self.now += MS;
        let now = self.now;
        let (here, later) = std::mem::take(&mut self.wire)
            .into_iter()
            .partition(|(due, to, _)| *due <= now && awake(*to));
        self.wire = later;
        let here: Vec<(Duration, usize, Vec<u8>)> = here;
        for (_, to, bytes) in here {
            let (meet, device) = &mut self.ends[to];
            meet.hear(device, &bytes, now);
            self.collect(to);
        }
        for i in (0..self.ends.len()).filter(|i| awake(*i)) {
            if self.ends[i].0.due().is_some_and(|due| due <= now) {
                self.ends[i].0.tick(now);
            }
            self.collect(i);
        }
    }

    fn up(&self, i: usize) -> Vec<u32> {
        let up = |turn: &Turn| if let Turn::Up(peer) = turn { Some(*peer) } else { None };
        let mut peers: Vec<u32> = self.turns[i].iter().filter_map(up).collect();
        peers.sort_unstable();
        peers
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn each_pair_ends_up_with_one_connection(
        seed: u64, loss in 0u32..60, late in 0u64..3000, known in 0u64..3000,
        wants in prop::collection::vec((0usize..3, 0usize..3, 0u64..200), 1..8),
    ) {
        let mut world = World::new(3, seed, loss);
        // The last end looks late, and learns late who the others are.
        world.ends[2].1.known = 0;
        let mut right = vec![std::collections::BTreeSet::new(); 3];
        for ms in 0..60_000u64 {
            for &(from, to, when) in wants.iter().filter(|(from, to, _)| from != to) {
                let is_known = from != 2 || ms >= known;
                if ms == when.max(if is_known { 0 } else { known }) && is_known {
                    world.reach(from, to);
                }
                right[from].insert(to as u32);
                right[to].insert(from as u32);
            }
            if ms == known {
                world.ends[2].1.known = 3;
                for &(from, to, when) in &wants {
                    if from == 2 && to != 2 && when < ms {
                        world.reach(from, to);
                    }
                }
            }
            world.step(|i| i < 2 || ms >= late);
        }
        for (i, right) in right.iter().enumerate() {
            let right: Vec<u32> = right.iter().copied().collect();
            prop_assert_eq!(world.up(i), right.clone(), "rank {}", i);
            prop_assert_eq!(world.turns[i].iter().filter(|t| matches!(t, Turn::Down(..))).count(), 0);
            for peer in right {
                prop_assert_eq!(world.ends[i].1.made[&peer], 1, "queue pairs of {} for {}", i, peer);
            }
            prop_assert!(world.ends[i].0.due().is_none(), "rank {} still speaks", i);
        }
        prop_assert!(world.wire.is_empty(), "somebody still speaks");
    }

    #[test]
    fn strangers_are_dropped_and_counted(seed: u64) {
        let mut world = World::new(2, seed, 0);
        let mut stranger = meet_of(1, 6);
        stranger.reach(&mut world.ends[1].1, 0, address(0), Duration::ZERO);
        let bytes = stranger.out.pop().unwrap().bytes;
        let mut noise = vec![0; 100];
        world.random.fill_bytes(&mut noise);
        for bytes in [bytes, noise, Vec::new()] {
            let (meet, device) = &mut world.ends[0];
            meet.hear(device, &bytes, Duration::ZERO);
        }
        let (meet, device) = &world.ends[0];
        prop_assert_eq!((meet.strangers, meet.out.len(), device.made.len()), (3, 0, 0));
    }
}

#[test]
fn something_that_comes_over_the_connection_settles_it() {
    let mut world = World::new(2, 1, 0);
    world.reach(0, 1);
    let bytes = world.ends[0].0.out.pop().unwrap().bytes;
    let (meet, device) = &mut world.ends[1];
    meet.hear(device, &bytes, MS);
    assert!(meet.turns.is_empty(), "it does not know yet whether the other has heard");
    meet.settle(0);
    assert_eq!(meet.turns, [Turn::Up(0)]);
    assert_eq!(meet.due(), None);
}

#[test]
fn who_closes_says_so_once_and_who_is_refused_hears_it() {
    let mut world = World::new(2, 1, 0);
    world.ends[1].1.refuses = Some(0);
    world.reach(0, 1);
    for _ in 0..500 {
        world.step(|_| true);
    }
    let down = |turn: &Turn| matches!(turn, Turn::Down(_, why) if !why.is_empty());
    assert!(
        world.turns.iter().all(|turns| turns.len() == 1 && down(&turns[0])),
        "{:?}",
        world.turns
    );
    assert!(world.wire.is_empty(), "somebody still speaks");
    assert!(world.ends.iter().all(|(meet, _)| meet.due().is_none()));
}

#[test]
fn who_gets_no_answer_is_told_ever_more_seldom_and_goes_on() {
    let mut world = World::new(2, 1, 100);
    world.reach(0, 1);
    for _ in 0..60_000 {
        world.step(|_| true);
    }
    let late =
        |turn: &Turn| if let Turn::Late(1, waited) = turn { *waited } else { panic!("{turn:?}") };
    let late: Vec<Duration> = world.turns[0].iter().map(late).collect();
    assert!(late.len() > 1 && late.is_sorted_by(|one, next| *one * 2 <= *next), "{late:?}");
    assert!(world.ends[0].0.due().is_some());
}

#[test]
fn who_has_no_queue_pairs_left_tries_once_and_says_so() {
    let mut world = World::new(2, 1, 0);
    world.ends[1].1.is_full = true;
    world.reach(0, 1);
    for _ in 0..5000 {
        world.step(|_| true);
    }
    assert_eq!(world.ends[1].1.made[&0], 1);
    assert_eq!(world.turns[1], [Turn::Down(0, "no further queue pair".to_owned())]);
    assert!(matches!(&world.turns[0][..], [Turn::Down(1, _)]), "{:?}", world.turns[0]);
}

#[test]
fn a_peer_to_whom_there_is_no_way_for_long_is_out_of_reach() {
    let mut world = World::new(2, 1, 0);
    world.reach(0, 1);
    let meet = &mut world.ends[0].0;
    meet.unsent(1, "no route".to_owned(), NO_WAY - MS);
    assert!(meet.turns.is_empty());
    meet.unsent(1, "no route".to_owned(), NO_WAY);
    assert!(matches!(&meet.turns[..], [Turn::Down(1, why)] if why.contains("no route")));
    assert_eq!(meet.due(), None);
}
