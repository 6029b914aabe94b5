//! [`Fabric`] over libfabric: whatever network it has a provider for, by one reliable endpoint of a process.
//!
//! In: settings, and the calls of the trait. Out: work for the provider, and its completions as the trait tells
//! them. The library is opened when a process opens this, never before.
//!
//! * Who has sent a message stands in the data that a completion carries ([`stamp`]); providers do not all know.
//! * Each end greets each other first ([`peers`]); a connection is there once both have.
//! * A write tells its immediate value with itself where a provider carries 8 bytes; elsewhere a message tells it
//!   once the write is done. Either way the value comes after the bytes. Libfabric promises nothing of the order
//!   in which the bytes of one write, or those of two, become visible.
//! * Progress is ours to make: what others write into this process's memory may need its polls to land, and its
//!   messages too. A process that only looks at its memory, without polling, may wait for ever.

mod ask;
mod bindings;
mod calls;
mod card;
mod choice;
mod complete;
mod greet;
mod library;
mod memory;
mod objects;
mod peers;
mod post;
mod settings;
mod sizes;
mod slots;
mod stamp;

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use mpi_core::port::{OfferKind, PeerId, ProcessName};

use crate::cards::CARD_MAX;
use crate::rdma::fabric::{
    Abilities, Access, Completion, Fabric, Local, Memory, NoRoom, Refusal, Remote, Target, Work,
};
use crate::sys::signals::keeping_handlers;
use crate::tcp::Secret;

use bindings::fi_cq_data_entry;
use card::{Card, Tongue};
use greet::Proof;
use library::Library;
pub use memory::Region;
use memory::Regions;
use objects::Objects;
use peers::{Peers, Stage};
pub use settings::OfiSettings;
use slots::{Slot, Slots};
use stamp::Stamps;

/// Time after which work that waits for room is tried again, if nothing else is heard.
const RETRY: Duration = Duration::from_millis(1);
/// Completions that are taken in one poll.
const TAKEN: usize = 16;

/// What a process must say to have an endpoint.
#[derive(Clone, Debug)]
pub struct OfiConfig {
    /// The job, by its identity.
    pub job: String,
    /// The process's rank in it.
    pub rank: u32,
    /// What all processes of the job know and nobody else.
    pub secret: Secret,
    /// What can be chosen.
    pub settings: OfiSettings,
}

/// One endpoint of a provider of libfabric.
pub struct Ofi {
    objects: Objects,
    regions: Regions,
    slots: Slots,
    peers: Peers,
    config: OfiConfig,
    stamps: Stamps,
    proof: Proof,
    card: Card,
    abilities: Abilities,
    /// The flag of operations whose end must mean that the bytes are visible.
    delivery: u64,
    /// Whether writes may carry values, as far as is known.
    writes_tell: bool,
    /// Whether the provider sends again by itself what is lost, but only when it is polled.
    has_timers: bool,
    /// Whether the user has given buffers for messages.
    has_buffers: bool,
    /// Operations on their way that are known by slots, receiving ones aside.
    under_way: usize,
    /// What the next poll reports.
    news: Vec<Completion>,
    /// What the provider had no room for.
    waiting: Waiting,
    /// Room for completions.
    entries: Vec<fi_cq_data_entry>,
    /// Messages that were dropped, since nobody of this job sent them.
    strays: u64,
    passed_over: Option<String>,
}

/// Work of this folder's own that waits for room.
#[derive(Default)]
struct Waiting {
    /// Peers to greet.
    hellos: Vec<PeerId>,
    /// Buffers to give again, since what came there was not for the user.
    buffers: Vec<(Local<Region>, Work)>,
    /// Values of writes that are done.
    values: Vec<(PeerId, u32, Option<Work>)>,
    /// Whether a user's work was refused since the last poll.
    was_refused: bool,
    /// Peers to whom there is no room although nothing is on its way there, and since when: providers that
    /// make connections below try to make a broken one again for ever, and never say so.
    stalled: Vec<(PeerId, Instant)>,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.hellos.is_empty() && self.buffers.is_empty() && self.values.is_empty()
    }
}

