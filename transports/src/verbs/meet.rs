//! How two processes connect their queue pairs, on demand and without threads, whoever begins.
//!
//! Both ends do the same. Each makes its queue pairs for a peer once: when it wants to reach it, or when it first
//! hears of it. It says its numbers until it knows that the peer has connected its own to them, first soon, then ever
//! more seldom; whoever hears them connects its queue pairs, and answers as long as the sender does not say that it
//! knows. A word says all that its sender knows, so it does no harm to lose, repeat or reorder words, or to begin at
//! both ends.
//!
//! A connected queue pair receives and may send at once; but a peer that is not connected yet loses what is sent to
//! it. So a peer is up when it has said that it heard this end's numbers ([`Word::Hello`]'s `heard`), or when something
//! has come over the connection, which shows the same.
//!
//! In: datagrams, the time. Out: datagrams, and what became of peers. Nothing here knows a device.

use std::collections::HashMap;
use std::time::Duration;

use super::address::Address;
use super::hello::{Datagram, Job, Numbers, Word};

/// Time after which numbers are said again, at first and at last.
const WAIT_MIN: Duration = Duration::from_millis(20);
const WAIT_MAX: Duration = Duration::from_secs(1);

/// Time for which a device may find no way to a peer's address.
const NO_WAY: Duration = Duration::from_secs(10);

/// Makes and connects queue pairs.
pub(super) trait Ends {
    /// Makes those for a peer; `None` if this rank is not known here.
    fn make(&mut self, rank: u32) -> Option<Result<Numbers, String>>;
    /// Connects them to the peer's.
    fn connect(&mut self, rank: u32, theirs: &Numbers) -> Result<(), String>;
}

/// What became of a peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    Up(u32),
    /// It has not answered for so long: told after the patience, and again whenever that time has doubled.
    Late(u32, Duration),
    Down(u32, String),
}

/// A datagram to send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Outgoing {
    pub(super) rank: u32,
    pub(super) to: Address,
    pub(super) bytes: Vec<u8>,
}

/// What is between this process and one peer.
struct Call {
    ours: Numbers,
    /// Where it hears.
    to: Address,
    /// Which process answered; its numbers are connected.
    life: Option<u64>,
    /// It has connected its queue pairs to ours.
    is_settled: bool,
    is_closed: bool,
    begun: Duration,
    /// When it is late, if it has not answered by then.
    late_at: Duration,
    next: Duration,
    wait: Duration,
}

/// Handshakes of one process.
pub(super) struct Meet {
    me: u32,
    life: u64,
    job: Job,
    address: Address,
    number: u64,
    calls: HashMap<u32, Call>,
    /// Peers that are not settled.
    waiting: Vec<u32>,
    /// When something is to be said again, or earlier.
    due: Option<Duration>,
    /// Time after which a peer that has not answered is late.
    patience: Duration,
    /// Datagrams that nobody of this job sent, or that make no sense.
    pub(super) strangers: u64,
    pub(super) out: Vec<Outgoing>,
    pub(super) turns: Vec<Turn>,
}

impl Meet {
    pub(super) fn new(me: u32, life: u64, job: Job, address: Address, patience: Duration) -> Meet {
        Meet {
            me,
            life,
            job,
            address,
            number: 0,
            calls: HashMap::new(),
            waiting: Vec::new(),
            due: None,
            patience,
            strangers: 0,
            out: Vec::new(),
            turns: Vec::new(),
        }
    }

    /// Changes the secret, before anything is said.
    pub(super) fn set_secret(&mut self, secret: crate::tcp::Secret) {
        self.job.secret = secret;
    }

    /// Begins to connect to a peer that hears there, if that has not begun.
    pub(super) fn reach(&mut self, ends: &mut impl Ends, rank: u32, to: Address, now: Duration) {
        if !self.calls.contains_key(&rank) && self.begin(ends, rank, to, now) {
            self.say(rank);
        }
    }

    /// Makes the queue pairs for a peer.
    fn begin(&mut self, ends: &mut impl Ends, rank: u32, to: Address, now: Duration) -> bool {
        let (ours, is_closed) = match ends.make(rank) {
            Some(Ok(ours)) => (ours, false),
            Some(Err(why)) => {
                self.turns.push(Turn::Down(rank, why));
                (Numbers { devices: Vec::new(), pairs: Vec::new(), reads: 0 }, true)
            }
            None => return false,
        };
        let call = Call {
            ours,
            to,
            life: None,
            is_settled: false,
            is_closed,
            begun: now,
            late_at: now + self.patience,
            next: now + WAIT_MIN,
            wait: WAIT_MIN,
        };
        if !is_closed {
            self.due = Some(self.due.map_or(call.next, |due| due.min(call.next)));
            self.waiting.push(rank);
        }
        self.calls.insert(rank, call);
        true
    }

    fn stop_waiting(&mut self, rank: u32) {
        self.waiting.retain(|waiting| *waiting != rank);
        if self.waiting.is_empty() {
            self.due = None;
        }
    }

