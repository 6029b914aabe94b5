//! Datagrams of real links, changed in all ways, for everything that reads one: it never panics, writes
//! nowhere but where it may, and keeps no more than it has promised.

use std::time::Duration;

use mpi_core::buffer::RawBytes;
use mpi_core::header::Header;
use mpi_core::port::{Body, Landing, Token};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::tests::{source, target};
use super::wire::Arrival;
use super::{Config, Link, Listener, number_of};

const CONFIG: Config =
    Config { datagram_bytes: 400, frame_bytes_max: 1000, kept_bytes_max: 10_000, credit: 64 << 10 };
/// Bytes of a message, and of what lies on either side of its memory.
const MESSAGE: usize = 2000;
const GUARD: usize = 64;
/// Datagrams that two links hear before others take their place.
const LIFE: u64 = 200;

/// Memory for one message, and what a sink does that is told lies.
struct Victim {
    memory: Vec<u8>,
    frames: usize,
}

impl Victim {
    fn new() -> Victim {
        Victim { memory: vec![0; MESSAGE + 2 * GUARD], frames: 0 }
    }

    fn is_unharmed(&self) -> bool {
        let (before, rest) = self.memory.split_at(GUARD);
        before.iter().chain(&rest[MESSAGE..]).all(|byte| *byte == 0)
    }
}

impl Listener for Victim {
    fn frame(&mut self, _: &Header, body: RawBytes<'_>) {
        assert!(body.len() <= CONFIG.frame_bytes_max as usize);
        self.frames += 1;
    }

    fn begin(&mut self, header: &Header, len: u64) -> Landing {
        match len <= MESSAGE as u64 && !header.context.is_multiple_of(5) {
            true => Landing::User(target(&mut self.memory[GUARD..GUARD + MESSAGE])),
            false => Landing::Discard,
        }
    }

    fn landed(&mut self, _: Token) {}

    fn sent(&mut self, _: Token) {}
}

/// Changes some bytes, a field as it might be changed to harm, or the length; or nothing.
fn change(random: &mut ChaCha8Rng, bytes: &mut Vec<u8>, others: &[Vec<u8>]) {
    const TELLING: [u64; 8] =
        [0, 1, 255, 1 << 16, u32::MAX as u64, 1 << 40, u64::MAX >> 2, u64::MAX];
    for _ in 0..random.random_range(0..4) {
        let len = bytes.len().max(1);
        match random.random_range(0..8) {
            0..3 if !bytes.is_empty() => {
                let at = random.random_range(0..len);
                bytes[at] = random.random();
            }
            3 if len >= 40 => {
                let word = TELLING[random.random_range(0..TELLING.len())].to_le_bytes();
                let (at, size) = (random.random_range(0..10usize) * 4, [1, 4, 8]);
                let size = size[random.random_range(0..3usize)].min(len - at);
                bytes[at..at + size].copy_from_slice(&word[..size]);
            }
            4 if len > 36 => bytes[32] = random.random_range(0..7),
            5 => bytes.truncate(random.random_range(0..len)),
            6 => {
                let other = &others[random.random_range(0..others.len())];
                bytes.extend_from_slice(&other[random.random_range(0..other.len())..]);
            }
            // A near number, so that it is not merely one that came before.
            _ if len >= 8 => {
                bytes[..8].copy_from_slice(&random.random_range(0..2000u64).to_le_bytes());
            }
            _ => {}
        }
    }
}

/// Two links that have something to say, frames, messages, probes, questions and byes; each hears what the
/// other says, and things that are like it.
struct Talk<'a> {
    links: [Link; 2],
    victims: [Victim; 2],
    now: Duration,
    message: &'a [u8],
}

