//! Two links over a simulated line: what arrives, when, and at which price, seed by seed.

use std::time::Duration;

use mpi_core::port::Token;
use rand::RngExt;

use super::sim_line::{MILES_1400, MILES_8600, Weather, World};
use super::sim_storm::{CONFIG, bad, header, push, seeds, storm};
use super::tests::{source, target};
use super::{Config, Counters, Link};
use crate::conformance::pattern;

/// What happens in a storm whose datagrams change their size on the way.
fn weathered(seed: u64, weather: [Weather; 2]) -> (u64, [Counters; 2], u64) {
    let mut world = World::new(seed, &CONFIG, weather);
    storm(&mut world, seed, |world, random| {
        if random.random_bool(0.01) {
            let bytes = random.random_range(300..3000);
            world.links[random.random_range(0..2usize)].set_datagram_bytes(bytes);
        }
    });
    let counters = [0, 1].map(|end| world.links[end].counters());
    (world.trace(), counters, world.altered)
}

#[test]
fn storms_lose_and_double_nothing_and_a_seed_replays() {
    let (mut traces, mut sums) = (Vec::new(), [0; 4]);
    for seed in seeds(24) {
        let (trace, counters, altered) = weathered(seed, [bad(), bad()]);
        traces.push(trace);
        for one in counters {
            let seen = [one.again, one.repeated, one.late.into(), altered];
            sums.iter_mut().zip(seen).for_each(|(sum, seen)| *sum += seen);
        }
    }
    assert!(sums.iter().all(|sum| *sum > 0), "the weather was fair: {sums:?}");
    assert_eq!(weathered(0, [bad(), bad()]).0, traces[0], "a seed does not replay");
    traces.sort_unstable();
    traces.dedup();
    assert_eq!(traces.len() as u64, seeds(24).end, "seeds do not differ");
}

/// One direction is dead for a while, then the other, then all is well.
#[test]
fn cuts_of_one_direction_lose_and_double_nothing() {
    for seed in seeds(12) {
        let after = |ms| Duration::from_millis(1000 + ms + seed * 7);
        let cut = |range: std::ops::Range<u64>| Weather {
            cut: after(range.start)..after(range.end),
            lose: 0.02,
            ..Weather::fair(Duration::from_millis(1 + seed))
        };
        let (_, counters, _) = weathered(seed, [cut(0..900), cut(700..4000)]);
        assert!(counters[0].asked + counters[1].asked > 0);
    }
}

#[test]
fn a_long_message_fills_a_long_path_in_bad_weather() {
    for seed in seeds(6) {
        let far = |delay| Weather { lose: 0.005, repeat: 0.01, ..Weather::fair(delay) };
        weathered(seed, [far(MILES_8600), far(MILES_8600)]);
    }
}

/// A cable is cut for good in the middle of everything, and the other one is taken.
#[test]
fn a_link_goes_on_over_another_path() {
    for seed in seeds(6) {
        let line = Weather { rate: 0.001, ..Weather::fair(Duration::from_millis(20)) };
        let mut world = World::new(seed, &CONFIG, [line.clone(), line]);
        let cut = world.now + Duration::from_millis(30 + 20 * (seed % 20));
        world.lines.iter_mut().for_each(|line| line.weather.cut = cut..Duration::MAX);
        let over = cut + Duration::from_millis(500);
        storm(&mut world, seed, |world, _| {
            if world.now < over {
                world.next_push = Some(over);
            } else if world.lines[0].weather.cut.contains(&over) {
                assert!(world.links.iter().any(|link| link.silence(world.now).is_some()));
                world.lines.iter_mut().for_each(|line| line.weather = Weather::fair(MILES_1400));
                world.links.iter_mut().for_each(Link::change_path);
            }
        });
        assert!(world.now - over < Duration::from_secs(2), "it waited for the old path");
    }
}

