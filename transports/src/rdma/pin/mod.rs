//! The pin-down cache: registrations of memory that are kept after their transfer, for the next one.
//!
//! Paper 002 calls it the Dynamic Memory Engine: registering and deregistering around each transfer costs most of
//! what RDMA gains, and most buffers of a program are used again. So a registration stays until room is needed, or
//! until the memory goes away. In: ranges that a transfer needs registered. Out: regions that hold them. `table`
//! knows which there are, `monitor` which are gone.
//!
//! Kept is what a memory monitor sees: anonymous private memory, which is the heap, large allocations, stacks and
//! static arrays; and what this library has allocated itself (`own`). Other memory, mapped files and memory that is
//! shared above all, is registered for each transfer, since its pages can be taken away by other ways than this
//! process's mappings.

mod monitor;
mod notices;
mod own;
mod table;

#[cfg(test)]
mod device;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod stale_tests;
#[cfg(test)]
mod tests;

use std::ops::Range;

use mpi_core::settings::{PinCachePreference, Settings};

use self::monitor::{Heard, Monitor};
use self::notices::Gone;
use self::own::OwnMemory;
use self::table::{Entry, Slot, Table};
use super::fabric::{Access, Memory, Refusal, Target};
use crate::sys::mappings;

/// Regions that are kept at most by default. Each that is watched may part a mapping of the kernel in three, of
/// which a process may have 65,530.
const REGIONS_MAX: usize = 8192;

/// What the user says about the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PinSettings {
    /// Whether registrations are kept.
    pub cache: PinCachePreference,
    /// Regions that may be registered at a time; 0 for as many as are good.
    pub regions: usize,
    /// Bytes that may be registered at a time; 0 for what the device and the kernel take.
    pub bytes: usize,
}

impl PinSettings {
    /// Those of a process.
    pub fn of(settings: &Settings) -> PinSettings {
        let bytes = usize::try_from(settings.rdma_pin_bytes).unwrap_or(usize::MAX);
        let regions = settings.rdma_pin_regions as usize;
        PinSettings { cache: settings.rdma_pin_cache, regions, bytes }
    }
}

/// What the cache has done.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct PinCounters {
    /// Regions registered.
    pub registrations: u64,
    /// Of these, those for one transfer.
    pub uncached: u64,
    /// Regions deregistered.
    pub deregistrations: u64,
    /// Ranges that were registered already.
    pub hits: u64,
    /// Of these, those that were a part of their region.
    pub sub_range_hits: u64,
    /// Regions that made room for others.
    pub evictions: u64,
    /// Regions whose memory went away.
    pub invalidations: u64,
    /// Ranges that could not be registered.
    pub refusals: u64,
}

/// A range that stays registered until this is given to [`PinCache::unpin`].
#[must_use = "a range stays registered until it is unpinned"]
#[derive(Debug)]
pub struct Pin<R> {
    region: R,
    start: usize,
    slot: Slot,
}

impl<R: Copy> Pin<R> {
    /// The region that holds the range, and perhaps more.
    pub fn region(&self) -> R {
        self.region
    }

    /// How peers name an address of the range.
    pub fn target<M: Memory<Region = R>>(&self, memory: &M, address: *const u8) -> Target {
        let remote = memory.remote(self.region);
        // From the region's beginning, which may lie before that of the range.
        let behind = (address.addr() - self.start) as u64;
        Target { address: remote.base.wrapping_add(behind), key: remote.key }
    }
}

/// By what the cache knows that memory has gone.
#[derive(Debug)]
enum Keeper {
    /// The device follows by itself.
    Device,
    /// The kernel tells.
    Monitor(Monitor),
    /// Nothing: nothing is kept. Why, as the end of a sentence that begins with "since".
    Nobody(String),
}

/// The registrations of one device's memory.
#[derive(Debug)]
pub struct PinCache<M: Memory> {
    table: Table<M::Region>,
    keeper: Keeper,
    own: OwnMemory,
    /// Whether the user wants anything kept.
    is_on: bool,
    regions_max: usize,
    bytes_max: usize,
    page: usize,
    counters: PinCounters,
}

impl<M: Memory> PinCache<M> {
    /// An empty cache of the device's registrations.
    pub fn new(settings: PinSettings, memory: &M) -> PinCache<M> {
        let keeper = match settings.cache {
            PinCachePreference::Off => Keeper::Nobody("FERRITE_RDMA_PIN_CACHE is off".to_owned()),
            PinCachePreference::Auto if memory.follows_mappings() => Keeper::Device,
            PinCachePreference::Auto => {
                Monitor::open().map_or_else(Keeper::Nobody, Keeper::Monitor)
            }
        };
        let limit = |set: usize, default| if set == 0 { default } else { set };
        PinCache {
            table: Table::new(),
            keeper,
            own: OwnMemory::default(),
            is_on: settings.cache != PinCachePreference::Off,
            regions_max: limit(settings.regions, REGIONS_MAX),
            bytes_max: limit(settings.bytes, usize::MAX),
            page: mappings::page_bytes(),
            counters: PinCounters::default(),
        }
    }

