//! Strangers at the listening socket: scanners, noise, recordings, other jobs, other secrets.
//! They are refused, the job goes on, and no more than one line a second is logged.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use mpi_core::header::{FrameKind, HEADER_BYTES, Header};
use mpi_core::port::{PeerId, ProcessName, Transport};
use proptest::prelude::*;

use super::hello::{CHALLENGE_BYTES, Hello, NONCE_BYTES, WELCOME_BYTES, read_challenge};
use super::record::{Kind, RECORD_BYTES, Record};
use super::tests::{config, small, world};
use super::{Tcp, TcpConfig};
use crate::conformance::{Recorder, World};
use crate::fields::job_hash;

fn header() -> Header {
    Header { kind: FrameKind::Eager as u8, context: 4, ..Header::default() }
}

/// Connects to `end`, and hears its challenge.
fn knock(end: &mut Tcp, sink: &mut Recorder) -> (TcpStream, [u8; NONCE_BYTES]) {
    let at = SocketAddr::from(([127, 0, 0, 1], end.card().port));
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_nonblocking(true).unwrap();
    let mut challenge = [0; CHALLENGE_BYTES];
    while stream.peek(&mut challenge).is_err() {
        end.poll(sink);
    }
    stream.set_nonblocking(false).unwrap();
    stream.read_exact(&mut challenge).unwrap();
    (stream, read_challenge(&challenge).unwrap())
}

/// Polls until so many strangers were refused.
fn refused(end: &mut Tcp, sink: &mut Recorder, count: u64) {
    while end.counters().strangers < count {
        end.poll(sink);
    }
    assert_eq!(end.counters().strangers, count);
    assert!(sink.down.is_empty() && sink.frames.is_empty(), "a stranger had an effect");
}

fn hello(nonce: &[u8; NONCE_BYTES], change: impl FnOnce(&mut Hello, &mut [u8; 32])) -> Vec<u8> {
    let (job, nonces) = (job_hash("test"), [9; NONCE_BYTES]);
    let mut hello = Hello {
        rank: 1,
        to_rank: 0,
        face: 0,
        stream: 0,
        epoch: 0,
        received: 0,
        nonce: nonces,
        job,
    };
    let mut secret = config(0, small()).secret;
    change(&mut hello, &mut secret);
    hello.to_bytes(&secret, nonce).to_vec()
}

#[test]
fn who_cannot_prove_to_belong_to_the_job_is_refused() {
    let mut ends = world(2, &small());
    let mut sink = Recorder::default();
    let end = &mut ends[0];
    let changes: [fn(&mut Hello, &mut [u8; 32]); 7] = [
        |_, secret| secret[0] ^= 1,
        |hello, _| hello.job = job_hash("another"),
        |hello, _| hello.to_rank = 7,
        |hello, _| hello.rank = 7,
        |hello, _| hello.rank = 0,
        |hello, _| hello.stream = 99,
        |hello, _| hello.epoch = u32::MAX,
    ];
    for (count, change) in (1..).zip(changes) {
        let (mut stream, nonce) = knock(end, &mut sink);
        stream.write_all(&hello(&nonce, change)).unwrap();
        refused(end, &mut sink, count);
    }
    // A recording of a good hello is of no use for another connection.
    let (_, nonce) = knock(end, &mut sink);
    let recording = hello(&nonce, |_, _| {});
    let (mut stream, _) = knock(end, &mut sink);
    stream.write_all(&recording).unwrap();
    refused(end, &mut sink, 8);
    assert_eq!(end.counters().connections, 0);
}

/// The other end of a connection that was taken: so many bytes of the stream come, after a welcome.
fn hear_stream(mut stream: &TcpStream, end: &mut Tcp, sink: &mut Recorder, len: usize) {
    let mut heard = vec![0; WELCOME_BYTES + len];
    stream.set_nonblocking(true).unwrap();
    while stream.peek(&mut heard).map_or(true, |n| n < heard.len()) {
        end.poll(sink);
    }
    stream.set_nonblocking(false).unwrap();
    stream.read_exact(&mut heard).unwrap();
}

