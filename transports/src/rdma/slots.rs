//! Numbered places for what is under way. A number names a place and how often it was taken, so that an old number
//! names nothing.

/// Bits of a number that name the place; the others, up to bit 27, say how often it was taken.
const PLACE_BITS: u32 = 20;
const TIMES_MASK: u32 = 0xff;
/// Bits of a number.
pub(super) const NUMBER_BITS: u32 = 28;

/// Things with a number.
pub(super) struct Slots<T> {
    all: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { all: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// Whether there is nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A number for something; it comes back if there are too many.
    pub(super) fn insert(&mut self, thing: T) -> Result<u32, T> {
        let place = match self.free.pop() {
            Some(place) => place,
            None if self.all.len() < 1 << PLACE_BITS => {
                self.all.push((0, None));
                self.all.len() as u32 - 1
            }
            None => return Err(thing),
        };
        let (times, slot) = &mut self.all[place as usize];
        *slot = Some(thing);
        Ok(place | *times << PLACE_BITS)
    }

    fn slot(&mut self, number: u32) -> Option<&mut (u32, Option<T>)> {
        let (place, times) = (number & ((1 << PLACE_BITS) - 1), number >> PLACE_BITS);
        self.all.get_mut(place as usize).filter(|(taken, _)| *taken == times)
    }

    /// What has this number.
    pub(super) fn get(&mut self, number: u32) -> Option<&mut T> {
        self.slot(number)?.1.as_mut()
    }

    /// The same, which is there no more.
    pub(super) fn remove(&mut self, number: u32) -> Option<T> {
        let (times, slot) = self.slot(number)?;
        let thing = slot.take()?;
        *times = (*times + 1) & TIMES_MASK;
        self.free.push(number & ((1 << PLACE_BITS) - 1));
        Some(thing)
    }

    /// The numbers of those that are meant.
    pub(super) fn find(&self, is_meant: impl Fn(&T) -> bool) -> Vec<u32> {
        let meant = |(place, (times, slot)): (usize, &(u32, Option<T>))| {
            slot.as_ref().is_some_and(&is_meant).then_some(place as u32 | times << PLACE_BITS)
        };
        self.all.iter().enumerate().filter_map(meant).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_numbers_name_nothing() {
        let mut slots = Slots::default();
        let first = slots.insert('a').unwrap();
        let second = slots.insert('b').unwrap();
        assert_eq!(slots.get(first), Some(&mut 'a'));
        assert_eq!(slots.get(second), Some(&mut 'b'));
        assert_eq!((slots.remove(first), slots.remove(first)), (Some('a'), None));
        let third = slots.insert('c').unwrap();
        assert_ne!(first, third);
        assert_eq!(slots.get(first), None);
        assert_eq!(slots.get(third), Some(&mut 'c'));
        assert_eq!(slots.find(|thing| *thing == 'c'), [third]);
        assert!(first.max(third) < 1 << NUMBER_BITS && !slots.is_empty());
        assert_eq!(slots.get(u32::MAX), None);
    }
}
