//! What a fabric offers to one process: messages between registered buffers, in order, and writes to and
//! reads from the registered memory of others.
//!
//! In: work, each piece named by a number. Out: completions, with these numbers. A fabric knows neither
//! MPI nor frames; verbs, libfabric and a simulated device offer the same.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use mpi_core::port::{OfferKind, PeerId, ProcessName};

use crate::tcp::Secret;

/// A registered range, as a peer names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remote {
    /// Where it begins, as the fabric counts: an address of its owner, or 0.
    pub base: u64,
    /// The key that lets a peer in.
    pub key: u64,
}

/// What may be done with registered memory by others; its owner may do everything.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Nothing.
    Local,
    /// Read it.
    Read,
    /// Write it.
    Write,
    /// Both, and atomic operations.
    All,
}

/// Why memory could not be registered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// A limit is reached: of the device's table, or of memory that may be locked. It may succeed
    /// once something else has been deregistered.
    Limit(String),
    /// This memory cannot be registered.
    Never(String),
}

impl Refusal {
    /// The reason, in a sentence.
    pub fn why(self) -> String {
        match self {
            Refusal::Limit(why) | Refusal::Never(why) => why,
        }
    }
}

/// Memory that a device may touch.
pub trait Memory {
    /// A registration; a small handle.
    type Region: Copy + PartialEq + std::fmt::Debug;

    /// Registers `len` bytes at `address`.
    ///
    /// # Errors
    /// The device or the kernel refuses.
    ///
    /// # Safety
    /// The range stays mapped until it is deregistered or known to be gone; nobody may rely on what others
    /// write there.
    unsafe fn register(
        &mut self,
        address: *mut u8,
        len: usize,
        access: Access,
    ) -> Result<Self::Region, Refusal>;

    /// Ends a registration, of which no work is under way.
    fn deregister(&mut self, region: Self::Region);

    /// How peers name a registered range.
    fn remote(&self, region: Self::Region) -> Remote;

    /// Whether a registration goes on holding when its pages are unmapped and others are mapped in their place
    /// (on-demand paging): then no memory monitor is needed that says so.
    fn follows_mappings(&self) -> bool {
        false
    }
}

/// A piece of registered memory of this process.
#[derive(Clone, Copy, Debug)]
pub struct Local<R> {
    /// What it belongs to.
    pub region: R,
    /// Where it begins.
    pub address: *mut u8,
    /// Its bytes.
    pub len: usize,
}

/// A place in the registered memory of a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// `Remote::base` and what lies before the place.
    pub address: u64,
    /// The key that lets a peer in.
    pub key: u64,
}

/// Names a work request; chosen by whoever posts it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Work(pub u64);

/// There is no room for more work to this peer now, or no connection yet: post it again after a poll that
/// reported something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoRoom;

/// What a fabric can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Abilities {
    /// Bytes of a message or write whose memory is free when the call returns.
    pub inline_bytes: usize,
    /// Bytes of one message or write at most.
    pub message_bytes_max: usize,
    /// Ways to a peer that can be used at the same time: queue pairs, ports, devices.
    pub rails: usize,
    /// Whether the bytes of one write become visible to a processor that polls them in the order of their
    /// addresses, and those of a later write on one rail after those of an earlier one.
    pub writes_in_order: bool,
    /// Whether all bytes of a write are visible once a later message on its rail has been received, or the immediate
    /// value of a later write there.
    pub message_after_writes: bool,
    /// Whether messages of one peer are told in the order of sending. Where not, a long one may be told after
    /// those that were sent behind it, although each took its buffer in that order.
    pub tells_in_order: bool,
    /// Whether there is [`Fabric::read`].
    pub reads: bool,
    /// Whether there are [`Fabric::fetch_add`] and [`Fabric::compare_swap`], on 8 bytes.
    pub atomics: bool,
}

/// News of a fabric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Completion {
    /// Work of this process is done: for a message or write the peer's end has it, and the memory is free; for a
    /// read the bytes are there.
    Done(Work),
    /// Work of this process has failed or was dropped with its peer; the memory is free. [`Completion::Down`]
    /// says why.
    Failed(Work),
    /// A message of a peer lies in the posted buffer of that number.
    Received {
        /// Who sent it.
        peer: PeerId,
        /// The buffer, as it was posted.
        work: Work,
        /// Bytes of the message.
        len: usize,
    },
    /// A peer's write with an immediate value is wholly in place. Takes a posted buffer where `work` says
    /// so, which has nothing in it.
    Written {
        /// Who wrote.
        peer: PeerId,
        /// The value.
        immediate: u32,
        /// The buffer that it took.
        work: Option<Work>,
    },
    /// A posted buffer comes back unused, since its owner closes.
    Unused(Work),
    /// There is a connection to this peer.
    Up(PeerId),
    /// Nothing comes from or goes to this peer any more; how that showed and what to do, in a sentence.
    Down(PeerId, String),
}

