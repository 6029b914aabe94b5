//! Peers that break the rules: whatever they send, write or tell, they are given up in a sentence, and nothing of
//! the program's is touched.

use mpi_core::buffer::UserBuffer;
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::{FrameKind, HEADER_BYTES, Header};
use mpi_core::port::{
    ADVERT_BYTES, Advert, Offer, PeerId, ProcessName, Pulled, Token, Transport, Why,
};
use mpi_core::settings::PinCachePreference;
use proptest::prelude::*;

use super::RdmaSettings;
use super::envelope::{ENVELOPE_BYTES, Envelope, Kind, RingPlace};
use super::fabric::{Abilities, Fabric, Target};
use super::fabric_bench::{Arrival, Bench, JOB};
use super::ring::RingOut;
use super::sim::{End, Sim, Weather};
use super::tests::{connect, small, world};
use crate::conformance::{Recorder, pattern};

/// Weather in which an access that is not allowed breaks a connection.
fn lax() -> Weather {
    Weather { is_strict: false, ..Weather::FAIR }
}

/// The transport at one end, and bare hands at the other.
struct Stranger {
    rdma: super::Rdma<End>,
    got: Recorder,
    hands: Bench<End>,
    sequence: u16,
}

const OWN: PeerId = PeerId(0);
const PEER: PeerId = PeerId(1);

impl Stranger {
    fn new() -> Stranger {
        Stranger::over(lax())
    }

    fn over(weather: Weather) -> Stranger {
        let (_, mut ends) = Sim::new(1, 2, weather);
        let card = ends[0].card();
        let hands = Bench::new(vec![ends.remove(1)]);
        let rdma = connect(ends, &small()).remove(0);
        let mut all = Stranger { rdma, got: Recorder::default(), hands, sequence: 0 };
        all.rdma.add_peer(PEER, &ProcessName { job: JOB.to_owned(), rank: 1 });
        let own = ProcessName { job: JOB.to_owned(), rank: 0 };
        let fabric = &mut all.hands.ends[0].fabric;
        fabric.add_peer(OWN, &own);
        fabric.meet(OWN, &card).unwrap();
        fabric.reach(OWN);
        hands_post(&mut all.hands);
        all.turn(200);
        all
    }

    fn turn(&mut self, times: usize) {
        for _ in 0..times {
            self.rdma.poll(&mut self.got);
            self.hands.ends[0].poll();
            hands_post(&mut self.hands);
        }
    }

    fn is_lost(&self) -> bool {
        !self.got.down.is_empty()
    }

