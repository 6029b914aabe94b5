//! Connections that break: a proxy between two ranks cuts, stalls, cuts short and lets streams
//! overtake each other, and still every frame and every byte arrives once and in order.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use mpi_core::buffer::UserBuffer;
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::{FrameKind, Header};
use mpi_core::port::{PeerId, ProcessName, Token, Transport, Why};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::tests::{config, small, world};
use super::{Tcp, TcpSettings};
use crate::conformance::{Recorder, World, pattern};

/// One direction of a connection through the proxy.
struct Pipe {
    from: TcpStream,
    to: TcpStream,
    held: Vec<u8>,
    /// Steps for which nothing is passed on.
    asleep: u32,
}

/// What goes wrong at a step of the proxy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Harm {
    /// Nothing.
    None,
    /// A connection is reset, with all that is on its way.
    Cut,
    /// A connection ends after part of what is on its way: it is cut short.
    Truncate,
    /// Nothing is passed on for a while.
    Stall,
    /// What is on its way on one connection is overtaken by what is on the others.
    Reorder,
}

/// Passes bytes on between those who connect and one listener; it is polled like all else here.
struct Proxy {
    listener: TcpListener,
    target: SocketAddr,
    pipes: Vec<[Pipe; 2]>,
    stalled: u32,
    cuts: u32,
}

impl Proxy {
    fn before(target: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Proxy { listener, target, pipes: Vec::new(), stalled: 0, cuts: 0 }
    }

    fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    fn accept(&mut self) {
        while let Ok((near, _)) = self.listener.accept() {
            let far = TcpStream::connect(self.target).unwrap();
            for socket in [&near, &far] {
                socket.set_nonblocking(true).unwrap();
                socket.set_nodelay(true).unwrap();
            }
            let pipe = |from: &TcpStream, to: &TcpStream| Pipe {
                from: from.try_clone().unwrap(),
                to: to.try_clone().unwrap(),
                held: Vec::new(),
                asleep: 0,
            };
            self.pipes.push([pipe(&near, &far), pipe(&far, &near)]);
        }
    }

    /// One step, with some harm to the connection number `which`.
    fn step(&mut self, harm: Harm, which: usize) {
        self.accept();
        if harm == Harm::Stall {
            self.stalled = 50;
        }
        if self.stalled > 0 {
            self.stalled -= 1;
            return;
        }
        if harm == Harm::Reorder && !self.pipes.is_empty() {
            let which = which % self.pipes.len();
            self.pipes[which].iter_mut().for_each(|pipe| pipe.asleep = 60);
        }
        if matches!(harm, Harm::Cut | Harm::Truncate) && !self.pipes.is_empty() {
            self.cuts += 1;
            let which = which % self.pipes.len();
            let mut pair = self.pipes.swap_remove(which);
            for pipe in &mut pair {
                if harm == Harm::Truncate {
                    pipe.fill();
                    let half = pipe.held.len() / 2;
                    let _ = pipe.to.write(&pipe.held[..half]);
                }
                let _ = pipe.to.shutdown(Shutdown::Both);
            }
        }
        self.pipes.retain_mut(|pair| pair.iter_mut().all(Pipe::pass));
    }
}

