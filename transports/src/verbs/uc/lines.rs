//! The queue pairs of a process, one for each peer that is talked to, with the buffers of each.
//!
//! In: what handshakes want ([`Ends`]), datagrams, and completions. Out: whether there was room.
//!
//! Each queue pair has buffers of its own and not a share of one queue for all: what a device does with the rest of a
//! message of which a packet was lost is another thing there, and soft-RoCE takes no message of several packets any more
//! (docs/decisions.md, 44h). A queue pair in error is brought back without a word to the peer: an unreliable connection
//! has no state in common but its two numbers, and a receiver takes up a message with any number of its first packet.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::UcSettings;
use crate::rdma::fabric::Work;
use crate::sys::inet::Run;
use crate::verbs::address::{Address, PortAddress};
use crate::verbs::choice::Chosen;
use crate::verbs::connection::Account;
use crate::verbs::device::{Limits, cure};
use crate::verbs::hello::{Numbers, Pair};
use crate::verbs::meet::Ends;
use crate::verbs::objects::{Channel, Context, Cq, Pd};
use crate::verbs::pool::Pool;
use crate::verbs::queue_pair::{Order, Path, Plan, QueuePair, Uc};

use rdma_sys::ibv_sge;

/// Pieces of work that one queue pair holds.
const DEPTH: u32 = 64;
/// Places for datagrams on their way out, of all peers together.
const PLACES: usize = 128;
/// Bytes that are copied in the call, if the device allows it.
const INLINE: u32 = 256;
/// Completions that the one queue for all has room for, if the device allows it.
const COMPLETIONS: usize = 1 << 16;
/// Marks numbers of work of send queues. In all follow the line and a number of its own.
pub(super) const SENT: u64 = 1 << 63;
/// Buffers begin at such places.
const ALIGNED: usize = 64;

/// How far a line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Nothing was to be sent yet.
    Asleep,
    /// It is being connected, since then.
    Calling(Duration),
    Up,
    /// Its queue pair has failed, at this time; work comes back.
    Failing(Duration),
    /// The peer cannot be reached so.
    Closed,
}

/// A queue pair with its buffers, which go after it.
struct End {
    queue_pair: QueuePair<Uc>,
    psn: u32,
    /// How to get to the peer's, once that is known.
    path: Option<Path>,
    /// Work under way, named by its place in the memory for what goes out.
    account: Account,
    /// Buffers for what comes, unless one is lent, and how many neither the device has nor anybody reads.
    pool: Option<Pool>,
    idle: u32,
}

/// What there is with one peer.
struct Line {
    rank: u32,
    /// Where it hears handshakes, if its card is known.
    to: Option<Address>,
    state: State,
    end: Option<Box<End>>,
}

/// All lines. Queue pairs go before what they use, by the order of the fields.
pub(super) struct Lines {
    all: Vec<Line>,
    of_rank: HashMap<u32, u32>,
    /// Memory for what goes out, once there was something, and its free places.
    out: Option<Pool>,
    places: Vec<u32>,
    pub(super) cq: Arc<Cq>,
    pub(super) channel: Arc<Channel>,
    pub(super) pd: Arc<Pd>,
    pub(super) chosen: Chosen,
    pub(super) datagram_bytes: usize,
    /// Buffers of each line.
    buffers: u32,
    inline: u32,
    /// Entries of the completion queue that no line has a claim to.
    entries: usize,
    /// Ranks from which something has come while they were being connected.
    pub(super) heard: Vec<u32>,
    begun: Instant,
}

impl Lines {
    /// None yet, on this port.
    pub(super) fn new(
        context: &Arc<Context>,
        chosen: Chosen,
        settings: &UcSettings,
    ) -> io::Result<Lines> {
        let pd = Arc::new(Pd::new(context)?);
        let limits = Limits::of(&pd, chosen.port, false)?;
        let buffers = settings.receive_buffers;
        if buffers > limits.depth {
            return Err(io::Error::other(format!(
                "FERRITE_VERBS_UC_RECEIVE_BUFFERS is {buffers}, but it takes {} at most",
                limits.depth
            )));
        }
        let channel = Arc::new(Channel::new(context)?);
        let entries = limits.completions.min(COMPLETIONS);
        Ok(Lines {
            all: Vec::new(),
            of_rank: HashMap::new(),
            out: None,
            places: Vec::new(),
            cq: Arc::new(Cq::new(&channel, entries)?),
            channel,
            pd,
            chosen,
            datagram_bytes: settings.limits.datagram_bytes as usize,
            buffers,
            inline: INLINE,
            entries,
            heard: Vec::new(),
            begun: Instant::now(),
        })
    }