    fn how(&self) -> &str {
        match &self.got.down[..] {
            [(PEER, Why::Lost(how) | Why::Undelivered { how, .. })] => how,
            other => panic!("{other:?}"),
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        if self.hands.ends[0].try_send(OWN, bytes) {
            self.turn(60);
        }
    }

    fn envelope(&mut self, kind: Kind) -> Envelope {
        self.sequence = self.sequence.wrapping_add(1);
        let sequence = self.sequence.wrapping_sub(1);
        Envelope { sequence, granted: 4, freed: 0, kind, flags: 0 }
    }

    /// A frame as it should be.
    fn frame(&mut self) -> Vec<u8> {
        let header = Header { kind: FrameKind::Eager as u8, ..Header::default() };
        [&self.envelope(Kind::Frame).to_bytes()[..], &header.to_bytes(), b"hello"].concat()
    }

    /// Talks until there is a ring, and says where.
    fn ring(&mut self) -> RingPlace {
        for _ in 0..16 {
            let frame = self.frame();
            self.send(&frame);
        }
        self.turn(200);
        assert_eq!(self.got.frames.len(), 16);
        let told = std::mem::take(&mut self.hands.ends[0].arrivals);
        let ring = told.into_iter().find_map(|arrival| match arrival {
            Arrival::Message { bytes, .. } => RingPlace::from_bytes(&bytes[ENVELOPE_BYTES..]),
            Arrival::Written { .. } => None,
        });
        ring.expect("a ring was told of")
    }

    /// Writes bytes so that they end where the first slot ends.
    fn write(&mut self, ring: RingPlace, bytes: &[u8]) {
        let end = ring.target.address + u64::from(ring.slot_bytes);
        let target = Target { address: end - bytes.len() as u64, key: ring.target.key };
        self.hands.ends[0].try_write((OWN, 0), bytes, target, None).expect("room");
        self.turn(100);
    }
}

fn hands_post(hands: &mut Bench<End>) {
    hands.ends[0].post(8);
}

fn noise() -> impl Strategy<Value = (u8, bool, u16, u16, u8, Vec<u8>)> {
    let content = prop::collection::vec(any::<u8>(), 0..80);
    let count = prop_oneof![Just(4u16), Just(0), any::<u16>()];
    (0u8..10, any::<bool>(), count.clone(), count, prop_oneof![Just(0u8), any::<u8>()], content)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn noise_in_messages_and_rings_is_no_more_than_a_lost_peer(
        messages in prop::collection::vec(noise(), 1..12), in_ring: bool, junk: Vec<u8>,
    ) {
        let mut all = Stranger::new();
        let mut ring = in_ring.then(|| RingOut::new(all.ring(), 8_216).expect("it is one"));
        for (code, is_next, granted, freed, flags, content) in messages {
            let next = all.envelope(Kind::Note);
            let sequence = if is_next { next.sequence } else { granted };
            let mut head = Envelope { sequence, granted, freed, flags, ..next }.to_bytes();
            head[6] = code;
            let bytes = [&head[..], &content].concat();
            match &mut ring {
                Some(out) => {
                    let (target, trailer) = out.next(bytes.len());
                    out.step();
                    let frame = [&bytes[..], &trailer].concat();
                    all.hands.ends[0].try_write((OWN, 0), &frame, target, None);
                    all.turn(60);
                }
                None => all.send(&bytes),
            }
        }
        all.send(&junk[..junk.len().min(200)]);
        all.turn(200);
        if all.is_lost() && all.got.down[0].1 != Why::Finalized {
            prop_assert!(all.how().starts_with("rank 0 cannot reach rank 1 by"), "{}", all.how());
        }
    }

    #[test]
    fn noise_in_adverts_and_offers_harms_nobody(bytes: [u8; ADVERT_BYTES], words: [u64; 2]) {
        let (_, mut world) = world(1, 2, lax(), &small());
        world.send(0, 1, &Header::default(), b"hello");
        world.run_until("it is there", |world| !world.got(1).frames.is_empty());
        let source = pattern(1, 100_000);
        let packer = Packer::contiguous(UserBuffer(source.as_ptr().cast_mut()), 100_000);
        let kind = crate::offers::SIMULATED;
        let header = Header { kind: FrameKind::Data as u8, ..Header::default() };
        let mut ends = world.into_ends();
        let mut target = vec![0; 100_000];
        let mut room = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), 100_000);
        ends[0].send_bulk(PEER, &header, packer, Token(1), Some(Advert { kind, bytes }));
        let pulled = ends[1].pull(OWN, &Offer { kind, words }, 100_000, &mut room, Token(2));
        let mut got = [Recorder::default(), Recorder::default()];
        for _ in 0..5_000 {
            for (end, got) in ends.iter_mut().zip(&mut got) {
                end.poll(got);
            }
        }
        prop_assert!(pulled == Pulled::Begun && got[1].landed.is_empty());
        prop_assert!(got[1].down.len() == 1, "{:?}", got[1].down);
    }
}

#[test]
fn a_frame_longer_than_its_slot_is_a_breach() {
    let mut all = Stranger::new();
    let ring = all.ring();
    let trailer = u64::from(ring.slot_bytes - 7) | 1 << 32;
    all.write(ring, &trailer.to_le_bytes());
    assert!(all.how().contains("impossible length"), "{}", all.how());
}

#[test]
fn an_old_lap_is_no_frame() {
    let mut all = Stranger::new();
    let ring = all.ring();
    for lap in [0u64, 2, 3, u64::from(u32::MAX)] {
        all.write(ring, &(32 | lap << 32).to_le_bytes());
    }
    assert!(!all.is_lost());
    let frame = all.frame();
    let trailer = (frame.len() as u64 | 1 << 32).to_le_bytes();
    all.write(ring, &[&frame[..], &trailer].concat());
    assert_eq!((all.got.frames.len(), all.is_lost()), (17, false));
}

