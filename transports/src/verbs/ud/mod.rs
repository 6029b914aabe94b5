//! Datagrams by queue pairs as a carrier of MPI ([`crate::datagrams`], paper 001): one hears everybody into one pool
//! of buffers, which grows while more comes than is read, several send in turn (`send`). Nothing is made for a peer but
//! the address of its host.
//!
//! A datagram is one packet, as long as the ports of both ends carry. Behind the route that the device puts before it
//! (40 bytes) lies what any datagram of ours has; who sent it says its envelope, and its tag proves it.

mod address;
mod send;
mod settings;

use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::net::Ipv6Addr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Instant;

use rdma_sys::ibv_wc_status;

use super::address::{Address as QueuePairAddress, PortAddress};
use super::address_handles::AddressHandles;
use super::bell::Bell;
use super::choice::Chosen;
use super::device::{Limits, cure, open_chosen};
use super::objects::{BATCH, Channel, Context, Cq, Pd};
use super::pool::{Lent, Pool};
use super::queue_pair::{self, Plan, QueuePair};
use crate::datagrams::{Address, Batch, Carrier, Datagrams, Fate, Identity, Path};
use crate::tcp::Secret;
use address::Place;
use send::{DEPTH, Receiver, SENT, Senders};
pub use settings::{SEND_QUEUE_PAIRS_MAX, UdSettings};

/// Bytes that the device puts before what it hears.
const ROUTE: usize = 40;
/// Buffers that are registered at a time.
const CHUNK: u32 = 64;
/// The shortest packets that a port may have for this: links need so much.
const MTU_MIN: u16 = 512;

/// Who a process is, as far as datagrams of verbs need to know.
#[derive(Clone, Debug)]
pub struct UdConfig {
    /// The job, by the identity that its launcher gave it.
    pub job: String,
    /// Rank of this process in the job.
    pub rank: u32,
    /// What all processes of the job know and nobody else.
    pub secret: Secret,
    /// What the user has chosen.
    pub settings: UdSettings,
}

/// The queue pairs of a process. They go before what they use, in the order of the fields.
#[derive(Debug)]
pub struct Ud {
    senders: Senders,
    hearer: QueuePair<queue_pair::Ud>,
    /// Buffers for what comes, so many in each but the last; one of them is away while a buffer of it is lent.
    pools: Vec<Option<Pool>>,
    /// Buffers that there are, and that there may be.
    hears: u32,
    hears_max: u32,
    /// Datagrams that came since there was none left to take.
    backlog: u32,
    /// Buffers in which something has come: which, and how much.
    come: VecDeque<(u32, u32)>,
    /// The ways to hosts.
    address_handles: AddressHandles,
    cq: Arc<Cq>,
    channel: Arc<Channel>,
    /// Tells of the channel as long as there is a device.
    bell: Bell,
    pd: Arc<Pd>,
    chosen: Chosen,
    place: Place,
    /// Nothing comes or goes any more.
    is_broken: bool,
}

/// Where a peer hears.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UdAddress {
    gid: [u8; 16],
    /// The way to its host.
    way: u32,
    queue_pair: u32,
    qkey: u32,
    mtu: u16,
}

/// There is one way to a peer, and the tag says whether it came from there.
impl Address for UdAddress {
    type Source = ();

    #[inline]
    fn is_of(&self, (): ()) -> bool {
        true
    }

    fn name(&self) -> String {
        format!("queue pair {} at {}", self.queue_pair, Ipv6Addr::from(self.gid))
    }
}

impl Datagrams<Ud> {
    /// The transport of a process, which talks to nobody yet.
    ///
    /// # Errors
    /// A setting is out of its bounds, or there is no library, no device, no active port, no permission, or no memory
    /// for it; in a sentence with the cure.
    pub fn open(config: UdConfig) -> Result<Datagrams<Ud>, String> {
        let UdConfig { job, rank, secret, settings } = config;
        settings.check()?;
        let carrier = Ud::open(&settings)?;
        Ok(Datagrams::over(carrier, Identity { job, rank, secret }, settings.limits))
    }

    /// Takes settings on which all ranks agree: before anything is sent.
    ///
    /// # Errors
    /// One is out of its bounds, in a sentence.
    pub fn set_ud_settings(&mut self, settings: &UdSettings) -> Result<(), String> {
        settings.check()?;
        self.set_limits(settings.limits);
        Ok(())
    }
}