/// Sends 1 MiB messages, some at a time, over a line of 50 MB/s; the share of its rate that arrives between
/// so many round trips after the start.
fn throughput(delay: Duration, datagram_bytes: u16, from: u32, to: u32) -> f64 {
    const RATE: f64 = 0.05;
    const MESSAGE: usize = 1 << 20;
    let config = Config { datagram_bytes, ..CONFIG };
    let line = Weather { rate: RATE, queue: 2 * delay, ..Weather::fair(delay) };
    let mut world = World::new(1, &config, [line.clone(), line]);
    let (bytes, mut memory) = (pattern(1, MESSAGE), vec![0; MESSAGE]);
    let (begin, mut begun, mut landed_at_first) = (world.now, 0, None);
    let round_trips = |world: &World| (world.now - begin).as_secs_f64() / (2 * delay).as_secs_f64();
    world.run_until("the time is over", |world| {
        while begun - (world.heard[0].sent.len() as u64) < 64 {
            world.heard[1].landings.push((begun, target(&mut memory)));
            world.links[0].push_message(&header(begun), source(&bytes), Token(begun));
            begun += 1;
        }
        let now = round_trips(world);
        if now >= from.into() {
            landed_at_first.get_or_insert((world.heard[1].landed.len(), world.now));
        }
        now >= to.into()
    });
    assert!(memory == bytes);
    let (landed, at) = landed_at_first.expect("it went on");
    let came = (world.heard[1].landed.len() - landed) * MESSAGE;
    came as f64 / ((world.now - at).as_nanos() as f64 * RATE)
}

#[test]
fn fills_a_path_of_1400_miles() {
    let share = throughput(MILES_1400, 1400, 20, 100);
    assert!((0.8..1.01).contains(&share), "{share}");
}

#[test]
fn fills_a_path_of_8600_miles() {
    let share = throughput(MILES_8600, 8900, 20, 32);
    assert!((0.8..1.01).contains(&share), "{share}");
}

/// Eager messages take one one-way delay, also the first, rendezvous three (paper 004, §6).
#[test]
fn eager_takes_one_way_and_rendezvous_three() {
    for delay in [MILES_1400, MILES_8600] {
        let line = Weather::fair(delay);
        let mut world = World::new(1, &CONFIG, [line.clone(), line]);
        let begin = world.now;
        assert!(push(&mut world, 0, 1, b"eager") && push(&mut world, 0, 2, &[7; 8000]));
        world.run_until("it has come", |world| world.heard[1].frames.len() == 2);
        assert_eq!(world.now - begin, delay);
        assert_eq!(world.lines[0].sent, 6, "more than the message was sent");
        assert_eq!(world.lines[1].sent, 0, "an answer was awaited");

        let (bytes, mut memory) = (pattern(1, 1000), vec![0; 1000]);
        let begin = world.now;
        assert!(push(&mut world, 0, 3, b"request to send"));
        world.run_until("it was announced", |world| world.heard[1].frames.len() == 3);
        world.heard[1].landings.push((4, target(&mut memory)));
        assert!(push(&mut world, 1, 4, b"clear to send"));
        world.run_until("it was asked for", |world| world.heard[0].frames.len() == 1);
        world.links[0].push_message(&header(4), source(&bytes), Token(9));
        world.run_until("it has come", |world| !world.heard[1].landed.is_empty());
        assert_eq!(world.now - begin, 3 * delay);
        assert!(memory == bytes);
        world.run_until("it is sent", |world| !world.heard[0].sent.is_empty());
        assert_eq!(world.now - begin, 4 * delay, "the acknowledgement was held back");
    }
}

/// A rank that computes loses nothing, is sent little, and its silence is told and no more.
#[test]
fn who_computes_is_left_in_peace() {
    const WORK: Duration = Duration::from_secs(600);
    let line = Weather::fair(Duration::from_micros(30));
    let mut world = World::new(1, &CONFIG, [line.clone(), line]);
    assert!(push(&mut world, 0, 0, b"hello"));
    world.run_until("they have met", |world| world.links[0].is_flushed());
    assert_eq!(world.links[0].silence(world.now), None);
    let (begin, sent, bytes) = (world.now, world.lines[0].sent, world.lines[0].bytes);
    world.busy[1] = begin + WORK;
    for n in 1..6 {
        assert!(push(&mut world, 0, n, &[1; 1000]));
    }
    let (message, mut memory) = (pattern(1, 1 << 20), vec![0; 1 << 20]);
    world.heard[1].landings.push((6, target(&mut memory)));
    world.links[0].push_message(&header(6), source(&message), Token(6));
    world.run_until("it has computed", |world| world.now >= begin + WORK);
    let silence = world.links[0].silence(world.now).expect("an answer is due");
    assert!(silence >= WORK, "{silence:?}");
    let more = world.lines[0].sent - sent;
    assert!(more < 15 + 200, "{more} datagrams to a rank that computes");
    let more = world.lines[0].bytes - bytes;
    assert!(
        more < 12 * 1400 + 200 * 100,
        "{more} bytes to a rank that computes: questions are empty"
    );
    world.run_until("all is delivered", |world| world.links[0].is_flushed());
    let late = world.now - begin - WORK;
    assert!(late < Duration::from_millis(5), "{late:?}");
    assert_eq!((world.heard[1].frames.len(), world.links[0].counters().lost), (6, 0));
}

