//! Ends: peers that die, at any time, and peers that leave.

use std::cell::Cell;

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::{FrameKind, Header};
use mpi_core::port::{Body, PeerId, Token, Transport, Why};
use mpi_core::settings::{PinCachePreference, RdmaRendezvous};

use super::fabric::Abilities;
use super::sim::{End, Sim, Weather};
use super::tests::{small, world};
use super::{Rdma, RdmaSettings};
use crate::conformance::{Recorder, World, pattern};
use crate::reliability::sim_storm::seeds;

const LEN: usize = 300_000;

fn turn(ends: &mut [Rdma<End>], got: &mut [Recorder; 2]) {
    for (end, got) in ends.iter_mut().zip(got) {
        end.poll(got);
    }
}

/// Two that have talked.
fn pair(settings: &RdmaSettings) -> (Sim, World<Rdma<End>>) {
    let (sim, mut world) = world(3, 2, Weather::FAIR, settings);
    world.send(0, 1, &Header::default(), b"hello");
    world.send(1, 0, &Header::default(), b"hello");
    world.run_until("both are there", |world| {
        world.got(0).frames.len() + world.got(1).frames.len() == 2
            && (0..2).all(|end| world.transport(end).is_flushed())
    });
    (sim, world)
}

/// A message of `LEN` bytes on its way to end 0, which dies after so many turns; both memories.
fn die_amid(turns: usize, rendezvous: RdmaRendezvous, is_sender: bool) {
    let mut settings = RdmaSettings { rendezvous, ..small() };
    settings.pins.cache = PinCachePreference::Off;
    let (sim, world) = pair(&settings);
    let (mut ends, mut got) = (world.into_ends(), [Recorder::default(), Recorder::default()]);
    let before = sim.counts(0).registered;
    let source = pattern(1, LEN);
    let mut target = vec![0; LEN];
    let mut room = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), LEN as u64);
    let (from, to) = if is_sender { (0, 1) } else { (1, 0) };
    let peers = [PeerId(from as u32), PeerId(to as u32)];
    let offer = ends[from].offer(peers[1], source.as_ptr(), LEN as u64);
    let header = Header { kind: FrameKind::Data as u8, context: 9, ..Header::default() };
    if rendezvous == RdmaRendezvous::Read {
        ends[to].pull(peers[0], &offer, LEN as u64, &mut room, Token(9));
    } else {
        let advert = ends[to].advertise(peers[0], &room, LEN as u64, Token(9));
        got[to].landings.push((9, room));
        let source = Packer::contiguous(UserBuffer(source.as_ptr().cast_mut()), LEN as u64);
        ends[from].send_bulk(peers[1], &header, source, Token(8), advert);
    }
    for _ in 0..turns {
        turn(&mut ends, &mut got);
    }
    sim.kill(1);
    for waited in 0.. {
        turn(&mut ends, &mut got);
        assert!(waited < 10_000, "it is never given up");
        if !got[0].down.is_empty() {
            break;
        }
    }
    // From here on the memory is the program's.
    target.fill(0x33);
    ends[from].end_offer(peers[1], &offer);
    for _ in 0..2_000 {
        turn(&mut ends, &mut got);
    }
    assert!(target.iter().all(|byte| *byte == 0x33), "memory was written that was handed back");
    assert_eq!(got[0].down.len(), 1, "{:?}", got[0].down);
    let (Why::Lost(how) | Why::Undelivered { how, .. }) = &got[0].down[0].1 else {
        panic!("{:?}", got[0].down)
    };
    assert!(how.contains("rank 1") && how.contains("died"), "{how}");
    assert!(ends[0].is_flushed() && sim.counts(0).registered <= before, "something stays pinned");
}

#[test]
fn nothing_is_pinned_or_written_after_a_peer_has_died() {
    for turns in seeds(40) {
        for rendezvous in [RdmaRendezvous::Write, RdmaRendezvous::Read] {
            for is_sender in [true, false] {
                die_amid(turns as usize * 31, rendezvous, is_sender);
            }
        }
    }
}

#[test]
fn a_death_between_messages_loses_nothing_and_one_amid_does() {
    for is_amid in [false, true] {
        let (sim, world) = pair(&small());
        let (mut ends, mut got) = (world.into_ends(), [Recorder::default(), Recorder::default()]);
        if is_amid {
            let body = Body::Bytes(RawBytes::from(&b"lost"[..]));
            ends[0].send(PeerId(1), &Header::default(), body).unwrap();
        }
        sim.kill(1);
        while got[0].down.is_empty() {
            turn(&mut ends, &mut got);
        }
        let is_undelivered = matches!(got[0].down[0].1, Why::Undelivered { .. });
        assert_eq!(is_undelivered, is_amid, "{:?}", got[0].down);
        let body = Body::Bytes(RawBytes::from(&b"late"[..]));
        assert!(ends[0].send(PeerId(1), &Header::default(), body).is_err());
    }
}

#[test]
fn who_leaves_has_finalized_whatever_follows() {
    let (sim, world) = pair(&small());
    let (mut ends, mut got) = (world.into_ends(), [Recorder::default(), Recorder::default()]);
    let body = Body::Bytes(RawBytes::from(&b"last words"[..]));
    ends[0].send(PeerId(1), &Header::default(), body).unwrap();
    ends[0].leave();
    for _ in 0..2_000 {
        ends[0].poll(&mut got[0]);
        assert!(!ends[0].has_left(), "nobody has heard of it");
    }
    while !ends[0].has_left() || got[1].down.is_empty() {
        turn(&mut ends, &mut got);
    }
    assert_eq!(got[1].frames.len(), 1, "the last words are lost");
    assert_eq!(got[1].down, [(PeerId(0), Why::Finalized)]);
    drop(ends.remove(0));
    sim.kill(0);
    for _ in 0..2_000 {
        ends[0].poll(&mut got[1]);
    }
    assert_eq!(got[1].down.len(), 1, "{:?}", got[1].down);
    assert!(ends[0].is_flushed() && ends[0].has_left());
}

