//! Datagrams of strangers, changed ones and those of a peer that has gone mad, for everything that reads one:
//! nobody panics, what has no right tag is counted and changes nothing, and those who mean well go on.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use mpi_core::buffer::RawBytes;
use mpi_core::port::Transport;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Carrier;
use super::envelope::{ENVELOPE_BYTES, Envelope};
use super::sim_world::World;
use super::tag::{Keys, SHORT_BYTES, TAG_BYTES};
use super::tests::config;
use crate::conformance::pattern;
use crate::reliability::number_of;
use crate::udp::sim_net::{FAIR, address};
use crate::udp::{Sockets, UdpSettings};

const BOUND: Duration = Duration::from_secs(10);
const MOMENT: Duration = Duration::from_micros(10);
/// Datagrams that one world hears before others take its place.
const LIFE: u64 = 500;

fn world(seed: u64) -> World {
    World::new(seed, 2, vec![[FAIR; 2]; 2], &UdpSettings::default())
}

/// What rank 0 says to rank 1 first, some of it long, as it comes there.
fn real(world: &mut World, random: &mut ChaCha8Rng) -> Vec<Vec<u8>> {
    for n in 0..8 {
        let len = [0, 40, 300, 3000][random.random_range(0..4usize)];
        assert!(world.push(0, 1, n, &pattern(n, random.random_range(0..=len))));
    }
    // The first look is for where the other is.
    world.wake_at = Some(world.now());
    world.step();
    let port = world.ends[1].port;
    let caught = world.sim.catch(port);
    assert!(!caught.is_empty());
    caught
}

/// The same with some bytes or the length changed, or bytes that are nobody's.
fn changed(random: &mut ChaCha8Rng, real: &[Vec<u8>]) -> Vec<u8> {
    let one = &real[random.random_range(0..real.len())];
    let mut bytes = one.clone();
    match random.random_range(0..10) {
        0 => return (0..random.random_range(0..100)).map(|_| random.random()).collect(),
        1 => bytes.truncate(random.random_range(0..one.len())),
        2 => bytes.extend((0..random.random_range(1..100)).map(|_| random.random::<u8>())),
        // The right job and rank, and nothing else.
        3 => bytes[ENVELOPE_BYTES..].iter_mut().for_each(|byte| *byte = random.random()),
        // Another rank, known or not.
        4 => bytes[4..8].copy_from_slice(&random.random_range(1..5u32).to_le_bytes()),
        5 => bytes[4..8].copy_from_slice(&random.random::<u32>().to_le_bytes()),
        _ => {
            for _ in 0..random.random_range(1..4) {
                let at = random.random_range(0..bytes.len());
                bytes[at] ^= random.random_range(1..=u8::MAX);
            }
        }
    }
    // What was changed back is real, also where more follows: it is cut off.
    if real.iter().any(|one| bytes.starts_with(one)) { Vec::new() } else { bytes }
}

/// A flood of so many; then what is real comes, and all goes on.
fn flood(cases: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(61);
    let mut heard = 0;
    while heard < cases {
        let mut world = world(heard);
        let real = real(&mut world, &mut random);
        let port = world.ends[1].port;
        // Some floods come before the peers have met, others in between.
        let early = random.random_range(0..=LIFE);
        let from = [address(0, 0), address(0, 1), IpAddr::from([10, 9, 9, 9])];
        let mut throw = |world: &mut World, count: u64| {
            for _ in 0..count {
                let from = SocketAddr::new(from[random.random_range(0..3usize)], 7);
                world.sim.throw(from, port, changed(&mut random, &real));
                world.wake_at = Some(world.now() + MOMENT);
                world.step();
            }
        };
        throw(&mut world, early);
        let counters = world.ends[1].udp.counters();
        // One that says that it is shorter than it is counts as several.
        assert!(counters.refused >= early, "{counters:?}");
        assert_eq!((counters.refused, counters.peers), (counters.received, 0));
        let from = SocketAddr::new(address(0, 0), 1000);
        real.iter().for_each(|bytes| world.sim.throw(from, port, bytes.clone()));
        world.run_until("all is told", BOUND, |world| world.ends[0].udp.is_flushed());
        throw(&mut world, LIFE - early);
        let counters = world.ends[1].udp.counters();
        assert!(counters.refused >= LIFE, "{counters:?}");
        assert_eq!((counters.peers, counters.moves), (1, 0));
        assert!(world.ends[1].got.frames.iter().map(|frame| frame.header.context).eq(0..8));
        heard += LIFE;
    }
}

/// A peer that has the keys and sends what it likes: at worst it is lost.
fn madness(cases: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(62);
    let (mut heard, mut lost) = (0, 0);
    while heard < cases {
        let mut world = world(heard);
        let real = real(&mut world, &mut random);
        let config = config(0, UdpSettings::default());
        let job = crate::fields::job_hash(&config.job);
        let keys = Keys::derive(Sockets::PURPOSE, &config.secret, &job, 0, 1);
        let port = world.ends[1].port;
        let from = SocketAddr::new(address(0, 0), 1000);
        for _ in 0..20 {
            let changed = changed(&mut random, &real);
            let Some(number) = changed.get(ENVELOPE_BYTES..).and_then(number_of) else { continue };
            let sealed = sealed(&keys, number, &job, &changed);
            world.sim.throw(from, port, sealed);
            world.wake_at = Some(world.now() + MOMENT);
            world.step();
        }
        lost += world.ends[1].got.down.len();
        assert_eq!(world.ends[1].udp.counters().refused, 0);
        heard += 20;
    }
    assert!(lost > 0 && lost as u64 <= heard / 20, "{lost} lost");
}

/// A datagram with a right envelope and tag, around what was behind another envelope.
fn sealed(keys: &Keys, number: u64, job: &[u8; 32], bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() + TAG_BYTES) as u16;
    let envelope = Envelope { length, ..Envelope::new(job, 0) }.to_bytes();
    let mut sealed = [&envelope, &bytes[ENVELOPE_BYTES..]].concat();
    let tag = match sealed.len() <= SHORT_BYTES {
        true => keys.of_short(number, &sealed),
        // SAFETY: a slice.
        false => unsafe { keys.of_long(number, &sealed, RawBytes::EMPTY) },
    };
    sealed.extend(tag);
    sealed
}

#[test]
fn floods_of_strangers_are_counted_and_change_nothing() {
    flood(70_000);
}

#[test]
fn who_has_the_keys_and_goes_mad_is_lost_at_worst() {
    madness(30_000);
}

#[test]
#[ignore = "takes minutes"]
fn ten_million_datagrams_of_strangers_and_madmen_do_no_harm() {
    flood(7_000_000);
    madness(3_000_000);
}
