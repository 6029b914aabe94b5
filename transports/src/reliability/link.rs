//! One process's half of what it has with one peer: the parts of this folder, tied together.

use std::time::Duration;

use mpi_core::datatype::Packer;
use mpi_core::header::Header;
use mpi_core::port::{Body, Full, Token};

use super::arrivals::Arrivals;
use super::cubic::{Acknowledged, Cubic};
use super::datagram::{Content, Datagram};
use super::flight::{Cargo, Flight, Question};
use super::mtu::Mtu;
use super::outgoing::Outgoing;
use super::pacer::Pacer;
use super::reassembly::Reassembly;
use super::receipt::Receipt;
use super::rtt::Rtt;
use super::wire::{Arrival, Front, Head, Load, RANGES_MAX};
use super::{Breach, Listener, Nanos};

/// Bytes of frames that a peer may be sent before it has said what it has room for.
const FIRST_CREDIT: u32 = 64 << 10;
/// Questions in a row that carry something: later ones are empty, since a peer that computes has them all
/// in its receive buffer.
const ASKED_WITH_LOAD: u32 = 2;
/// So many datagrams must be left to send before it is tried whether larger ones come through.
const BULK_DATAGRAMS: u64 = 8;

/// What is the same for all links of a transport.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Bytes that a datagram may have at first, of those that are a link's: the MTU of any path without what
    /// the transport and the network put around them. Larger ones follow [`Link::set_ceiling`].
    pub datagram_bytes: u16,
    /// The largest body of a frame.
    pub frame_bytes_max: u32,
    /// Bytes of frames that are kept until the peer has them: beyond, a link is full.
    pub kept_bytes_max: u32,
    /// Bytes of frames that a peer may send beyond what has come without a gap, 64 KiB at least.
    pub credit: u32,
}

/// What a link has seen, in datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Datagrams that left.
    pub sent: u64,
    /// Of what these carried, what goes again: since it was thought lost, a question carries it, or another path
    /// is taken.
    pub again: u64,
    /// What was thought lost.
    pub lost: u32,
    /// Of these, what had only been late.
    pub late: u32,
    /// Questions to a peer from which no answer came.
    pub asked: u32,
    /// Datagrams that came twice, or too late to be of use.
    pub repeated: u64,
}

/// What of these a link counts by itself.
#[derive(Default)]
struct Counts {
    sent: u64,
    again: u64,
    repeated: u64,
    lost: u32,
    asked: u32,
}

impl Counts {
    /// What was sent goes again, if it is a load.
    fn goes_again(&mut self, cargo: &Cargo) {
        self.again += u64::from(cargo.is_load());
    }
}

/// What a datagram says of the path by which it came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Came {
    /// Nothing: it is older than another that has come.
    Old,
    /// The peer uses this path.
    New,
    /// The same, and it asks, since no answer came.
    Question,
    /// The peer tries this path.
    Trial,
    /// The peer answers a trial, by the path that it came by as far as it can tell.
    TrialAnswer,
}

/// One half of a pair of processes that talk.
pub struct Link {
    frame_bytes_max: u32,
    kept_bytes_max: u32,
    credit_bytes: u32,
    mtu: Mtu,
    outgoing: Outgoing,
    /// Place in the stream of frames up to which the peer lets us send.
    credit: u64,
    flight: Flight,
    rtt: Rtt,
    window: Cubic,
    pacer: Pacer,
    /// When the next datagram may leave, if it was held up.
    paced_until: Option<Nanos>,
    /// The peer is to be asked, whatever the window.
    asks: Option<Question>,
    receipt: Receipt,
    reassembly: Reassembly,
    /// The peer has said its last word.
    peer_left: bool,
    /// A trial of another path came there.
    trial_came: Option<u8>,
    /// What came last, as far as a path can be judged by it.
    came: Came,
    /// Once a large message has come: most peers send frames alone.
    arrivals: Option<Box<Arrivals>>,
    counts: Counts,
}