#[test]
fn who_sends_more_than_it_may_is_given_up() {
    let mut all = Stranger::new();
    let credits = small().credits;
    let mut messages = 0;
    // It says nothing of what it has heard, and goes on.
    while !all.is_lost() {
        let mut frame = all.frame();
        frame.resize(ENVELOPE_BYTES + HEADER_BYTES, 0);
        assert!(all.hands.ends[0].try_send(OWN, &frame));
        all.hands.ends[0].poll();
        messages += 1;
        if messages > credits {
            all.turn(300);
        }
    }
    assert!(all.how().contains("more than it may"), "{}", all.how());
}

/// A stranger whose messages may come in any order.
fn astray() -> Stranger {
    let abilities = Abilities { tells_in_order: false, ..lax().abilities };
    Stranger::over(Weather { abilities, ..lax() })
}

#[test]
fn who_sends_ahead_waits_for_what_is_missing() {
    let mut all = astray();
    let frames: Vec<Vec<u8>> = (0..4).map(|_| all.frame()).collect();
    for turn in [2, 3, 1] {
        all.send(&frames[turn]);
        assert_eq!((all.got.frames.len(), all.is_lost()), (0, false));
    }
    all.send(&frames[0]);
    assert_eq!((all.got.frames.len(), all.is_lost()), (4, false));
    all.send(&frames[3]);
    assert!(all.how().contains("does not follow in order"), "{}", all.how());
}

#[test]
fn who_sends_more_ahead_than_it_may_is_given_up() {
    let mut all = astray();
    all.frame();
    for sent in 1.. {
        let frame = all.frame();
        all.send(&frame);
        if all.is_lost() {
            assert_eq!(sent, small().credits + 1);
            break;
        }
    }
    assert!(all.how().contains("more than it may"), "{}", all.how());
    assert!(all.got.frames.is_empty());
    // The buffers are there for others.
    assert_eq!(all.rdma.channel.peers.look(PEER).map(|peer| peer.ahead.len()), Some(0));
}

#[test]
fn what_only_one_rail_ends_is_not_believed_twice() {
    let abilities = Abilities { rails: 2, ..lax().abilities };
    let (sim, mut ends) = Sim::new(1, 2, Weather { abilities, ..lax() });
    let card = ends[0].card();
    let mut hands = Bench::new(vec![ends.remove(1)]);
    let mut settings = RdmaSettings::default();
    settings.pins.cache = PinCachePreference::Off;
    let mut rdma = connect(ends, &settings).remove(0);
    let mut got = Recorder::default();
    let name = |rank| ProcessName { job: JOB.to_owned(), rank };
    rdma.add_peer(PEER, &name(1));
    hands.ends[0].fabric.add_peer(OWN, &name(0));
    hands.ends[0].fabric.meet(OWN, &card).unwrap();
    hands.ends[0].fabric.reach(OWN);
    let mut turn = |hands: &mut Bench<End>, rdma: &mut super::Rdma<End>| {
        for _ in 0..300 {
            rdma.poll(&mut got);
            hands.ends[0].poll();
        }
        (got.begun.len(), got.down.len())
    };
    turn(&mut hands, &mut rdma);
    let mut target = vec![0; 100_000];
    let room = Unpacker::contiguous(UserBuffer(target.as_mut_ptr()), 100_000);
    let advert = rdma.advertise(PEER, &room, 100_000, Token(5)).expect("an advert");
    let [address, key, number] = [0, 1, 2].map(|i| crate::fields::word(&advert.bytes, i));
    let place = Target { address, key };
    let told = number as u32 | 1 << super::slots::NUMBER_BITS;
    let before = sim.counts(0).registered;
    assert!(hands.ends[0].try_write((OWN, 0), &[7; 100], place, Some(told)).is_some());
    assert_eq!(turn(&mut hands, &mut rdma), (0, 0), "it has ended on one rail alone");
    assert!(hands.ends[0].try_write((OWN, 1), &[7; 100], place, Some(told)).is_some());
    assert_eq!(turn(&mut hands, &mut rdma), (1, 0));
    assert_eq!(sim.counts(0).registered, before - 1, "its registration goes on");
    assert!(hands.ends[0].try_write((OWN, 1), &[], place, Some(told)).is_some());
    assert_eq!(turn(&mut hands, &mut rdma), (1, 1), "an old number names something");
}