impl Ud {
    fn open(settings: &UdSettings) -> Result<Ud, String> {
        let (context, chosen) = open_chosen(&settings.verbs)?.swap_remove(0);
        if chosen.mtu < MTU_MIN {
            return Err(format!(
                "port {} of {} carries packets of {} bytes, but datagrams need {MTU_MIN}",
                chosen.port, chosen.device, chosen.mtu,
            ));
        }
        let name = chosen.device.clone();
        let (hears, sends) = (settings.receive_buffers, settings.send_queue_pairs);
        Ud::on(&context, chosen, hears, sends as usize)
            .map_err(|error| format!("{name} gives no queue pairs for datagrams: {}", cure(&error)))
    }

    fn on(context: &Arc<Context>, chosen: Chosen, hears: u32, sends: usize) -> io::Result<Ud> {
        let pd = Arc::new(Pd::new(context)?);
        let limits = Limits::of(&pd, chosen.port, false)?;
        let sent = sends * DEPTH as usize;
        let most = (limits.depth as usize).min(limits.completions.saturating_sub(sent));
        if hears as usize > most {
            return Err(io::Error::other(format!(
                "FERRITE_VERBS_UD_RECEIVE_BUFFERS is {hears}, but it takes {most} at most"
            )));
        }
        let channel = Arc::new(Channel::new(context)?);
        let cq = Arc::new(Cq::new(&channel, hears as usize + sent)?);
        let senders = Senders::new(&pd, &cq, &chosen, sends)?;
        let plan = Plan { pd: &pd, cq: &cq, srq: None, depth: 1, inline: 0 };
        let hearer = QueuePair::<queue_pair::Ud>::with_buffers(&plan, hears)?;
        // The highest bit is the system's.
        let qkey = getrandom::u32().map_err(io::Error::other)? & 0x7fff_ffff;
        hearer.init(chosen.port, chosen.pkey_index, qkey, 0)?;
        hearer.begin()?;
        let port = PortAddress::of(&chosen);
        let address = QueuePairAddress { port, queue_pair: hearer.number(), qkey };
        let mut ud = Ud {
            senders,
            hearer,
            come: VecDeque::with_capacity(hears as usize),
            address_handles: AddressHandles::new(&pd, &chosen),
            cq,
            bell: Bell::new([channel.fd()])?,
            channel,
            pd,
            place: Place { address, mtu: chosen.mtu },
            chosen,
            is_broken: false,
            pools: Vec::new(),
            hears: 0,
            hears_max: hears,
            backlog: 0,
        };
        ud.hear_more()?;
        Ok(ud)
    }

    /// Bytes of the buffers in which something may come, from all peers together.
    pub fn receive_bytes(&self) -> usize {
        self.hears as usize * self.stride()
    }

    /// Registers one more chunk of buffers and gives them to the device.
    fn hear_more(&mut self) -> io::Result<()> {
        let more = CHUNK.min(self.hears_max - self.hears);
        self.pools.push(Some(Pool::new(&self.pd, more as usize * self.stride())?));
        let pool = self.pools.last().and_then(Option::as_ref);
        for buffer in self.hears..self.hears + more {
            pool.map_or(Ok(()), |pool| self.listen(pool, buffer))?;
        }
        self.hears += more;
        Ok(())
    }

    /// More has come at once than half of the buffers hold: there are to be twice as many.
    #[cold]
    fn grow(&mut self) {
        let twice = (2 * self.hears).min(self.hears_max);
        self.backlog = 0;
        while self.hears < twice {
            if let Err(error) = self.hear_more() {
                tracing::info!(%error, hears = self.hears, "no more buffers for datagrams of verbs are registered");
                self.hears_max = self.hears;
                return;
            }
        }
    }

    /// Where a buffer lies: its chunk, and its place there.
    #[inline]
    fn place_of(&self, buffer: u32) -> (usize, usize) {
        ((buffer / CHUNK) as usize, (buffer % CHUNK) as usize * self.stride())
    }

    /// Bytes from one buffer to the next.
    #[inline]
    fn stride(&self) -> usize {
        ROUTE + usize::from(self.chosen.mtu)
    }

    /// Gives the device a buffer.
    #[inline]
    fn listen(&self, pool: &Pool, buffer: u32) -> io::Result<()> {
        let piece = pool.piece(self.place_of(buffer).1, self.stride());
        // SAFETY: the buffer is the device's until it completes; nobody else uses it, and the pool goes after the
        // queue pair, or ends its registration first.
        unsafe { self.hearer.receive(buffer.into(), piece) }
    }

