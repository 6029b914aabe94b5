//! The ports and connections of a process: what work is posted to, and what the handshake makes and connects.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use mpi_core::port::PeerId;
use mpi_core::settings::DataOrder;
use rdma_sys::ibv_sge;

use super::address::PortAddress;
use super::bell::Bell;
use super::connection::{Account, Connection, Rail, State};
use super::hello::{Numbers, Pair};
use super::meet::Ends;
use super::port::Port;
use super::queue_pair::{Atomic, Order, Path, Place, QueuePair, Rc};
use super::regions::{Region, Regions};
use super::settings::VerbsSettings;
use super::table::Table;
use crate::rdma::fabric::{Completion, Local, NoRoom, Target, Work};

/// Marks numbers of work in send queues: then follow connection, rail, and the number in the account.
pub(super) const SENT: u64 = 1 << 63;
/// The number of buffers without bytes.
pub(super) const EMPTY: u64 = 1 << 62;
/// Buffers without bytes that each further port has, for writes with immediate values.
const EMPTY_BUFFERS: usize = 1024;
/// Connections that the numbers have room for.
const CONNECTIONS_MAX: usize = 1 << 22;

/// Ports and connections. Connections go before ports do.
pub(super) struct Core {
    pub(super) connections: Vec<Connection>,
    pub(super) regions: Regions,
    pub(super) ports: Vec<Port>,
    /// Tells of completions and events of all devices that are there.
    pub(super) bell: Bell,
    pub(super) settings: VerbsSettings,
    /// The connection to each peer, by its number.
    of_peer: Vec<Option<u32>>,
    /// The peer of each rank.
    pub(super) peers: HashMap<u32, PeerId>,
    /// The connection of each queue pair, on each port.
    pub(super) of_queue_pair: Vec<Table>,
    /// Buffers that are posted, by the number that the device knows, and numbers that are free.
    posted: Vec<Option<Work>>,
    free: Vec<u32>,
    /// What has happened.
    pub(super) news: Vec<Completion>,
    /// Ranks from which something has come, and those to which the connection has failed, for the handshake to know.
    pub(super) heard: Vec<u32>,
    pub(super) failed: Vec<u32>,
    pub(super) begun: Instant,
}

/// A work request, but for where it goes.
pub(super) enum Kind {
    Send,
    Write(Target, Option<u32>),
    Read(Target),
    Atomic(Target, Atomic),
}

impl Core {
    pub(super) fn new(ports: Vec<Port>, settings: VerbsSettings) -> Result<Core, String> {
        let fds = ports.iter().flat_map(|port| [port.channel.fd(), port.context.async_fd()]);
        let bell = Bell::new(fds).map_err(|error| format!("no epoll set: {error}"))?;
        let core = Core {
            connections: Vec::new(),
            regions: Regions::default(),
            of_queue_pair: ports.iter().map(|_| Table::default()).collect(),
            ports,
            bell,
            settings,
            of_peer: Vec::new(),
            peers: HashMap::new(),
            posted: Vec::new(),
            free: Vec::new(),
            news: Vec::new(),
            heard: Vec::new(),
            failed: Vec::new(),
            begun: Instant::now(),
        };
        for port in 1..core.ports.len() {
            for _ in 0..EMPTY_BUFFERS.min(core.ports[port].buffers) {
                core.post_empty(port).map_err(|error| error.to_string())?;
            }
        }
        Ok(core)
    }

    pub(super) fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Queue pairs to a peer, if it has as many.
    pub(super) fn rails(&self) -> usize {
        self.ports.len() * self.settings.queue_pairs as usize
    }

    pub(super) fn is_up(&self, peer: PeerId) -> bool {
        let place = self.connection_of(peer);
        place.is_some_and(|place| self.connections[place].state == State::Up)
    }

    /// Whether written bytes become visible in order.
    pub(super) fn is_in_order(&self) -> bool {
        match self.settings.data_order {
            DataOrder::Auto => self.ports.iter().all(|port| port.is_in_order),
            DataOrder::InOrder => true,
            DataOrder::Any => false,
        }
    }

    pub(super) fn connection_of(&self, peer: PeerId) -> Option<usize> {
        self.of_peer.get(peer.0 as usize).copied().flatten().map(|place| place as usize)
    }

