//! How a long message is divided into parts for the two ends that move it (see `across`).

/// Parts that are worth their system calls, where there are few.
const PART_FIRST: u64 = 128 << 10;
/// A message is divided into so many, unless they would be shorter or longer than that.
const PARTS: u64 = 4;
/// The longest part: what an end that comes late has to wait for.
const PART_MOST: u64 = 1 << 20;
/// Parts are whole pages long.
const WHOLE: u64 = 4 << 10;

/// The parts of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Division {
    len: u64,
    part: u64,
}

impl Division {
    /// The parts of a message of `len` bytes.
    pub(super) fn of(len: u64) -> Division {
        let part = (len / PARTS).max(PART_FIRST.min(len.div_ceil(2))).min(PART_MOST);
        Division { len, part: part.max(1).next_multiple_of(WHOLE) }
    }

    /// How many parts there are, which fit the counting word or are too many.
    pub(super) fn parts(&self) -> Option<u32> {
        u32::try_from(self.len.div_ceil(self.part)).ok()
    }

    /// Where part number `i` begins, and its length.
    pub(super) fn front(&self, i: u32) -> (u64, usize) {
        let from = u64::from(i) * self.part;
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
            let division = Division::of(len);
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

        #[test]
        fn any_length_is_divided_or_refused(len: u64) {
            let _ = Division::of(len).parts();
        }
    }
}
