//! The size of datagrams over a simulated line: what is found, what it costs, and what is done where the
//! path changes (RFC 8899).

use std::time::Duration;

use mpi_core::port::Token;
use rand::RngExt;

use super::sim_line::{Weather, World};
use super::sim_storm::{CONFIG, bad, header, push, seeds, storm};
use super::tests::{source, target};
use super::{Config, Link};
use crate::conformance::pattern;

const BASE: u16 = 1200;
const CEILING: u16 = 8950;

/// Two links that know a ceiling, and a path that carries less or more.
fn world(seed: u64, weather: Weather, path: usize) -> World {
    let weather = Weather { mtu: path, ..weather };
    let config = Config { datagram_bytes: BASE, ..CONFIG };
    let mut world = World::new(seed, &config, [weather.clone(), weather]);
    world.links.iter_mut().for_each(|link| link.set_ceiling(CEILING));
    world
}

/// Sends a message of so many bytes; how many datagrams that took.
fn send(world: &mut World, bytes: usize) -> u64 {
    let (sent, before) = (world.heard[0].sent.len() as u64, world.lines[0].sent);
    let (bytes, mut memory) = (pattern(sent, bytes), vec![0; bytes]);
    world.heard[1].landings.push((sent, target(&mut memory)));
    world.links[0].push_message(&header(sent), source(&bytes), Token(sent));
    world.run_until("it has come", |world| world.links[0].is_flushed());
    assert!(memory == bytes);
    world.lines[0].sent - before
}

fn fair() -> Weather {
    Weather::fair(Duration::from_micros(50))
}

#[test]
fn a_card_s_size_is_found_by_one_probe() {
    let mut world = world(1, fair(), 9000);
    send(&mut world, 1 << 20);
    assert_eq!((world.links[0].datagram_bytes(), world.lines[0].probes), (CEILING, 1));
    assert!(send(&mut world, 1 << 20) < (1 << 20) / 8800 + 2);
    assert_eq!(world.links[1].datagram_bytes(), BASE, "that one has not sent anything");
}

#[test]
fn a_narrow_path_is_found_and_a_lost_probe_is_no_congestion() {
    let mut world = world(1, fair(), 1472);
    while world.links[0].datagram_bytes() < 1472 - 32 {
        assert!(world.now < Duration::from_secs(10), "{}", world.links[0].datagram_bytes());
        send(&mut world, 1 << 20);
    }
    for _ in 0..10 {
        send(&mut world, 1 << 20);
    }
    assert_eq!(world.links[0].counters().lost, 0);
    let probes = world.lines[0].probes;
    assert!(probes < 40, "{probes}");
    for _ in 0..5 {
        send(&mut world, 1 << 20);
    }
    assert_eq!(world.lines[0].probes, probes, "the search is over");
}

/// Who is sent short messages alone sees no datagram more.
#[test]
fn short_messages_cost_no_probe() {
    let mut world = world(1, fair(), 9000);
    for n in 0..200 {
        for m in 0..3 {
            assert!(push(&mut world, 0, 4 * n + m, &[1; 1000]));
        }
        assert!(push(&mut world, 1, n, &[1; 5000]));
        world.run_until("all has come", |world| world.links.iter().all(Link::is_flushed));
    }
    assert_eq!(world.lines.each_ref().map(|line| line.probes), [0, 0]);
    assert_eq!(world.links[0].datagram_bytes(), BASE);
}