/// A hello is given up and sent again by the kernel, while another connection comes and goes.
#[test]
fn a_hello_that_comes_too_late_costs_no_peer() {
    const LEN: usize = RECORD_BYTES + HEADER_BYTES + 5;
    for acknowledges in [true, false] {
        let mut ends = world(2, &small());
        let mut sink = Recorder::default();
        let end = &mut ends[0];
        // Nobody listens there: the peer is this test.
        end.peers_mut().set_routes(PeerId(1), vec![SocketAddr::from(([127, 0, 0, 1], 1))]);
        let body = || mpi_core::port::Body::Bytes((&b"hello"[..]).into());
        let (mut late, late_nonce) = knock(end, &mut sink);
        let (mut first, nonce) = knock(end, &mut sink);
        first.write_all(&hello(&nonce, |_, _| {})).unwrap();
        assert!(end.send(PeerId(1), &header(), body()).is_ok());
        hear_stream(&first, end, &mut sink, LEN);
        if acknowledges {
            let ack = Record { len: 0, kind: Kind::Ack, ack: LEN as u64 };
            first.write_all(&ack.to_bytes()).unwrap();
        }
        drop(first);
        while end.peers().is_connected(PeerId(1)) {
            end.poll(&mut sink);
        }
        late.write_all(&hello(&late_nonce, |_, _| {})).unwrap();
        drop(late);
        let (mut second, nonce) = knock(end, &mut sink);
        let known = |hello: &mut Hello, _: &mut [u8; 32]| {
            // The late one may have counted too.
            (hello.epoch, hello.received) = (2, LEN as u64);
        };
        second.write_all(&hello(&nonce, known)).unwrap();
        assert!(end.send(PeerId(1), &header(), body()).is_ok());
        hear_stream(&second, end, &mut sink, LEN);
        assert!(sink.down.is_empty(), "{:?}", sink.down);
    }
}

#[test]
fn a_crowd_of_strangers_does_not_keep_ranks_apart() {
    let ends = world(2, &small());
    let at: Vec<SocketAddr> =
        ends.iter().map(|end| SocketAddr::from(([127, 0, 0, 1], end.card().port))).collect();
    let mut crowd: Vec<TcpStream> =
        (0..200).map(|n| TcpStream::connect(at[n % 2]).unwrap()).collect();
    for (n, stranger) in crowd.iter_mut().enumerate() {
        // Some say nothing, some something short, some a great deal.
        let _ = stranger.write_all(&vec![n as u8; [0, 5, 5000][n % 3]]);
    }
    crowd.truncate(100);
    let mut world = World::new(ends);
    world.send(0, 1, &header(), b"hello");
    world.run_until("the ranks have met", |world| world.got(1).frames.len() == 1);
    assert_eq!(world.transport(1).counters().connections, 1);
}

#[test]
fn a_peer_with_another_secret_is_told_nothing_and_given_up() {
    let mut ends = world(2, &small());
    let wrong = TcpConfig { secret: [4; 32], ..config(1, small()) };
    ends[1] = Tcp::new(wrong).unwrap();
    let at = SocketAddr::from(([127, 0, 0, 1], ends[0].card().port));
    ends[1].add_peer(PeerId(0), &ProcessName { job: "test".into(), rank: 0 });
    ends[1].peers_mut().set_routes(PeerId(0), vec![at]);
    let mut sinks = [Recorder::default(), Recorder::default()];
    let _ = ends[1].send(PeerId(0), &header(), mpi_core::port::Body::Bytes((&b"x"[..]).into()));
    while ends[0].counters().strangers < 3 {
        for (end, sink) in ends.iter_mut().zip(&mut sinks) {
            end.poll(sink);
        }
    }
    assert!(sinks[0].frames.is_empty() && !ends[1].peers().is_connected(PeerId(0)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn noise_at_the_door_is_refused(noise in prop::collection::vec(any::<u8>(), 1..400)) {
        let mut ends = world(1, &small());
        let mut sink = Recorder::default();
        let (mut stream, _) = knock(&mut ends[0], &mut sink);
        stream.write_all(&noise).unwrap();
        drop(stream);
        refused(&mut ends[0], &mut sink, 1);
    }
}