impl Pipe {
    /// Takes in some of what has come; whether the connection lives.
    fn fill(&mut self) -> bool {
        let mut buffer = [0; 20_000];
        match self.from.read(&mut buffer) {
            Ok(0) => false,
            Ok(n) => {
                self.held.extend_from_slice(&buffer[..n]);
                true
            }
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    }

    fn pass(&mut self) -> bool {
        if self.asleep > 0 {
            self.asleep -= 1;
            return true;
        }
        let lives = self.held.len() > 100_000 || self.fill();
        match self.to.write(&self.held) {
            Ok(n) => drop(self.held.drain(..n)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return false,
        }
        if !lives {
            let _ = self.to.shutdown(Shutdown::Write);
        }
        lives
    }
}

/// Two ends that reach each other only through proxies.
fn behind_proxies(tcp: &TcpSettings) -> (World<Tcp>, [Proxy; 2]) {
    let mut ends: Vec<Tcp> =
        (0..2).map(|rank| Tcp::new(config(rank, tcp.clone())).unwrap()).collect();
    let proxies = [0, 1].map(|rank: usize| {
        Proxy::before(SocketAddr::from(([127, 0, 0, 1], ends[rank].card().port)))
    });
    for end in &mut ends {
        for (rank, proxy) in (0..).zip(&proxies) {
            end.add_peer(PeerId(rank), &ProcessName { job: "test".into(), rank });
            end.peers_mut().set_routes(PeerId(rank), vec![proxy.address()]);
        }
    }
    (World::new(ends), proxies)
}

fn header(n: u64) -> Header {
    Header { kind: FrameKind::Eager as u8, context: n, ..Header::default() }
}

/// Small frames both ways and large messages one way, with harm at random moments.
fn exchange_with_harm(seed: u64, tcp: &TcpSettings, harms: &[Harm]) {
    const FRAMES: u64 = 400;
    let (mut world, mut proxies) = behind_proxies(tcp);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let sources: Vec<Vec<u8>> = (0..8).map(|n| pattern(n, 150_000 + 999 * n as usize)).collect();
    let mut targets: Vec<Vec<u8>> = sources.iter().map(|source| vec![0; source.len()]).collect();
    for (n, target) in (0u64..).zip(&mut targets) {
        let to = UserBuffer(target.as_mut_ptr());
        let to = Unpacker::contiguous(to, target.len() as u64);
        world.got(1).landings.push((1000 + n, to));
    }
    for (n, source) in (0u64..).zip(&sources) {
        let from = UserBuffer(source.as_ptr().cast_mut());
        let from = Packer::contiguous(from, source.len() as u64);
        world.transport(0).send_bulk(PeerId(1), &header(1000 + n), from, Token(n), None);
    }
    let mut turn = |proxies: &mut [Proxy; 2]| {
        let harm = match random.random_range(0..400) {
            0 => harms[random.random_range(0..harms.len())],
            _ => Harm::None,
        };
        let (side, which) = (random.random_range(0..2), random.random_range(0..4));
        proxies[side].step(harm, which);
        proxies[1 - side].step(Harm::None, 0);
    };
    for n in 0..FRAMES {
        for (from, to) in [(0, 1), (1, 0)] {
            let body = pattern(n, n as usize % 700);
            world.run_until("there is room", |world| {
                turn(&mut proxies);
                let body = mpi_core::port::Body::Bytes((&body[..]).into());
                world.transport(from).send(PeerId(to), &header(n), body).is_ok()
            });
            world.run_until("a step is over", {
                let mut steps = 0;
                let (turn, proxies) = (&mut turn, &mut proxies);
                move |_| {
                    turn(proxies);
                    steps += 1;
                    steps > 2
                }
            });
        }
    }
    world.run_until("all has arrived", |world| {
        turn(&mut proxies);
        let done = [0, 1].map(|end| world.got(end).frames.len() as u64);
        done == [FRAMES, FRAMES] && world.got(1).landed.len() == 8 && world.got(0).sent.len() == 8
    });
    for end in [0, 1] {
        for (n, frame) in (0u64..).zip(&world.got(end).frames) {
            assert_eq!((frame.header.context, &frame.body), (n, &pattern(n, n as usize % 700)));
        }
    }
    assert!(targets == sources, "large messages are wrong");
    if harms.iter().any(|harm| matches!(harm, Harm::Cut | Harm::Truncate)) {
        let repairs = [0, 1].map(|end: usize| world.transport(end).counters().repairs);
        let cuts: u32 = proxies.iter().map(|proxy| proxy.cuts).sum();
        assert!(cuts > 0 && repairs != [0, 0], "{cuts} cuts and {repairs:?} repairs prove nothing");
    }
}

fn patient() -> TcpSettings {
    TcpSettings { patience: Duration::from_secs(60), ..small() }
}

#[test]
fn cuts_and_stalls_lose_and_double_nothing() {
    for seed in 0..6 {
        exchange_with_harm(seed, &patient(), &[Harm::Cut, Harm::Truncate, Harm::Stall]);
    }
}

#[test]
fn cuts_of_one_of_several_streams_lose_and_double_nothing() {
    let tcp =
        TcpSettings { streams: 3, fragment_bytes: 10_000, stripe_bytes: 100_000, ..patient() };
    for seed in 0..6 {
        exchange_with_harm(seed, &tcp, &[Harm::Cut, Harm::Truncate]);
    }
}

#[test]
fn streams_that_overtake_each_other_lose_and_double_nothing() {
    let tcp =
        TcpSettings { streams: 4, fragment_bytes: 10_000, stripe_bytes: 100_000, ..patient() };
    for seed in 0..6 {
        exchange_with_harm(seed, &tcp, &[Harm::Reorder]);
        exchange_with_harm(seed, &tcp, &[Harm::Reorder, Harm::Reorder, Harm::Cut]);
    }
}

#[test]
fn a_stalled_connection_is_waited_for() {
    exchange_with_harm(7, &patient(), &[Harm::Stall]);
}

#[test]
fn a_peer_that_computes_and_does_not_look_is_not_lost() {
    let tcp = TcpSettings { patience: Duration::from_millis(50), ..small() };
    let mut ends = world(2, &tcp);
    let mut sink = Recorder::default();
    let body = mpi_core::port::Body::Bytes((&b"x"[..]).into());
    assert!(ends[0].send(PeerId(1), &header(3), body).is_ok());
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(400) {
        ends[0].poll(&mut sink);
    }
    assert!(sink.down.is_empty(), "{:?}", sink.down);
    World::new(ends).run_until("it looks", |world| world.got(1).frames.len() == 1);
}

#[test]
fn a_peer_that_nobody_reaches_any_more_is_lost_within_the_time_set() {
    let tcp = TcpSettings { patience: Duration::from_millis(200), ..small() };
    let (mut world, mut proxies) = behind_proxies(&tcp);
    world.send(0, 1, &header(1), b"first");
    world.run_until("the path is open", |world| {
        proxies.iter_mut().for_each(|proxy| proxy.step(Harm::None, 0));
        world.got(1).frames.len() == 1
    });
    // The cable is cut: connections end, and nobody listens at the addresses any more.
    drop(proxies);
    let mut end = world.into_ends().swap_remove(0);
    let mut sink = Recorder::default();
    while sink.down.is_empty() {
        end.poll(&mut sink);
    }
    let (peer, Why::Undelivered { how, .. }) = &sink.down[0] else { panic!("{:?}", sink.down) };
    assert!(*peer == PeerId(1) && how.contains("rank 0") && how.contains("rank 1"), "{how}");
    assert!(how.contains("refused"), "the last reason is given: {how}");
}