/// One process's end of a fabric.
///
/// Work on one rail of one peer is done in the order of posting; where [`Abilities::tells_in_order`] is false, messages
/// may be told in another. Messages go on rail 0. Each call may post one
/// work request; [`NoRoom`] posts nothing.
pub trait Fabric: Memory {
    /// Whose words in offers and adverts are this fabric's.
    const OFFER: OfferKind;
    /// What it is called in sentences.
    const NAME: &'static str;

    /// What it can do here.
    fn abilities(&self) -> Abilities;

    /// The text by which peers find this process; as long as a business card may be.
    fn card(&self) -> String;

    /// Says what all processes of the job know and nobody else: before anything is sent.
    fn set_secret(&mut self, secret: Secret);

    /// Makes a peer known by name.
    fn add_peer(&mut self, peer: PeerId, name: &ProcessName);

    /// Says where a peer is, by its card.
    ///
    /// # Errors
    /// The text is no card, or no way leads there; in a sentence.
    fn meet(&mut self, peer: PeerId, card: &str) -> Result<(), String>;

    /// A peer that has come by itself and whose card this end needs to answer it, if there is one.
    fn sought(&self) -> Option<PeerId> {
        None
    }

    /// Begins to connect to a peer that was met, if need be; [`Completion::Up`] follows, or `Down`. The peer may
    /// have begun too: that gives one connection.
    fn reach(&mut self, peer: PeerId);

    /// Whether work to this peer may be posted.
    fn is_up(&self, peer: PeerId) -> bool;

    /// Ends what there is with a peer that breaks the rules: nothing of it comes any more, its work of this end comes
    /// back as [`Completion::Failed`], and no `Down` follows.
    fn cut(&mut self, peer: PeerId);

    /// A peer that was to be reached and has not answered for as long as the settings say; told again if it goes on
    /// for long. It is not connected to this end, so it has sent nothing, and may be cut without a loss.
    fn late(&mut self) -> Option<PeerId>;

    /// Gives a buffer for the next message, or write with immediate, of any peer.
    ///
    /// # Errors
    /// There is no room.
    ///
    /// # Safety
    /// The memory is the fabric's until it completes.
    unsafe fn post(&mut self, buffer: Local<Self::Region>, work: Work) -> Result<(), NoRoom>;

    /// Sends a message, which takes one posted buffer at the peer.
    ///
    /// # Errors
    /// There is no room.
    ///
    /// # Safety
    /// The memory is not written until the work is done. Up to [`Abilities::inline_bytes`] it is copied in the
    /// call: such work needs no `region` that is registered, and completes only if `work` is given.
    unsafe fn send(
        &mut self,
        peer: PeerId,
        message: Local<Self::Region>,
        work: Option<Work>,
    ) -> Result<(), NoRoom>;

    /// Writes to a peer's memory; with an immediate value the peer hears of it once all is there.
    ///
    /// # Errors
    /// There is no room.
    ///
    /// # Safety
    /// As [`Fabric::send`]; `to` was told by that peer for this.
    unsafe fn write(
        &mut self,
        peer: PeerId,
        rail: usize,
        from: Local<Self::Region>,
        to: Target,
        immediate: Option<u32>,
        work: Option<Work>,
    ) -> Result<(), NoRoom>;

    /// Reads a peer's memory.
    ///
    /// # Errors
    /// There is no room.
    ///
    /// # Safety
    /// The memory is the fabric's until the work is done; `from` was told by that peer for this.
    unsafe fn read(
        &mut self,
        peer: PeerId,
        rail: usize,
        into: Local<Self::Region>,
        from: Target,
        work: Work,
    ) -> Result<(), NoRoom>;

    /// Adds to 8 bytes of a peer's memory; what was there before comes `into`.
    ///
    /// # Errors
    /// There is no room.
    ///
    /// # Safety
    /// As [`Fabric::read`]; both places are aligned.
    unsafe fn fetch_add(
        &mut self,
        peer: PeerId,
        into: Local<Self::Region>,
        at: Target,
        add: u64,
        work: Work,
    ) -> Result<(), NoRoom>;

    /// Replaces 8 bytes of a peer's memory if they are `expected`; what was there before comes `into`.
    ///
    /// # Errors
    /// There is no room.
    ///
    /// # Safety
    /// As [`Fabric::fetch_add`].
    unsafe fn compare_swap(
        &mut self,
        peer: PeerId,
        into: Local<Self::Region>,
        at: Target,
        expected: u64,
        new: u64,
        work: Work,
    ) -> Result<(), NoRoom>;

    /// Puts what has happened behind `news`, a few at a time.
    fn poll(&mut self, news: &mut Vec<Completion>);

    /// Asks that [`Fabric::news`] becomes readable at the next completion; false if there may be news already, and
    /// then one polls first.
    fn arm(&mut self) -> bool;

    /// What becomes readable, once armed; `None` where the fabric has no such thing, and who sleeps looks again
    /// after a while.
    fn news(&self) -> Option<BorrowedFd<'_>>;

    /// How long the next poll can be put off for the fabric's own times, such as a connection that is tried
    /// again; `None` when for ever.
    fn put_off(&self) -> Option<Duration>;
}
