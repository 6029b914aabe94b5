//! A peer that writes anything anywhere it can: nothing is read out of bounds, nothing panics,
//! and whoever broke the protocol is given up (decision 21).

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::{FrameKind, Header};
use mpi_core::port::{Body, Fragments, Offer, OfferKind, PeerId, Token, Transport};
use proptest::prelude::*;

use super::Shm;
use super::arena::layout;
use super::ring::exchange::EXCHANGE;
use super::ring::lane::Class;
use super::tests::{CardDirectory, config, join, small};
use crate::conformance::{Recorder, pattern};
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// What the hostile side does, or lets its victim do.
#[derive(Clone, Debug)]
enum Step {
    /// Fills the next cell of the victim's lane.
    Cell([u64; 8]),
    /// A cell that is right but for what it names.
    Named {
        class: u64,
        ride: u64,
        words: [u64; 3],
    },
    /// Sets the count of cells that it says it has consumed.
    Count(u32),
    /// Sets its parked word.
    Parked(u32),
    Poll,
    Send(usize),
    Bulk(usize),
    Pull(Offer, u64),
    /// Takes a message of several fragments of at most so many bytes.
    Fragments(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let edge =
        prop_oneof![0u64..200, 0u64..(20 << 20), EXCHANGE..EXCHANGE + (2 << 20), any::<u64>()];
    let named = (0u64..8, 0u64..256, [edge.clone(), edge.clone(), edge.clone()])
        .prop_map(|(class, ride, words)| Step::Named { class, ride, words });
    let pull = (0u8..3, [edge.clone(), edge.clone()], 0u64..5000)
        .prop_map(|(kind, words, len)| Step::Pull(Offer { kind: OfferKind(kind), words }, len));
    let step = prop_oneof![
        1 => any::<[u64; 8]>().prop_map(Step::Cell),
        4 => named,
        1 => prop_oneof![0u32..70, any::<u32>()].prop_map(Step::Count),
        1 => any::<u32>().prop_map(Step::Parked),
        4 => Just(Step::Poll),
        4 => (0usize..9000).prop_map(Step::Send),
        1 => (0usize..200_000).prop_map(Step::Bulk),
        1 => pull,
        1 => (0u64..5000).prop_map(Step::Fragments),
    ];
    proptest::collection::vec(step, 1..60)
}

/// Two processes that have met.
fn met() -> (Shm, Shm) {
    let directory = CardDirectory::default();
    let mut victim = join(&directory, config(0, 2, small()));
    let mut hostile = join(&directory, config(1, 2, small()));
    let mut sink = Recorder::default();
    let hello = Header::default();
    while !(victim.is_connected(PeerId(1)) && hostile.is_connected(PeerId(0))) {
        let _ = victim.send(PeerId(1), &hello, Body::Bytes(RawBytes::EMPTY));
        victim.contacts.look_soon();
        victim.poll(&mut sink);
        hostile.contacts.look_soon();
        hostile.poll(&mut sink);
    }
    (victim, hostile)
}

/// The word at an offset of an arena, which both sides may write.
pub(super) fn word<T>(shm: &Shm, offset: usize) -> &T {
    // SAFETY: `at` checks the range; only the atomic types below are asked for, at offsets
    // aligned for them.
    unsafe { &*shm.contacts.arena.at(offset as u64, size_of::<T>()).cast::<T>() }
}

fn write_cell(victim: &Shm, index: u32, words: [u64; 8]) {
    let lane = victim.contacts.peers[1].rank;
    let cell = victim.contacts.arena.geometry().cells_of(lane) + 64 * (index % 64) as usize;
    for (i, value) in words.into_iter().enumerate().rev() {
        word::<AtomicU64>(victim, cell + 8 * i).store(value, Ordering::Release);
    }
}

fn attack(steps: Vec<Step>) {
    let (mut victim, hostile) = met();
    let mut sink = Recorder::default();
    let source = vec![1u8; 200_000];
    let mut written = 0u32;
    let mut target = vec![0u8; 5000];
    for step in steps {
        match step {
            Step::Cell(words) => {
                write_cell(&victim, written, words);
                written += 1;
            }
            Step::Named { class, ride, words: [a, b, c] } => {
                let parity = u64::from(written & 64 == 0);
                let first = parity | class << 1 | ride << 8 | (a & 0xff) << 56;
                write_cell(&victim, written, [first, 0, 0, a, b, c, 0, 0]);
                written += 1;
            }
            Step::Count(count) => {
                let lane = hostile.contacts.peers[0].rank;
                let counter = hostile.contacts.arena.geometry().counter(lane);
                word::<AtomicU32>(&hostile, counter).store(count, Ordering::Release);
            }
            Step::Parked(value) => {
                word::<AtomicU32>(&hostile, layout::PARKED).store(value, Ordering::Release);
            }
            Step::Poll => {
                victim.poll(&mut sink);
            }
            Step::Send(len) => {
                let len = len.min(victim.caps(PeerId(1)).frame_bytes_max);
                let body = Body::Bytes(RawBytes::from(&source[..len]));
                let _ = victim.send(PeerId(1), &Header::default(), body);
            }
            Step::Bulk(len) => {
                let packer = Packer::contiguous(UserBuffer(source.as_ptr().cast_mut()), len as u64);
                victim.send_bulk(PeerId(1), &Header::default(), packer, Token(7), None);
            }
            Step::Pull(offer, len) => {
                let to = UserBuffer(target.as_mut_ptr());
                let mut to = Unpacker::contiguous(to, len);
                victim.pull(PeerId(1), &offer, len, &mut to, Token(8));
            }
            Step::Fragments(room) => {
                let to = UserBuffer(target.as_mut_ptr());
                let fragments =
                    victim.take_fragments(PeerId(1), |_, len| (len <= room).then_some(to));
                if let Fragments::Begun(taken) = fragments {
                    let rest = Unpacker::contiguous(to.offset(taken as i64), room - taken);
                    victim.land(PeerId(1), rest, Token(8));
                }
            }
        }
    }
    for _ in 0..100 {
        victim.poll(&mut sink);
    }
    // The victim is still a good peer to others.
    victim.contacts.look_soon();
    victim.poll(&mut sink);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn a_hostile_peer_harms_nobody_but_itself(steps in steps()) {
        attack(steps);
    }
}

#[test]
fn a_message_that_stalls_goes_on_where_it_lands() {
    let (mut victim, _hostile) = met();
    let mut sink = Recorder::default();
    let (bytes, mut target) = (pattern(3, 3000), vec![0u8; 3000]);
    let at = victim.contacts.peers[1].exchange.part(0, bytes.len() as u64).unwrap();
    // SAFETY: `part` checked the range.
    unsafe { RawBytes::from(&bytes[..]).copy_to(at) };
    let header = Header { kind: FrameKind::Eager as u8, context: 4, ..Header::default() };
    let [a, b, c] = header.to_words(0);
    let control = |class: Class| 1 | (class as u64) << 1;
    write_cell(&victim, 0, [a | control(Class::Stream), b, c, EXCHANGE, 3000, 1000, 0, 0]);
    let to = UserBuffer(target.as_mut_ptr());
    let wanted = |header: &Header, len| (header.context == 4 && len == 3000).then_some(to);
    assert_eq!(victim.take_fragments(PeerId(1), |_, _| None), Fragments::Other);
    assert_eq!(victim.take_fragments(PeerId(1), wanted), Fragments::Begun(1000));
    victim.land(PeerId(1), Unpacker::contiguous(to.offset(1000), 2000), Token(9));
    write_cell(&victim, 1, [control(Class::Fragment), 0, 0, 2000, 0, 0, 0, 0]);
    victim.poll(&mut sink);
    assert_eq!((sink.landed, sink.frames), (vec![Token(9)], vec![]));
    assert!(target == bytes);
}

#[test]
fn a_body_longer_than_its_place_is_the_end_of_the_acquaintance() {
    let most = super::ring::lane::BESIDE_BYTES as u64;
    for (len, is_sound) in [(most, true), (most + 1, false), (u64::MAX, false)] {
        let (mut victim, _hostile) = met();
        let mut sink = Recorder::default();
        let control = 1 | (Class::Beside as u64) << 1;
        write_cell(&victim, 0, [control, 0, 0, len, 0, 0, 0, 0]);
        victim.poll(&mut sink);
        assert_eq!((sink.frames.len(), sink.down.len()), if is_sound { (1, 0) } else { (0, 1) });
    }
}

#[test]
fn a_body_outside_the_slots_is_the_end_of_the_acquaintance() {
    let (mut victim, _hostile) = met();
    let mut sink = Recorder::default();
    let at = victim.contacts.arena.geometry().ring_end() - 10;
    // A slot frame of 100 bytes that begins 10 bytes before the end of slots and ring.
    write_cell(&victim, 0, [1 | 1 << 1, 0, 0, at, 100, 0, 0, 0]);
    victim.poll(&mut sink);
    assert_eq!(sink.frames, []);
    assert_eq!(sink.down.len(), 1);
}