    /// Gives the first port a buffer.
    ///
    /// # Safety
    /// The memory is the device's until it completes.
    pub(super) unsafe fn post(&mut self, buffer: Local<Region>, work: Work) -> Result<(), NoRoom> {
        if self.posted.len() - self.free.len() >= self.ports[0].buffers {
            return Err(NoRoom);
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.posted.push(None);
            self.posted.len() as u32 - 1
        });
        let lkey = self.regions.local_key(buffer.region, 0);
        let piece = ibv_sge { addr: buffer.address as u64, length: length(buffer.len), lkey };
        // SAFETY: the caller's promise.
        if unsafe { self.ports[0].srq.post(number.into(), Some(piece)) }.is_err() {
            self.free.push(number);
            return Err(NoRoom);
        }
        self.posted[number as usize] = Some(work);
        Ok(())
    }

    /// The buffer that the device knew by this number is this process's again.
    pub(super) fn take_posted(&mut self, number: u64) -> Option<Work> {
        let work = self.posted.get_mut(usize::try_from(number).ok()?)?.take()?;
        self.free.push(number as u32);
        Some(work)
    }

    /// All buffers come back, of a port that is lost: no queue pair is left that could take one.
    pub(super) fn give_back(&mut self) {
        let unused = std::mem::take(&mut self.posted).into_iter().flatten();
        self.news.extend(unused.map(Completion::Unused));
        self.free.clear();
    }

    pub(super) fn post_empty(&self, port: usize) -> io::Result<()> {
        // SAFETY: it has no memory.
        unsafe { self.ports[port].srq.post(EMPTY, None) }
    }

    /// Posts work to a peer.
    ///
    /// # Safety
    /// As the functions of `Fabric` that this is for.
    #[inline]
    pub(super) unsafe fn work(
        &mut self,
        peer: PeerId,
        rail: usize,
        local: Local<Region>,
        kind: Kind,
        work: Option<Work>,
    ) -> Result<(), NoRoom> {
        let place = self.connection_of(peer).ok_or(NoRoom)?;
        let connection = &mut self.connections[place];
        if connection.state != State::Up {
            return Err(NoRoom);
        }
        let number = if rail == 0 { 0 } else { rail % connection.rails.len() };
        let rail = &mut connection.rails[number];
        let port = &mut self.ports[rail.port];
        if !rail.account.has_room() || port.credits == 0 {
            return Err(NoRoom);
        }
        let is_inline =
            local.len <= port.inline as usize && matches!(kind, Kind::Send | Kind::Write(..));
        let is_crowded = port.credits < port.credits_max / 2;
        let (in_account, is_signaled) = rail.account.next(work, is_crowded);
        let lkey = self.regions.local_key(local.region, rail.port);
        let order = Order {
            number: SENT | (place as u64) << 40 | (number as u64) << 32 | u64::from(in_account),
            piece: ibv_sge { addr: local.address as u64, length: length(local.len), lkey },
            is_signaled,
            is_inline,
        };
        // SAFETY: the caller's promise.
        let posted = unsafe { post(&rail.queue_pair, rail.their_port, order, kind) };
        if let Err(error) = posted {
            let (rank, device) = (connection.rank, port.chosen.device.clone());
            if error.raw_os_error() != Some(libc::ENOMEM) {
                let why = format!("{device} refuses {} bytes for rank {rank}: {error}", local.len);
                self.fail(place, why);
            }
            return Err(NoRoom);
        }
        rail.account.push(work, is_signaled);
        port.credits -= 1;
        Ok(())
    }

    /// The ports by the numbers that peers are told.
    fn devices(&self) -> Vec<(PortAddress, u16)> {
        let device = |port: &Port| (PortAddress::of(&port.chosen), port.chosen.mtu);
        self.ports.iter().map(device).collect()
    }

    fn make_rails(&self) -> Result<Vec<Rail>, String> {
        let one = |number: usize| {
            let place = number % self.ports.len();
            let port = &self.ports[place];
            let queue_pair = port.queue_pair().map_err(|error| {
                let device = &port.chosen.device;
                let cure = super::device::cure(&error);
                format!("{device} gives no further queue pair: {cure}")
            })?;
            let psn = getrandom::u32().map_err(|error| error.to_string())? & 0xff_ffff;
            let account = Account::new(port.depth);
            Ok(Rail { queue_pair, psn, port: place, their_port: 0, account })
        };
        (0..self.rails()).map(one).collect()
    }

    fn path(&self, rail: &Rail, theirs: &Numbers, number: usize) -> Result<Path, String> {
        let Port { chosen, limits, .. } = &self.ports[rail.port];
        let (address, their_mtu) = theirs.devices[number % theirs.devices.len()];
        if chosen.is_mtu_forced && their_mtu < chosen.mtu {
            return Err(format!(
                "FERRITE_VERBS_MTU is {}, but the peer's port carries {their_mtu} bytes at most",
                chosen.mtu,
            ));
        }
        let pair = theirs.pairs[number];
        Ok(Path {
            way: address.way(chosen)?,
            mtu: chosen.mtu.min(their_mtu).ilog2() - 7,
            queue_pair: pair.number,
            their_psn: pair.psn,
            our_psn: rail.psn,
            reads: limits.reads.min(theirs.reads),
            their_reads: limits.their_reads,
            timeout: timeout_code(self.settings.timeout),
            retries: self.settings.retries as u8,
        })
    }
}

