//! Messages that lie in the memory of their writer, and rooms in that of their reader: where, as both call it.

/// Where bytes lie in another member's memory.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Location {
    /// The address of the first one there.
    pub address: u64,
    /// If not 0, one more than their offset in memory that all members have mapped.
    pub offset: u64,
}

impl Location {
    /// The same so many bytes further.
    pub fn further(self, by: u64) -> Location {
        let offset = if self.offset > 0 { self.offset.wrapping_add(by) } else { 0 };
        Location { address: self.address.wrapping_add(by), offset }
    }
}

/// A fragment that lies in its writer's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exposed {
    /// Where it lies there.
    pub at: Location,
    /// Number of bytes.
    pub len: u64,
}

impl Exposed {
    /// Where `wanted` bytes from this place of it on lie; nothing if it has not so many.
    pub fn part(self, from: u64, wanted: u64) -> Option<Location> {
        let is_there = from.checked_add(wanted).is_some_and(|end| end <= self.len);
        is_there.then(|| self.at.further(from))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_mapped_is_not_further_on_either() {
        let far = Location { address: 100, offset: 0 };
        assert_eq!(far.further(7), Location { address: 107, offset: 0 });
        let near = Location { address: 100, offset: 1 };
        assert_eq!(near.further(7), Location { address: 107, offset: 8 });
    }
}
