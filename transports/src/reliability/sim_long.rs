//! Long runs over a simulated line, and short ones of the same kind in every run of the tests: storms of
//! thousands of seeds, ten million messages, cuts of either direction again and again.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::sim_line::{Weather, World};
use super::sim_storm::{CONFIG, bad, push, storm};
use super::{Config, Link};
use crate::conformance::pattern;

/// What was seen in storms, to be sure that there were any.
#[derive(Default, Debug)]
struct Seen {
    lost: u64,
    repeated: u64,
    late: u64,
    altered: u64,
    probes: u64,
    parted: u64,
}

/// Loses up to three in ten, repeats, alters and reorders; the path's size changes, the cable is changed,
/// each direction is cut for a while, and in the end the two part.
fn heavy_storm(seed: u64, seen: &mut Seen) {
    let mut random = ChaCha8Rng::seed_from_u64(!seed);
    let cut = |random: &mut ChaCha8Rng| {
        let begin = Duration::from_millis(1000 + random.random_range(0..2000));
        begin..begin + Duration::from_millis(random.random_range(0..1500))
    };
    let weather = [(); 2].map(|()| Weather {
        delay: Duration::from_micros(random.random_range(20..20_000)),
        jitter: Duration::from_micros(random.random_range(0..5_000)),
        lose: 0.3,
        repeat: random.random_range(0.0..0.2),
        alter: random.random_range(0.0..0.1),
        mtu: random.random_range(1200..9000),
        cut: cut(&mut random),
        ..bad()
    });
    let mut world = World::new(seed, &Config { datagram_bytes: 1200, ..CONFIG }, weather);
    world.links.iter_mut().for_each(|link| link.set_ceiling(8950));
    storm(&mut world, seed, |world, random| {
        let line = random.random_range(0..2usize);
        match random.random_range(0..500) {
            0..3 => world.lines[line].weather.mtu = random.random_range(1200..9000),
            3 => world.links[line].change_path(),
            4 => world.refused = random.random_range(1200..10_000),
            _ => {}
        }
    });
    let who = random.random_range(1..4);
    (0..2).filter(|end| who >> end & 1 == 1).for_each(|end| world.links[end].leave());
    world.run_until("they have parted", |world| world.links.iter().all(Link::has_left));
    for counters in [0, 1].map(|end| world.links[end].counters()) {
        seen.lost += u64::from(counters.lost);
        seen.repeated += counters.repeated;
        seen.late += u64::from(counters.late);
    }
    seen.altered += world.altered;
    seen.probes += world.lines.iter().map(|line| line.probes).sum::<u64>();
    seen.parted += 1;
}

fn heavy_storms(seeds: u64) {
    let mut seen = Seen::default();
    (0..seeds).for_each(|seed| heavy_storm(seed, &mut seen));
    eprintln!("{seeds} storms: {seen:?}");
    let Seen { lost, repeated, late, altered, probes, parted } = seen;
    let all = [lost, repeated, late, altered, probes];
    assert!(parted == seeds && all.iter().all(|count| *count > seeds), "the weather was fair");
}

#[test]
fn storms_of_all_kinds_lose_and_double_nothing() {
    heavy_storms(100);
}

#[test]
#[ignore = "takes minutes"]
fn ten_thousand_storms_lose_and_double_nothing() {
    heavy_storms(10_000);
}

/// So many short messages, every byte of which is compared, and the time that passed on the line.
fn long_run(count: u64) -> Duration {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut world = World::new(7, &CONFIG, [bad(), bad()]);
    let bytes = pattern(7, 1 << 16);
    let body = |n: u64| &bytes[(n.wrapping_mul(40_503) % 65_000) as usize..][..n as usize % 97];
    let (mut pushed, mut heard, mut last) = (0, 0, world.now);
    while heard < count {
        assert!(world.now - last < Duration::from_secs(60), "nothing comes any more");
        for _ in 0..random.random_range(0..200) {
            pushed += u64::from(pushed < count && push(&mut world, 0, pushed, body(pushed)));
        }
        world.next_push = Some(world.now + Duration::from_millis(10));
        world.step();
        for (header, came) in world.heard[1].frames.drain(..) {
            assert!(
                (header.context, &came[..]) == (heard, body(heard)),
                "message {heard} is wrong"
            );
            (heard, last) = (heard + 1, world.now);
        }
    }
    world.run_until("it is over", |world| world.links[0].is_flushed());
    assert!(world.heard[1].frames.is_empty());
    world.now
}

#[test]
fn a_long_run_of_short_messages_loses_and_doubles_nothing() {
    long_run(100_000);
}

#[test]
#[ignore = "takes minutes"]
fn ten_million_messages_come_in_order_and_once() {
    let took = long_run(10_000_000);
    eprintln!("{took:?} on the line");
}

/// Each direction is cut and mended in turn, and sometimes both are; what is sent right after the mending
/// comes soon, at the latest with the next question, and everything comes once.
#[test]
fn a_line_that_is_cut_again_and_again_works_right_after_it_is_mended() {
    for seed in 0..20 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let delay = Duration::from_micros(random.random_range(20..30_000));
        let mut world = World::new(seed, &CONFIG, [Weather::fair(delay), Weather::fair(delay)]);
        let mut counts = [0; 2];
        let mut say = |world: &mut World, end: usize| {
            assert!(push(world, end, counts[end], &[counts[end] as u8; 2000]));
            counts[end] += 1;
        };
        for round in 0..12 {
            let begin = world.now;
            let mended = begin + Duration::from_millis(random.random_range(1..8000));
            for line in (0..2).filter(|line| round % 3 == 2 || round % 3 == *line) {
                world.lines[line].weather.cut = begin..mended;
            }
            (0..2).for_each(|end| say(&mut world, end));
            world.run_until("it is mended", |world| {
                let is_mended = world.now >= mended;
                world.next_push = (!is_mended).then_some(mended);
                is_mended
            });
            (0..2).for_each(|end| say(&mut world, end));
            world.run_until("all has come", |world| world.links.iter().all(Link::is_flushed));
            let took = world.now - mended;
            assert!(
                took < Duration::from_secs(4) + 4 * delay,
                "{took:?} after {:?}",
                mended - begin
            );
        }
        for (heard, count) in world.heard.iter().rev().zip(counts) {
            let came = heard.frames.iter().map(|(header, _)| header.context);
            assert!(came.eq(0..count), "seed {seed}");
        }
    }
}