/// Puts work into a queue pair.
///
/// # Safety
/// As `Core::work`.
#[inline]
unsafe fn post(
    queue_pair: &QueuePair<Rc>,
    their_port: usize,
    order: Order,
    kind: Kind,
) -> io::Result<()> {
    let place = |target: Target| Place {
        address: target.address,
        key: (target.key >> (32 * their_port)) as u32,
    };
    // SAFETY: the caller's promise.
    unsafe {
        match kind {
            Kind::Send => queue_pair.send(order),
            Kind::Write(to, immediate) => queue_pair.write(order, place(to), immediate),
            Kind::Read(from) => queue_pair.read(order, place(from)),
            Kind::Atomic(at, what) => queue_pair.atomic(order, place(at), what),
        }
    }
}

/// The length of a piece; longer ones than the device's are a fault of the caller, which the device tells.
fn length(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// The code of the shortest time that is as long: 4.096 µs times two to the power of it.
fn timeout_code(timeout: Duration) -> u8 {
    let long = |code: &u8| Duration::from_nanos(4096 << code) >= timeout;
    (1..=31).find(long).unwrap_or(31)
}

impl Ends for Core {
    fn make(&mut self, rank: u32) -> Option<Result<Numbers, String>> {
        let peer = *self.peers.get(&rank)?;
        if let Some(port) = self.ports.iter().find(|port| !port.is_well()) {
            return Some(Err(format!(
                "{} has failed; look at the kernel log (dmesg) of this host",
                port.chosen.device
            )));
        }
        if self.connections.len() >= CONNECTIONS_MAX {
            return Some(Err("this process has too many connections".to_owned()));
        }
        let rails = match self.make_rails() {
            Ok(rails) => rails,
            Err(why) => return Some(Err(why)),
        };
        let place = self.connections.len() as u32;
        for rail in &rails {
            self.of_queue_pair[rail.port].insert(rail.queue_pair.number(), place);
        }
        let pair = |rail: &Rail| Pair { number: rail.queue_pair.number(), psn: rail.psn };
        let reads = self.ports.iter().map(|port| port.limits.their_reads).min().unwrap_or(0);
        let numbers =
            Numbers { devices: self.devices(), pairs: rails.iter().map(pair).collect(), reads };
        if self.of_peer.len() <= peer.0 as usize {
            self.of_peer.resize(peer.0 as usize + 1, None);
        }
        self.of_peer[peer.0 as usize] = Some(place);
        self.connections.push(Connection { peer, rank, state: State::Made, rails });
        Some(Ok(numbers))
    }

    fn connect(&mut self, rank: u32, theirs: &Numbers) -> Result<(), String> {
        let peer = *self.peers.get(&rank).ok_or("a rank that is not known")?;
        let place = self.connection_of(peer).ok_or("a rank that has no queue pairs")?;
        let mut rails = std::mem::take(&mut self.connections[place].rails);
        for rail in rails.drain(rails.len().min(theirs.pairs.len())..) {
            self.of_queue_pair[rail.port].remove(rail.queue_pair.number());
        }
        let mut connected = Ok(());
        for (number, rail) in rails.iter_mut().enumerate() {
            rail.their_port = number % theirs.devices.len();
            connected = self.path(rail, theirs, number).and_then(|path| {
                rail.queue_pair.connect(&path).map_err(|error| {
                    let device = &self.ports[rail.port].chosen.device;
                    format!("{device} cannot connect to rank {rank} ({error}); can its host be reached there?")
                })
            });
            if connected.is_err() {
                break;
            }
        }
        let connection = &mut self.connections[place];
        connection.rails = rails;
        if connected.is_ok() {
            connection.state = State::Connected;
        }
        connected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_rounded_up() {
        assert_eq!(timeout_code(Duration::from_millis(250)), 16);
        assert_eq!(timeout_code(Duration::ZERO), 1);
        assert_eq!(timeout_code(Duration::from_nanos(4096 << 9)), 9);
        assert_eq!(timeout_code(Duration::from_secs(100_000)), 31);
    }
}
