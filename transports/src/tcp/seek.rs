//! Looking for a peer: its addresses are raced, and what each attempt has heard so far.
//!
//! The most promising address is tried first (each further stream begins one address later, so that
//! several streams take several cables where there are such), the next joins after a short while or as soon as
//! one has failed; the first connection on which the peer's challenge arrives gets the hello and
//! the others are closed unsaid. When all have failed, the round begins again after a pause. No
//! input or output happens here except through the sockets of the attempts.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::hello::{CHALLENGE_BYTES, Nonce, WELCOME_BYTES};
use super::net::{self, Socket};

/// How long an address is tried alone before the next joins.
const HEAD_START: Duration = Duration::from_millis(30);
/// How long an attempt may take to find the peer's host.
const ATTEMPT_MAX: Duration = Duration::from_secs(3);
/// So many attempts at each address fit into the patience, in which the kernel may say a lost first word but once.
const ATTEMPTS: u32 = 4;
/// A search is worth telling of after so long.
const WORTH_TELLING: Duration = Duration::from_secs(1);
/// The pauses between rounds: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(200));

/// What an attempt waits for.
pub(super) enum Stage {
    /// The connection, then the peer's challenge.
    Challenge,
    /// The peer's welcome, after a challenge with the first nonce and a hello with the second.
    Welcome(Nonce, Nonce),
}

/// One connection that may become the stream's.
pub(super) struct Attempt {
    pub socket: Socket,
    pub stage: Stage,
    /// Place of its address among the peer's.
    pub way: usize,
    /// When it began, or was last seen to be worth its while.
    pub since: Instant,
    heard: Vec<u8>,
}

impl Attempt {
    pub(super) fn new(socket: Socket, way: usize, now: Instant) -> Attempt {
        Attempt { socket, stage: Stage::Challenge, way, since: now, heard: Vec::new() }
    }

    /// Reads on; the words that are awaited, once they are complete.
    ///
    /// # Errors
    /// The connection failed or has ended.
    pub(super) fn hear(&mut self) -> io::Result<Option<Vec<u8>>> {
        let need = match self.stage {
            Stage::Challenge => CHALLENGE_BYTES,
            Stage::Welcome(..) => WELCOME_BYTES,
        };
        hear(&self.socket, &mut self.heard, need)
    }
}

/// Reads until `heard` has `need` bytes and no further; gives them away when they are complete.
pub(super) fn hear(
    socket: &Socket,
    heard: &mut Vec<u8>,
    need: usize,
) -> io::Result<Option<Vec<u8>>> {
    let mut buffer = [0u8; 256];
    while heard.len() < need {
        let room = (need - heard.len()).min(buffer.len());
        // SAFETY: the buffer has `room` bytes.
        match unsafe { socket.receive(buffer.as_mut_ptr(), room)? } {
            Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Some(n) => heard.extend_from_slice(&buffer[..n]),
            None => return Ok(None),
        }
    }
    Ok(Some(std::mem::take(heard)))
}

/// The search for one peer on behalf of one stream.
pub(super) struct Seek {
    pub attempts: Vec<Attempt>,
    /// Number of the stream.
    stream: usize,
    /// How long an attempt may take here.
    attempt_max: Duration,
    /// How many addresses have had their turn in this round.
    next_route: usize,
    next_at: Instant,
    pause: Duration,
    /// When it was looked at last, and how long by then nothing of the peer had been reached.
    looked_at: Instant,
    missed: Duration,
    /// What came of the last attempt at each address that failed.
    answers: BTreeMap<usize, String>,
}

impl Seek {
    /// A search with this patience for the stream of this number that begins at `at`.
    pub(super) fn from(stream: u32, patience: Duration, at: Instant) -> Seek {
        let (attempts, missed, stream) = (Vec::new(), Duration::ZERO, stream as usize);
        let (next_at, looked_at, pause) = (at, at, PAUSES.0);
        let (answers, attempt_max) = (BTreeMap::new(), ATTEMPT_MAX.min(patience / ATTEMPTS));
        Seek {
            attempts,
            stream,
            attempt_max,
            next_route: 0,
            next_at,
            pause,
            looked_at,
            missed,
            answers,
        }
    }