impl Link {
    /// A link on which nothing has happened.
    pub fn new(config: &Config) -> Link {
        let mtu = Mtu::new(config.datagram_bytes);
        Link {
            frame_bytes_max: config.frame_bytes_max,
            kept_bytes_max: config.kept_bytes_max,
            credit_bytes: config.credit.max(FIRST_CREDIT),
            outgoing: Outgoing::default(),
            credit: FIRST_CREDIT.into(),
            flight: Flight::default(),
            rtt: Rtt::default(),
            window: Cubic::new(mtu.bytes().into()),
            mtu,
            pacer: Pacer::default(),
            paced_until: None,
            asks: None,
            receipt: Receipt::default(),
            reassembly: Reassembly::default(),
            peer_left: false,
            trial_came: None,
            came: Came::Old,
            arrivals: None,
            counts: Counts::default(),
        }
    }

    /// Every datagram may have so many bytes from now on and none has more, whatever was found before: for a
    /// transport that knows its paths.
    pub fn set_datagram_bytes(&mut self, bytes: u16) {
        self.mtu = Mtu::new(bytes);
        self.window.set_datagram(self.mtu.bytes().into());
    }

    /// The local card carries datagrams of so many bytes. Where much is to be sent, it is tried whether the
    /// path carries them as well (RFC 8899); until then, the size stays what it is. With fewer bytes than
    /// datagrams have, these become smaller at once.
    pub fn set_ceiling(&mut self, bytes: u16) {
        self.mtu.set_ceiling(bytes);
        self.window.set_datagram(self.mtu.bytes().into());
    }

    /// The local system does not send a datagram with so many bytes (`EMSGSIZE`), a probe or another one,
    /// which is to be taken back ([`Link::take_back`]): from now on they have fewer.
    pub fn too_big(&mut self, now: Duration, bytes: usize) {
        self.mtu.refused(bytes.try_into().unwrap_or(u16::MAX), nanos(now));
        self.window.set_datagram(self.mtu.bytes().into());
    }

    /// Bytes that a datagram may have, as far as is known of the path.
    pub fn datagram_bytes(&self) -> u16 {
        self.mtu.bytes()
    }

    /// What leaves from now on goes another way, of which nothing is known: all that is under way goes again,
    /// in datagrams as small as at first.
    pub fn change_path(&mut self) {
        let (outgoing, counts) = (&mut self.outgoing, &mut self.counts);
        self.flight.give_up(|cargo| {
            counts.goes_again(&cargo);
            outgoing.lose(cargo);
        });
        (self.rtt, self.pacer) = (Rtt::default(), Pacer::default());
        self.mtu.begin_anew();
        self.window = Cubic::on_another_path(self.mtu.bytes().into());
    }

    /// Whether a frame with a body of `len` bytes would be taken.
    #[inline]
    pub fn has_room(&self, len: usize) -> bool {
        let kept = self.outgoing.kept();
        kept == 0 || self.peer_left || kept + len <= self.kept_bytes_max as usize
    }

    /// Takes over a frame; its bytes are copied before the call returns.
    ///
    /// # Errors
    /// [`Full`] while the peer has too little of what was taken before.
    #[inline]
    pub fn push_frame(&mut self, header: &Header, body: Body<'_>) -> Result<(), Full> {
        let len = match &body {
            Body::Bytes(bytes) => bytes.len(),
            Body::Packed(packer) => packer.remaining() as usize,
        };
        debug_assert!(len <= self.frame_bytes_max as usize, "too long for a frame: {len}");
        if !self.has_room(len) {
            return Err(Full);
        }
        if self.peer_left {
            return Ok(());
        }
        self.outgoing.push_frame(header, body, len);
        Ok(())
    }

    /// Takes over a large message: its memory belongs to the link until [`Listener::sent`] with `token`.
    pub fn push_message(&mut self, header: &Header, source: Packer, token: Token) {
        self.outgoing.push_message(header, source, token);
    }

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

