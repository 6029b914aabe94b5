//! Leave-taking over a simulated line: the last word overtakes nothing, comes through any weather, and
//! afterwards nothing is sent that nobody wants.

use std::time::Duration;

use mpi_core::port::Token;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::sim_line::{MILES_1400, Weather, World};
use super::sim_storm::{CONFIG, bad, header, push, seeds, storm};
use super::tests::source;
use super::{Breach, Link};
use crate::conformance::pattern;

fn world() -> World {
    let line = Weather::fair(MILES_1400);
    World::new(1, &CONFIG, [line.clone(), line])
}

/// Datagrams that each end has sent.
fn sent(world: &World) -> [u64; 2] {
    world.lines.each_ref().map(|line| line.sent)
}

#[test]
fn a_bye_takes_a_round_trip_and_is_said_once() {
    let mut world = world();
    assert!(push(&mut world, 0, 0, b"hello"));
    world.run_until("they have met", |world| world.links[0].is_flushed());
    let (begin, before) = (world.now, sent(&world));
    world.links[0].leave();
    assert!(!world.links[0].has_left());
    world.run_until("one has left", |world| world.links[0].has_left());
    assert_eq!(world.now - begin, 2 * MILES_1400, "the acknowledgement was held back");
    assert_eq!(sent(&world), before.map(|sent| sent + 1));
    assert!(world.links[1].peer_has_left() && !world.links[0].peer_has_left());
    // The other one need not say anything any more.
    world.links[1].leave();
    assert!(world.links[1].has_left());
    for link in &mut world.links {
        assert!(link.next(world.now).is_none());
        assert_eq!((link.wake_at(), link.silence(world.now)), (None, None));
    }
}

#[test]
fn two_byes_that_cross_are_answers() {
    let mut world = world();
    world.links.iter_mut().for_each(Link::leave);
    let begin = world.now;
    world.run_until("both have left", |world| world.links.iter().all(Link::has_left));
    assert_eq!(world.now - begin, MILES_1400);
}

#[test]
fn a_bye_waits_for_what_was_handed_over() {
    let mut world = world();
    world.lines[0].weather.cut = world.now..world.now + Duration::from_millis(300);
    for n in 0..20 {
        assert!(push(&mut world, 0, n, &[n as u8; 3000]));
    }
    world.links[0].leave();
    world.run_until("one has left", |world| world.links[0].has_left());
    assert_eq!(world.heard[1].frames.len(), 20);
}

/// What is on its way to one that leaves is wanted by nobody, and nobody waits for it.
#[test]
fn who_has_left_is_sent_nothing() {
    let mut world = world();
    let bytes = pattern(1, 1 << 20);
    world.links[1].push_message(&header(1), source(&bytes), Token(1));
    world.links[0].leave();
    world.run_until("both have left", |world| world.links.iter().all(Link::has_left));
    assert!(world.links[1].is_flushed() && world.heard[1].sent.is_empty());
    let before = sent(&world);
    // Far more than a link keeps: nobody waits for room.
    assert!((0..1000).all(|n| push(&mut world, 1, n, &[1; 2000])));
    let end = world.now + Duration::from_secs(60);
    world.run_until("a minute is over", |world| {
        world.next_push = Some(end);
        world.now >= end
    });
    let after = sent(&world);
    assert_eq!(after[1], before[1], "something was sent to one that has left");
    assert!(world.links[1].is_flushed() && world.links[1].silence(end).is_none());
}

/// Whoever has left may be gone, and its last answer lost: then the bye is said again, and seldom.
#[test]
fn to_one_that_is_gone_a_bye_is_said_seldom() {
    let mut world = world();
    assert!(push(&mut world, 0, 0, b"hello"));
    world.run_until("they have met", |world| world.links[0].is_flushed());
    let (begin, before) = (world.now, sent(&world)[0]);
    world.busy[1] = Duration::MAX;
    world.links[0].leave();
    world.run_until("two minutes are over", |world| world.now >= begin + Duration::from_secs(120));
    let more = sent(&world)[0] - before;
    assert!((20..60).contains(&more), "{more}");
    assert!(!world.links[0].has_left());
    let silence = world.links[0].silence(world.now).expect("an answer is due");
    assert!(silence >= Duration::from_secs(119), "{silence:?}");
}