    /// Says to a peer what is known, or that this end has closed.
    fn say(&mut self, rank: u32) {
        let Some(call) = self.calls.get(&rank) else { return };
        let word = if call.is_closed {
            Word::Gone
        } else {
            Word::Hello {
                address: self.address,
                numbers: call.ours.clone(),
                heard: call.life.is_some(),
                settled: call.is_settled,
            }
        };
        let to = call.to;
        self.number += 1;
        let (from, life, number) = (self.me, self.life, self.number);
        let bytes = self.job.seal(&Datagram { from, to: rank, life, number, word });
        self.out.push(Outgoing { rank, to, bytes });
    }

    /// Takes what came.
    pub(super) fn hear(&mut self, ends: &mut impl Ends, bytes: &[u8], now: Duration) {
        let datagram = self.job.open(bytes);
        let Some(datagram) = datagram.filter(|d| d.to == self.me && d.from != self.me) else {
            self.strangers += 1;
            return;
        };
        let (rank, life) = (datagram.from, datagram.life);
        match datagram.word {
            Word::Gone => self.gone(rank, life),
            Word::Hello { address, numbers, heard, settled } => {
                if !self.calls.contains_key(&rank) && !self.begin(ends, rank, address, now) {
                    return;
                }
                if self.learn(ends, rank, (life, address), &numbers) && heard {
                    self.settle(rank);
                }
                if !settled {
                    self.say(rank);
                }
            }
        }
    }

    /// Connects to a peer that says its numbers, if that is still to do; whether it is that peer.
    fn learn(
        &mut self,
        ends: &mut impl Ends,
        rank: u32,
        (life, address): (u64, Address),
        theirs: &Numbers,
    ) -> bool {
        let Some(call) = self.calls.get_mut(&rank) else { return false };
        if call.life.is_some_and(|known| known != life) {
            self.strangers += 1;
            return false;
        }
        call.to = address;
        if call.is_closed || call.life.is_some() {
            return !call.is_closed;
        }
        match ends.connect(rank, theirs) {
            Ok(()) => {
                call.life = Some(life);
                true
            }
            Err(why) => {
                self.close(rank);
                self.turns.push(Turn::Down(rank, why));
                false
            }
        }
    }

    /// The peer has connected its queue pairs to ours.
    pub(super) fn settle(&mut self, rank: u32) {
        let Some(call) = self.calls.get_mut(&rank) else { return };
        if call.life.is_none() || call.is_settled || call.is_closed {
            return;
        }
        call.is_settled = true;
        self.stop_waiting(rank);
        self.turns.push(Turn::Up(rank));
    }

    /// The peer has closed its end.
    fn gone(&mut self, rank: u32, life: u64) {
        let Some(call) = self.calls.get_mut(&rank) else { return };
        if call.is_closed || call.life.is_some_and(|known| known != life) {
            return;
        }
        call.is_closed = true;
        self.stop_waiting(rank);
        let why = format!(
            "rank {rank} has closed its end of the connection: it has finished, or an error at its end says why"
        );
        self.turns.push(Turn::Down(rank, why));
    }

    /// A datagram could not be sent, since the device finds no way to the peer's address. If it finds none for long,
    /// the peer is out of reach.
    pub(super) fn unsent(&mut self, rank: u32, why: String, now: Duration) {
        let call = self.calls.get_mut(&rank).filter(|call| !call.is_settled && !call.is_closed);
        let Some(call) = call.filter(|call| now >= call.begun + NO_WAY) else { return };
        call.is_closed = true;
        self.stop_waiting(rank);
        self.turns.push(Turn::Down(rank, format!("rank {rank} cannot be reached: {why}")));
    }

    /// Closes this end, and tells a peer that may want to know.
    pub(super) fn close(&mut self, rank: u32) {
        let Some(call) = self.calls.get_mut(&rank).filter(|call| !call.is_closed) else { return };
        call.is_closed = true;
        self.stop_waiting(rank);
        self.say(rank);
    }

    /// Closes this end for all peers.
    pub(super) fn close_all(&mut self) {
        let ranks: Vec<u32> = self.calls.keys().copied().collect();
        ranks.into_iter().for_each(|rank| self.close(rank));
    }

    /// Says again what is to be said again.
    pub(super) fn tick(&mut self, now: Duration) {
        for rank in self.waiting.clone() {
            let Some(call) = self.calls.get_mut(&rank).filter(|call| call.next <= now) else {
                continue;
            };
            call.wait = (call.wait * 2).min(WAIT_MAX);
            call.next = now + call.wait;
            let waited = now.saturating_sub(call.begun);
            if now >= call.late_at && call.life.is_none() {
                call.late_at = now + waited;
                self.turns.push(Turn::Late(rank, waited));
            }
            self.say(rank);
        }
        let calls = self.waiting.iter().filter_map(|rank| self.calls.get(rank));
        self.due = calls.map(|call| call.next).min();
    }

    /// Whether a peer has never answered, so that it cannot be connected to this end.
    pub(super) fn is_unheard(&self, rank: u32) -> bool {
        self.calls.get(&rank).is_some_and(|call| call.life.is_none() && !call.is_closed)
    }

    /// When [`Meet::tick`] has something to do.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due
    }
}

#[cfg(test)]
#[path = "meet_tests.rs"]
mod tests;
