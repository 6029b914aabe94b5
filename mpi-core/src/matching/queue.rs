//! A queue in the order of arrival that finds entries by what they match.
//!
//! Entries live in a slab and are linked in arrival order. Up to [`LINEAR_MATCH`] of them are
//! looked through one by one; once a search goes further, each entry is also linked into the
//! bucket of every pattern that it is to be found under, so that the earliest entry of a pattern
//! is a bucket's head. A long queue whose entries go in the order they came, as those of a window
//! of receives do, is so never hashed. Memory is kept for reuse: a queue that stays short
//! allocates nothing.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use super::{Envelope, Matches};
use crate::tuning::LINEAR_MATCH;

const NONE: u32 = u32::MAX;
/// The list of all entries; lists from 1 on are buckets.
const ALL: usize = 0;

/// Neighbours in one list.
#[derive(Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
}

const UNLINKED: Link = Link { previous: NONE, next: NONE };

/// First and last entry of one list.
#[derive(Clone, Copy)]
struct Ends {
    first: u32,
    last: u32,
}

const EMPTY: Ends = Ends { first: NONE, last: NONE };

struct Slot<T, const LISTS: usize> {
    envelope: Envelope,
    /// Position among all entries ever added.
    order: u64,
    /// In a free slot the first link leads to the next free one.
    links: [Link; LISTS],
    entry: Option<T>,
}

/// An entry's place: the slot, and the order number by which a reused slot is noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    slot: u32,
    order: u64,
}

/// A queue whose entries are in `LISTS - 1` buckets each.
pub(super) struct Queue<T, const LISTS: usize> {
    slots: Vec<Slot<T, LISTS>>,
    free: u32,
    all: Ends,
    len: usize,
    orders: u64,
    buckets: HashMap<Pattern, Ends, BuildHasherDefault<PatternHasher>>,
    hashed: bool,
    /// The patterns under which an entry is found.
    patterns: fn(Envelope) -> [Pattern; LISTS],
}

/// An envelope in which source, tag or both are left open.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Pattern {
    envelope: Envelope,
    any: u8,
}

impl Pattern {
    pub(super) fn new(envelope: Envelope, any_source: bool, any_tag: bool) -> Pattern {
        let source = if any_source { 0 } else { envelope.source };
        let tag = if any_tag { 0 } else { envelope.tag };
        let any = u8::from(any_source) | u8::from(any_tag) << 1;
        Pattern { envelope: Envelope { source, tag, ..envelope }, any }
    }

    /// The four patterns that fit an arriving message, narrow to wide.
    pub(super) fn all(envelope: Envelope) -> [Pattern; 4] {
        let pattern = |(source, tag)| Pattern::new(envelope, source, tag);
        [(false, false), (true, false), (false, true), (true, true)].map(pattern)
    }
}

impl Hash for Pattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.envelope.context);
        state.write_u64(
            u64::from(self.envelope.source as u32) << 32 | u64::from(self.envelope.tag as u32),
        );
        state.write_u64(u64::from(self.any));
    }
}

/// Multiplies and folds, word by word: cheap, and good for keys that differ in a few low bits.
#[derive(Default)]
pub(super) struct PatternHasher(u64);