impl Ofi {
    /// Opens the library and an endpoint of the best provider, or of that which is wanted.
    ///
    /// # Errors
    /// There is no library, or no provider that can be used; in a sentence that says why.
    pub fn open(config: OfiConfig) -> Result<Ofi, String> {
        // Libraries of Omni-Path and InfiniPath, which others bring along, catch those signals.
        keeping_handlers(|| Ofi::start(config))
    }

    fn start(config: OfiConfig) -> Result<Ofi, String> {
        if let Some(why) = choice::rank_too_high(config.rank) {
            return Err(why);
        }
        let library = Library::open(&config.settings.library)?;
        let mut chosen = ask::ask(&library, &config.settings)?;
        let (delivery, passed_over) = (chosen.delivery, chosen.passed_over.take());
        let wants_atomics = chosen.has_atomics;
        let objects = Objects::open(library, chosen)?;
        let ep = objects.info.ep();
        let tongue = Tongue {
            provider: objects.info.provider(),
            protocol: (ep.protocol, ep.protocol_version),
            data_bytes: objects.info.domain().cq_data_size.min(8),
        };
        let is_wide = tongue.data_bytes == 8;
        let card = Card { tongue, address: objects.address()? };
        if card.to_text().len() > CARD_MAX {
            return Err(format!(
                "an address of libfabric's provider {} has {} bytes, too many for a business card; choose another \
                 provider by FERRITE_OFI_PROVIDER",
                card.tongue.provider,
                card.address.len()
            ));
        }
        let is_rxd = card.tongue.provider.ends_with(";ofi_rxd");
        let abilities = Abilities {
            // What rxd copies comes without the data that goes with it (seen with 1.17 and 2.5).
            inline_bytes: if is_rxd { 0 } else { objects.info.tx().inject_size },
            message_bytes_max: ep.max_msg_size,
            rails: 1,
            writes_in_order: false,
            message_after_writes: false,
            // ofi_rxm's receiver fetches long messages and tells short ones behind them first, although it promises
            // strict order of completions (seen with 1.17).
            tells_in_order: false,
            reads: true,
            // SAFETY: the endpoint is open.
            atomics: wants_atomics && unsafe { calls::has_atomics(objects.ep()) },
        };
        let mut ofi = Ofi {
            regions: Regions::new(&objects),
            slots: Slots::default(),
            peers: Peers::default(),
            stamps: Stamps::new(0, config.rank, is_wide),
            proof: Proof::new(&config.secret, &config.job),
            card,
            abilities,
            delivery,
            writes_tell: is_wide,
            has_timers: is_rxd,
            has_buffers: false,
            under_way: 0,
            news: Vec::new(),
            waiting: Waiting::default(),
            entries: complete::room(TAKEN),
            strays: 0,
            passed_over,
            objects,
            config,
        };
        ofi.set_secret(ofi.config.secret);
        ofi.await_first_hello()?;
        Ok(ofi)
    }

    /// Which provider is used, for people.
    pub fn tell(&self) -> String {
        let (info, library) = (&self.objects.info, self.objects.library.version());
        let (provider, version) = (info.provider(), info.provider_version());
        let domain = info.domain_name();
        let mut text = format!("provider {provider} {version} of libfabric {library} on {domain}");
        if let Some(others) = &self.passed_over {
            text.push_str(", ");
            text.push_str(others);
        }
        text
    }

    /// Messages that were dropped, since no process of this job has sent them.
    pub fn strays(&self) -> u64 {
        self.strays
    }
}

impl Drop for Ofi {
    fn drop(&mut self) {
        if self.regions.go_first() {
            self.regions.close();
        }
        self.objects.close_endpoint();
        self.regions.close();
    }
}

impl Memory for Ofi {
    type Region = Region;

    unsafe fn register(
        &mut self,
        address: *mut u8,
        len: usize,
        access: Access,
    ) -> Result<Region, Refusal> {
        // SAFETY: by the caller.
        unsafe { self.regions.register(&self.objects, address, len, access) }
    }

