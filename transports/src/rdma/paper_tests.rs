//! What the papers promise, counted: no completion of a receive for a message in a ring (000); registrations,
//! control frames and messages under way (002), and what a registration costs.

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::{FrameKind, Header, INLINE_BYTES};
use mpi_core::port::{Body, Offer, PeerId, Pulled, Token, Transport};
use mpi_core::settings::{PinCachePreference, RdmaRendezvous};

use super::sim::{End, Sim, Weather};
use super::tests::world;
use super::{Rdma, RdmaCounters, RdmaSettings};
use crate::conformance::{World, pattern};

const LEN: usize = 64 << 10;

fn header(n: u64) -> Header {
    Header { kind: FrameKind::Eager as u8, context: n, ..Header::default() }
}

/// Both say something in turn.
fn ping_pong(world: &mut World<Rdma<End>>, times: u64, len: usize) {
    for n in 0..times {
        for (from, to) in [(0, 1), (1, 0)] {
            world.got(to).frames.clear();
            world.send(from, to, &header(n), &pattern(n, len));
            world.run_until("it is there", |world| !world.got(to).frames.is_empty());
            assert_eq!(world.got(to).frames[0].body, pattern(n, len));
        }
    }
}

fn counters(world: &mut World<Rdma<End>>) -> [RdmaCounters; 2] {
    [0, 1].map(|end| world.transport(end).counters())
}

/// Two that have talked until both have rings, with one credit each.
fn talked(settings: &RdmaSettings) -> (Sim, World<Rdma<End>>) {
    let settings = RdmaSettings { credits: 1, ..settings.clone() };
    let (sim, mut world) = world(5, 2, Weather::FAIR, &settings);
    ping_pong(&mut world, 40, 100);
    world.run_until("all is flushed", |world| (0..2).all(|i| world.transport(i).is_flushed()));
    assert!(counters(&mut world).iter().all(|end| end.ring_frames_out > 0));
    (sim, world)
}

#[test]
fn a_message_in_a_ring_completes_no_receive() {
    let (sim, mut world) = talked(&RdmaSettings::default());
    for len in [0, 8, 1000, 8192] {
        let (before, sent) = (counters(&mut world), [0, 1].map(|end| sim.counts(end)));
        ping_pong(&mut world, 200, len);
        let after = counters(&mut world);
        for end in 0..2 {
            assert_eq!(after[end].ring_frames_in - before[end].ring_frames_in, 200);
            assert_eq!(after[end].messages_in, before[end].messages_in, "a receive completed");
            assert_eq!(after[end].notes_out, before[end].notes_out);
            assert_eq!(sim.counts(end).writes - sent[end].writes, 200, "one write each");
        }
    }
}

#[test]
fn a_full_ring_leaves_the_other_channel_and_the_order_holds() {
    let (_, mut world) = talked(&RdmaSettings { ring_slots: 8, ..RdmaSettings::default() });
    for round in 0..50 {
        world.got(1).frames.clear();
        let (before, mut taken) = (counters(&mut world)[0], 0u64);
        loop {
            let bytes = pattern(taken, 300);
            let body = Body::Bytes(RawBytes::from(&bytes[..]));
            if world.transport(0).send(PeerId(1), &header(taken), body).is_err() {
                break;
            }
            taken += 1;
        }
        let after = counters(&mut world)[0];
        if round == 0 {
            assert_eq!(after.ring_frames_out - before.ring_frames_out, 8, "a ring has 8 slots");
            assert_eq!(after.messages_out - before.messages_out, 1, "there is one credit");
        }
        world.run_until("all are there", |world| world.got(1).frames.len() as u64 == taken);
        for (n, frame) in (0..).zip(&world.got(1).frames) {
            assert_eq!((frame.header, &frame.body), (header(n), &pattern(n, 300)));
        }
    }
}

#[test]
fn numbers_begin_again_and_nothing_is_confused() {
    for ring_slots in [0, 32] {
        let settings = RdmaSettings { ring_slots, ..RdmaSettings::default() };
        let (_, mut world) =
            world(5, 2, Weather { delay: (0, 0), late: 1, ..Weather::FAIR }, &settings);
        let (mut sent, mut come) = (0u64, 0u64);
        while come < 70_000 {
            for _ in 0..2 {
                let body = Body::Bytes(RawBytes::from(&b"8 bytes."[..]));
                let goes = world.transport(0).send(PeerId(1), &header(sent), body).is_ok();
                sent += u64::from(goes);
            }
            world.run_until("a turn", {
                let mut turns = 0;
                move |_| {
                    turns += 1;
                    turns > 2
                }
            });
            for frame in std::mem::take(&mut world.got(1).frames) {
                assert_eq!(frame.header.context, come);
                come += 1;
            }
        }
    }
}

