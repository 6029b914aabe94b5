//! The way out: what links have to say, in batches, to where their peers hear.

use std::time::Duration;

use mpi_core::datatype::Packer;
use mpi_core::header::Header;
use mpi_core::port::{Body, Full, PeerId, Token};

use super::batch::{AROUND_BYTES, BATCH_BYTES_MAX, Batch};
use super::carrier::Address;
use super::envelope::Envelope;
use super::peer::{Peer, State};
use super::routes::Route;
use super::tunnel::TUNNEL_BYTES;
use super::{Carrier, Datagrams, Fate};
use crate::reliability::{Datagram, Link};

/// Where the carrier knows no way by an address, it is asked again after so long.
const UNREACHABLE_PAUSE: Duration = Duration::from_millis(20);

impl<C: Carrier> Datagrams<C> {
    /// Sends a small frame (see [`mpi_core::port::Transport::send`]).
    #[inline]
    pub(super) fn send_frame(
        &mut self,
        peer: PeerId,
        header: &Header,
        body: Body<'_>,
    ) -> Result<(), Full> {
        let to = match self.peers.get(peer) {
            Some(to) => to,
            None => self.peer(peer).ok_or(Full)?,
        };
        if to.state != State::Up {
            return Err(Full);
        }
        to.link.push_frame(header, body)?;
        self.go(peer);
        Ok(())
    }

    /// Begins to send a large message (see [`mpi_core::port::Transport::send_bulk`]).
    pub(super) fn start_bulk(
        &mut self,
        peer: PeerId,
        header: &Header,
        source: Packer,
        token: Token,
    ) {
        let Some(to) = self.peer(peer).filter(|to| to.state == State::Up) else { return };
        to.link.push_message(header, source, token);
        self.go(peer);
    }

    /// A peer has something to be sent: now, or when what is held back goes.
    #[inline]
    fn go(&mut self, peer: PeerId) {
        if !self.holds {
            return self.pump(peer);
        }
        if let Some(to) = self.peers.get(peer)
            && !std::mem::replace(&mut to.is_held, true)
        {
            self.held.push(peer);
        }
    }

    /// What was held back goes.
    pub(super) fn let_go(&mut self) {
        self.holds = false;
        while let Some(peer) = self.held.pop() {
            if let Some(to) = self.peers.get(peer) {
                to.is_held = false;
            }
            self.pump(peer);
        }
    }

    /// Another way to a peer is in use from now on.
    pub(super) fn take_path(&mut self, peer: PeerId) {
        self.counters.moves += 1;
        if let Some(to) = self.peers.get(peer) {
            to.link.change_path();
            // What was under way goes again, and at once.
            to.is_stopped = true;
            tracing::info!(from = self.me.rank, to = to.rank, route = ?to.routes.current(), "another way is used");
        }
        self.measure_path(peer);
    }

    /// How long datagrams may be on the way in use.
    pub(super) fn measure_path(&mut self, peer: PeerId) {
        let most = self.limits.datagram_bytes as usize;
        let Some(to) = self.peers.get(peer) else { return };
        let route = match to.routes.current() {
            None => return,
            Some(Route::Tunnel) => return to.link.set_datagram_bytes(TUNNEL_BYTES as u16),
            Some(Route::Address(route)) => route,
        };
        let path = self.carrier.path(route);
        let room = path.bytes.min(BATCH_BYTES_MAX);
        let room = if most == 0 { room } else { room.min(most) };
        let links = |bytes: usize| bytes.min(room).saturating_sub(AROUND_BYTES) as u16;
        to.link.set_datagram_bytes(links(path.sure));
        if path.sure < room {
            to.link.set_ceiling(links(room));
        }
    }

    /// Sends what a peer's link has to say now, and notes when it will have more.
    #[inline]
    pub(super) fn pump(&mut self, peer: PeerId) {
        self.pump_at(peer, self.now());
    }

