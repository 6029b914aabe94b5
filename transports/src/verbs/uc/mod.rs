//! Unreliable connections as a carrier of MPI's datagrams ([`crate::datagrams`], paper 004): a queue pair for each peer
//! that is talked to, connected on demand by the handshakes of [`super::meet`].
//!
//! A datagram is one message, which the device cuts into packets. One lost packet loses the message in silence, and the
//! link sends it again; nothing here waits for the peer, so a long way is filled as far as the link's window goes. As
//! long as there is no connection there is no room; when that has taken too long, there is no way.

mod lines;
mod settings;
mod work;

use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::net::Ipv6Addr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use rdma_sys::{ibv_wc, ibv_wc_status};

use super::address::Address as QueuePairAddress;
use super::bell::Bell;
use super::choice::Chosen;
use super::device::{cure, open_chosen};
use super::greeter::{Greeter, warn_late};
use super::meet::Turn;
use super::objects::{BATCH, Channel, Context};
use super::pool::Lent;
use crate::datagrams::{Address, Batch, Carrier, Datagrams, Fate, Identity, Path};
use crate::tcp::Secret;
use lines::{Lines, State};
pub use settings::UcSettings;
use work::SENT;

/// Looks after which handshakes are looked at all the same.
const QUIET_LOOKS: u32 = 256;
/// Whoever waits for a failed queue pair looks again after so long.
const FAILING_LOOK: Duration = Duration::from_millis(100);
/// A peer may be silent for this part of the patience before another way is taken.
const WAIT_SHARE: u32 = 4;

/// Who a process is, as far as unreliable connections need to know.
#[derive(Clone, Debug)]
pub struct UcConfig {
    /// The job, by the identity that its launcher gave it.
    pub job: String,
    /// Rank of this process in the job.
    pub rank: u32,
    /// What all processes of the job know and nobody else.
    pub secret: Secret,
    /// What the user has chosen.
    pub settings: UcSettings,
}

/// The queue pairs of a process.
pub struct Uc {
    lines: Lines,
    greeter: Greeter,
    channel: Arc<Channel>,
    /// Tells of the channel as long as there is a device.
    bell: Bell,
    rank: u32,
    /// Buffers in which something has come: whose, which, and how much.
    come: VecDeque<(u32, u32, u32)>,
    /// How long a connection may take.
    wait: Duration,
    /// Looks since handshakes were looked at.
    quiet: u32,
    /// Whether the channel may have told of something.
    is_armed: bool,
    /// When something is to be said again.
    due: Option<Duration>,
    /// Nothing comes or goes any more.
    is_broken: bool,
}

/// Where a peer hears.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UcAddress {
    gid: [u8; 16],
    /// The queue pair for handshakes.
    queue_pair: u32,
    line: u32,
}

/// There is one way to a peer, and the tag says whether it came from there.
impl Address for UcAddress {
    type Source = ();

    #[inline]
    fn is_of(&self, (): ()) -> bool {
        true
    }

    fn name(&self) -> String {
        format!("queue pair {} at {}", self.queue_pair, Ipv6Addr::from(self.gid))
    }
}

impl std::fmt::Debug for Uc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Uc").field("rank", &self.rank).finish_non_exhaustive()
    }
}

impl Datagrams<Uc> {
    /// The transport of a process, which talks to nobody yet.
    ///
    /// # Errors
    /// A setting is out of its bounds, or there is no library, no device, no active port, no permission, or no memory
    /// for it; in a sentence with the cure.
    pub fn open(config: UcConfig) -> Result<Datagrams<Uc>, String> {
        config.settings.check()?;
        let carrier = Uc::open(&config)?;
        let UcConfig { job, rank, secret, settings } = config;
        Ok(Datagrams::over(carrier, Identity { job, rank, secret }, settings.limits))
    }

    /// Takes settings on which all ranks agree: before anything is sent.
    ///
    /// # Errors
    /// One is out of its bounds, in a sentence.
    pub fn set_uc_settings(&mut self, settings: &UcSettings) -> Result<(), String> {
        settings.check()?;
        let carrier = self.carrier_mut();
        carrier.lines.set_datagram_bytes(settings.limits.datagram_bytes as usize)?;
        carrier.wait = settings.limits.patience / WAIT_SHARE;
        self.set_limits(settings.limits);
        Ok(())
    }
}