    /// Takes what has happened; whether anything has.
    #[inline]
    fn look(&mut self) -> bool {
        let mut batch = [const { MaybeUninit::uninit() }; BATCH];
        let completions = match self.cq.poll(&mut batch) {
            Ok(completions) => completions,
            Err(error) => {
                self.break_off(&error);
                return false;
            }
        };
        let mut came = 0;
        for completion in completions {
            let is_good = completion.status == ibv_wc_status::IBV_WC_SUCCESS;
            if completion.wr_id & SENT != 0 {
                self.senders.done(completion.wr_id, is_good);
            } else {
                // One that went wrong is empty, and so is refused and given back.
                let len = if is_good { completion.byte_len } else { 0 };
                self.come.push_back((completion.wr_id as u32, len));
                came += 1;
            }
        }
        self.backlog = if completions.len() == BATCH { self.backlog + came } else { 0 };
        let is_news = !completions.is_empty();
        if self.backlog > self.hears / 2 && self.hears < self.hears_max {
            self.grow();
        }
        is_news
    }

    /// Whether a queue pair can send now, perhaps since work of it has ended.
    #[inline]
    fn has_room(&mut self) -> bool {
        self.senders.find_room() || self.look() && self.senders.find_room()
    }

    /// Nothing comes or goes any more.
    #[cold]
    fn break_off(&mut self, why: &io::Error) {
        if std::mem::replace(&mut self.is_broken, true) {
            return;
        }
        tracing::warn!(
            "{} carries no datagrams any more: {why}; look at the kernel log (dmesg) of this host",
            self.chosen.device
        );
        self.senders.break_off();
        self.bell.forget(self.channel.fd());
    }
}

impl Carrier for Ud {
    const NAME: &'static str = "UD";
    const PURPOSE: &'static str = "Ferrite MPI, tags of datagrams over verbs, version 1";
    const LOOKS_ARE_CHEAP: bool = true;

    type Address = UdAddress;
    type Lent = Lent;

    fn card(&self) -> String {
        self.place.card()
    }

    fn routes(&mut self, _: Option<u32>, card: &str, _: bool) -> Result<Vec<UdAddress>, String> {
        let unread = || format!("its UD card cannot be read: {card:.100}");
        let Place { address, mtu } = Place::from_card(card).ok_or_else(unread)?;
        let QueuePairAddress { port, queue_pair, qkey } = address;
        let way = self.address_handles.to(port, Instant::now())?;
        Ok(vec![UdAddress { gid: port.gid, way, queue_pair, qkey, mtu }])
    }

    fn path(&self, to: UdAddress) -> Path {
        let bytes = self.chosen.mtu.min(to.mtu).into();
        Path { bytes, sure: bytes }
    }

    #[inline]
    unsafe fn send(&mut self, to: UdAddress, batch: &Batch) -> Fate {
        let Some(part) = batch.next(false) else { return Fate::Sent(0) };
        let runs = batch.runs(part.runs);
        if runs.iter().map(|run| run.bytes()).sum::<usize>() > self.chosen.mtu.into() {
            return Fate::TooLong;
        }
        if !self.has_room() {
            return match self.is_broken || self.senders.are_broken() {
                true => Fate::Unreachable(io::Error::other("the device takes no more work")),
                false => Fate::NoRoom,
            };
        }
        let UdAddress { way, queue_pair, qkey, .. } = to;
        let to = Receiver { way: self.address_handles.at(way), queue_pair, qkey };
        // SAFETY: readable by the caller's promise, and no longer than a datagram; ways are never taken back.
        match unsafe { self.senders.send(to, runs) } {
            Ok(()) => Fate::Sent(1),
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => Fate::NoRoom,
            Err(error) => Fate::Unreachable(error),
        }
    }

    #[inline]
    fn receive(&mut self) -> Option<(Lent, ())> {
        if self.come.is_empty() {
            self.look();
        }
        let (buffer, len) = self.come.pop_front()?;
        let (chunk, begin) = self.place_of(buffer);
        let len = (len as usize).saturating_sub(ROUTE).min(self.chosen.mtu.into());
        let pool = self.pools[chunk].take()?;
        Some((Lent { pool, owner: chunk as u32, buffer, begin: begin + ROUTE, len }, ()))
    }

    #[inline]
    fn give_back(&mut self, lent: Lent) {
        let Lent { pool, owner: chunk, buffer, .. } = lent;
        if let Err(error) = self.listen(&pool, buffer) {
            // A queue pair in error takes no more.
            self.break_off(&error);
        }
        self.pools[chunk as usize] = Some(pool);
    }

    fn watch_room(&mut self, _: bool) {
        // A completion of what was sent is news like any.
    }

    fn arm(&mut self) -> bool {
        if self.is_broken {
            return self.come.is_empty();
        }
        if let Err(error) = self.channel.quiet() {
            self.break_off(&error);
            return false;
        }
        // What came before that is no event any more.
        self.cq.arm() && !self.look() && self.come.is_empty()
    }

    fn news(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

#[cfg(test)]
mod tests;