    /// How long the peer has been out of reach, as far as this process has looked: in a time in
    /// which it computed, or did not get a core, no address had its turn, and nobody is to blame.
    pub(super) fn missed(&mut self, now: Instant) -> Duration {
        let passed = now.duration_since(self.looked_at).min(PAUSES.1);
        self.looked_at = now;
        self.missed = if self.has_reached() { Duration::ZERO } else { self.missed + passed };
        self.missed
    }

    /// The next address to try, of `routes`, if its time has come.
    pub(super) fn next_route(&mut self, routes: usize, now: Instant) -> Option<usize> {
        if now < self.next_at || self.has_greeted() {
            return None;
        }
        while self.next_route < routes {
            let way = (self.stream + self.next_route) % routes;
            self.next_route += 1;
            if self.attempts.iter().all(|attempt| attempt.way != way) {
                self.next_at = now + HEAD_START;
                return Some(way);
            }
        }
        // The round is over without success; the next begins after a pause.
        self.next_route = 0;
        self.rest(now);
        None
    }

    /// Lets some time pass, each time more.
    pub(super) fn rest(&mut self, now: Instant) {
        self.next_at = now + self.pause;
        self.pause = (self.pause * 2).min(PAUSES.1);
    }

    /// The attempt at this place of the list has failed.
    pub(super) fn fail(&mut self, place: usize, why: String) {
        if place < self.attempts.len() {
            let attempt = self.attempts.remove(place);
            self.note_failure(attempt.way, why, net::now());
        }
    }

    /// An attempt at the address of this number has failed; the next address need not wait.
    pub(super) fn note_failure(&mut self, way: usize, why: String, now: Instant) {
        self.answers.insert(way, why);
        self.next_at = self.next_at.min(now);
    }

    /// Whether the peer has been out of reach for longer than a connection takes to be made.
    pub(super) fn is_in_vain(&self) -> bool {
        self.missed >= WORTH_TELLING
    }

    /// Each of the peer's addresses, and what it answered.
    pub(super) fn tell(&self, routes: &[SocketAddr]) -> String {
        let one = |(number, way): (usize, &SocketAddr)| {
            let answer = self.answers.get(&number).map_or("no answer", String::as_str);
            format!("{way} ({answer})")
        };
        routes.iter().enumerate().map(one).collect::<Vec<_>>().join(", ")
    }

    /// Whether a hello is on its way on one of the attempts.
    pub(super) fn has_greeted(&self) -> bool {
        self.attempts.iter().any(|attempt| matches!(attempt.stage, Stage::Welcome(..)))
    }

    /// Ends attempts that take too long. Where the peer's host has answered, its process is slow:
    /// it may compute for hours before it looks, so such an attempt goes on.
    pub(super) fn drop_stale(&mut self, now: Instant) {
        self.attempts.retain_mut(|attempt| {
            let is_young = now.duration_since(attempt.since) < self.attempt_max;
            let lives = is_young || attempt.socket.is_connected();
            if !is_young {
                attempt.since = now;
            }
            if !lives {
                self.answers.insert(attempt.way, "no answer".to_owned());
            }
            lives
        });
    }

    /// Whether the peer's host answers, though its process may not.
    fn has_reached(&self) -> bool {
        self.attempts.iter().any(|attempt| attempt.socket.is_connected())
    }

    /// When something is to be done even if nothing arrives.
    pub(super) fn due(&self, now: Instant) -> Instant {
        let stale = self.attempts.iter().map(|attempt| attempt.since + self.attempt_max).min();
        let next = if self.has_greeted() { now + self.attempt_max } else { self.next_at };
        stale.map_or(next, |stale| stale.min(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stream_tries_every_address_and_begins_with_another() {
        let start = Instant::now();
        for stream in 0..5 {
            let mut seek = Seek::from(stream, HEAD_START * 100, start);
            let tried: Vec<usize> =
                (0..3).filter_map(|turn| seek.next_route(3, start + HEAD_START * turn)).collect();
            let first = stream as usize;
            assert_eq!(tried, [first % 3, (first + 1) % 3, (first + 2) % 3]);
            assert_eq!(seek.next_route(3, start + HEAD_START * 3), None, "the round is over");
        }
    }
}
