//! Peers that are never reached: they are told once, with what was handed over for them, and nothing is lost.

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::Packer;
use mpi_core::header::Header;
use mpi_core::port::{Body, Full, PeerId, Token, Transport, Why};

use super::sim::{LATE, Sim, Weather};
use super::tests::{small, world};
use super::{Rdma, Unreached};
use crate::conformance::Recorder;
use crate::reliability::sim_storm::seeds;

/// Two ends whose owner has other networks.
fn pair(seed: u64) -> (Sim, Vec<Rdma<super::sim::End>>, [Recorder; 2]) {
    let (sim, world) = world(seed, 2, Weather::FAIR, &small());
    let mut ends = world.into_ends();
    ends.iter_mut().for_each(Rdma::keep_unreached);
    (sim, ends, [Recorder::default(), Recorder::default()])
}

fn send(end: &mut Rdma<super::sim::End>, to: u32) -> Result<(), Full> {
    end.send(PeerId(to), &Header::default(), Body::Bytes(RawBytes::from(&b"hello"[..])))
}

/// Hands over a large message.
fn hand_over(end: &mut Rdma<super::sim::End>, bytes: &mut [u8], token: u64) {
    let source = Packer::contiguous(UserBuffer(bytes.as_mut_ptr()), bytes.len() as u64);
    let header = Header { context: token, ..Header::default() };
    end.send_bulk(PeerId(1), &header, source, Token(token), None);
}

#[test]
fn who_is_refused_is_told_with_what_was_handed_over_and_not_to_the_sink() {
    for seed in seeds(20) {
        let (sim, mut ends, mut got) = pair(seed);
        let mut bytes = vec![7; 100_000];
        sim.refuse(0, 1);
        assert_eq!(send(&mut ends[0], 1), Err(Full));
        hand_over(&mut ends[0], &mut bytes, 1);
        hand_over(&mut ends[0], &mut bytes, 2);
        let mut told: [Vec<Unreached>; 2] = [Vec::new(), Vec::new()];
        for turn in 0..400 {
            let one = (turn + seed as usize) % 2;
            ends[one].poll(&mut got[one]);
            told[one].extend(ends[one].unreached());
            if !told[one].is_empty() {
                assert_eq!(
                    send(&mut ends[one], 1 - one as u32),
                    Err(Full),
                    "it is no peer any more"
                );
            }
        }
        let [first, second] = told;
        let [Unreached { peer: PeerId(1), how, bulk }] = &first[..] else {
            panic!("not told once")
        };
        assert!(how.contains("there is no way"), "{how}");
        ends[0].lose(PeerId(1), how);
        ends[0].poll(&mut got[0]);
        let [(PeerId(1), Why::Lost(told))] = &std::mem::take(&mut got[0].down)[..] else {
            panic!()
        };
        assert_eq!(*told, format!("rank 0 cannot reach rank 1 by a simulated fabric: {how}"));
        let handed: Vec<_> = bulk
            .iter()
            .map(|one| (one.token.0, one.header.context, one.source.remaining()))
            .collect();
        assert_eq!(handed, [(1, 1, 100_000), (2, 2, 100_000)]);
        assert!(second.len() == 1 && second[0].bulk.is_empty());
        assert!(got.iter().all(|got| got.down.is_empty() && got.sent.is_empty()));
        assert!(ends.iter().all(|end| end.is_flushed() && end.has_left()));
    }
}

#[test]
fn who_does_not_answer_is_late_once_and_waited_for_unless_withdrawn() {
    for (withdraws, is_blocked) in [(true, true), (false, true), (true, false)] {
        let (sim, mut ends, mut got) = pair(1);
        if is_blocked {
            sim.block(0, 1);
        }
        assert_eq!(send(&mut ends[0], 1), Err(Full));
        let mut late = Vec::new();
        while sim.now() < 3 * LATE {
            ends[0].poll(&mut got[0]);
            if let Some(peer) = ends[0].late() {
                late.push(peer);
                if withdraws {
                    let unreached = ends[0].withdraw(peer).expect("it is not up");
                    assert!(unreached.how.contains("has not answered"), "{}", unreached.how);
                }
            }
        }
        assert_eq!(late, if is_blocked { vec![PeerId(1)] } else { vec![] });
        assert_eq!(send(&mut ends[0], 1).is_ok(), !is_blocked);
        assert!(ends[0].withdraw(PeerId(1)).is_none() || !withdraws, "it is up, or withdrawn");
        assert!(got[0].down.is_empty() && ends[0].unreached().is_none());
    }
}

/// The other end may be connected already: it hears that, and has sent nothing that came.
#[test]
fn ends_that_decide_at_different_moments_both_leave() {
    for seed in seeds(10) {
        let (sim, mut ends, mut got) = pair(seed);
        assert_eq!(send(&mut ends[0], 1), Err(Full));
        // It is withdrawn before it has answered, however early that is.
        let at = sim.now() + (seed % 7) * 2_000;
        while sim.now() < at {
            ends[1].poll(&mut got[1]);
        }
        let withdrawn = ends[0].withdraw(PeerId(1));
        assert!(withdrawn.is_some());
        let mut other = Vec::new();
        for _ in 0..500 {
            ends[0].poll(&mut got[0]);
            ends[1].poll(&mut got[1]);
            other.extend(ends[1].unreached());
        }
        assert!(
            other.len() == 1 && got.iter().all(|got| got.down.is_empty() && got.frames.is_empty())
        );
        assert!(ends[0].unreached().is_none(), "told twice");
    }
}

#[test]
fn who_was_connected_is_lost_as_ever() {
    let (sim, mut ends, mut got) = pair(3);
    while send(&mut ends[0], 1).is_err() {
        ends[0].poll(&mut got[0]);
    }
    while got[1].frames.is_empty() {
        ends[0].poll(&mut got[0]);
        ends[1].poll(&mut got[1]);
    }
    sim.kill(1);
    while got[0].down.is_empty() {
        ends[0].poll(&mut got[0]);
    }
    assert!(ends[0].unreached().is_none());
}
