//! Processes that are mere values of one test, each on a host of its own, over a simulated network: who
//! sleeps until its set has news or its own time has come, and what each has received.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use mpi_core::buffer::RawBytes;
use mpi_core::header::{FrameKind, Header};
use mpi_core::port::{Activity, Body, PeerId, ProcessName, Transport};

use super::tests::{config, port};
use crate::conformance::Recorder;
use crate::udp::sim_net::{Sim, Weather, address};
use crate::udp::{Udp, UdpSettings};

/// How long a datagram takes through the other network.
const TUNNEL_TAKES: Duration = Duration::from_millis(1);
/// Polls at one moment after which somebody is woken for nothing.
const SPINS_MAX: u32 = 1000;

/// A process.
pub(super) struct End {
    pub udp: Udp,
    pub got: Recorder,
    /// It computes until then, and does not poll.
    pub busy_until: Duration,
    pub port: u16,
}

/// A datagram in the other network: when it comes, from whom and to whom.
type Tunnelled = (Duration, usize, usize, Vec<u8>);

/// Processes and what is between them.
pub(super) struct World {
    pub sim: Sim,
    pub ends: Vec<End>,
    cables: usize,
    tunnelled: VecDeque<Tunnelled>,
    written: u64,
    /// When the test does something, where nothing else happens before.
    pub wake_at: Option<Duration>,
    spins: u32,
}

/// The header of a frame or message of this number.
pub(super) fn header(context: u64) -> Header {
    Header { kind: FrameKind::Eager as u8, context, ..Header::default() }
}

impl World {
    /// A world of so many processes that have been told nothing, hosts and ranks numbered alike.
    pub(super) fn new(
        seed: u64,
        size: usize,
        cables: Vec<[Weather; 2]>,
        settings: &UdpSettings,
    ) -> World {
        let count = cables.len();
        let sim = Sim::begin(seed, cables);
        let ends = (0..size).map(|rank| {
            sim.be_at(rank);
            let mut udp = Udp::new(config(rank as u32, settings.clone())).expect("sockets");
            for other in 0..size as u32 {
                udp.add_peer(PeerId(other), &ProcessName { job: "test".into(), rank: other });
            }
            let port = port(&udp);
            End { udp, got: Recorder::default(), busy_until: Duration::ZERO, port }
        });
        let ends = ends.collect();
        World {
            sim,
            ends,
            cables: count,
            tunnelled: VecDeque::new(),
            written: 0,
            wake_at: None,
            spins: 0,
        }
    }

    /// The time.
    pub(super) fn now(&self) -> Duration {
        self.sim.time()
    }

    /// Takes over a frame if there is room.
    pub(super) fn push(&mut self, from: usize, to: usize, context: u64, bytes: &[u8]) -> bool {
        let body = Body::Bytes(RawBytes::from(bytes));
        self.ends[from].udp.send(PeerId(to as u32), &header(context), body).is_ok()
    }

    /// Whether the way in use from one to another is the best one.
    pub(super) fn is_best(&mut self, from: usize, to: usize) -> bool {
        let peer = self.ends[from].udp.peers.get(PeerId(to as u32));
        peer.is_none_or(|peer| !peer.routes.is_second_best())
    }

    /// How often anybody took another way.
    pub(super) fn moves(&self) -> u64 {
        self.ends.iter().map(|end| end.udp.counters().moves).sum()
    }

    /// Datagrams that went through the other network.
    pub(super) fn tunnelled(&self) -> u64 {
        self.written
    }

    /// Whoever does not compute polls; then time passes until something happens.
    pub(super) fn step(&mut self) {
        let now = self.now();
        for rank in 0..self.ends.len() {
            if self.ends[rank].busy_until <= now {
                self.poll(rank);
            }
        }
        let next = self.next_at().expect("nothing will ever happen again");
        self.spins = if next > now { 0 } else { self.spins + 1 };
        assert!(self.spins < SPINS_MAX, "at {now:?} somebody is woken for nothing");
        self.sim.pass_until(next);
    }

    fn poll(&mut self, rank: usize) {
        let now = self.now();
        let End { udp, got, .. } = &mut self.ends[rank];
        udp.look_at_once();
        let _: Activity = udp.poll(got);
        while let Some(place) =
            self.tunnelled.iter().position(|(at, _, to, _)| *to == rank && *at <= now)
        {
            let Some((_, from, _, bytes)) = self.tunnelled.remove(place) else { break };
            udp.take_tunnelled(PeerId(from as u32), &bytes, got);
        }
        if let Some(peer) = udp.sought_blindly() {
            let there = peer.0 as usize;
            let port = self.ends[there].port;
            let routes = (0..self.cables).map(|cable| SocketAddr::new(address(there, cable), port));
            self.ends[rank].udp.set_routes(peer, routes.collect());
            return self.poll(rank);
        }
        let (tunnelled, written) = (&mut self.tunnelled, &mut self.written);
        udp.send_tunnelled(|peer, bytes| {
            tunnelled.push_back((now + TUNNEL_TAKES, rank, peer.0 as usize, bytes.to_vec()));
            *written += 1;
            true
        });
    }

    /// When something happens next.
    fn next_at(&mut self) -> Option<Duration> {
        let now = self.now();
        let ends = self.ends.iter().enumerate().filter_map(|(rank, end)| {
            let bytes =
                self.tunnelled.iter().filter(|(_, _, to, _)| *to == rank).map(|(at, ..)| *at);
            let own = end.udp.put_off().map(|wait| now + wait);
            let times = self.sim.news_at(end.port).into_iter().chain(own).chain(bytes);
            times.min().map(|at| at.max(end.busy_until))
        });
        ends.chain(self.wake_at.take()).min()
    }

    /// Goes on until `done`, at most so long.
    pub(super) fn run_until(
        &mut self,
        what: &str,
        bound: Duration,
        mut done: impl FnMut(&mut World) -> bool,
    ) {
        let begin = self.now();
        while !done(self) {
            let counters: Vec<_> = self.ends.iter().map(|end| end.udp.counters()).collect();
            let since = self.now() - begin;
            assert!(since <= bound, "after {since:?} not {what}: {counters:?}");
            let last = begin + bound + Duration::from_nanos(1);
            self.wake_at = Some(self.wake_at.map_or(last, |at| at.min(last)));
            self.step();
        }
    }
}
