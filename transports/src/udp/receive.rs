//! The way in: datagrams from anybody, of which those with a right tag go to the link of their peer.

use std::net::IpAddr;
use std::time::Duration;

use mpi_core::buffer::RawBytes;
use mpi_core::header::Header;
use mpi_core::port::{Activity, Landing, PeerId, Sink, Token};

use super::peer::{Peer, State};
use super::train::ENVELOPE_BYTES;
use super::{Event, Udp};
use crate::fields::Fields;
use crate::reliability::{Listener, number_of};
use crate::sys::udp::Come;

/// Calls of the kernel in one poll, before others get their turn.
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

impl Udp {
    /// Takes in what has come, and does what is due (see [`mpi_core::port::Transport::poll`]).
    #[inline]
    pub(super) fn poll_sockets<S: Sink>(&mut self, sink: &mut S) -> Activity {
        let mut busy = self.pace.looks() && self.hear(sink);
        if !self.blocked.is_empty() {
            self.unblock();
        }
        if self.watch.next_at().is_some() {
            let now = self.now();
            if self.watch.is_due(now) {
                self.look_after(now);
            }
        }
        for event in std::mem::take(&mut self.events) {
            busy = true;
            match event {
                Event::Down(peer, why) => sink.peer_down(peer, why),
            }
        }
        if busy { Activity::Busy } else { Activity::Idle }
    }

    /// Reads the socket; whether anything came.
    #[inline]
    fn hear<S: Sink>(&mut self, sink: &mut S) -> bool {
        let mut busy = false;
        for _ in 0..READS {
            match self.sockets.receive(&mut self.buffer) {
                Ok(Some(come)) => {
                    busy = true;
                    self.pace.note_news();
                    self.take(&come, sink);
                    if come.len < come.each * 2 {
                        // Where trains come there is more; a single one mostly was all.
                        break;
                    }
                }
                // A refusal that a datagram met on its way: it was lost, as others are.
                Ok(None) | Err(_) => break,
            }
        }
        while let Some(peer) = self.heard.pop() {
            self.pump(peer);
        }
        busy
    }

    /// Takes in all datagrams of a train.
    #[inline]
    fn take<S: Sink>(&mut self, come: &Come, sink: &mut S) {
        let buffer = std::mem::take(&mut self.buffer);
        let now = self.now();
        let empty = come.len == 0;
        (self.counters.received, self.counters.refused) =
            (self.counters.received + u64::from(empty), self.counters.refused + u64::from(empty));
        for bytes in buffer[..come.len].chunks(come.each.max(1)) {
            self.counters.received += 1;
            if self.take_one(bytes, come.from.ip(), now, sink).is_none() {
                self.counters.refused += 1;
            }
        }
        self.buffer = buffer;
    }

    /// Takes in a datagram; `None` if it is a stranger's, or was changed on its way.
    #[inline]
    fn take_one<S: Sink>(
        &mut self,
        bytes: &[u8],
        from: IpAddr,
        now: Duration,
        sink: &mut S,
    ) -> Option<()> {
        let mut fields = Fields { bytes };
        let (job, rank) = (fields.u32()?, fields.u32()?);
        if job != self.job_number() {
            return None;
        }
        let peer = self.peers.of_rank(rank)?;
        let number = number_of(fields.bytes)?;
        let met = match self.peers.get(peer) {
            Some(met) => met,
            // Nothing is kept for it before its first right tag.
            None => {
                let new = Peer::new(&self.config, &self.job, &self.link, rank);
                new.here.open(number, bytes)?;
                self.peer(peer)?
            }
        };
        let bytes = &met.here.open(number, bytes)?[ENVELOPE_BYTES..];
        if met.state != State::Up {
            return Some(());
        }
        let breach = met.link.receive(now, bytes, &mut Ears { peer, sink }).err();
        if self.heard.last() != Some(&peer) {
            self.heard.push(peer);
        }
        self.note_way(peer, from, now);
        if let Some(breach) = breach {
            self.lose(peer, breach.0);
        }
        Some(())
    }

    /// A datagram of a peer came from this address.
    #[inline]
    fn note_way(&mut self, peer: PeerId, from: IpAddr, now: Duration) {
        let Some(met) = self.peers.get(peer) else { return };
        if met.ways.is_current(from) {
            met.ways.answered();
        }
        let _ = now;
    }
}