    /// A region that holds `len` bytes at `address` and may be used so.
    ///
    /// # Errors
    /// [`Refusal::Limit`] when no more can be registered until something is unpinned, [`Refusal::Never`] when it
    /// cannot be registered at all; with one sentence that says why and what to do.
    ///
    /// # Safety
    /// The range stays mapped until it is unpinned; nobody may rely on what others write there.
    pub unsafe fn pin(
        &mut self,
        memory: &mut M,
        address: *const u8,
        len: usize,
        access: Access,
    ) -> Result<Pin<M::Region>, Refusal> {
        let range = self.pages(address, len)?;
        let is_own = self.is_on && self.own.holds(&range, self.page);
        if self.is_keeping(memory) || is_own {
            if let Some(slot) = self.table.find(&range, access) {
                self.table.take(slot);
                self.counters.hits += 1;
                let is_part = self.table.entry(slot).range != range;
                self.counters.sub_range_hits += u64::from(is_part);
                return Ok(self.pin_of(slot));
            }
            // SAFETY: by the caller's promise; what lies around the range is watched, or this library's own.
            if let Some(slot) = unsafe { self.keep(memory, &range, access) } {
                return Ok(self.pin_of(slot));
            }
        }
        // SAFETY: by the caller's promise.
        let region = unsafe { self.register(memory, &range, access) }.inspect_err(|_| {
            self.counters.refusals += 1;
        })?;
        self.counters.uncached += 1;
        let entry = Entry::new(region, range, access);
        let slot = self.table.add(entry, false);
        Ok(self.pin_of(slot))
    }

    /// Ends the use of a range, of which no work is under way. It may stay registered.
    pub fn unpin(&mut self, memory: &mut M, pin: Pin<M::Region>) {
        if let Some(entry) = self.table.leave(pin.slot) {
            self.deregister(memory, &entry);
        }
    }

    /// As [`PinCache::unpin`], where a peer that is lost may still write there: the region is not kept, so that what
    /// comes late is refused.
    pub fn unpin_for_good(&mut self, memory: &mut M, pin: Pin<M::Region>) {
        self.table.drop_from_map(pin.slot);
        self.unpin(memory, pin);
    }

    /// What it has done so far.
    pub fn counters(&self) -> PinCounters {
        self.counters
    }

    /// Whether registrations are kept, and if not why and what to do; a sentence.
    pub fn tell(&self) -> String {
        match &self.keeper {
            Keeper::Device => "Memory stays registered after transfers: the device follows \
                 what the program maps."
                .to_owned(),
            Keeper::Monitor(_) => "Memory stays registered after transfers: the kernel tells \
                 when it goes away (userfaultfd)."
                .to_owned(),
            Keeper::Nobody(why) => {
                let but = if self.is_on { ", but for that of MPI_Alloc_mem" } else { "" };
                let told = format!("Memory is registered anew for each transfer{but}, since {why}");
                mpi_core::error::sentence(&told).into_owned()
            }
        }
    }

    /// Deregisters the region that nobody has used for the longest time, so that something else can be registered;
    /// whether there was one.
    pub fn give_up_oldest(&mut self, memory: &mut M) -> bool {
        let Some(entry) = self.table.drop_oldest() else { return false };
        self.counters.evictions += 1;
        self.deregister(memory, &entry);
        true
    }

    /// Deregisters all that nobody uses and keeps nothing any more: before the device is closed.
    pub fn end(&mut self, memory: &mut M) {
        self.forget(memory, &(0..usize::MAX));
        self.is_on = false;
        self.keeper = Keeper::Nobody("the library is about to end".to_owned());
    }

    /// The whole pages of a range.
    fn pages(&self, address: *const u8, len: usize) -> Result<Range<usize>, Refusal> {
        let start = address.addr() / self.page * self.page;
        let end = address.addr().checked_add(len.max(1));
        let end = end.and_then(|end| end.checked_next_multiple_of(self.page));
        end.map(|end| start..end).ok_or_else(|| {
            Refusal::Never(format!("{len} bytes at {address:p} are no memory of a process"))
        })
    }

    fn pin_of(&self, slot: Slot) -> Pin<M::Region> {
        let entry = self.table.entry(slot);
        Pin { region: entry.region, start: entry.range.start, slot }
    }

    /// Forgets what has gone; whether the regions that are left can be used and more be kept.
    fn is_keeping(&mut self, memory: &mut M) -> bool {
        let heard = match &self.keeper {
            Keeper::Device => return true,
            Keeper::Nobody(_) => return false,
            Keeper::Monitor(monitor) => monitor.settle(),
        };
        while let Some(gone) = self.gone() {
            self.counters.invalidations += self.forget(memory, &gone);
        }
        if heard == Heard::Never {
            self.counters.invalidations += self.forget(memory, &(0..usize::MAX));
            let why = "the program has closed the library's descriptor of userfaultfd(2): let it \
                 close descriptors of its own alone";
            self.keeper = Keeper::Nobody(why.to_owned());
        }
        heard == Heard::All
    }