    /// The same, where the time is known.
    #[inline]
    pub(super) fn pump_at(&mut self, peer: PeerId, now: Duration) {
        let envelope = self.envelope;
        let goes = |to: &&mut Peer<C::Address>| to.state != State::Down && !to.is_blocked;
        let Some(mut to) = self.peers.get(peer).filter(goes) else { return };
        if to.routes.is_empty() {
            if to.state == State::Up && !self.sought.contains(&peer) {
                self.sought.push(peer);
            }
            return;
        }
        (to.used_at, to.is_stopped) = (now, false);
        if to.routes.current() == Some(Route::Tunnel) {
            while let Some(datagram) = self.peers.get(peer).and_then(|to| to.link.next(now)) {
                let mut bytes = Vec::new();
                // SAFETY: the program's messages stay readable while their requests go on.
                unsafe { datagram.copy_to(&mut bytes) };
                self.write_tunnelled(peer, bytes);
            }
            return self.note(peer, now);
        }
        loop {
            let is_more = fill(&mut self.batch, to, envelope, now);
            let is_stopped = self.send_batch(peer);
            let Some(again) = self.peers.get(peer) else { return };
            to = again;
            if is_stopped || !is_more {
                break;
            }
        }
        self.note(peer, now);
    }
}

/// Takes what a link has to say now, as much as fits into one batch; whether there may be more.
fn fill<A: Address>(
    batch: &mut Batch,
    to: &mut Peer<A>,
    envelope: Envelope,
    now: Duration,
) -> bool {
    batch.clear();
    while batch.has_room() {
        let Some(datagram) = to.link.next(now) else { return false };
        // SAFETY: a link's own bytes and the program's messages stay readable while the link is not told
        // anything, which happens only after the batch was sent or taken back.
        unsafe { batch.push(&datagram, envelope, &to.there) };
    }
    true
}

impl<C: Carrier> Datagrams<C> {
    /// Sends the batch, which is for this peer; whether that has to stop for now.
    fn send_batch(&mut self, peer: PeerId) -> bool {
        while !self.batch.is_empty() {
            let route = self.peers.get(peer).and_then(|to| to.routes.current());
            let Some(Route::Address(route)) = route else { break };
            self.counters.writes += 1;
            // SAFETY: as for `fill`: the link was told nothing since.
            match unsafe { self.carrier.send(route, &self.batch) } {
                Fate::Sent(count) => self.batch.sent(count),
                fate => {
                    self.take_back(peer, fate);
                    return true;
                }
            }
        }
        false
    }

    /// Datagrams of a batch could not be sent.
    #[cold]
    fn take_back(&mut self, peer: PeerId, fate: Fate) {
        let (now, has_tunnel) = (self.now(), self.waits().tunnel.is_some());
        let Some(to) = self.peers.get(peer) else { return };
        let bytes = self.batch.refused_bytes();
        self.batch.unsent().for_each(|number| to.link.take_back(number));
        self.batch.clear();
        match fate {
            Fate::Sent(_) => {}
            Fate::NoRoom => {
                to.is_blocked = true;
                self.blocked.push(peer);
                self.carrier.watch_room(true);
            }
            Fate::TooLong => {
                to.link.too_big(now, bytes);
                to.stop_until(now, peer, &mut self.watch);
            }
            Fate::Unreachable(error) => {
                tracing::info!(from = self.me.rank, to = to.rank, %error, "a way is gone");
                to.stop_until(now + UNREACHABLE_PAUSE, peer, &mut self.watch);
                if to.routes.skip(has_tunnel) {
                    self.take_path(peer);
                }
            }
        }
    }

    /// Sends a datagram that a link makes for another way than the one in use.
    pub(super) fn send_aside(
        &mut self,
        peer: PeerId,
        route: Route<C::Address>,
        make: impl FnOnce(&mut Link) -> Datagram<'_>,
    ) {
        let envelope = self.envelope;
        let Some(to) = self.peers.get(peer) else { return };
        let datagram = make(&mut to.link);
        match route {
            Route::Tunnel => {
                let mut bytes = Vec::new();
                // SAFETY: it has no content.
                unsafe { datagram.copy_to(&mut bytes) };
                self.write_tunnelled(peer, bytes);
            }
            Route::Address(address) => {
                self.batch.clear();
                // SAFETY: as above.
                unsafe { self.batch.push(&datagram, envelope, &to.there) };
                // SAFETY: the batch has memory of its own alone. Where there is no way, nobody answers.
                let _ = unsafe { self.carrier.send(address, &self.batch) };
                self.batch.clear();
            }
        }
    }

    /// Goes on with peers for whose datagrams there was no room.
    pub(super) fn unblock(&mut self) {
        for peer in std::mem::take(&mut self.blocked) {
            let Some(to) = self.peers.get(peer) else { continue };
            if let Some(Route::Address(route)) = to.routes.current()
                && self.carrier.awaits(route)
            {
                self.blocked.push(peer);
                continue;
            }
            to.is_blocked = false;
            self.pump(peer);
        }
        if self.blocked.is_empty() {
            self.carrier.watch_room(false);
        }
    }
}
