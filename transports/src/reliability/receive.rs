//! What a datagram brings that has come: frames, fragments and the last word for the one who hears, and news of what
//! was sent.
//!
//! In: the bytes of a link's datagram. Out: calls of a [`Listener`], or how the peer breaks the protocol.

use std::time::Duration;

use super::cargo::Cargo;
use super::cubic::Acknowledged;
use super::link::{Came, Link, nanos};
use super::wire::{Arrival, Load};
use super::{Breach, Listener, Nanos};

impl Link {
    /// Takes in a datagram, whose tag was right if it had one. Call [`Link::next`] afterwards: an answer may be due.
    ///
    /// # Errors
    /// A [`Breach`] when these are not the bytes of a link, or of one that does as no link does.
    pub fn receive(
        &mut self,
        now: Duration,
        bytes: &[u8],
        to: &mut impl Listener,
    ) -> Result<(), Breach> {
        let now = nanos(now);
        let arrival = Arrival::parse(bytes).map_err(Breach)?;
        self.came = Came::Old;
        if !self.receipt.is_new(&arrival.head) {
            self.counts.repeated += 1;
            return Ok(());
        }
        self.came = match arrival.load {
            Load::Trial => Came::Trial,
            Load::TrialAnswer => Came::TrialAnswer,
            Load::Ping if self.receipt.is_newest(&arrival.head) => Came::Question,
            _ if self.receipt.is_newest(&arrival.head) => Came::New,
            _ => Came::Old,
        };
        self.hear(now, &arrival, to)?;
        let is_taken = match arrival.load {
            Load::Nothing | Load::Ping | Load::Probe => true,
            Load::Trial | Load::TrialAnswer => true,
            Load::Frames(at, bytes) => {
                let (limit, frame_max) = (self.promised(), self.frame_bytes_max as usize);
                self.reassembly.take(at, bytes, limit, frame_max, to)?;
                true
            }
            Load::Bye => {
                self.hear_bye()?;
                true
            }
            Load::Fragment(head, bytes) => {
                self.arrivals.get_or_insert_default().take(&head, bytes, to)?
            }
        };
        if is_taken {
            let is_answered =
                !matches!(arrival.load, Load::Nothing | Load::Trial | Load::TrialAnswer);
            self.receipt.note(&arrival.head, is_answered, now);
        }
        Ok(())
    }

    /// The peer leaves. It has all that we know it to want, so nothing is awaited of it.
    fn hear_bye(&mut self) -> Result<(), Breach> {
        let arrivals = self.arrivals.as_ref();
        let misses = self.reassembly.is_waiting() || arrivals.is_some_and(|all| all.is_waiting());
        // Whoever has heard that we leave need not send us anything more.
        if misses && !self.outgoing.leaves() {
            return Err(Breach("it leaves before what it sent has come"));
        }
        self.peer_left = true;
        (self.asks, self.paced_until) = (None, None);
        self.flight.end();
        Ok(())
    }

    /// Takes in what a datagram says of ours.
    fn hear(
        &mut self,
        now: Nanos,
        arrival: &Arrival<'_>,
        to: &mut impl Listener,
    ) -> Result<(), Breach> {
        self.credit = self.credit.max(arrival.head.credit);
        let was_full = 2 * self.flight.bytes() >= self.window.bytes();
        let (outgoing, mtu) = (&mut self.outgoing, &mut self.mtu);
        let trial_came = &mut self.trial_came;
        let answered = self.flight.answer(arrival.acks, now, |cargo| match cargo {
            Cargo::Probe(bytes) => mtu.probe_came(bytes, now),
            Cargo::Trial(path) => *trial_came = Some(path),
            cargo => {
                if let Some(token) = outgoing.acknowledge(cargo) {
                    to.sent(token);
                }
            }
        })?;
        if let Some(sent) = answered.sent {
            if answered.is_newest {
                self.rtt.add(now - sent, Nanos::from(arrival.head.held_micros) * 1000);
            }
            let (bytes, round_trip) = (answered.bytes, self.rtt.smoothed().unwrap_or(now - sent));
            self.window.acknowledged(&Acknowledged { now, bytes, sent, round_trip, was_full });
            self.mtu.came(answered.largest);
            self.window.set_datagram(self.mtu.bytes().into());
        }
        self.find_losses(now);
        Ok(())
    }
}