    /// A question that is to be sent by another path than the one in use, which has this number, to find out
    /// whether it works. It counts as sent; its loss is no loss, and its answer does not end a silence.
    pub fn next_trial(&mut self, now: Duration, path: u8) -> Datagram<'_> {
        self.depart_aside(now, Load::Trial, Some(Cargo::Trial(path)))
    }

    /// The answer to a trial that has just come ([`Came::Trial`]), to be sent by the same path.
    pub fn answer_to_trial(&mut self, now: Duration) -> Datagram<'_> {
        self.depart_aside(now, Load::TrialAnswer, None)
    }

    /// A datagram by another path than the one in use. What it acknowledges may be lost with it.
    fn depart_aside(
        &mut self,
        now: Duration,
        load: Load<()>,
        cargo: Option<Cargo>,
    ) -> Datagram<'_> {
        let now = nanos(now);
        let (oldest, number) = (self.flight.oldest(), self.flight.take_number());
        let (credit, due) = (self.promised(), self.receipt.due_at());
        let (numbers, held_micros) = self.receipt.tell(now);
        let settled = numbers.low();
        let head = Head { number, oldest, settled, credit, held_micros, asks: false };
        let front = Front::new(&head, numbers.highest(RANGES_MAX), &load);
        self.receipt.restore(due);
        self.counts.sent += 1;
        if let Some(cargo) = cargo {
            self.flight.send(number, now, 0, cargo);
        }
        Datagram { number, front, content: Content::Nothing, is_probe: true }
    }

    /// The path whose trial came there, if the datagram that was received last came `by` it, so that it works in
    /// both directions. Told once. Another path may be faster, and the news of the trial come by that one.
    pub fn trial_came(&mut self, by: impl FnOnce(u8) -> bool) -> Option<u8> {
        self.trial_came.take_if(|path| by(*path))
    }

    /// What the datagram that was received last says of the path by which it came.
    pub fn came(&self) -> Came {
        self.came
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
            Load::Piece(head, bytes) => {
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

    /// Whether the peer has everything that was handed over, or has left and wants nothing more.
    pub fn is_flushed(&self) -> bool {
        self.outgoing.is_done() || self.peer_left
    }

    /// Nothing more will be handed over: when the peer has everything, it is told so, until it says that it
    /// has heard that. Frames and messages of its own are taken in meanwhile.
    ///
    /// [`Link::has_left`] says when that is over. The peer may be gone by then, and its answer have been lost: the
    /// wait needs a bound.
    pub fn leave(&mut self) {
        self.outgoing.leave();
    }

    /// Whether the two have parted: the peer knows that this end leaves, or has left itself. An answer may
    /// still be due, which [`Link::next`] gives.
    pub fn has_left(&self) -> bool {
        self.peer_left || self.outgoing.has_left()
    }

    /// Whether the peer has left: it had everything that it wanted, and nothing is sent to it any more. Frames for
    /// it are dropped; what it does not have of messages is never [`Listener::sent`].
    pub fn peer_has_left(&self) -> bool {
        self.peer_left
    }

    /// For how long an answer is due that has not come; `None` while none is.
    pub fn silence(&self, now: Duration) -> Option<Duration> {
        let since = self.flight.waits_since()?;
        Some(now.saturating_sub(Duration::from_nanos(since)))
    }

    /// When the newest datagram of the peer came, over whatever path; `None` before the first. Old ones that
    /// come late or again do not count, so nobody who repeats them keeps a dead path alive.
    pub fn heard_at(&self) -> Option<Duration> {
        self.receipt.newest_at().map(Duration::from_nanos)
    }

    /// The smoothed round trip, once the peer has answered over this path: what passes while it computes is a
    /// part of it.
    pub fn round_trip(&self) -> Option<Duration> {
        self.rtt.smoothed().map(Duration::from_nanos)
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        let Counts { sent, again, repeated, lost, asked } = self.counts;
        Counters { sent, again, lost, late: self.flight.late(), asked, repeated }
    }

    /// Gives back memory that the last traffic has left and nothing uses; for links on which nothing has
    /// happened for a while.
    pub fn trim(&mut self, now: Duration) {
        self.outgoing.trim();
        self.flight.trim(nanos(now), &self.rtt);
        self.receipt.trim();
        self.reassembly.trim();
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.trim();
        }
    }

    /// Place up to which the peer may send frames.
    #[inline]
    fn promised(&self) -> u64 {
        self.reassembly.low() + u64::from(self.credit_bytes)
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

    fn find_losses(&mut self, now: Nanos) {
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
            Some(Cargo::Piece(id, range)) => match self.outgoing.piece(*id, range) {
                Some((head, source)) => (Load::Piece(head, ()), Content::User(source)),
                None => (Load::Ping, Content::Nothing),
            },
        };
        // Who waits for a message to be sent should not wait for company of its acknowledgement.
        let is_last = matches!(load, Load::Piece(..)) && !self.outgoing.has_next(self.credit);
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

/// The time as it is kept here.
#[inline]
fn nanos(time: Duration) -> Nanos {
    time.as_nanos() as Nanos
}