#[test]
fn a_bye_goes_another_way_too() {
    let mut world = world();
    world.lines[0].weather.cut = world.now..Duration::MAX;
    world.links[0].leave();
    let over = world.now + Duration::from_secs(1);
    world.run_until("one has left", |world| {
        if world.now < over {
            world.next_push = Some(over);
        } else if world.lines[0].weather.cut.contains(&over) {
            world.lines[0].weather = Weather::fair(MILES_1400);
            world.links[0].change_path();
        }
        world.links[0].has_left()
    });
    assert_eq!(world.now - over, 2 * MILES_1400);
}

/// After a storm, in the same weather, more frames and then a bye of one end or both: what an end has sent
/// has all come when its bye has, and a bye is heard in the end.
#[test]
fn byes_come_through_any_weather_after_everything_else() {
    for seed in seeds(40) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut world = World::new(seed, &CONFIG, [bad(), bad()]);
        if seed % 4 == 0 {
            storm(&mut world, seed, |_, _| ());
        }
        let before = world.heard.each_ref().map(|heard| heard.frames.len());
        let mut counts = [0; 2];
        for (end, count) in counts.iter_mut().enumerate() {
            let frames = random.random_range(0..40);
            *count = (0..frames).filter(|n| push(&mut world, end, *n, &[7; 900])).count();
        }
        let leaves = [[true, false], [false, true], [true, true]][(seed % 3) as usize];
        let mut at =
            [(); 2].map(|()| world.now + Duration::from_millis(random.random_range(0..200)));
        world.run_until("they have parted", |world| {
            for end in (0..2).filter(|end| leaves[*end]) {
                if world.now >= at[end] {
                    world.links[end].leave();
                    at[end] = Duration::MAX;
                } else if at[end] < Duration::MAX {
                    let next = world.next_push.unwrap_or(Duration::MAX);
                    world.next_push = Some(next.min(at[end]));
                }
            }
            at.iter().zip(leaves).all(|(at, leaves)| !leaves || *at == Duration::MAX)
                && world.links.iter().all(Link::has_left)
        });
        for end in 0..2 {
            let came = world.heard[1 - end].frames.len() - before[1 - end];
            assert!(came <= counts[end]);
            if world.links[1 - end].peer_has_left() {
                assert_eq!(came, counts[end], "seed {seed}: a bye has overtaken a frame");
            }
        }
    }
}

/// No link leaves so: a bye that comes though something of before is missing.
#[test]
fn who_leaves_in_the_middle_of_a_message_is_no_link() {
    let mut world = world();
    assert!(push(&mut world, 0, 1, &[1; 3000]));
    let mut datagrams = Vec::new();
    let mut carry = |link: &mut Link, now| {
        while let Some(datagram) = link.next(now) {
            let mut bytes = Vec::new();
            // SAFETY: no message was handed over.
            unsafe { datagram.copy_to(&mut bytes) };
            datagrams.push(bytes);
        }
    };
    carry(&mut world.links[0], world.now);
    let mut liar = Link::new(&CONFIG);
    for _ in 0..10 {
        liar.leave();
        carry(&mut liar, world.now);
        liar.change_path();
    }
    let bye = datagrams.pop().expect("a bye");
    let [link, heard] = [&mut world.links[1], &mut Link::new(&CONFIG)];
    assert_eq!(heard.receive(world.now, &bye, &mut world.heard[0]), Ok(()));
    assert!(heard.peer_has_left());
    assert_eq!(link.receive(world.now, &datagrams[1], &mut world.heard[1]), Ok(()));
    let said = link.receive(world.now, &bye, &mut world.heard[1]);
    assert!(matches!(said, Err(Breach(_))), "{said:?}");
    assert!(!link.peer_has_left());
}
