//! What two links say to each other in tests over a simulated line: frames and messages both ways, and that
//! all of it has come.

use std::sync::Arc;
use std::time::Duration;

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::{Datatype, Form, Packer, Unpacker, basic, predefined};
use mpi_core::header::Header;
use mpi_core::port::{Body, Token};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::sim_line::{Weather, World};
use super::tests::{source, target};
use super::{Config, Link};
use crate::conformance::pattern;

/// Seeds tried; more where FERRITE_TEST_SEEDS says so.
pub(crate) fn seeds(few: u64) -> std::ops::Range<u64> {
    let more = std::env::var("FERRITE_TEST_SEEDS").ok().and_then(|text| text.parse().ok());
    0..more.unwrap_or(few)
}

pub(super) const CONFIG: Config = Config {
    datagram_bytes: 1400,
    frame_bytes_max: 64 << 10,
    kept_bytes_max: 256 << 10,
    credit: 64 << 10,
};

pub(super) fn header(context: u64) -> Header {
    Header { context, ..Header::default() }
}

pub(super) fn push(world: &mut World, end: usize, context: u64, bytes: &[u8]) -> bool {
    let body = Body::Bytes(RawBytes::from(bytes));
    world.links[end].push_frame(&header(context), body).is_ok()
}

/// Messages of bytes that have gaps in between in memory.
fn every_other(bytes: usize) -> Arc<Datatype> {
    let byte = predefined(basic::BYTE).expect("a byte");
    Datatype::hvector(bytes as i64, 1, 2, byte, Form::Int).expect("a vector")
}

/// What one end sends in a storm.
struct Plan {
    frames: Vec<Vec<u8>>,
    messages: Vec<Message>,
    pushed: (usize, usize),
}

/// A large message, and the memory where it goes.
pub(crate) struct Message {
    bytes: Vec<u8>,
    memory: Vec<u8>,
    goes_with_gaps: bool,
    comes_with_gaps: bool,
}

impl Message {
    /// One of any length, with gaps or without.
    pub(crate) fn new(random: &mut ChaCha8Rng) -> Message {
        let len = [0, 1, 3_000, 100_000][random.random_range(0..4usize)];
        let len = random.random_range(0..=len);
        let [goes_with_gaps, comes_with_gaps] = [(); 2].map(|()| random.random_bool(0.3));
        let bytes = pattern(random.random(), if goes_with_gaps { 2 * len } else { len });
        let memory = vec![0; if comes_with_gaps { 2 * len } else { len }];
        Message { bytes, memory, goes_with_gaps, comes_with_gaps }
    }

    /// A cursor that reads it.
    pub(crate) fn source(&self) -> Packer {
        match self.goes_with_gaps {
            true => {
                let at = UserBuffer(self.bytes.as_ptr().cast_mut());
                Packer::new(at, 1, &every_other(self.bytes.len() / 2))
            }
            false => source(&self.bytes),
        }
    }

    /// A cursor that writes where it goes.
    pub(crate) fn target(&mut self) -> Unpacker {
        match self.comes_with_gaps {
            true => {
                let at = UserBuffer(self.memory.as_mut_ptr());
                Unpacker::new(at, 1, &every_other(self.memory.len() / 2))
            }
            false => target(&mut self.memory),
        }
    }

    /// It has come unharmed.
    pub(crate) fn check(&self) {
        let step = |gaps| if gaps { 2 } else { 1 };
        let sent = self.bytes.iter().step_by(step(self.goes_with_gaps));
        let came = self.memory.iter().step_by(step(self.comes_with_gaps));
        assert!(sent.eq(came), "a message is damaged");
        let mut gaps = self.memory.iter().skip(1).step_by(2);
        assert!(!self.comes_with_gaps || gaps.all(|byte| *byte == 0), "a gap was written");
    }
}

impl Plan {
    fn new(random: &mut ChaCha8Rng) -> Plan {
        let frames = (0..40).map(|_| {
            let len = [40, 300, 5_000, 60_000][random.random_range(0..10usize).min(3) % 4];
            pattern(random.random(), random.random_range(0..=len))
        });
        let frames = frames.collect();
        Plan { frames, messages: (0..8).map(|_| Message::new(random)).collect(), pushed: (0, 0) }
    }

    /// Hands over the next things, as far as there is room.
    fn push(&mut self, world: &mut World, end: usize, random: &mut ChaCha8Rng) {
        while self.pushed.0 < self.frames.len() && random.random_bool(0.5) {
            if !push(world, end, self.pushed.0 as u64, &self.frames[self.pushed.0]) {
                break;
            }
            self.pushed.0 += 1;
        }
        if self.pushed.1 < self.messages.len() && random.random_bool(0.2) {
            let number = self.pushed.1 as u64;
            let message = &mut self.messages[self.pushed.1];
            world.heard[1 - end].landings.push((1000 + number, message.target()));
            world.links[end].push_message(&header(1000 + number), message.source(), Token(number));
            self.pushed.1 += 1;
        }
    }

    fn is_pushed(&self) -> bool {
        self.pushed == (self.frames.len(), self.messages.len())
    }

    /// All came there once, unharmed, frames in order; and who sent it was told so.
    fn check(&self, world: &World, end: usize) {
        let (heard, told) = (&world.heard[1 - end], &world.heard[end].sent);
        assert_eq!(heard.frames.len(), self.frames.len());
        for (n, ((header, body), sent)) in heard.frames.iter().zip(&self.frames).enumerate() {
            assert_eq!(header.context, n as u64, "frames are out of order");
            assert!(body == sent, "frame {n} is damaged");
        }
        self.messages.iter().for_each(Message::check);
        let numbers = || 0..self.messages.len() as u64;
        let sorted = |tokens: &[Token]| {
            let mut numbers: Vec<u64> = tokens.iter().map(|token| token.0).collect();
            numbers.sort_unstable();
            numbers
        };
        assert!(numbers().map(|n| 1000 + n).eq(sorted(&heard.landed)));
        assert!(numbers().eq(sorted(told)));
    }
}

/// Frames and messages both ways, until all has come and been checked; `also` does what else happens.
pub(super) fn storm(
    world: &mut World,
    seed: u64,
    mut also: impl FnMut(&mut World, &mut ChaCha8Rng),
) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut plans = [(); 2].map(|()| Plan::new(&mut random));
    world.run_until("all has come", |world| {
        for (end, plan) in plans.iter_mut().enumerate() {
            plan.push(world, end, &mut random);
        }
        also(world, &mut random);
        let is_pushed = plans.iter().all(Plan::is_pushed);
        if !is_pushed {
            world.next_push = Some(world.now + Duration::from_millis(10));
        }
        is_pushed && world.links.iter().all(Link::is_flushed)
    });
    for (end, plan) in plans.iter().enumerate() {
        plan.check(world, end);
    }
}

/// Loses, repeats, alters and reorders.
pub(super) fn bad() -> Weather {
    Weather {
        jitter: Duration::from_millis(3),
        lose: 0.3,
        repeat: 0.1,
        alter: 0.05,
        ..Weather::fair(Duration::from_millis(2))
    }
}