impl Talk<'_> {
    fn new(message: &[u8]) -> Talk<'_> {
        let links = [(); 2].map(|()| {
            let mut link = Link::new(&CONFIG);
            link.set_ceiling(1400);
            link
        });
        let victims = [(); 2].map(|()| Victim::new());
        Talk { links, victims, now: Duration::from_secs(1), message }
    }

    /// Hands something over at this end; what leaves there.
    fn say(&mut self, random: &mut ChaCha8Rng, end: usize) -> Vec<Vec<u8>> {
        let (link, message) = (&mut self.links[end], self.message);
        let header = Header { context: random.random_range(0..100), ..Header::default() };
        match random.random_range(0..16) {
            0..8 => {
                let bytes = &message[..random.random_range(0..900)];
                let _ = link.push_frame(&header, Body::Bytes(RawBytes::from(bytes)));
            }
            8..10 => link.push_message(&header, source(message), Token(1)),
            10 if random.random_bool(0.1) => link.leave(),
            11 if random.random_bool(0.1) => link.change_path(),
            _ => {}
        }
        let mut said = Vec::new();
        while let Some(datagram) = link.next(self.now) {
            let mut bytes = Vec::new();
            // SAFETY: the message is borrowed for as long as the links live.
            unsafe { datagram.copy_to(&mut bytes) };
            assert!(bytes.len() <= 1400);
            said.push(bytes);
            assert!(said.len() < 1000, "it never ends");
        }
        assert!(link.wake_at().is_none_or(|at| at > self.now), "woken for nothing");
        said
    }

    /// This end hears that; whether it could be read, and whether it was news.
    fn hear(&mut self, end: usize, bytes: &[u8]) -> [bool; 2] {
        let (link, is_read) = (&mut self.links[end], Arrival::parse(bytes).is_ok());
        assert!(!is_read || number_of(bytes).is_some());
        let repeated = link.counters().repeated;
        let taken = link.receive(self.now, bytes, &mut self.victims[end]);
        assert!(is_read || taken.is_err());
        [is_read, taken.is_ok() && link.counters().repeated == repeated]
    }
}

/// How many datagrams were heard that may have been changed, how many of them could be read, and how many of
/// these were taken in.
fn fuzz(cases: u64) -> [u64; 3] {
    let mut random = ChaCha8Rng::seed_from_u64(60);
    let message: Vec<u8> = (0..MESSAGE).map(|n| n as u8 | 1).collect();
    let (mut counts, mut others) = ([0; 3], vec![vec![0; 40]]);
    while counts[0] < cases {
        let (mut talk, begun) = (Talk::new(&message), counts[0]);
        // A talk that has gone wrong teaches nothing more.
        let mut unheard = 0;
        while counts[0] < begun + LIFE && unheard < 5 {
            for end in 0..2 {
                let said = talk.say(&mut random, end);
                for mut bytes in said.iter().cloned() {
                    let is_changed = random.random_bool(0.3);
                    if is_changed {
                        change(&mut random, &mut bytes, &others);
                    }
                    let [is_read, is_news] = talk.hear(1 - end, &bytes);
                    unheard += u32::from(!is_changed && !is_news);
                    let seen = [1, u64::from(is_read), u64::from(is_news)];
                    counts.iter_mut().zip(seen).for_each(|(count, seen)| *count += seen);
                }
                if !said.is_empty() {
                    others = said;
                }
            }
            talk.now += Duration::from_micros(random.random_range(0..10_000));
            if talk.links.iter().all(Link::has_left) {
                break;
            }
        }
        assert!(talk.victims.iter().all(Victim::is_unharmed));
    }
    counts
}

#[test]
fn changed_datagrams_do_no_harm() {
    let [heard, read, taken] = fuzz(100_000);
    assert!(
        read < heard && taken < read && taken > heard / 2,
        "{heard} heard, {read} read, {taken} taken in"
    );
}

#[test]
#[ignore = "takes minutes"]
fn ten_million_changed_datagrams_do_no_harm() {
    let [heard, read, taken] = fuzz(10_000_000);
    eprintln!("{heard} heard, {read} read, {taken} taken in");
}