    fn deregister(&mut self, region: Region) {
        self.regions.deregister(region);
    }

    fn remote(&self, region: Region) -> Remote {
        self.regions.remote(region)
    }
}

impl Fabric for Ofi {
    const OFFER: OfferKind = crate::offers::OFI;
    const NAME: &'static str = "libfabric";

    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn card(&self) -> String {
        self.card.to_text()
    }

    fn set_secret(&mut self, secret: Secret) {
        self.config.secret = secret;
        self.proof = Proof::new(&secret, &self.config.job);
        let is_wide = self.card.tongue.data_bytes == 8;
        self.stamps = Stamps::new(self.proof.mark(), self.config.rank, is_wide);
    }

    fn add_peer(&mut self, peer: PeerId, name: &ProcessName) {
        self.peers.add(peer, name.rank, name.job == self.config.job);
    }

    fn meet(&mut self, peer: PeerId, card: &str) -> Result<(), String> {
        self.meet_at(peer, card)
    }

    fn sought(&self) -> Option<PeerId> {
        self.peers.sought()
    }

    fn reach(&mut self, peer: PeerId) {
        self.want(peer);
    }

    #[inline]
    fn is_up(&self, peer: PeerId) -> bool {
        self.peers.up(peer).is_some()
    }

    fn cut(&mut self, peer: PeerId) {
        self.cut_off(peer);
    }

    fn late(&mut self) -> Option<PeerId> {
        // That a provider has taken a hello does not say when it gives up: the peer may have come meanwhile.
        None
    }

    unsafe fn post(&mut self, buffer: Local<Region>, work: Work) -> Result<(), NoRoom> {
        // SAFETY: by the caller.
        unsafe { self.post_buffer(buffer, work) }
    }

    #[inline]
    unsafe fn send(
        &mut self,
        peer: PeerId,
        message: Local<Region>,
        work: Option<Work>,
    ) -> Result<(), NoRoom> {
        // SAFETY: by the caller.
        unsafe { self.send_message(peer, message, work) }
    }

    unsafe fn write(
        &mut self,
        peer: PeerId,
        rail: usize,
        from: Local<Region>,
        to: Target,
        immediate: Option<u32>,
        work: Option<Work>,
    ) -> Result<(), NoRoom> {
        debug_assert_eq!(rail, 0);
        // SAFETY: by the caller.
        unsafe { self.write_there(peer, from, to, immediate, work) }
    }

    unsafe fn read(
        &mut self,
        peer: PeerId,
        rail: usize,
        into: Local<Region>,
        from: Target,
        work: Work,
    ) -> Result<(), NoRoom> {
        debug_assert_eq!(rail, 0);
        // SAFETY: by the caller.
        unsafe { self.read_there(peer, into, from, work) }
    }

    unsafe fn fetch_add(
        &mut self,
        peer: PeerId,
        into: Local<Region>,
        at: Target,
        add: u64,
        work: Work,
    ) -> Result<(), NoRoom> {
        // SAFETY: by the caller.
        unsafe { self.atomic(peer, into, at, [add, 0], work, calls::fetch_add) }
    }

    unsafe fn compare_swap(
        &mut self,
        peer: PeerId,
        into: Local<Region>,
        at: Target,
        expected: u64,
        new: u64,
        work: Work,
    ) -> Result<(), NoRoom> {
        // SAFETY: by the caller.
        unsafe { self.atomic(peer, into, at, [new, expected], work, calls::compare_swap) }
    }

    #[inline]
    fn poll(&mut self, news: &mut Vec<Completion>) {
        self.look(news);
    }

    fn arm(&mut self) -> bool {
        self.news.is_empty() && self.objects.may_sleep()
    }

    fn news(&self) -> Option<BorrowedFd<'_>> {
        self.objects.wait()
    }

    fn put_off(&self) -> Option<Duration> {
        let ticks = self.has_timers && self.under_way > 0;
        let waits = ticks || self.waiting.was_refused || !self.waiting.is_empty();
        waits.then_some(RETRY)
    }
}

#[cfg(test)]
mod tests;
