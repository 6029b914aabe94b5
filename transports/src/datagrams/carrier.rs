//! What carries datagrams: the kernel's sockets ([`crate::udp`]), or queue pairs of a network card. It may lose
//! them, repeat them, change their order and their bytes.
//!
//! In: batches of datagrams, and where each goes. Out: datagrams that have come, and what the way to a peer
//! carries.

use std::fmt::Debug;
use std::io;
use std::ops::Deref;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use super::batch::Batch;
use crate::clock::cheap_ticks;
use crate::tcp::Secret;

/// Where a peer hears.
pub trait Address: Copy + PartialEq + Debug {
    /// What is known of where a datagram comes from.
    type Source: Copy + PartialEq + Debug;

    /// Whether what comes from there is of who hears here.
    fn is_of(&self, source: Self::Source) -> bool;

    /// As a report names it.
    fn name(&self) -> String;
}

/// What an address tells of senders.
pub(super) type SourceOf<C> = <<C as Carrier>::Address as Address>::Source;

/// What became of a part of a batch.
#[derive(Debug)]
pub enum Fate {
    /// So many datagrams are on their way.
    Sent(usize),
    /// There is no room now.
    NoRoom,
    /// One is too long for the way.
    TooLong,
    /// There is no way by this address now.
    Unreachable(io::Error),
}

/// What a way carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path {
    /// Bytes of a datagram at most, with all that this process puts there.
    pub bytes: usize,
    /// So many surely get there; where these are fewer, it is found out how many do.
    pub sure: usize,
}

/// One process's end of what carries datagrams.
pub trait Carrier: Sized {
    /// What it is called in sentences.
    const NAME: &'static str;
    /// What the keys of tags are for, which no other use of the job's secret has.
    const PURPOSE: &'static str;
    /// Whether it costs next to nothing to look for what has come.
    const LOOKS_ARE_CHEAP: bool;

    /// Where a peer hears.
    type Address: Address;
    /// Bytes that have come. They are given back before the next look.
    type Lent: Deref<Target = [u8]>;

    /// The text by which peers find this process; as long as a business card may be.
    fn card(&self) -> String;

    /// Takes what all processes of the job know and nobody else, if it has a use for that: before anything is sent.
    fn set_secret(&mut self, _: Secret) {}

    /// Where the process with this card hears, the most promising address first; its rank if it is of this job;
    /// `is_here` when it runs on this very host.
    ///
    /// # Errors
    /// The text, which anybody may have written, is no card, or no way leads there; in a sentence.
    fn routes(
        &mut self,
        rank: Option<u32>,
        card: &str,
        is_here: bool,
    ) -> Result<Vec<Self::Address>, String>;

    /// How long datagrams may be that go there.
    fn path(&self, to: Self::Address) -> Path;

    /// Sends the next datagrams of a batch, which has some.
    ///
    /// # Safety
    /// What the batch holds is readable.
    unsafe fn send(&mut self, to: Self::Address, batch: &Batch) -> Fate;

    /// Whether nothing can go there yet, and it is too early to take another way: [`Carrier::send`] would find no room.
    fn awaits(&self, _: Self::Address) -> bool {
        false
    }

    /// One datagram that has come, or several of one sender one behind the other.
    fn receive(&mut self) -> Option<(Self::Lent, SourceOf<Self>)>;

    /// What was lent comes back.
    fn give_back(&mut self, lent: Self::Lent);

    /// Whether [`Carrier::news`] is also to tell when there is room again.
    fn watch_room(&mut self, wanted: bool);

    /// Asks that [`Carrier::news`] becomes readable at the next news; false if there may be some already.
    fn arm(&mut self) -> bool {
        true
    }

    /// When it has to be looked for what has come, though there is no news; `None` when never.
    fn put_off(&self) -> Option<Duration> {
        None
    }

    /// What becomes readable when there is news.
    fn news(&self) -> BorrowedFd<'_>;

    /// The time.
    #[inline]
    fn now() -> Instant {
        Instant::now()
    }

    /// A count that grows with that time and costs next to nothing, if there is one.
    #[inline]
    fn ticks() -> Option<u64> {
        cheap_ticks()
    }
}