/// A message of `LEN` bytes as the core sends it: announced, asked for, written; or read.
fn rendezvous(world: &mut World<Rdma<End>>, source: &[u8], target: &mut [u8], n: u64) {
    let (own, peer) = (PeerId(0), PeerId(1));
    let len = source.len() as u64;
    let offer = world.transport(0).offer(peer, source.as_ptr(), len);
    control(world, 0, 1, FrameKind::Rts);
    let mut room = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), len);
    let token = Token(n);
    if world.transport(1).pull(own, &offer, len, &mut room, token) == Pulled::Begun {
        world.run_until("it was read", |world| world.got(1).landed.contains(&token));
        control(world, 1, 0, FrameKind::Fin);
        world.transport(0).end_offer(peer, &offer);
    } else {
        assert_eq!(offer, Offer::default());
        let advert = world.transport(1).advertise(own, &room, len, token);
        world.got(1).landings.push((n, room));
        control(world, 1, 0, FrameKind::Cts);
        let head = Header { kind: FrameKind::Data as u8, context: n, ..Header::default() };
        let packer = Packer::contiguous(UserBuffer(source.as_ptr().cast_mut()), len);
        world.transport(0).send_bulk(peer, &head, packer, token, advert);
        world.run_until("it was written", |world| {
            world.got(1).landed.contains(&token) && world.got(0).sent.contains(&token)
        });
    }
    assert!(target == source, "message {n} is wrong");
}

fn control(world: &mut World<Rdma<End>>, from: usize, to: usize, kind: FrameKind) {
    let head = Header { kind: kind as u8, ..Header::default() };
    world.got(to).frames.clear();
    world.send(from, to, &head, &[0; INLINE_BYTES]);
    world.run_until("it is there", |world| !world.got(to).frames.is_empty());
}

/// What some messages come to: registrations at both ends, and time.
fn cost(settings: &RdmaSettings, register: (u64, u64), messages: u64) -> (u64, u64) {
    let weather = Weather { register, ..Weather::FAIR };
    let (sim, mut world) = world(5, 2, weather, settings);
    ping_pong(&mut world, 40, 100);
    let (source, mut target) = (pattern(1, LEN), vec![0; LEN]);
    let before = [0, 1].map(|end| sim.counts(end).registrations);
    let (begin, sent) = (sim.now(), counters(&mut world));
    for n in 0..messages {
        target.fill(0);
        rendezvous(&mut world, &source, &mut target, n);
    }
    let after = counters(&mut world);
    for end in 0..2 {
        let frames = |one: &RdmaCounters| one.messages_out + one.ring_frames_out;
        assert_eq!(frames(&after[end]) - frames(&sent[end]), messages, "control frames");
        assert!(after[end].notes_out - sent[end].notes_out <= messages / 8 + 1, "notes");
        assert_eq!(after[end].fragments_out, 0);
    }
    let registered = (0..2).map(|end| sim.counts(end).registrations - before[end]).sum();
    (registered, sim.now() - begin)
}

fn without_cache(settings: &RdmaSettings) -> RdmaSettings {
    let mut settings = settings.clone();
    settings.pins.cache = PinCachePreference::Off;
    settings
}

#[test]
fn the_cache_registers_once_what_is_used_again() {
    for rendezvous in [RdmaRendezvous::Write, RdmaRendezvous::Read] {
        let settings = RdmaSettings { rendezvous, ..RdmaSettings::default() };
        assert_eq!(cost(&settings, (0, 0), 20).0, 2);
        assert_eq!(cost(&without_cache(&settings), (0, 0), 20).0, 40);
    }
}

/// Figures 5 and 6: without the cache, registering takes away most of what writing gains.
#[test]
fn without_the_cache_registering_takes_most_of_the_bandwidth() {
    let settings = RdmaSettings::default();
    let free = cost(&settings, (0, 0), 40).1 as f64;
    let price = (60_000, 1_000);
    let without = free / cost(&without_cache(&settings), price, 40).1 as f64;
    let with = free / cost(&settings, price, 40).1 as f64;
    assert!(without <= 0.4, "{without} of the bandwidth without the cache");
    assert!(with >= 0.95, "{with} of the bandwidth with the cache");
}

#[test]
fn several_messages_to_one_peer_are_under_way_at_once() {
    let (_, mut world) = talked(&RdmaSettings::default());
    let sources: Vec<Vec<u8>> = (0..4).map(|n| pattern(n, LEN)).collect();
    let mut targets = vec![vec![0; LEN]; 4];
    for (n, (source, target)) in (0..).zip(sources.iter().zip(&mut targets)) {
        let room = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), LEN as u64);
        let advert = world.transport(1).advertise(PeerId(0), &room, LEN as u64, Token(n));
        world.got(1).landings.push((n, room));
        let head = Header { kind: FrameKind::Data as u8, context: n, ..Header::default() };
        let packer = Packer::contiguous(UserBuffer(source.as_ptr().cast_mut()), LEN as u64);
        world.transport(0).send_bulk(PeerId(1), &head, packer, Token(n), advert);
    }
    world.run_until("all have landed", |world| world.got(1).landed.len() == 4);
    assert!(sources == targets && counters(&mut world)[0].moves_max == 4);
}

/// Bytes that an end keeps for so many others, each of which has sent it some messages (paper 001, figure 6).
fn kept_for(peers: usize) -> usize {
    let (_, mut world) = world(5, peers + 1, Weather::FAIR, &RdmaSettings::default());
    for n in 0..4 {
        for from in 1..=peers {
            world.send(from, 0, &header(n), &pattern(n, 100));
        }
    }
    world.run_until("all has come", |world| world.got(0).frames.len() == 4 * peers);
    world.transport(0).receive_bytes()
}

#[test]
fn connections_that_share_a_receive_queue_keep_less_than_alone() {
    let alone = kept_for(1);
    for peers in [16, 64] {
        let shared = kept_for(peers);
        assert!(2 * shared < peers * alone, "{shared} bytes for {peers} peers, {alone} for one");
    }
}
