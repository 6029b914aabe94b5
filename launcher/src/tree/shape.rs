//! Who starts whom: hosts in a tree, each with a bounded number of children.
//!
//! A host is given a range of hosts, of which it is the first; it cuts the rest into at most
//! `fanout` parts of equal length, and the first of each part is its child. So a subtree is always a
//! range, and a host with number `n` is found below the child whose range holds `n`.

use std::ops::Range;

/// The ranges of the children of the host that was given `own`.
pub(crate) fn children(own: &Range<usize>, fanout: usize) -> Vec<Range<usize>> {
    let rest = (own.start + 1).min(own.end)..own.end;
    let parts = rest.len().min(fanout.max(1));
    let edge = |part: usize| rest.start + part * rest.len() / parts;
    (0..parts).map(|part| edge(part)..edge(part + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_trees() {
        assert!(children(&(0..1), 4).is_empty());
        assert_eq!(children(&(0..4), 4), [1..2, 2..3, 3..4]);
        assert_eq!(children(&(0..6), 2), [1..3, 3..6]);
        assert_eq!(children(&(3..6), 1)[0], 4..6);
    }

    proptest! {
        #[test]
        fn every_host_is_started_once_and_not_deep(hosts in 1usize..300, fanout in 2usize..20) {
            let whole = 0..hosts;
            let (mut started, mut level) = (vec![whole.start], children(&whole, fanout));
            let mut depth = 1u32;
            while !level.is_empty() {
                started.extend(level.iter().map(|range| range.start));
                prop_assert!(level.iter().all(|own| children(own, fanout).len() <= fanout));
                level = level.iter().flat_map(|own| children(own, fanout)).collect();
                depth += 1;
            }
            started.sort_unstable();
            prop_assert_eq!(started, (0..hosts).collect::<Vec<_>>());
            prop_assert!(fanout.pow(depth.saturating_sub(2)) <= hosts);
        }
    }
}