/// Three of which the first has a ring at the second, in weather where completions come late, and in which so many
/// completion queues take turns.
fn with_a_ring(seed: u64, queues: usize) -> (Vec<Rdma<End>>, [Recorder; 2]) {
    let abilities = Abilities { rails: queues, ..Weather::FAIR.abilities };
    let weather = Weather { late: 20_000, abilities, queues, ..Weather::FAIR };
    let (_, mut world) = world(seed, 3, weather, &small());
    let mut said = 0;
    while world.transport(0).counters().ring_frames_out == 0 {
        world.send(0, 1, &Header::default(), b"hello");
        said += 1;
        world.run_until("it is there", |world| world.got(1).frames.len() == said);
    }
    world.run_until("all is flushed", |world| world.transport(0).is_flushed());
    (world.into_ends(), [Recorder::default(), Recorder::default()])
}

/// The first leaves, and waits in vain for an answer of the second, which does something else and looks then; the
/// last is who lets time pass.
fn leave_unseen(ends: &mut Vec<Rdma<End>>, got: &mut [Recorder; 2]) {
    ends[0].leave();
    for _ in 0..2_000 {
        ends[0].poll(&mut got[0]);
    }
    assert!(!ends[0].has_left());
    drop(ends.remove(0));
    for _ in 0..1_000 {
        ends[1].poll(&mut got[0]);
    }
    for _ in 0..1_000 {
        ends[0].poll(&mut got[1]);
    }
}

fn has_slot(end: &mut Rdma<End>) -> bool {
    let ring = end.channel.peers.get(PeerId(1)).and_then(|to| to.rings.out);
    ring.is_some_and(|ring| ring.has_room())
}

/// Frames in a ring that wait for a message, while the completion that tells of it and the end of the connection come
/// in one poll.
#[test]
fn what_was_written_into_a_ring_before_the_end_is_read() {
    let mut waited_for_a_message = 0;
    for seed in seeds(10) {
        let (mut ends, mut got) = with_a_ring(seed, 1);
        let sent = Cell::new(0);
        let say = |end: &mut Rdma<End>| {
            let header = Header { context: sent.get(), ..Header::default() };
            sent.set(sent.get() + 1);
            end.send(PeerId(1), &header, Body::Bytes(RawBytes::from(&b"late"[..]))).unwrap();
        };
        while has_slot(&mut ends[0]) {
            say(&mut ends[0]);
        }
        // By a message, since the ring is full.
        say(&mut ends[0]);
        for _ in 0..10 {
            ends[0].poll(&mut got[0]);
        }
        ends[1].poll(&mut got[1]);
        waited_for_a_message += usize::from((got[1].frames.len() as u64) < sent.get());
        for _ in 0..1_000 {
            ends[0].poll(&mut got[0]);
        }
        if has_slot(&mut ends[0]) {
            say(&mut ends[0]);
        }
        leave_unseen(&mut ends, &mut got);
        let heard: Vec<u64> = got[1].frames.iter().map(|frame| frame.header.context).collect();
        assert!(heard.iter().copied().eq(0..sent.get()), "of {sent:?} came {heard:?}");
        assert_eq!(got[1].down, [(PeerId(0), Why::Finalized)]);
    }
    assert!(waited_for_a_message > 0, "no weather was bad enough");
}

/// A ring is looked at before the completions that tell of the end of a writing, and the completion queue of the
/// messages before those of other rails.
#[test]
fn a_goodbye_does_not_overtake_what_was_written() {
    for (seed, queues) in seeds(4).flat_map(|seed| [1, 2].map(|queues| (seed, queues))) {
        let (mut ends, mut got) = with_a_ring(seed, queues);
        let source = pattern(1, LEN);
        let mut targets = [vec![0; LEN], vec![0; LEN], vec![0; LEN]];
        for (token, target) in (9..).zip(&mut targets) {
            let room = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), LEN as u64);
            let header =
                Header { kind: FrameKind::Data as u8, context: token, ..Header::default() };
            let advert = ends[1].advertise(PeerId(0), &room, LEN as u64, Token(token));
            got[1].landings.push((token, room));
            let from = Packer::contiguous(UserBuffer(source.as_ptr().cast_mut()), LEN as u64);
            ends[0].send_bulk(PeerId(1), &header, from, Token(token), advert);
        }
        while !ends[0].is_flushed() {
            ends[0].poll(&mut got[0]);
        }
        leave_unseen(&mut ends, &mut got);
        let mut landed = std::mem::take(&mut got[1].landed);
        landed.sort_by_key(|token| token.0);
        assert_eq!(landed, [9, 10, 11].map(Token), "what was written is lost");
        assert_eq!(got[1].down, [(PeerId(0), Why::Finalized)]);
        assert!(targets.iter().all(|target| *target == source));
    }
}

#[test]
fn who_was_never_there_is_given_up_in_a_sentence() {
    let (sim, world) = world(1, 2, Weather::FAIR, &small());
    let (mut ends, mut got) = (world.into_ends(), Recorder::default());
    sim.kill(1);
    let body = Body::Bytes(RawBytes::from(&b"hello"[..]));
    assert!(ends[0].send(PeerId(1), &Header::default(), body).is_err());
    for _ in 0..2_000 {
        ends[0].poll(&mut got);
    }
    assert!(matches!(&got.down[..], [(PeerId(1), Why::Lost(how))] if how.contains("answer")));
}
