//! TCP between processes that are mere values of one test.

use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use mpi_core::buffer::UserBuffer;
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::{FrameKind, Header, INLINE_BYTES};
use mpi_core::port::{Activity, PeerId, ProcessName, Token, Transport, Why};

use super::{Tcp, TcpConfig, TcpSettings};
use crate::conformance::{Recorder, World, check, pattern};

/// Longer than anything takes that works.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn config(rank: u32, tcp: TcpSettings) -> TcpConfig {
    let (job, interfaces) = ("test".to_string(), String::new());
    TcpConfig { job, rank, secret: [3; 32], face: 0, interfaces, route: None, one_host: false, tcp }
}

/// A small window, so that a path is full before a test has sent too much.
pub(super) fn small() -> TcpSettings {
    TcpSettings { window_bytes: 128 << 10, eager_bytes: 32 << 10, ..TcpSettings::default() }
}

/// Transports that know each other's addresses.
pub(super) fn world(size: u32, tcp: &TcpSettings) -> Vec<Tcp> {
    let mut ends: Vec<Tcp> =
        (0..size).map(|rank| Tcp::new(config(rank, tcp.clone())).unwrap()).collect();
    let ports: Vec<u16> = ends.iter().map(|end| end.card().port).collect();
    for end in &mut ends {
        for (rank, port) in (0..size).zip(&ports) {
            end.add_peer(PeerId(rank), &ProcessName { job: "test".into(), rank });
            end.peers_mut()
                .set_routes(PeerId(rank), vec![SocketAddr::from(([127, 0, 0, 1], *port))]);
        }
    }
    ends
}

#[test]
fn meets_all_requirements() {
    check(|| world(2, &small()));
}

#[test]
fn meets_all_requirements_with_several_streams_and_small_fragments() {
    let tcp = TcpSettings { streams: 3, fragment_bytes: 4096, stripe_bytes: 100_000, ..small() };
    check(|| world(2, &tcp));
}

#[test]
fn meets_all_requirements_among_three() {
    check(|| world(3, &TcpSettings { streams: 2, ..small() }));
}

/// Frames of the core itself are as long as its smallest messages may be, and are never asked for.
#[test]
fn frames_of_the_core_pass_however_little_goes_unasked() {
    for eager_bytes in [0, INLINE_BYTES as u32 - 1] {
        let mut world = World::new(world(2, &TcpSettings { eager_bytes, ..small() }));
        let rts = Header { kind: FrameKind::Rts as u8, ..eager() };
        world.send(0, 1, &rts, &[7; INLINE_BYTES]);
        world.run_until("it has come", |world| world.got(1).frames.len() == 1);
    }
}

fn eager() -> Header {
    Header { kind: FrameKind::Eager as u8, context: 4, ..Header::default() }
}

#[test]
fn a_peer_that_leaves_is_told_from_one_that_is_lost() {
    let mut world = World::new(world(3, &small()));
    for to in [1, 2] {
        world.send(0, to, &eager(), b"hello");
        world.send(to, 0, &eager(), b"hello");
    }
    world.run_until("all have met", |world| world.got(0).frames.len() == 2);
    let mut ends = world.into_ends();
    let (mut rest, mut sink) = (ends.split_off(1), Recorder::default());
    drop(rest.pop());
    while sink.down.is_empty() {
        ends[0].poll(&mut sink);
    }
    assert_eq!(sink.down, [(PeerId(2), Why::Finalized)]);
    for _ in 0..1000 {
        assert_eq!(ends[0].poll(&mut sink), Activity::Idle, "something goes on with one who left");
    }
    drop(rest);
    while sink.down.len() < 2 {
        ends[0].poll(&mut sink);
    }
    assert_eq!(sink.down[1], (PeerId(1), Why::Finalized));
}

/// As in a program that closes all descriptors it does not know, and opens a file then.
#[test]
fn who_hears_nothing_any_more_has_lost_everybody() {
    let mut world = World::new(world(2, &small()));
    world.send(0, 1, &eager(), b"hello");
    world.run_until("it has come", |world| world.got(1).frames.len() == 1);
    let other = std::fs::File::open("/dev/null").unwrap();
    // SAFETY: integers only; the number of the set of connections is that of another file from here on.
    unsafe { libc::dup2(other.as_raw_fd(), world.transport(1).epoll.as_fd().as_raw_fd()) };
    let mut sink = Recorder::default();
    while sink.down.is_empty() {
        world.transport(1).poll(&mut sink);
    }
    let (PeerId(0), Why::Undelivered { how, .. }) = &sink.down[0] else {
        panic!("{:?}", sink.down)
    };
    assert!(how.contains("has the program closed descriptors"), "{how}");
}

