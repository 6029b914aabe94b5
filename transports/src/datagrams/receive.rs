//! The way in: datagrams from anybody, of which those with a right tag go to the link of their peer.

use std::time::Duration;

use mpi_core::buffer::RawBytes;
use mpi_core::header::Header;
use mpi_core::port::{Activity, Landing, PeerId, Sink, Token, Why};

use super::carrier::SourceOf;
use super::envelope::{ENVELOPE_BYTES, Envelope};
use super::peer::State;
use super::routes::From;
use super::tag::SHORT_BYTES;
use super::{Carrier, Datagrams};
use crate::reliability::{Came, Listener, number_of};

/// Looks in one poll, before others get their turn.
const READS: usize = 8;

/// A link's listener: it passes on to the sink.
struct Ears<'a, S> {
    peer: PeerId,
    sink: &'a mut S,
}

impl<S: Sink> Listener for Ears<'_, S> {
    #[inline]
    fn frame(&mut self, header: &Header, body: RawBytes<'_>) {
        self.sink.frame(self.peer, header, body);
    }

    fn begin(&mut self, header: &Header, len: u64) -> Landing {
        self.sink.begin(self.peer, header, len)
    }

    fn landed(&mut self, token: Token) {
        self.sink.landed(self.peer, token);
    }

    fn sent(&mut self, token: Token) {
        self.sink.sent(token);
    }
}

impl<C: Carrier> Datagrams<C> {
    /// Takes in what has come, and does what is due (see [`mpi_core::port::Transport::poll`]).
    #[inline]
    pub(super) fn poll_carrier<S: Sink>(&mut self, sink: &mut S) -> Activity {
        let mut busy = (C::LOOKS_ARE_CHEAP || self.pace.looks()) && self.read(sink);
        if !self.blocked.is_empty() {
            self.unblock();
        }
        if self.watch.next_at().is_some() {
            let now = self.now();
            if self.watch.is_due(now) {
                self.look_after(now);
            }
        }
        for (peer, why) in std::mem::take(&mut self.gone) {
            busy = true;
            sink.peer_down(peer, why);
        }
        if busy { Activity::Busy } else { Activity::Idle }
    }

    /// Takes in what has come; whether there was anything.
    #[inline]
    pub(super) fn read<S: Sink>(&mut self, sink: &mut S) -> bool {
        let mut busy = false;
        for _ in 0..READS {
            let Some((lent, from)) = self.carrier.receive() else { break };
            busy = true;
            self.pace.note_news();
            let is_short = lent.len() < SHORT_BYTES;
            self.take(&lent, from, sink);
            self.carrier.give_back(lent);
            if is_short && !C::LOOKS_ARE_CHEAP {
                // Where batches and long ones come there is more; a short one mostly was all.
                break;
            }
        }
        self.answer_all();
        busy
    }

    /// Sends what is due to those from whom something came.
    #[inline]
    pub(super) fn answer_all(&mut self) {
        if self.heard.is_empty() {
            return;
        }
        let now = self.now();
        while let Some(peer) = self.heard.pop() {
            self.pump_at(peer, now);
        }
    }

    /// Takes in all datagrams of a batch.
    #[inline]
    fn take<S: Sink>(&mut self, batch: &[u8], from: SourceOf<C>, sink: &mut S) {
        let now = self.now();
        let each = Envelope::length_of(batch).unwrap_or(batch.len()).max(1);
        let empty = [&batch[..0]].into_iter().filter(|_| batch.is_empty());
        for bytes in batch.chunks(each).chain(empty) {
            self.counters.received += 1;
            if self.take_one(bytes, from, now, sink).is_none() {
                self.counters.refused += 1;
            }
        }
    }

    /// Takes in a datagram; `None` if it is a stranger's, or was changed on its way.
    #[inline]
    fn take_one<S: Sink>(
        &mut self,
        bytes: &[u8],
        from: SourceOf<C>,
        now: Duration,
        sink: &mut S,
    ) -> Option<()> {
        let (envelope, inner) = bytes.split_first_chunk::<ENVELOPE_BYTES>()?;
        let Envelope { job, length, rank } = Envelope::from_bytes(*envelope);
        if job != self.envelope.job || usize::from(length) != bytes.len() {
            return None;
        }
        let peer = self.peers.of_rank(rank)?;
        let number = number_of(inner)?;
        let met = match self.peers.get(peer) {
            Some(met) => met,
            // Nothing is kept for it before its first right tag.
            None => {
                let new = self.new_peer(rank);
                new.here.open(number, bytes)?;
                self.peer(peer)?
            }
        };
        let bytes = &met.here.open(number, bytes)?[ENVELOPE_BYTES..];
        self.hear(peer, bytes, From::Address(from), now, sink);
        Some(())
    }

    /// A datagram of a peer has come, whose link has these bytes.
    #[inline]
    pub(super) fn hear<S: Sink>(
        &mut self,
        peer: PeerId,
        bytes: &[u8],
        from: From<SourceOf<C>>,
        now: Duration,
        sink: &mut S,
    ) {
        let Some(met) = self.peers.get(peer) else { return };
        if met.state == State::Down {
            return;
        }
        // How long nothing was answered by the way in use: what comes now may end that, by whatever way.
        let silence = met.routes.is_news(from).then(|| met.link.silence(now));
        if let Err(breach) = met.link.receive(now, bytes, &mut Ears { peer, sink }) {
            return self.lose(peer, breach.0);
        }
        let is_trial = met.link.came() == Came::Trial;
        if self.heard.last() != Some(&peer) {
            self.heard.push(peer);
        }
        if met.link.peer_has_left() && met.state == State::Up {
            met.state = State::Left;
            self.gone.push((peer, Why::Finalized));
        }
        if silence.is_some() || is_trial {
            self.judge_route(peer, from, silence.flatten(), now);
        }
    }

    /// A datagram came by another way than the one in use, or may have told that another works.
    #[cold]
    fn judge_route(
        &mut self,
        peer: PeerId,
        from: From<SourceOf<C>>,
        silence: Option<Duration>,
        now: Duration,
    ) {
        let rank = self.me.rank;
        let Some(met) = self.peers.get(peer) else { return };
        let (is_senior, came) = (rank < met.rank, met.link.came());
        let routes = &met.routes;
        // The answer itself shows that the way works, also from a host that sends by one address whatever the way.
        let answers = came == Came::TrialAnswer;
        let works = met.link.trial_came(|number| answers || routes.is(number, from));
        let mut moves = works.is_some_and(|number| met.routes.works(number, silence));
        if matches!(came, Came::New | Came::Question) {
            let asks = came == Came::Question;
            moves |= met.routes.heard(from, silence, is_senior, asks);
        }
        if silence.is_none() {
            met.routes.rest();
        }
        // From an address that is not known, an answer may still come by the way in use.
        let back = met.routes.of(from).or_else(|| met.routes.current());
        if came == Came::Trial
            && let Some(route) = back
        {
            self.send_aside(peer, route, |link| link.answer_to_trial(now));
        }
        if moves {
            self.take_path(peer);
        }
    }
}
