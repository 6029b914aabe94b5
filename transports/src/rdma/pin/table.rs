//! The registered regions of a process: found by address, counted by their users, and in the order of their use.
//!
//! Paper 002 finds a region by a hash of its first page, and names what that cannot do: a range that begins inside
//! a registered region is registered again. Here an ordered map by first page stands in the hash's place. Its rule
//! is that no region of it lies within another; so regions in the order of their beginnings are in the order of
//! their ends too, and of those that begin at or before a range the last one reaches farthest: one look from there
//! backwards finds every region that holds the range, for as many comparisons as the number of regions has bits. A
//! hash would save some tens of nanoseconds of that, and a transfer that is worth a registration takes
//! microseconds.
//!
//! A region leaves the map when its memory is gone, or when a larger one takes its place; while somebody uses it,
//! it stays registered outside of the map. Those that nobody uses form a list through the regions themselves, the
//! latest used first, at whose end room is made.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::fabric::Access;

/// A region's place in the table.
pub(super) type Slot = u32;

const NONE: Slot = Slot::MAX;

/// A registered region.
#[derive(Clone, Debug)]
pub(super) struct Entry<R> {
    pub(super) region: R,
    /// Its addresses: whole pages.
    pub(super) range: Range<usize>,
    pub(super) access: Access,
    users: u32,
    is_in_map: bool,
    /// Neighbours in the list of the unused.
    newer: Slot,
    older: Slot,
}

impl<R> Entry<R> {
    /// A region that has one user.
    pub(super) fn new(region: R, range: Range<usize>, access: Access) -> Entry<R> {
        let (newer, older) = (NONE, NONE);
        Entry { region, range, access, users: 1, is_in_map: false, newer, older }
    }
}

/// All registered regions.
#[derive(Debug)]
pub(super) struct Table<R> {
    entries: Vec<Option<Entry<R>>>,
    free: Vec<Slot>,
    by_start: BTreeMap<usize, Slot>,
    newest: Slot,
    oldest: Slot,
    regions: usize,
    bytes: usize,
    regions_unused: usize,
    bytes_unused: usize,
}

/// What a range would be registered as, together with regions around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Union {
    pub(super) range: Range<usize>,
    pub(super) access: Access,
}

impl<R: Copy> Table<R> {
    pub(super) fn new() -> Table<R> {
        Table {
            entries: Vec::new(),
            free: Vec::new(),
            by_start: BTreeMap::new(),
            newest: NONE,
            oldest: NONE,
            regions: 0,
            bytes: 0,
            regions_unused: 0,
            bytes_unused: 0,
        }
    }

    /// Regions and bytes that are registered.
    pub(super) fn registered(&self) -> (usize, usize) {
        (self.regions, self.bytes)
    }

    /// Regions and bytes that somebody uses.
    pub(super) fn in_use(&self) -> (usize, usize) {
        (self.regions - self.regions_unused, self.bytes - self.bytes_unused)
    }

    pub(super) fn entry(&self, slot: Slot) -> &Entry<R> {
        self.entries[slot as usize].as_ref().expect("a region's place is known to its users")
    }

    fn entry_mut(&mut self, slot: Slot) -> &mut Entry<R> {
        self.entries[slot as usize].as_mut().expect("a region's place is known to its users")
    }

    /// The regions of the map that begin before `end`, the last one first.
    fn before(&self, end: usize) -> impl Iterator<Item = (Slot, &Entry<R>)> {
        self.by_start.range(..end).rev().map(|(_, slot)| (*slot, self.entry(*slot)))
    }

    /// A region that holds the range and may be used so.
    pub(super) fn find(&self, range: &Range<usize>, access: Access) -> Option<Slot> {
        let holding = self
            .before(range.start.saturating_add(1))
            .take_while(|(_, entry)| entry.range.end >= range.end);
        let mut fit = holding.filter(|(_, entry)| covers(entry.access, access));
        fit.next().map(|(slot, _)| slot)
    }