/// Nothing later comes that would tell of its loss.
#[test]
fn what_questions_carry_again_is_counted() {
    let first = Duration::ZERO..Duration::from_millis(1001);
    let line = Weather { cut: first, ..Weather::fair(Duration::from_micros(30)) };
    let mut world = World::new(1, &CONFIG, [line.clone(), line]);
    assert!(push(&mut world, 0, 0, b"hello"));
    world.run_until("it has come", |world| world.links[0].is_flushed());
    let seen = world.links[0].counters();
    assert_eq!((seen.sent, seen.again, seen.lost, seen.asked), (2, 1, 0, 1));
    assert!(push(&mut world, 0, 1, b"on its way"));
    assert!(world.links[0].next(world.now).is_some());
    world.links[0].change_path();
    assert_eq!(world.links[0].counters().again, 2, "another path carries it again");
}

/// What a transport judges paths by.
#[test]
fn a_link_tells_when_it_heard_the_peer_and_how_far_that_is() {
    let line = Weather::fair(MILES_1400);
    let mut world = World::new(1, &CONFIG, [line.clone(), line]);
    assert_eq!((world.links[0].heard_at(), world.links[0].round_trip()), (None, None));
    assert!(push(&mut world, 0, 1, &[1; 3000]));
    let begin = world.now;
    world.run_until("it has come", |world| world.links[0].is_flushed());
    let round = world.links[0].round_trip().expect("an answer came");
    assert!(round.abs_diff(2 * MILES_1400) < Duration::from_millis(1), "{round:?}");
    assert_eq!(world.links[0].heard_at(), Some(world.now));
    assert_eq!(
        (world.links[1].heard_at(), world.links[1].round_trip()),
        (Some(begin + MILES_1400), None)
    );
    // A repeated datagram is no sign of life.
    assert!(push(&mut world, 0, 2, b"again"));
    let mut bytes = Vec::new();
    // SAFETY: no message was handed over.
    unsafe { world.links[0].next(world.now).expect("a frame").copy_to(&mut bytes) };
    let first = world.now + MILES_1400;
    for later in 0..3 {
        let now = first + later * MILES_1400;
        assert_eq!(world.links[1].receive(now, &bytes, &mut world.heard[1]), Ok(()));
        assert_eq!(world.links[1].heard_at(), Some(first));
    }
    world.links[0].change_path();
    assert_eq!(world.links[0].round_trip(), None);
}

/// Datagrams that overtake each other are soon no longer taken for losses.
#[test]
fn reordering_is_learned() {
    let line = Weather {
        jitter: Duration::from_millis(4),
        rate: 0.01,
        ..Weather::fair(Duration::from_millis(10))
    };
    let mut world = World::new(1, &CONFIG, [line.clone(), line]);
    let (bytes, mut memory) = (pattern(1, 4 << 20), vec![0; 4 << 20]);
    world.heard[1].landings.push((1, target(&mut memory)));
    world.links[0].push_message(&header(1), source(&bytes), Token(1));
    world.run_until("it has come", |world| world.links[0].is_flushed());
    assert!(memory == bytes);
    let seen = world.links[0].counters();
    assert!(seen.late > 0 && u64::from(seen.lost) < seen.sent / 50, "{seen:?}");
}

/// What could not be sent is sent later, and is not taken for a loss.
#[test]
fn what_was_taken_back_goes_again() {
    let line = Weather::fair(Duration::from_millis(1));
    let mut world = World::new(1, &CONFIG, [line.clone(), line]);
    assert!(push(&mut world, 0, 1, b"hello"));
    assert!(push(&mut world, 0, 2, &[7; 3000]));
    for _ in 0..3 {
        let batch: Vec<u64> =
            std::iter::from_fn(|| world.links[0].next(world.now).map(|datagram| datagram.number()))
                .collect();
        assert_eq!(batch.len(), 3);
        batch.iter().rev().for_each(|number| world.links[0].take_back(*number));
    }
    assert_eq!((world.links[0].silence(world.now), world.links[0].counters().sent), (None, 0));
    world.run_until("it has come", |world| world.links[0].is_flushed());
    assert_eq!((world.lines[0].sent, world.links[0].counters().lost), (3, 0));
    assert_eq!(world.heard[1].frames.len(), 2);
}
