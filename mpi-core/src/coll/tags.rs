//! The tags of collective messages: numbers of calls, and apart from them those of persistent calls and of checks, each
//! counted for itself.

/// Persistent operations have the smallest integers for tags, where the numbers of the other calls never come.
pub(crate) const PERSISTENT: i32 = i32::MIN;
pub(crate) const PERSISTENT_NUMBERS: u32 = 1 << 30;

/// Checks have tags that neither other collective calls nor persistent ones have.
pub(crate) const CHECKS: i32 = -0x3000_0000;
pub(crate) const CHECK_NUMBERS: u32 = 0x2000_0000;

/// The number of a collective call, a persistent one or a check, each counted for itself, given the tag of its
/// messages.
pub(crate) fn number_of(tag: i32) -> u32 {
    let of = |first: i32, numbers: u32| {
        tag.checked_sub(first).map(|number| number as u32).filter(|&number| number < numbers)
    };
    of(CHECKS, CHECK_NUMBERS).or_else(|| of(PERSISTENT, PERSISTENT_NUMBERS)).unwrap_or(tag as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_checks_are_their_own() {
        assert_eq!((number_of(CHECKS), number_of(CHECKS + 5), number_of(17)), (0, 5, 17));
        assert_eq!(number_of(CHECKS + CHECK_NUMBERS as i32 - 1), CHECK_NUMBERS - 1);
        const { assert!(CHECKS + CHECK_NUMBERS as i32 <= i16::MIN as i32) };
        const { assert!(CHECKS as i64 >= PERSISTENT as i64 + PERSISTENT_NUMBERS as i64) };
        assert_eq!([0, 7].map(|number| number_of(PERSISTENT + number)), [0, 7]);
        let last = PERSISTENT_NUMBERS - 1;
        assert_eq!(number_of(PERSISTENT + last as i32), last);
        assert_eq!(number_of(i32::MAX), i32::MAX as u32);
    }
}
