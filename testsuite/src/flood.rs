//! Datagrams that nobody asked for, as fast as they go: noise of all lengths, recordings of what was said before,
//! and recordings that were cut or of which a byte was changed.
//!
//! Enters: where to, and the recordings (`faults/eavesdrop.c` makes them). Leaves: how many were sent.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};

/// The longest noise: what an Ethernet's packet holds.
const NOISE_MAX: usize = 1472;

/// A flood that goes on until it is ended.
#[derive(Debug)]
pub struct Flood {
    is_over: Arc<AtomicBool>,
    senders: Vec<JoinHandle<Sent>>,
}

/// How many datagrams of each kind were sent.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Sent {
    /// Bytes that follow no rule.
    pub noise: u64,
    /// Recordings as they were.
    pub replays: u64,
    /// Recordings that were cut or of which a byte was changed.
    pub altered: u64,
}

impl Flood {
    /// Begins to send to the ports on this host, to each from a socket and thread of its own.
    ///
    /// # Errors
    /// When no socket can be had.
    pub fn begin(ports: &[u16], recordings: &[Vec<u8>]) -> Result<Flood> {
        let is_over = Arc::new(AtomicBool::new(false));
        let sender = |port: &u16| {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("no socket")?;
            let (to, own) = (SocketAddr::from((Ipv4Addr::LOCALHOST, *port)), recordings.to_vec());
            let (over, seed) = (Arc::clone(&is_over), u64::from(*port));
            Ok(thread::spawn(move || send(&socket, to, &own, seed, &over)))
        };
        let senders = ports.iter().map(sender).collect::<Result<_>>()?;
        Ok(Flood { is_over, senders })
    }

    /// Ends it.
    ///
    /// # Errors
    /// When a thread of it has panicked.
    pub fn end(self) -> Result<Sent> {
        self.is_over.store(true, Ordering::Relaxed);
        let mut all = Sent::default();
        for sender in self.senders {
            let sent = sender.join().ok().context("a sender has panicked")?;
            all.noise += sent.noise;
            all.replays += sent.replays;
            all.altered += sent.altered;
        }
        Ok(all)
    }
}

/// Sends until it is over.
fn send(
    socket: &UdpSocket,
    to: SocketAddr,
    recordings: &[Vec<u8>],
    seed: u64,
    over: &AtomicBool,
) -> Sent {
    let (mut draw, mut sent) = (Draw(seed | 1), Sent::default());
    while !over.load(Ordering::Relaxed) {
        let turn = if recordings.is_empty() { 0 } else { draw.below(3) };
        let (datagram, count) = match turn {
            0 => (draw.noise(), &mut sent.noise),
            1 => (recordings[draw.below(recordings.len())].clone(), &mut sent.replays),
            _ => {
                let place = draw.below(recordings.len());
                (draw.altered(&recordings[place]), &mut sent.altered)
            }
        };
        // The port may be closed by the end of the job, or a buffer be full.
        *count += u64::from(socket.send_to(&datagram, to).is_ok());
    }
    sent
}

/// Xorshift.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn noise(&mut self) -> Vec<u8> {
        let words = self.below(NOISE_MAX) / 8 + 1;
        let mut bytes: Vec<u8> = (0..words).flat_map(|_| self.next().to_le_bytes()).collect();
        bytes.truncate(self.below(bytes.len() + 1));
        bytes
    }

    /// The same, cut or with a bit changed somewhere.
    fn altered(&mut self, recording: &[u8]) -> Vec<u8> {
        let mut bytes = recording.to_vec();
        let place = self.below(bytes.len().max(1));
        match (self.below(2), bytes.get_mut(place)) {
            (0, Some(byte)) => *byte ^= 1 << self.below(8),
            _ => bytes.truncate(place),
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open_sockets::datagram_ports;
    use std::time::Duration;

    #[test]
    fn a_flood_reaches_the_ports_of_a_program() {
        let own = std::env::current_exe().and_then(std::fs::canonicalize).expect("its name");
        let door = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        let port = door.local_addr().expect("an address").port();
        assert!(datagram_ports(&own).contains(&port));
        door.set_read_timeout(Some(Duration::from_secs(10))).expect("a time-out");
        let recording = b"said before".to_vec();
        let flood = Flood::begin(&[port], std::slice::from_ref(&recording)).expect("a flood");
        let (mut replays, mut others, mut buffer) = (0, 0, [0; 2048]);
        while replays == 0 || others < 10 {
            let len = door.recv(&mut buffer).expect("a datagram");
            if buffer[..len] == recording { replays += 1 } else { others += 1 }
        }
        let sent = flood.end().expect("a count");
        assert!(sent.noise > 0 && sent.replays > 0 && sent.altered > 0, "{sent:?}");
    }
}
