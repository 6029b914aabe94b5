//! The queue pairs of a process, one for each peer that is talked to, with the buffers of each: how far each is.
//!
//! In: what handshakes want ([`Ends`]), and failures. Out: queue pairs that are up; `work` uses them.
//!
//! Each queue pair has buffers of its own and not a share of one queue for all: what a device does with the rest of a
//! message of which a packet was lost is another thing there, and soft-RoCE takes no message of several packets any
//! more (decision 44i). A queue pair in error is brought back without a word to the peer: an unreliable
//! connection has no state in common but its two numbers, and a receiver takes up a message whatever the number of its
//! first packet.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::UcSettings;
use crate::verbs::address::{Address, PortAddress};
use crate::verbs::choice::Chosen;
use crate::verbs::connection::Account;
use crate::verbs::device::{Limits, cure};
use crate::verbs::hello::{Numbers, Pair};
use crate::verbs::meet::Ends;
use crate::verbs::objects::{Channel, Context, Cq, Pd};
use crate::verbs::pool::Pool;
use crate::verbs::queue_pair::{Path, QueuePair, Uc};

/// Bytes that are copied in the call, if the device allows it.
const INLINE: u32 = 256;
/// Completions that the one queue for all has room for, if the device allows it.
const COMPLETIONS: usize = 1 << 16;
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
pub(super) struct End {
    pub(super) queue_pair: QueuePair<Uc>,
    pub(super) psn: u32,
    /// How to get to the peer's, once that is known.
    pub(super) path: Option<Path>,
    /// Work under way, named by its place in the memory for what goes out.
    pub(super) account: Account,
    /// Buffers for what comes, unless one is lent, and how many neither the device has nor anybody reads.
    pub(super) pool: Option<Pool>,
    pub(super) idle: u32,
}

/// What there is with one peer.
pub(super) struct Line {
    pub(super) rank: u32,
    /// Where it hears handshakes, if its card is known.
    pub(super) to: Option<Address>,
    pub(super) state: State,
    pub(super) end: Option<Box<End>>,
}

/// All lines. Queue pairs go before what they use, by the order of the fields.
pub(super) struct Lines {
    pub(super) all: Vec<Line>,
    pub(super) of_rank: HashMap<u32, u32>,
    /// Memory for what goes out, once there was something, and its free places.
    pub(super) out: Option<Pool>,
    pub(super) places: Vec<u32>,
    pub(super) cq: Arc<Cq>,
    pub(super) channel: Arc<Channel>,
    pub(super) pd: Arc<Pd>,
    pub(super) chosen: Chosen,
    pub(super) datagram_bytes: usize,
    /// Buffers of each line.
    pub(super) buffers: u32,
    pub(super) inline: u32,
    /// Entries of the completion queue that no line has a claim to.
    pub(super) entries: usize,
    /// Lines that are failing.
    pub(super) failing: Vec<u32>,
    /// Ranks from which something has come while they were being connected.
    pub(super) heard: Vec<u32>,
    pub(super) begun: Instant,
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
            failing: Vec::new(),
            heard: Vec::new(),
            begun: Instant::now(),
        })
    }

    /// Datagrams have so many bytes at most, on which all ranks agree.
    ///
    /// # Errors
    /// There are buffers of another length already; in a sentence.
    pub(super) fn set_datagram_bytes(&mut self, bytes: usize) -> Result<(), String> {
        if self.out.is_some() && bytes != self.datagram_bytes {
            return Err(format!(
                "rank 0's FERRITE_VERBS_UC_DATAGRAM_BYTES is {bytes}, but this rank has buffers of {} already; give \
                 all ranks the same value",
                self.datagram_bytes
            ));
        }
        self.datagram_bytes = bytes;
        Ok(())
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

    /// Whether the work of a failed queue pair has not come back.
    pub(super) fn are_failing(&self) -> bool {
        !self.failing.is_empty()
    }

    pub(super) fn end(&mut self, line: u32) -> Option<&mut End> {
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
        let line = self.of(rank);
        self.all[line as usize].state = State::Closed;
        self.failing.retain(|failing| *failing != line);
    }

    /// No peer can be reached so any more.
    pub(super) fn close_all(&mut self) {
        self.all.iter_mut().for_each(|line| line.state = State::Closed);
        self.failing.clear();
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
            self.failing.push(line);
            // A device that refuses even this gives nothing back, and the line stays as it is.
            let _ = end.queue_pair.fail();
        }
        self.revive(line);
    }

    /// Brings a queue pair back, if all of its work has come back.
    pub(super) fn revive(&mut self, line: u32) {
        let (place, now) = (line as usize, self.now());
        let Line { state: State::Failing(_), end: Some(end), rank, .. } = &self.all[place] else {
            return;
        };
        // What was copied when it was posted may have left in silence, and then never comes back.
        if end.idle < self.buffers || end.account.is_awaited() {
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
        self.failing.retain(|failing| *failing != line);
        if let Some(end) = self.end(line) {
            end.account.drain(|_| {});
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