    /// Whether a region of the map holds the range and more, for whatever it may be used.
    pub(super) fn is_inside_another(&self, range: &Range<usize>) -> bool {
        let last = self.before(range.start.saturating_add(1)).next();
        last.is_some_and(|(_, entry)| entry.range.end >= range.end && entry.range != *range)
    }

    /// One more user of a region of the map.
    pub(super) fn take(&mut self, slot: Slot) {
        if self.entry(slot).users == 0 {
            self.unlink(slot);
        }
        self.entry_mut(slot).users += 1;
    }

    /// One user less; the region, if it has left the table with that.
    pub(super) fn leave(&mut self, slot: Slot) -> Option<Entry<R>> {
        let entry = self.entry_mut(slot);
        entry.users -= 1;
        match (entry.users, entry.is_in_map) {
            (0, true) => self.link(slot),
            (0, false) => return Some(self.remove(slot)),
            _ => {}
        }
        None
    }

    /// Adds a region with one user, which is found from now on, or for that user alone. The map holds none that it
    /// lies within, and none that lies within it.
    pub(super) fn add(&mut self, mut entry: Entry<R>, is_in_map: bool) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            (self.entries.len() - 1) as Slot
        });
        self.regions += 1;
        self.bytes += entry.range.len();
        entry.is_in_map = is_in_map;
        if is_in_map {
            let other = self.by_start.insert(entry.range.start, slot);
            debug_assert!(other.is_none(), "of two that begin together one lies within the other");
        }
        self.entries[slot as usize] = Some(entry);
        slot
    }

    /// Takes one region that overlaps the range out of the map: its place, and itself if nobody uses it.
    pub(super) fn drop_overlapping(&mut self, range: &Range<usize>) -> Option<Option<Entry<R>>> {
        let (slot, entry) = self.before(range.end).next()?;
        (entry.range.end > range.start).then(|| self.unmap(slot))
    }

    /// Takes one region that lies within the range out of the map.
    pub(super) fn drop_within(&mut self, range: &Range<usize>) -> Option<Option<Entry<R>>> {
        let slot = *self.by_start.range(range.clone()).next()?.1;
        (self.entry(slot).range.end <= range.end).then(|| self.unmap(slot))
    }

    /// Takes a region that is in use out of the map: it leaves the table with its last user.
    pub(super) fn drop_from_map(&mut self, slot: Slot) {
        if self.entry(slot).is_in_map {
            self.unmap(slot);
        }
    }

    /// Takes the region that nobody has used for the longest time.
    pub(super) fn drop_oldest(&mut self) -> Option<Entry<R>> {
        if self.oldest == NONE {
            return None;
        }
        self.unmap(self.oldest)
    }

    /// Takes a region out of the map, and out of the table if nobody uses it.
    fn unmap(&mut self, slot: Slot) -> Option<Entry<R>> {
        let entry = self.entry_mut(slot);
        entry.is_in_map = false;
        let (start, is_unused) = (entry.range.start, entry.users == 0);
        self.by_start.remove(&start);
        is_unused.then(|| {
            self.unlink(slot);
            self.remove(slot)
        })
    }

    fn remove(&mut self, slot: Slot) -> Entry<R> {
        let entry = self.entries[slot as usize].take();
        let entry = entry.expect("a region's place is known to its users");
        self.free.push(slot);
        self.regions -= 1;
        self.bytes -= entry.range.len();
        entry
    }

    /// What to register for a range that no region holds for this use.
    ///
    /// A region that holds the range for another use is registered anew for both. One that overlaps or touches the
    /// range and that nobody uses becomes part of the new one if it is no longer than that: so a registration covers
    /// at most three times what was asked for, also where an array is used piece by piece.
    pub(super) fn union(&self, range: &Range<usize>, access: Access) -> Union {
        let mut union = Union { range: range.clone(), access };
        let near = self.before(range.end.saturating_add(1));
        for (_, entry) in near.take_while(|(_, entry)| entry.range.end >= range.start) {
            let own = &entry.range;
            let holds = own.start <= range.start && range.end <= own.end;
            let more = own.len() - overlap(own, range);
            if holds || entry.users == 0 && more <= range.len() {
                union.range.start = union.range.start.min(own.start);
                union.range.end = union.range.end.max(own.end);
            }
        }
        for (_, entry) in self.before(union.range.end) {
            if entry.range.start < union.range.start {
                break;
            }
            if entry.range.end <= union.range.end {
                union.access = joined(union.access, entry.access);
            }
        }
        union
    }

    /// Puts a region that nobody uses any more in front of the others.
    fn link(&mut self, slot: Slot) {
        let older = self.newest;
        let entry = self.entry_mut(slot);
        (entry.newer, entry.older) = (NONE, older);
        let len = entry.range.len();
        match older {
            NONE => self.oldest = slot,
            _ => self.entry_mut(older).newer = slot,
        }
        self.newest = slot;
        self.regions_unused += 1;
        self.bytes_unused += len;
    }

    fn unlink(&mut self, slot: Slot) {
        let entry = self.entry_mut(slot);
        let (newer, older, len) = (entry.newer, entry.older, entry.range.len());
        match newer {
            NONE => self.newest = older,
            _ => self.entry_mut(newer).older = older,
        }
        match older {
            NONE => self.oldest = newer,
            _ => self.entry_mut(older).newer = newer,
        }
        self.regions_unused -= 1;
        self.bytes_unused -= len;
    }
}