impl Hasher for PatternHasher {
    fn write_u64(&mut self, word: u64) {
        let mixed = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.0 = mixed as u64 ^ (mixed >> 64) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl<T, const LISTS: usize> Queue<T, LISTS> {
    pub(super) fn new(patterns: fn(Envelope) -> [Pattern; LISTS]) -> Self {
        Queue {
            slots: Vec::new(),
            free: NONE,
            all: EMPTY,
            len: 0,
            orders: 0,
            buckets: HashMap::default(),
            hashed: false,
            patterns,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn push(&mut self, envelope: Envelope, entry: T) -> Place {
        let order = self.orders;
        self.orders += 1;
        let slot = Slot { envelope, order, links: [UNLINKED; LISTS], entry: Some(entry) };
        let at = if self.free == NONE {
            self.slots.push(slot);
            (self.slots.len() - 1) as u32
        } else {
            let at = self.free;
            self.free = self.slots[at as usize].links[ALL].next;
            self.slots[at as usize] = slot;
            at
        };
        self.all = append(&mut self.slots, self.all, ALL, at);
        self.len += 1;
        if self.hashed {
            self.link_buckets(at);
        }
        Place { slot: at, order }
    }

    /// Links every entry into its buckets.
    #[cold]
    fn hash(&mut self) {
        self.hashed = true;
        let mut next = self.all.first;
        while next != NONE {
            self.link_buckets(next);
            next = self.slots[next as usize].links[ALL].next;
        }
    }

    fn link_buckets(&mut self, at: u32) {
        let patterns = (self.patterns)(self.slots[at as usize].envelope);
        for (list, pattern) in patterns.into_iter().enumerate().skip(1) {
            let ends = self.buckets.entry(pattern).or_insert(EMPTY);
            *ends = append(&mut self.slots, *ends, list, at);
        }
    }

    /// The earliest entry that is wanted: among the first few by compare, else in the buckets of
    /// the patterns that `wanted` can be found under.
    #[inline]
    pub(super) fn find(&mut self, wanted: &impl Matches) -> Option<Place> {
        let mut at = self.all.first;
        for _ in 0..LINEAR_MATCH {
            let slot = self.slots.get(at as usize)?;
            if wanted.accepts(slot.envelope) {
                return Some(Place { slot: at, order: slot.order });
            }
            if self.hashed {
                break;
            }
            at = slot.links[ALL].next;
        }
        self.find_hashed(wanted)
    }

    fn find_hashed(&mut self, wanted: &impl Matches) -> Option<Place> {
        if !self.hashed {
            self.hash();
        }
        let heads = wanted.patterns().filter_map(|p| Some(self.buckets.get(&p)?.first));
        let at = heads.min_by_key(|at| self.slots[*at as usize].order)?;
        Some(Place { slot: at, order: self.slots[at as usize].order })
    }

    pub(super) fn get(&self, place: Place) -> Option<&T> {
        let slot = self.slots.get(place.slot as usize)?;
        (slot.order == place.order).then_some(slot.entry.as_ref()).flatten()
    }

    /// Takes an entry out, if it is still there.
    #[inline]
    pub(super) fn remove(&mut self, place: Place) -> Option<T> {
        self.get(place)?;
        let at = place.slot;
        self.all = unlink(&mut self.slots, self.all, ALL, at);
        self.len -= 1;
        if self.hashed {
            self.unlink_buckets(at);
        }
        let slot = &mut self.slots[at as usize];
        slot.links[ALL].next = self.free;
        self.free = at;
        slot.entry.take()
    }

    fn unlink_buckets(&mut self, at: u32) {
        let patterns = (self.patterns)(self.slots[at as usize].envelope);
        for (list, pattern) in patterns.into_iter().enumerate().skip(1) {
            let Some(ends) = self.buckets.get_mut(&pattern) else { continue };
            *ends = unlink(&mut self.slots, *ends, list, at);
            if ends.first == NONE {
                self.buckets.remove(&pattern);
            }
        }
        if self.len <= LINEAR_MATCH / 2 {
            self.hashed = false;
            self.buckets.clear();
        }
    }

    /// All entries in order, with their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Place, Envelope, &T)> {
        let mut at = self.all.first;
        std::iter::from_fn(move || {
            let slot = self.slots.get(at as usize)?;
            let place = Place { slot: at, order: slot.order };
            at = slot.links[ALL].next;
            Some((place, slot.envelope, slot.entry.as_ref()?))
        })
    }
}

/// Links the entry at `at` behind the last one of a list; returns the list's new ends.
fn append<T, const L: usize>(slots: &mut [Slot<T, L>], ends: Ends, list: usize, at: u32) -> Ends {
    slots[at as usize].links[list] = Link { previous: ends.last, next: NONE };
    match slots.get_mut(ends.last as usize) {
        Some(last) => last.links[list].next = at,
        None => return Ends { first: at, last: at },
    }
    Ends { last: at, ..ends }
}

/// Takes the entry at `at` out of a list; returns the list's new ends.
fn unlink<T, const L: usize>(slots: &mut [Slot<T, L>], ends: Ends, list: usize, at: u32) -> Ends {
    let Link { previous, next } = slots[at as usize].links[list];
    let mut ends = ends;
    match slots.get_mut(previous as usize) {
        Some(slot) => slot.links[list].next = next,
        None => ends.first = next,
    }
    match slots.get_mut(next as usize) {
        Some(slot) => slot.links[list].previous = previous,
        None => ends.last = previous,
    }
    ends
}
