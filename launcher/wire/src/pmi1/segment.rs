//! Values longer than the launcher keeps, cut into several keys (as MPICH's clients do it):
//! `key` holds `segments=9`, and `key-seg-1/9` to `key-seg-9/9` hold the pieces.

/// What the value of the plain key begins with when the rest lies under further keys.
const MARK: &str = "segments=";

/// Most pieces that are put together: bounds what a wrong count can make a reader fetch.
const SEGMENTS_MAX: usize = 1024;

/// The key of piece `i` (from 1) of `n`.
pub(crate) fn key(key: &str, i: usize, n: usize) -> String {
    format!("{key}-seg-{i}/{n}")
}

/// Cuts `value` into pairs of key and value that are each at most `limit` bytes of value; one pair
/// where it fits as it is. `None` when `limit` is too small for any of it.
pub(crate) fn cut(name: &str, value: &str, limit: usize) -> Option<Vec<(String, String)>> {
    if value.len() <= limit && !value.starts_with(MARK) {
        return Some(vec![(name.to_string(), value.to_string())]);
    }
    let mut pieces = Vec::new();
    let mut rest = value;
    while !rest.is_empty() {
        let mut end = rest.len().min(limit);
        while end > 0 && !rest.is_char_boundary(end) {
            end -= 1;
        }
        if end == 0 || pieces.len() == SEGMENTS_MAX {
            return None;
        }
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    let n = pieces.len();
    let head = (name.to_string(), format!("{MARK}{n}"));
    let tail = pieces.iter().enumerate().map(|(i, p)| (key(name, i + 1, n), p.to_string()));
    Some(std::iter::once(head).chain(tail).collect())
}

/// The number of pieces that the value of the plain key announces, if it is such a value.
pub(crate) fn count(value: &str) -> Option<usize> {
    value.strip_prefix(MARK)?.parse().ok().filter(|n| (1..=SEGMENTS_MAX).contains(n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn pieces_make_the_value(value in "(segments=)?[!-~µ]{0,400}", limit in 12usize..80) {
            let pairs = cut("card", &value, limit).unwrap();
            prop_assert!(pairs.iter().all(|(_, v)| v.len() <= limit));
            let table: HashMap<_, _> = pairs.into_iter().collect();
            let head = &table["card"];
            let again = match count(head) {
                None => head.clone(),
                Some(n) => (1..=n).map(|i| table[&key("card", i, n)].as_str()).collect(),
            };
            prop_assert_eq!(again, value);
        }

        #[test]
        fn any_count_is_bounded(text in "segments=[-0-9a-z]{0,20}") {
            prop_assert!(count(&text).is_none_or(|n| n <= SEGMENTS_MAX));
        }
    }
}