/// Who has ended its last session is there, but does not look any more.
#[test]
fn who_falls_silent_keeps_nobody_from_ending() {
    let tcp = TcpSettings { streams: 2, fragment_bytes: 4096, stripe_bytes: 20_000, ..small() };
    let mut world = World::new(world(2, &tcp));
    let source = pattern(1, 90_000);
    let from = Packer::contiguous(UserBuffer(source.as_ptr().cast_mut()), source.len() as u64);
    world.transport(0).send_bulk(
        PeerId(1),
        &Header { context: 7, ..eager() },
        from,
        Token(1),
        None,
    );
    world.run_until("it has left", |world| !world.got(0).sent.is_empty());
    world.send(0, 1, &eager(), b"hello");
    world.run_until("it has come", |world| world.got(1).frames.len() == 1);
    world.run_until("that is told", |world| world.transport(1).tell_all());
    let mut ends = world.into_ends();
    // What it is told of room for more of its messages, it need not hear.
    let credit = Header { kind: FrameKind::Credit as u8, ..eager() };
    let body = mpi_core::port::Body::Bytes((&b"room"[..]).into());
    assert!(ends[0].send(PeerId(1), &credit, body).is_ok());
    let mut sink = Recorder::default();
    let start = Instant::now();
    while !ends[0].is_flushed() {
        ends[0].poll(&mut sink);
        assert!(start.elapsed() < PATIENCE, "it waits for one who is silent");
    }
    assert!(ends[1].tell_all());
}

/// The kernel takes all of a message of medium length at once, whichever stream is first.
#[test]
fn a_message_that_makes_short_fragments_is_cut_evenly() {
    let tcp = TcpSettings { streams: 3, stripe_bytes: 20_000, ..small() };
    let mut world = World::new(world(2, &tcp));
    for total in [20_000, 90_001] {
        let source = pattern(total as u64, total);
        let mut target = vec![0; source.len()];
        let to = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), target.len() as u64);
        world.got(1).landings.push((7, to));
        world.send(0, 1, &eager(), b"hello");
        let from = Packer::contiguous(UserBuffer(source.as_ptr().cast_mut()), source.len() as u64);
        let header = Header { context: 7, ..eager() };
        let landed = world.got(1).landed.len();
        world.transport(0).send_bulk(PeerId(1), &header, from, Token(1), None);
        world.run_until("it has landed", |world| world.got(1).landed.len() > landed);
        assert!(source == target);
    }
    let streams = &mut world.transport(1).peers[PeerId(0)].streams;
    let received: Vec<u64> = streams.iter_mut().map(super::stream::Stream::tell).collect();
    let share = (110_001 / 3) as u64;
    assert!(
        received.iter().all(|bytes| (share - 100..share + 1000).contains(bytes)),
        "{received:?}"
    );
}

/// The last acknowledgements of a large message come on all its streams, before a goodbye on each.
#[test]
fn who_leaves_is_heard_to_the_end_on_every_stream() {
    let tcp = TcpSettings { streams: 3, fragment_bytes: 4096, stripe_bytes: 20_000, ..small() };
    let mut world = World::new(world(2, &tcp));
    let source = pattern(1, 90_000);
    let mut target = vec![0; source.len()];
    let to = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), target.len() as u64);
    world.got(1).landings.push((7, to));
    world.send(0, 1, &eager(), b"hello");
    let from = Packer::contiguous(UserBuffer(source.as_ptr().cast_mut()), source.len() as u64);
    let header = Header { context: 7, ..eager() };
    world.transport(0).send_bulk(PeerId(1), &header, from, Token(1), None);
    world.run_until("it has landed", |world| !world.got(1).landed.is_empty());
    let told_before = world.got(0).sent.len();
    let mut ends = world.into_ends();
    let mut leaver = ends.pop().expect("two ends");
    leaver.poll(&mut Recorder::default());
    drop(leaver);
    let mut sink = Recorder::default();
    while sink.down.is_empty() {
        ends[0].poll(&mut sink);
    }
    assert_eq!(sink.down, [(PeerId(1), Why::Finalized)]);
    assert_eq!(told_before + sink.sent.len(), 1, "the message was received, and that was told");
    assert!(source == target);
}

/// What is announced in a row goes out together, and so do the replies; nothing stays behind.
#[test]
fn announcements_in_a_row_take_two_calls_and_replies_one() {
    let mut world = World::new(world(2, &small()));
    world.send(0, 1, &eager(), b"hello");
    world.run_until("they have met", |world| world.got(1).frames.len() == 1);
    let rts = Header { kind: FrameKind::Rts as u8, ..eager() };
    let before = world.transport(0).counters().writes;
    for _ in 0..50 {
        world.send(0, 1, &rts, b"announced");
    }
    assert_eq!(world.transport(0).counters().writes - before, 1, "the first leaves at once");
    world.run_until("all have come", |world| world.got(1).frames.len() == 51);
    assert_eq!(world.transport(0).counters().writes - before, 2, "the others leave together");

    let before = world.transport(1).counters().writes;
    let cts = Header { kind: FrameKind::Cts as u8, ..eager() };
    world.transport(1).hold();
    for _ in 0..50 {
        world.send(1, 0, &cts, b"asked for");
    }
    world.transport(1).release();
    assert_eq!(world.transport(1).counters().writes - before, 1);
    world.run_until("all have come", |world| world.got(0).frames.len() == 50);

    // An ordinary frame behind an announcement takes it along: nobody waits for the next poll.
    world.send(0, 1, &rts, b"announced");
    world.send(0, 1, &rts, b"announced");
    let before = world.transport(0).counters().writes;
    world.send(0, 1, &eager(), b"at once");
    assert_eq!(world.transport(0).counters().writes - before, 1);
    world.run_until("all have come", |world| world.got(1).frames.len() == 54);
}
