//! Over a long line (papers 000 and 004): what is under way keeps it busy, whatever the length of messages, and several
//! rails carry as many times as much.

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::{FrameKind, Header};
use mpi_core::port::{Body, PeerId, Token, Transport};

use super::sim::{End, Weather};
use super::tests::world;
use super::{Rdma, RdmaSettings};
use crate::conformance::{World, pattern};

/// One way, in nanoseconds; a poll takes so much less time that none is waited for.
const WAY: u64 = 5_000_000;
/// Bytes that a rail takes in a microsecond.
const RATE: u64 = 52;

/// A line of that length on which a rail takes 512 KiB a round trip.
fn weather(rails: usize) -> Weather {
    let mut weather =
        Weather { delay: (WAY, WAY), bytes_per_us: RATE, depth: 128, ..Weather::FAIR };
    weather.abilities.rails = rails;
    weather
}

/// Small messages by the channel of messages alone.
fn settings() -> RdmaSettings {
    RdmaSettings { ring_slots: 0, ..RdmaSettings::default() }
}

fn all_come(world: &mut World<Rdma<End>>, count: usize, len: usize) {
    let (bytes, mut sent) = (pattern(1, len), 0);
    world.got(1).frames.clear();
    world.run_until("all have come", |world| {
        let header = Header { kind: FrameKind::Eager as u8, ..Header::default() };
        let body = || Body::Bytes(RawBytes::from(&bytes[..]));
        while sent < count && world.transport(0).send(PeerId(1), &header, body()).is_ok() {
            sent += 1;
        }
        world.got(1).frames.len() == count
    });
}

#[test]
fn short_messages_get_credits_for_a_long_line() {
    let (sim, mut world) = world(7, 2, Weather { bytes_per_us: 1_000, ..weather(1) }, &settings());
    all_come(&mut world, 1500, 1000);
    let begin = sim.now();
    all_come(&mut world, 1500, 1000);
    let trips = (sim.now() - begin) as f64 / (2 * WAY) as f64;
    // A queue of work holds 128 until they are answered.
    assert!(trips < 1500.0 / 110.0, "{trips} round trips for 1500 messages");
}

/// How long it takes that so many messages of 64 KiB are written, which have been asked for.
fn written(rails: usize, count: u64) -> u64 {
    const LEN: usize = 64 << 10;
    let (sim, mut world) = world(7, 2, weather(rails), &settings());
    all_come(&mut world, 1, 8);
    let source = pattern(1, LEN);
    let mut targets = vec![vec![0; LEN]; count as usize];
    let begin = sim.now();
    for (n, target) in (0..).zip(&mut targets) {
        let room = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), LEN as u64);
        let advert = world.transport(1).advertise(PeerId(0), &room, LEN as u64, Token(n));
        world.got(1).landings.push((n, room));
        let head = Header { kind: FrameKind::Data as u8, context: n, ..Header::default() };
        let packer = Packer::contiguous(UserBuffer(source.as_ptr().cast_mut()), LEN as u64);
        world.transport(0).send_bulk(PeerId(1), &head, packer, Token(n), advert);
    }
    world.run_until("all have landed", |world| world.got(1).landed.len() as u64 == count);
    assert!(targets.iter().all(|target| *target == source), "a message is wrong");
    sim.now() - begin
}

#[test]
fn long_messages_keep_a_long_line_busy() {
    // 64 messages are 8 round trips of the line's bandwidth by one rail.
    let (one, four) = (written(1, 64) as f64, written(4, 64) as f64);
    let line = (64 * (64 << 10)) as f64 * 1000.0 / RATE as f64 + WAY as f64;
    assert!(one < 1.2 * line, "{one} ns by one rail, of which the line takes {line}");
    assert!(one > 2.5 * four, "{one} ns by one rail, {four} by four");
}