/// Whether memory that is registered for `own` may be used for `wanted`.
pub(super) fn covers(own: Access, wanted: Access) -> bool {
    own == wanted || own == Access::All || wanted == Access::Local
}

/// What serves for both.
fn joined(one: Access, other: Access) -> Access {
    match (covers(one, other), covers(other, one)) {
        (true, _) => one,
        (_, true) => other,
        _ => Access::All,
    }
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> usize {
    one.end.min(other.end).saturating_sub(one.start.max(other.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(ranges: &[(Range<usize>, Access)]) -> Table<usize> {
        let mut table = Table::new();
        for (number, (range, access)) in ranges.iter().enumerate() {
            let entry = Entry::new(number, range.clone(), *access);
            let slot = table.add(entry, true);
            assert!(table.leave(slot).is_none());
        }
        table
    }

    #[test]
    fn a_range_within_any_region_is_found_if_that_may_be_used_so() {
        let table = table(&[(0..10, Access::All), (2..12, Access::Local), (20..30, Access::Write)]);
        let region = |range: Range<usize>, access| {
            table.find(&range, access).map(|slot| table.entry(slot).region)
        };
        assert_eq!(region(3..9, Access::Write), Some(0));
        assert_eq!(region(3..12, Access::Local), Some(1));
        assert_eq!(region(3..12, Access::Read), None);
        assert_eq!(region(0..12, Access::Local), None);
        assert_eq!(region(29..30, Access::Write), Some(2));
        assert_eq!(region(29..31, Access::Write), None);
        assert!(table.is_inside_another(&(3..12)) && !table.is_inside_another(&(2..12)));
        assert!(!table.is_inside_another(&(0..12)));
    }

    #[test]
    fn what_touches_is_united_unless_it_is_longer_or_in_use() {
        let mut table = table(&[
            (0..10, Access::Read),
            (12..14, Access::Read),
            (20..60, Access::Read),
            (64..70, Access::Read),
        ]);
        let union = |table: &Table<usize>, range, access| {
            let union = table.union(&range, access);
            (union.range, union.access)
        };
        assert_eq!(union(&table, 10..20, Access::Local), (0..20, Access::Read));
        assert_eq!(union(&table, 9..66, Access::Write), (0..70, Access::All));
        assert_eq!(union(&table, 30..31, Access::Write), (20..60, Access::All));
        assert_eq!(union(&table, 70..72, Access::Write), (70..72, Access::Write));
        let first = table.find(&(0..1), Access::Local).unwrap();
        table.take(first);
        assert_eq!(union(&table, 5..20, Access::Local), (5..20, Access::Read));
        assert_eq!(table.in_use(), (1, 10));
    }
}
