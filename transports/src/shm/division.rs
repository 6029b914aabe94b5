//! How a long message is divided into parts for the two ends that move it (see `across`).

use super::ledger::PARTS_END;

/// Parts that are worth their system calls, where there are few.
const PART_FIRST: u64 = 128 << 10;
/// A message is divided into so many, unless they would be shorter or longer than that.
const PARTS: u64 = 4;
/// The longest part: what an end that comes late has to wait for.
const PART_MOST: u64 = 1 << 20;
/// Parts are whole pages long.
const WHOLE: u64 = 4 << 10;

/// The parts of a message: the first, and then others as long as each other but for the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Division {
    len: u64,
    first: u64,
    part: u64,
}

impl Division {
    /// The parts of a message of `len` bytes.
    pub(super) fn of(len: u64) -> Division {
        let part = (len / PARTS).max(PART_FIRST.min(len.div_ceil(2))).min(PART_MOST);
        let part = part.max(1).next_multiple_of(WHOLE);
        Division { len, first: part, part }
    }

    /// The same for a receiver that has something else to do first: of two parts it moves the shorter.
    pub(super) fn of_busy(len: u64) -> Division {
        let even = Division::of(len);
        if even.parts() != Some(2) {
            return even;
        }
        let first = (len / 4).next_multiple_of(WHOLE);
        Division { len, first, part: len - first }
    }

    /// Bytes of the message.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// How many parts there are, which fit the counting word or are too many.
    pub(super) fn parts(&self) -> Option<u32> {
        let others = self.len.saturating_sub(self.first).div_ceil(self.part);
        let parts = u32::try_from(others + u64::from(self.len > 0)).ok();
        parts.filter(|parts| *parts < PARTS_END)
    }

    /// Where part number `i` begins, and its length.
    pub(super) fn front(&self, i: u32) -> (u64, usize) {
        let Some(before) = i.checked_sub(1) else { return (0, self.first.min(self.len) as usize) };
        let from = self.first + u64::from(before) * self.part;
        (from, (self.len - from).min(self.part) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_follow_each_other_and_make_up_the_message(len in 1u64..1 << 34) {
            for division in [Division::of(len), Division::of_busy(len)] {
                let parts = division.parts().unwrap();
                let mut end = 0;
                for i in 0..parts {
                    let (from, n) = division.front(i);
                    prop_assert_eq!(from, end);
                    prop_assert!(n > 0 && n as u64 <= PART_MOST);
                    end += n as u64;
                }
                prop_assert_eq!(end, len);
                prop_assert!(len <= WHOLE || parts >= 2);
            }
        }

        #[test]
        fn any_length_is_divided_or_refused(len: u64) {
            let _ = (Division::of(len).parts(), Division::of_busy(len).parts());
        }
    }

    #[test]
    fn who_is_busy_moves_a_quarter_of_what_goes_in_two_parts() {
        let parts =
            |division: Division| (0..division.parts().unwrap()).map(move |i| division.front(i).1);
        for (len, lengths) in [(64 << 10, [16 << 10, 48 << 10]), (100_000, [28_672, 71_328])] {
            assert!(parts(Division::of_busy(len)).eq(lengths), "{len} bytes");
        }
        assert!(parts(Division::of_busy(1 << 20)).eq([256 << 10; 4]));
    }
}
