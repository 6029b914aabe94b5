//! Credits between several: who starves gets more, who is quiet gives back, and what is posted has a bound.

use mpi_core::buffer::RawBytes;
use mpi_core::header::Header;
use mpi_core::port::{Body, PeerId, Transport};

use super::fabric::Access;
use super::sim::{End, Weather};
use super::tests::world;
use super::{Rdma, RdmaSettings};
use crate::conformance::World;

/// Sends as many frames as there is room for, several times.
fn flood(world: &mut World<Rdma<End>>, from: usize, rounds: usize) {
    for _ in 0..rounds {
        let body = || Body::Bytes(RawBytes::from(&[7; 2000][..]));
        while world.transport(from).send(PeerId(0), &Header::default(), body()).is_ok() {}
        let mut turns = 0;
        world.run_until("some turns", |_| {
            turns += 1;
            turns > 40
        });
    }
}

fn window(world: &mut World<Rdma<End>>, of: u32) -> u16 {
    world.transport(0).channel.peers.get(PeerId(of)).map_or(0, |peer| peer.credits.grants.window)
}

#[test]
fn who_starves_gets_more_and_who_is_quiet_gives_back() {
    let settings =
        RdmaSettings { credits: 2, ring_slots: 0, pool_bytes: 1 << 19, ..Default::default() };
    let (_, mut world) = world(1, 3, Weather::FAIR, &settings);
    let limit = world.transport(0).channel.posted_limit();
    assert!(limit < 100, "{limit} buffers are no bound for this test");
    flood(&mut world, 1, 30);
    let first = window(&mut world, 1);
    assert!(usize::from(first) > limit / 2, "{first} credits of {limit} after a flood");
    flood(&mut world, 2, 60);
    let (first, second) = (window(&mut world, 1), window(&mut world, 2));
    assert!(first < 4 && usize::from(second) > limit / 2, "{first} and {second} of {limit}");
    flood(&mut world, 1, 60);
    let first = window(&mut world, 1);
    assert!(usize::from(first) > limit / 2, "{first} credits after it talks again");
    let counters = world.transport(0).counters();
    assert!(counters.posted_max as usize <= limit, "{} were posted", counters.posted_max);
    let peers = &mut world.transport(0).channel.peers;
    let granted =
        [1, 2].map(|of| peers.get(PeerId(of)).map_or(0, |one| one.credits.grants.outstanding()));
    assert_eq!(granted.map(usize::from).iter().sum::<usize>(), world.transport(0).channel.granted);
}

#[test]
fn buffers_are_posted_for_who_is_there() {
    let (_, mut world) = world(1, 2, Weather::FAIR, &RdmaSettings::default());
    assert_eq!(world.transport(0).counters().posted_max, 0);
    world.send(0, 1, &Header::default(), b"hello");
    world.run_until("it is there", |world| !world.got(1).frames.is_empty());
    let posted = world.transport(1).counters().posted_max;
    assert!((5..30).contains(&posted), "{posted} buffers for one peer");
}

/// Registrations that are only kept make room for buffers.
#[test]
fn buffers_go_before_what_is_only_kept() {
    let settings = RdmaSettings { ring_slots: 0, ..RdmaSettings::default() };
    let weather = Weather { regions: 3, ..Weather::FAIR };
    let (sim, mut world) = world(1, 2, weather, &settings);
    world.send(1, 0, &Header::default(), b"hello");
    world.run_until("it is there", |world| !world.got(0).frames.is_empty());
    let memory = vec![1u8; 100_000];
    let end = world.transport(1);
    for at in [0, 60_000] {
        let at = memory[at..].as_ptr();
        // SAFETY: it stays there to the end of the test.
        let pin =
            unsafe { end.channel.pins.pin(&mut end.channel.fabric, at, 40_000, Access::Local) };
        end.channel.pins.unpin(&mut end.channel.fabric, pin.unwrap());
    }
    assert_eq!(sim.counts(1).registered, 3);
    flood(&mut world, 1, 30);
    assert!(world.transport(1).pins().evictions > 0, "{:?}", world.transport(1).pins());
}

#[test]
fn no_more_is_granted_than_the_fabric_has_room_for() {
    let weather = Weather { posts: 12, ..Weather::FAIR };
    let settings = RdmaSettings { ring_slots: 0, ..RdmaSettings::default() };
    let (sim, mut world) = world(1, 3, weather, &settings);
    flood(&mut world, 1, 30);
    flood(&mut world, 2, 30);
    assert_eq!(
        (world.transport(0).channel.posts_max, world.transport(0).channel.posted_limit()),
        (12, 12)
    );
    let windows = [1, 2].map(|of| usize::from(window(&mut world, of)));
    assert!(windows.iter().sum::<usize>() <= 24, "{windows:?}");
    world.run_until("all is flushed", |world| (1..3).all(|i| world.transport(i).is_flushed()));
    assert_eq!(world.transport(0).counters().posted_max, 12);
    let messages: u64 = (1..3).map(|end| sim.counts(end).messages).sum();
    assert_eq!(world.transport(0).counters().messages_in, messages);
}