    /// Datagrams have so many bytes at most, on which all ranks agree: before anything is sent.
    pub(super) fn set_datagram_bytes(&mut self, bytes: usize) {
        debug_assert!(self.out.is_none(), "there are buffers already");
        self.datagram_bytes = bytes;
    }

    pub(super) fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Bytes from one buffer to the next.
    #[inline]
    pub(super) fn stride(&self) -> usize {
        self.datagram_bytes.next_multiple_of(ALIGNED)
    }

    /// The line to a rank.
    fn of(&mut self, rank: u32) -> u32 {
        let all = &mut self.all;
        *self.of_rank.entry(rank).or_insert_with(|| {
            all.push(Line { rank, to: None, state: State::Asleep, end: None });
            all.len() as u32 - 1
        })
    }

    /// The line to a rank that hears handshakes there.
    pub(super) fn meet(&mut self, rank: u32, address: Address) -> u32 {
        let line = self.of(rank);
        self.all[line as usize].to = Some(address);
        line
    }

    #[inline]
    pub(super) fn state(&self, line: u32) -> State {
        self.all[line as usize].state
    }

    /// Whom to call for a line to come up; `None` if that is not known.
    pub(super) fn call(&self, line: u32) -> Option<(u32, Address)> {
        let line = &self.all[line as usize];
        Some((line.rank, line.to?))
    }

    /// Whether a line is to come up, and has not taken too long for that.
    pub(super) fn is_awaited(&self, line: u32, wait: Duration) -> bool {
        match self.state(line) {
            State::Calling(since) | State::Failing(since) => self.now() < since + wait,
            State::Asleep | State::Up | State::Closed => false,
        }
    }

    fn end(&mut self, line: u32) -> Option<&mut End> {
        self.all.get_mut(line as usize)?.end.as_deref_mut()
    }

    /// The peer's queue pair is connected too.
    pub(super) fn come_up(&mut self, rank: u32) {
        let line = self.of(rank) as usize;
        if let State::Calling(_) = self.all[line].state {
            self.all[line].state = State::Up;
        }
    }

    /// A peer cannot be reached so any more.
    pub(super) fn close(&mut self, rank: u32, why: &str) {
        tracing::info!(rank, why, "no unreliable connection");
        let line = self.of(rank) as usize;
        self.all[line].state = State::Closed;
    }

    /// Makes a queue pair with buffers for a line.
    fn make_end(&mut self, line: u32) -> io::Result<End> {
        let claim = (DEPTH + self.buffers) as usize;
        if self.entries < claim {
            return Err(io::Error::other(
                "this process has too many connections; lower FERRITE_VERBS_UC_RECEIVE_BUFFERS",
            ));
        }
        if self.out.is_none() {
            self.out = Some(Pool::new(&self.pd, PLACES * self.stride())?);
            self.places = (0..PLACES as u32).collect();
        }
        let pool = Pool::new(&self.pd, self.buffers as usize * self.stride())?;
        let end = End {
            queue_pair: self.queue_pair()?,
            psn: getrandom::u32().map_err(io::Error::other)? & 0xff_ffff,
            path: None,
            account: Account::new(DEPTH as usize),
            pool: Some(pool),
            idle: 0,
        };
        self.open(&end, line)?;
        self.entries -= claim;
        Ok(end)
    }

