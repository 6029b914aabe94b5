//! What leaves next: what was lost before what is new, a question where no answer came, or acknowledgements alone.
//!
//! In: what was handed over, losses, time. Out: one datagram after the other, and when the next is due.

use std::time::Duration;

use super::Nanos;
use super::cargo::Cargo;
use super::datagram::{Content, Datagram};
use super::flight::Question;
use super::link::{Link, nanos};
use super::wire::{Front, Head, Load, RANGES_MAX};

/// Questions in a row that carry something: later ones are empty, since a peer that computes has them all
/// in its receive buffer.
const ASKED_WITH_LOAD: u32 = 2;
/// So many datagrams must be left to send before it is tried whether larger ones come through.
const BULK_DATAGRAMS: u64 = 8;

impl Link {
    /// The datagram that leaves next, if one may leave now; it counts as sent.
    pub fn next(&mut self, now: Duration) -> Option<Datagram<'_>> {
        let now = nanos(now);
        self.look(now);
        let ranges = self.receipt.ranges().min(RANGES_MAX);
        let room = usize::from(self.mtu.bytes()) - Front::bytes_with(ranges);
        let cargo = match self.may_send(now) {
            true => self.next_probe(now).or_else(|| self.outgoing.next(room, self.credit)),
            false => None,
        };
        let cargo = cargo.or_else(|| self.asks.map(|_| Cargo::Ping));
        if cargo.is_none() && self.receipt.due_at().is_none_or(|due| due > now) {
            return None;
        }
        Some(self.depart(now, cargo))
    }

    /// The datagram of this number, which [`Link::next`] gave last, could not be sent: what it carried and
    /// acknowledged is for the next one, when that can be. Of several, the last comes first.
    pub fn take_back(&mut self, number: u64) {
        self.receipt.take_back();
        match self.flight.take_back(number) {
            Some(Cargo::Probe(_)) => self.mtu.probe_stayed(),
            Some(cargo) => self.outgoing.lose(cargo),
            None => {}
        }
        self.counts.sent -= 1;
    }

    /// Whoever was not told what has come is told it now: a process that falls silent does not come back to it.
    pub fn tell_now(&mut self) {
        self.receipt.tell_now();
    }

    /// When to call [`Link::next`] again at the latest, if nothing comes or is handed over before.
    pub fn wake_at(&self) -> Option<Duration> {
        let paced = self.paced_until.filter(|_| self.outgoing.has_next(self.credit));
        let times = [self.flight.wake_at(&self.rtt), self.receipt.due_at(), paced];
        times.into_iter().flatten().min().map(Duration::from_nanos)
    }

    /// Does what is due by now.
    fn look(&mut self, now: Nanos) {
        if self.flight.has_overdue(now) {
            self.find_losses(now);
        }
        // A question that is too large for the path would not be answered.
        let loads = if self.mtu.is_in_doubt() { 0 } else { ASKED_WITH_LOAD };
        let (outgoing, mtu, counts) = (&mut self.outgoing, &mut self.mtu, &mut self.counts);
        let again = |cargo| match cargo {
            Cargo::Probe(bytes) => mtu.probe_lost(bytes, now),
            cargo => {
                counts.goes_again(&cargo);
                outgoing.lose(cargo);
            }
        };
        if let Some(question) = self.flight.should_ask(now, &self.rtt, loads, again) {
            self.asks = Some(question);
            self.counts.asked += 1;
        }
    }

    pub(super) fn find_losses(&mut self, now: Nanos) {
        let (outgoing, counts) = (&mut self.outgoing, &mut self.counts);
        let mtu = &mut self.mtu;
        let losses = self.flight.find_losses(now, &self.rtt, |cargo| match cargo {
            Cargo::Probe(bytes) => mtu.probe_lost(bytes, now),
            cargo => {
                counts.lost += 1;
                counts.goes_again(&cargo);
                outgoing.lose(cargo);
            }
        });
        if losses.sent.is_some_and(|sent| self.window.lost(now, sent)) {
            self.mtu.lost(losses.largest, now);
            self.window.set_datagram(self.mtu.bytes().into());
        }
    }

    /// A probe of a larger datagram, where there is much to send and the peer has answered before.
    fn next_probe(&mut self, now: Nanos) -> Option<Cargo> {
        let enough = BULK_DATAGRAMS * u64::from(self.mtu.bytes());
        let is_due = self.mtu.may_grow()
            && self.asks.is_none()
            && self.outgoing.left() >= enough
            && self.rtt.smoothed().is_some();
        if is_due { self.mtu.next_probe(now).map(Cargo::Probe) } else { None }
    }

    /// Whether something may leave that was handed over.
    #[inline]
    fn may_send(&mut self, now: Nanos) -> bool {
        self.paced_until = None;
        if self.peer_left {
            return false;
        }
        if let Some(question) = self.asks {
            return question == Question::Loaded;
        }
        if self.flight.bytes() >= self.window.bytes() || !self.outgoing.has_next(self.credit) {
            return false;
        }
        let Some(round_trip) = self.rtt.spread() else { return true };
        let datagram = self.mtu.bytes().into();
        self.paced_until = self.pacer.may_send(now, self.window.rate(round_trip), datagram).err();
        self.paced_until.is_none()
    }

    /// Makes the datagram that carries this, or nothing but acknowledgements.
    fn depart(&mut self, now: Nanos, cargo: Option<Cargo>) -> Datagram<'_> {
        let (oldest, number) = (self.flight.oldest(), self.flight.take_number());
        let credit = self.promised();
        let (load, content) = match &cargo {
            None => (Load::Nothing, Content::Nothing),
            Some(Cargo::Ping | Cargo::Trial(_)) => (Load::Ping, Content::Nothing),
            Some(Cargo::Probe(_)) => (Load::Probe, Content::Nothing),
            Some(Cargo::Bye) => (Load::Bye, Content::Nothing),
            Some(Cargo::Frames(range)) => {
                let runs = self.outgoing.frames(range).map(Option::unwrap_or_default);
                (Load::Frames(range.start, ()), Content::Own(runs))
            }
            Some(Cargo::Fragment(id, range)) => match self.outgoing.fragment(*id, range) {
                Some((head, source)) => (Load::Fragment(head, ()), Content::User(source)),
                None => (Load::Ping, Content::Nothing),
            },
        };
        // Who waits for a message to be sent should not wait for company of its acknowledgement.
        let is_last = matches!(load, Load::Fragment(..)) && !self.outgoing.has_next(self.credit);
        let is_probe = load == Load::Probe;
        let asks = self.asks.take().is_some() || is_last || is_probe || load == Load::Bye;
        let (numbers, held_micros) = self.receipt.tell(now);
        let settled = numbers.low();
        let head = Head { number, oldest, settled, credit, held_micros, asks };
        let front = Front::new(&head, numbers.highest(RANGES_MAX), &load);
        let mut datagram = Datagram { number, front, content, is_probe };
        if let Some(Cargo::Probe(bytes)) = cargo {
            datagram.pad_to(bytes);
        }
        self.counts.sent += 1;
        if let Some(cargo) = cargo {
            let bytes = datagram.bytes();
            if self.rtt.smoothed().is_some() {
                self.pacer.spend(bytes as u64);
            }
            self.flight.send(number, now, bytes as u16, cargo);
        }
        datagram
    }
}