impl Uc {
    fn open(config: &UcConfig) -> Result<Uc, String> {
        let (context, chosen) = open_chosen(&config.settings.verbs)?.swap_remove(0);
        Uc::on(&context, chosen, config)
    }

    fn on(context: &Arc<Context>, chosen: Chosen, config: &UcConfig) -> Result<Uc, String> {
        let settings = &config.settings;
        let name = chosen.device.clone();
        let lines = Lines::new(context, chosen, settings).map_err(|error| {
            format!("{name} cannot be used for unreliable connections: {}", cure(&error))
        })?;
        let channel = Arc::clone(&lines.channel);
        let who = (&*config.job, config.rank, config.secret);
        let greeter =
            Greeter::open(who, (&lines.pd, &channel, &lines.chosen), settings.verbs.patience)?;
        let bell = Bell::new([channel.fd()]).map_err(|error| format!("no epoll set: {error}"))?;
        Ok(Uc {
            lines,
            greeter,
            channel,
            bell,
            rank: config.rank,
            come: VecDeque::new(),
            wait: settings.limits.patience / WAIT_SHARE,
            quiet: 0,
            is_armed: false,
            due: None,
            is_broken: false,
        })
    }

    /// Takes what has happened; whether anything has.
    #[inline]
    fn look(&mut self) -> bool {
        let mut batch = [const { MaybeUninit::uninit() }; BATCH];
        let completions = match self.lines.cq.poll(&mut batch) {
            Ok(completions) => completions,
            Err(error) => {
                self.break_off(&error);
                &[]
            }
        };
        for completion in completions {
            self.take(completion);
        }
        let is_busy = !completions.is_empty();
        self.quiet += 1;
        let is_restless = self.is_armed || self.due.is_some() || !self.lines.heard.is_empty();
        if self.quiet >= QUIET_LOOKS || is_restless && !is_busy {
            self.greet();
        }
        is_busy
    }

    #[inline]
    fn take(&mut self, completion: &ibv_wc) {
        let line = (completion.wr_id >> 32) as u32 & !(1 << 31);
        let number = completion.wr_id as u32;
        let is_good = completion.status == ibv_wc_status::IBV_WC_SUCCESS;
        if completion.wr_id & SENT != 0 {
            // What a queue pair still told of when it had been brought back is no failure of what it is now.
            if self.lines.sent(line, number) == 0 {
                return;
            }
        } else if is_good {
            self.come.push_back((line, number, completion.byte_len));
            self.lines.came(line);
        } else {
            self.lines.put_by(line);
        }
        if !is_good {
            let (code, vendor) = (completion.status, completion.vendor_err);
            self.lines.fail(line, &format!("status {code}, vendor's {vendor:#x}"));
        }
    }

    /// Looks at handshakes, and does what is due; whether anything has come.
    #[cold]
    fn greet(&mut self) -> bool {
        (self.quiet, self.is_armed) = (0, false);
        let now = self.lines.now();
        for rank in std::mem::take(&mut self.lines.heard) {
            self.greeter.meet.settle(rank);
        }
        let heard = self.greeter.hear(&mut self.lines, now);
        self.follow(now);
        heard
    }

    /// Takes what became of peers, and sends what there is to say.
    fn follow(&mut self, now: Duration) {
        for turn in std::mem::take(&mut self.greeter.meet.turns) {
            match turn {
                Turn::Up(rank) => self.lines.come_up(rank),
                Turn::Late(rank, waited) => warn_late(rank, waited, &self.lines.chosen.device),
                Turn::Down(rank, why) => self.lines.close(rank, &why),
            }
        }
        self.greeter.say(now);
        self.due = self.greeter.meet.due();
    }

    /// Nothing comes or goes any more.
    #[cold]
    fn break_off(&mut self, why: &io::Error) {
        if std::mem::replace(&mut self.is_broken, true) {
            return;
        }
        tracing::warn!(
            "{} carries no unreliable connections any more: {why}; look at the kernel log (dmesg) of this host",
            self.lines.chosen.device
        );
        self.greeter.mute();
        self.lines.close_all();
        self.bell.forget(self.channel.fd());
    }

    /// What becomes of a datagram where there is no connection.
    #[cold]
    fn without_line(&mut self, line: u32) -> Fate {
        if self.is_broken {
            return Fate::Unreachable(io::Error::other("the device takes no more work"));
        }
        let now = self.lines.now();
        if self.lines.state(line) == State::Asleep {
            let Some((rank, to)) = self.lines.call(line) else {
                return Fate::Unreachable(io::Error::other("this peer has no way"));
            };
            self.greeter.meet.reach(&mut self.lines, rank, to, now);
            self.follow(now);
        }
        match self.lines.is_awaited(line, self.wait) {
            true => Fate::NoRoom,
            false => Fate::Unreachable(io::Error::other("it is not connected")),
        }
    }
}