    /// Addresses that have gone.
    fn gone(&self) -> Option<Range<usize>> {
        let Keeper::Monitor(monitor) = &self.keeper else { return None };
        match monitor.take()? {
            Gone::Range(range) => Some(range),
            Gone::Everything => Some(0..usize::MAX),
        }
    }

    /// Takes what overlaps the range out of the map; how many regions that were.
    fn forget(&mut self, memory: &mut M, range: &Range<usize>) -> u64 {
        let mut count = 0;
        while let Some(dropped) = self.table.drop_overlapping(range) {
            count += 1;
            if let Some(entry) = dropped {
                self.deregister(memory, &entry);
            }
        }
        count
    }

    /// Registers a range, with what is good to be registered together with it, and keeps it; `None` where that
    /// cannot be.
    ///
    /// # Safety
    /// As [`PinCache::pin`].
    unsafe fn keep(
        &mut self,
        memory: &mut M,
        range: &Range<usize>,
        access: Access,
    ) -> Option<Slot> {
        let union = self.table.union(range, access);
        if union.range != *range || union.access != access {
            // SAFETY: by the caller's promise; the regions around it were mapped and watched when this call began,
            // and if they are gone by now, the next look-up hears of it.
            let slot = unsafe { self.keep_as(memory, &union.range, union.access) };
            if slot.is_some() {
                return slot;
            }
        }
        // SAFETY: by the caller's promise.
        unsafe { self.keep_as(memory, range, access) }
    }

    /// Registers a range so and keeps it, in place of all that lies within it.
    ///
    /// # Safety
    /// As [`PinCache::pin`], but for what is watched.
    unsafe fn keep_as(
        &mut self,
        memory: &mut M,
        range: &Range<usize>,
        access: Access,
    ) -> Option<Slot> {
        let (regions, bytes) = self.table.in_use();
        if regions >= self.regions_max || bytes.saturating_add(range.len()) > self.bytes_max {
            return None;
        }
        if self.table.is_inside_another(range) {
            // For another use, together with which it was refused.
            return None;
        }
        // First, so that nothing goes away unseen between one and the other.
        if !self.is_on || !self.own.holds(range, self.page) {
            self.watch(range)?;
        }
        while let Some(dropped) = self.table.drop_within(range) {
            if let Some(entry) = dropped {
                self.deregister(memory, &entry);
            }
        }
        // SAFETY: by the caller's promise.
        let region = unsafe { self.register(memory, range, access) }.ok()?;
        Some(self.table.add(Entry::new(region, range.clone(), access), true))
    }

    /// Sees to it that it is heard when a range goes away; `None` where that cannot be.
    fn watch(&mut self, range: &Range<usize>) -> Option<()> {
        match &mut self.keeper {
            Keeper::Device => Some(()),
            Keeper::Nobody(_) => None,
            Keeper::Monitor(monitor) => match monitor.begin() {
                Ok(()) => monitor.watch(range).ok(),
                Err(why) => {
                    self.keeper = Keeper::Nobody(why);
                    None
                }
            },
        }
    }

    /// Registers a range, for which others that nobody uses give way.
    ///
    /// # Safety
    /// As [`PinCache::pin`].
    unsafe fn register(
        &mut self,
        memory: &mut M,
        range: &Range<usize>,
        access: Access,
    ) -> Result<M::Region, Refusal> {
        loop {
            let (regions, bytes) = self.table.registered();
            let is_full =
                regions >= self.regions_max || bytes.saturating_add(range.len()) > self.bytes_max;
            let mut why = "the cache of registered memory is full".to_owned();
            if !is_full {
                let at = range.start as *mut u8;
                // SAFETY: by the caller's promise.
                match unsafe { memory.register(at, range.len(), access) } {
                    Err(Refusal::Limit(full)) => why = full,
                    other => {
                        self.counters.registrations += u64::from(other.is_ok());
                        return other;
                    }
                }
            }
            if !self.give_up_oldest(memory) {
                return Err(self.refusal(&why, range.len()));
            }
        }
    }

    /// What to tell when there is no room although nothing unused is registered any more.
    fn refusal(&self, why: &str, len: usize) -> Refusal {
        let (regions, bytes) = self.table.in_use();
        let text = format!(
            "{len} bytes cannot be registered for RDMA, with {bytes} bytes in {regions} ranges in \
             use ({why}): raise the limit of locked memory (ulimit -l), or FERRITE_RDMA_PIN_BYTES and \
             FERRITE_RDMA_PIN_REGIONS where they are set"
        );
        // What nobody else takes part of does not become more by waiting.
        if regions == 0 { Refusal::Never(text) } else { Refusal::Limit(text) }
    }

    fn deregister(&mut self, memory: &mut M, entry: &Entry<M::Region>) {
        memory.deregister(entry.region);
        self.counters.deregistrations += 1;
    }
}