/// A router in the middle begins to drop large datagrams, and says nothing.
#[test]
fn a_path_that_becomes_narrow_does_not_stop_anything() {
    for (delay, patience) in [(50, 500), (13_000, 5000)] {
        let weather = Weather::fair(Duration::from_micros(delay));
        let mut world = world(1, weather, 9000);
        send(&mut world, 1 << 20);
        assert_eq!(world.links[0].datagram_bytes(), CEILING);
        world.lines[0].weather.mtu = 1472;
        let begin = world.now;
        send(&mut world, 1 << 20);
        let took = world.now - begin;
        assert!(took < Duration::from_millis(patience), "{took:?}");
        assert_eq!(world.links[0].datagram_bytes(), BASE);
        // Ten minutes later it is tried again, and then the path is as before.
        world.lines[0].weather.mtu = 9000;
        let probes = world.lines[0].probes;
        send(&mut world, 1 << 20);
        assert_eq!((world.lines[0].probes, world.links[0].datagram_bytes()), (probes, BASE));
        world.now += Duration::from_secs(601);
        send(&mut world, 1 << 20);
        assert_eq!(world.links[0].datagram_bytes(), CEILING);
    }
}

/// A path that is dead for a while, or loses one in ten, is no narrow one.
#[test]
fn losses_by_chance_and_cuts_do_not_make_datagrams_small() {
    for seed in seeds(6) {
        let mut world = world(seed, Weather { lose: 0.1, ..fair() }, 9000);
        while world.links[0].datagram_bytes() < CEILING {
            send(&mut world, 1 << 20);
            world.now += Duration::from_secs(601);
        }
        for _ in 0..4 {
            let cut = world.now + Duration::from_millis(1);
            world.lines[0].weather.cut = cut..cut + Duration::from_millis(700);
            send(&mut world, 1 << 20);
        }
        assert_eq!(world.links[0].datagram_bytes(), CEILING);
    }
}

#[test]
fn what_the_system_refuses_goes_again_smaller() {
    let mut world = world(1, fair(), 9000);
    world.refused = 4000;
    send(&mut world, 1 << 20);
    assert!((4000 - 32..=4000).contains(&world.links[0].datagram_bytes()));
    // The card's MTU is set to less than even the base.
    world.refused = 1000;
    send(&mut world, 1 << 20);
    assert!((700..=1000).contains(&world.links[0].datagram_bytes()));
    assert_eq!(world.links[0].counters().lost, 0);
}

#[test]
fn another_path_begins_at_the_base() {
    let mut world = world(1, fair(), 9000);
    send(&mut world, 1 << 20);
    assert_eq!(world.links[0].datagram_bytes(), CEILING);
    world.links[0].change_path();
    assert_eq!(world.links[0].datagram_bytes(), BASE);
    send(&mut world, 1 << 20);
    assert_eq!(world.links[0].datagram_bytes(), CEILING);
    world.links[0].set_ceiling(1000);
    assert_eq!(world.links[0].datagram_bytes(), 1000);
}

/// The acknowledgement of a probe that took the old path comes by the new one.
#[test]
fn a_probe_of_the_old_path_says_nothing_of_the_new_one() {
    let mut world = world(1, fair(), 9000);
    send(&mut world, 100);
    let (bytes, mut memory) = (pattern(1, 1 << 20), vec![0; 1 << 20]);
    world.heard[1].landings.push((1, target(&mut memory)));
    world.links[0].push_message(&header(1), source(&bytes), Token(1));
    world.run_until("a probe is under way", |world| world.lines[0].probes == 1);
    world.links[0].change_path();
    world.lines[0].weather.mtu = usize::from(BASE);
    world.run_until("it has come", |world| world.links[0].is_flushed());
    assert_eq!(world.links[0].datagram_bytes(), BASE);
    assert!(memory == bytes);
}

/// All kinds of weather, and a path whose size changes all the time.
#[test]
fn changing_paths_lose_and_double_nothing() {
    for seed in seeds(12) {
        let mut world = world(seed, bad(), 9000);
        storm(&mut world, seed, |world, random| {
            if random.random_bool(0.01) {
                let line = random.random_range(0..2usize);
                world.lines[line].weather.mtu =
                    [1200, 1472, 4000, 9000][random.random_range(0..4usize)];
            }
            if random.random_bool(0.003) {
                world.refused = [1200, 9000][random.random_range(0..2usize)];
            }
        });
    }
}