impl Carrier for Uc {
    const NAME: &'static str = "UC";
    const PURPOSE: &'static str =
        "Ferrite MPI, tags of datagrams over connections of verbs, version 1";
    const LOOKS_ARE_CHEAP: bool = true;

    type Address = UcAddress;
    type Lent = Lent;

    fn card(&self) -> String {
        self.greeter.card()
    }

    fn set_secret(&mut self, secret: Secret) {
        self.greeter.meet.set_secret(secret);
    }

    fn routes(&mut self, rank: Option<u32>, card: &str, _: bool) -> Result<Vec<UcAddress>, String> {
        let address = QueuePairAddress::from_card(card)?;
        address.port.way(&self.lines.chosen)?;
        let rank = rank.ok_or("the peer is of another job, which UC does not reach")?;
        if rank == self.rank {
            return Ok(Vec::new());
        }
        let line = self.lines.meet(rank, address);
        Ok(vec![UcAddress { gid: address.port.gid, queue_pair: address.queue_pair, line }])
    }

    fn path(&self, _: UcAddress) -> Path {
        Path { bytes: self.lines.datagram_bytes, sure: self.lines.chosen.mtu.into() }
    }

    #[inline]
    unsafe fn send(&mut self, to: UcAddress, batch: &Batch) -> Fate {
        let Some(part) = batch.next(false) else { return Fate::Sent(0) };
        if self.lines.state(to.line) != State::Up {
            return self.without_line(to.line);
        }
        let runs = batch.runs(part.runs);
        let bytes = runs.iter().map(|run| run.bytes()).sum::<usize>();
        if bytes > self.lines.datagram_bytes {
            return Fate::TooLong;
        }
        let lines = &self.lines;
        if !(lines.has_room(to.line) || self.look() && self.lines.has_room(to.line)) {
            return match self.is_broken {
                true => Fate::Unreachable(io::Error::other("the device takes no more work")),
                false => Fate::NoRoom,
            };
        }
        // SAFETY: readable by the caller's promise, no longer than a datagram, and there is room.
        match unsafe { self.lines.send(to.line, runs) } {
            Ok(()) => Fate::Sent(1),
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => Fate::NoRoom,
            Err(error) => {
                self.lines.fail(to.line, &error.to_string());
                Fate::NoRoom
            }
        }
    }

    fn awaits(&self, to: UcAddress) -> bool {
        self.lines.is_awaited(to.line, self.wait)
    }

    #[inline]
    fn receive(&mut self) -> Option<(Lent, ())> {
        if self.come.is_empty() {
            self.look();
        }
        let (line, buffer, len) = self.come.pop_front()?;
        let pool = self.lines.lend(line)?;
        let begin = buffer as usize * self.lines.stride();
        let len = (len as usize).min(self.lines.datagram_bytes);
        Some((Lent { pool, owner: line, buffer, begin, len }, ()))
    }

    #[inline]
    fn give_back(&mut self, lent: Lent) {
        let Lent { pool, owner: line, buffer, .. } = lent;
        self.lines.take_back(line, buffer, pool);
    }

    fn watch_room(&mut self, _: bool) {
        // A completion of what was sent is news like any, and so is a connection.
    }

    fn arm(&mut self) -> bool {
        if !self.is_broken
            && let Err(error) = self.channel.quiet()
        {
            self.break_off(&error);
        }
        let is_armed = self.is_broken || self.lines.cq.arm() && self.greeter.arm();
        // What came before that is no event any more.
        let came = self.look() | self.greet();
        self.is_armed = true;
        is_armed && !came && self.come.is_empty()
    }

    fn put_off(&self) -> Option<Duration> {
        let due = self.due.map(|due| due.saturating_sub(self.lines.now()));
        // A device that gives nothing back tells nothing: then another way is taken at its time.
        let failing = self.lines.are_failing().then_some(FAILING_LOOK);
        [due, failing].into_iter().flatten().min()
    }

    fn news(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl Drop for Uc {
    fn drop(&mut self) {
        self.greeter.close(self.lines.now());
    }
}

#[cfg(test)]
mod tests;