    /// A queue pair, with as many bytes copied in the call as the device allows.
    fn queue_pair(&mut self) -> io::Result<QueuePair<Uc>> {
        loop {
            let (pd, cq, inline) = (&self.pd, &self.cq, self.inline);
            let plan = Plan { pd, cq, srq: None, depth: DEPTH, inline };
            match QueuePair::with_buffers(&plan, self.buffers) {
                Ok(made) => {
                    self.inline = inline.min(made.inline() as u32);
                    return Ok(made);
                }
                Err(_) if inline > 0 => self.inline = (inline / 2) & !7,
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes a new or reset queue pair ready to be connected: it gets all buffers.
    fn open(&self, end: &End, line: u32) -> io::Result<()> {
        end.queue_pair.init(self.chosen.port, self.chosen.pkey_index, 0, 0)?;
        let Some(pool) = &end.pool else { return Ok(()) };
        (0..self.buffers).try_for_each(|buffer| self.listen(end, pool, line, buffer))
    }

    /// Gives the device a buffer.
    #[inline]
    fn listen(&self, end: &End, pool: &Pool, line: u32, buffer: u32) -> io::Result<()> {
        let piece = pool.piece(buffer as usize * self.stride(), self.datagram_bytes);
        let number = u64::from(line) << 32 | u64::from(buffer);
        // SAFETY: the buffer is the device's until it completes; nobody else uses it, and the pool goes after the
        // queue pair.
        unsafe { end.queue_pair.receive(number, piece) }
    }

    /// Whether one more datagram can go to a peer now.
    #[inline]
    pub(super) fn has_room(&self, line: u32) -> bool {
        let end = self.all[line as usize].end.as_deref();
        !self.places.is_empty() && end.is_some_and(|end| end.account.has_room())
    }

    /// Sends a datagram that lies in these runs, for which there is room.
    ///
    /// # Safety
    /// The runs are readable and not longer than a datagram.
    #[inline]
    pub(super) unsafe fn send(&mut self, line: u32, runs: &[Run]) -> io::Result<()> {
        let stride = self.stride();
        let end = self.all[line as usize].end.as_deref_mut();
        let (Some(end), Some(out)) = (end, &self.out) else {
            return Err(io::Error::other("no end"));
        };
        let (piece, place) = match runs {
            [one] if one.bytes() <= self.inline as usize => {
                let (addr, length) = (one.at() as u64, one.bytes() as u32);
                (ibv_sge { addr, length, lkey: 0 }, None)
            }
            _ => {
                let Some(place) = self.places.last().copied() else {
                    return Err(io::Error::from_raw_os_error(libc::ENOMEM));
                };
                let begin = place as usize * stride;
                let mut at = begin;
                for run in runs {
                    // SAFETY: readable by the caller's promise; the place has room for a datagram, and no work that
                    // is under way uses it, since it is free.
                    unsafe { out.at(at).copy_from_nonoverlapping(run.at(), run.bytes()) };
                    at += run.bytes();
                }
                (out.piece(begin, at - begin), Some(Work(place.into())))
            }
        };
        // Who has a place is told of, so that it is free again.
        let (number, is_signaled) = end.account.next(place, false);
        let number = SENT | u64::from(line) << 32 | u64::from(number);
        let order = Order { number, piece, is_signaled, is_inline: place.is_none() };
        // SAFETY: the place is left alone until this is done; inline memory is read in the call.
        unsafe { end.queue_pair.send(order)? };
        end.account.push(place, is_signaled);
        if place.is_some() {
            self.places.pop();
        }
        Ok(())
    }

    /// Work up to this number has ended, as it may.
    #[inline]
    pub(super) fn sent(&mut self, line: u32, number: u32) {
        let places = &mut self.places;
        let Some(line) = self.all.get_mut(line as usize) else { return };
        let Some(end) = line.end.as_deref_mut() else { return };
        end.account.retire(number, |Work(place)| places.push(place as u32));
        if let State::Failing(_) = line.state {
            let line = self.of_rank[&line.rank];
            self.revive(line);
        }
    }

    /// A datagram has come by a line.
    #[inline]
    pub(super) fn came(&mut self, line: u32) {
        if let Some(Line { state: State::Calling(_), rank, .. }) = self.all.get(line as usize) {
            self.heard.push(*rank);
        }
    }

    /// The buffers of a line in one of which something has come.
    #[inline]
    pub(super) fn lend(&mut self, line: u32) -> Option<Pool> {
        self.end(line)?.pool.take()
    }

    /// Buffers that were lent come back, and the device may have this one again.
    #[inline]
    pub(super) fn take_back(&mut self, line: u32, buffer: u32, pool: Pool) {
        let place = line as usize;
        let is_failing = matches!(self.all[place].state, State::Failing(_));
        let Some(end) = self.all[place].end.as_deref() else { return };
        let listens = !is_failing && self.listen(end, &pool, line, buffer).is_ok();
        if let Some(end) = self.end(line) {
            end.pool = Some(pool);
        }
        if !listens {
            self.put_by(line);
            self.fail(line, "it takes no buffers");
        }
    }

    /// A buffer of a line is neither the device's nor has anything come in it.
    pub(super) fn put_by(&mut self, line: u32) {
        if let Some(end) = self.end(line) {
            end.idle += 1;
        }
    }

    /// The queue pair of a line has failed; once all of its work has come back it begins anew.
    #[cold]
    pub(super) fn fail(&mut self, line: u32, why: &str) {
        let now = self.now();
        let Some(Line { rank, state, end: Some(end), .. }) = self.all.get_mut(line as usize) else {
            return;
        };
        if matches!(state, State::Calling(_) | State::Up) {
            tracing::info!(rank, why, "an unreliable connection has failed");
            *state = State::Failing(now);
            // A device that refuses even this gives nothing back, and the line stays as it is.
            let _ = end.queue_pair.fail();
        }
        self.revive(line);
    }

    /// Brings a queue pair back, if all of its work has come back.
    fn revive(&mut self, line: u32) {
        let (place, now) = (line as usize, self.now());
        let Line { state: State::Failing(_), end: Some(end), rank, .. } = &self.all[place] else {
            return;
        };
        if end.idle < self.buffers || !end.account.is_empty() {
            return;
        }
        let is_back = end.queue_pair.reset().and_then(|()| self.open(end, line));
        let is_back = is_back.and_then(|()| match &end.path {
            Some(path) => end.queue_pair.connect(path),
            None => Ok(()),
        });
        let state = match (is_back, &end.path) {
            (Ok(()), Some(_)) => State::Up,
            (Ok(()), None) => State::Calling(now),
            (Err(error), _) => {
                tracing::warn!(
                    "{} cannot bring back its queue pair for rank {rank}: {error}",
                    self.chosen.device
                );
                State::Closed
            }
        };
        self.all[place].state = state;
        if let Some(end) = self.end(line) {
            end.idle = 0;
        }
    }
}

impl Ends for Lines {
    fn make(&mut self, rank: u32) -> Option<Result<Numbers, String>> {
        let (line, now) = (self.of(rank), self.now());
        let end = match self.make_end(line) {
            Ok(end) => end,
            Err(error) => {
                let (device, cure) = (&self.chosen.device, cure(&error));
                return Some(Err(format!("{device} gives no further queue pair: {cure}")));
            }
        };
        let devices = vec![(PortAddress::of(&self.chosen), self.chosen.mtu)];
        let pairs = vec![Pair { number: end.queue_pair.number(), psn: end.psn }];
        let made = &mut self.all[line as usize];
        (made.state, made.end) = (State::Calling(now), Some(Box::new(end)));
        Some(Ok(Numbers { devices, pairs, reads: 0 }))
    }

    fn connect(&mut self, rank: u32, theirs: &Numbers) -> Result<(), String> {
        let (line, chosen) = (self.of(rank) as usize, &self.chosen);
        let end = self.all[line].end.as_deref_mut().ok_or("a rank that has no queue pair")?;
        let ((address, their_mtu), pair) = (theirs.devices[0], theirs.pairs[0]);
        let path = Path {
            way: address.way(chosen)?,
            mtu: chosen.mtu.min(their_mtu).ilog2() - 7,
            queue_pair: pair.number,
            their_psn: pair.psn,
            our_psn: end.psn,
            reads: 0,
            their_reads: 0,
            timeout: 0,
            retries: 0,
        };
        end.queue_pair.connect(&path).map_err(|error| {
            let device = &chosen.device;
            format!(
                "{device} cannot connect to rank {rank} ({error}); can its host be reached there?"
            )
        })?;
        end.path = Some(path);
        Ok(())
    }
}
