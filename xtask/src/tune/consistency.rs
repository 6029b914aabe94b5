//! Whether the times of collectives are consistent with each other: what is a part of something
//! else, or has fewer bytes, must not take longer (Träff, Gropp, Thakur, "Self-consistent MPI
//! performance guidelines", 2010).
//!
//! Enters: times by round. Leaves: the claims that do not hold, judged as one library is beside
//! another (decision 34) by the ratio inside the rounds and its interval.

use super::way::Row;
use crate::compare::samples::size;
use crate::compare::verdict::{self, Estimate, LAG};
use std::collections::BTreeMap;

/// Times of the collectives in one round, by name and size.
pub(super) type Times = BTreeMap<String, Row>;

/// What a program could call instead of an allreduce and an all-gather: the two parts in sequence,
/// each waiting for the one before. (The times of both parts alone do not add up to that: where
/// the root goes round, the next call of either begins before the last one has ended everywhere.)
pub(super) const INSTEAD: [&str; 2] = ["reduce+bcast", "gather+bcast"];

/// A row: a test of the measuring program, and a size.
type Call = (&'static str, u64);

/// Pairs of which the first must not take longer than the second.
fn claims(asked: &[u64]) -> Vec<(Call, Call)> {
    let mut sizes: Vec<u64> = asked.to_vec();
    sizes.sort_unstable();
    sizes.dedup();
    let [reduce_bcast, gather_bcast] = INSTEAD;
    let mut claims = Vec::new();
    // One of nothing need not wait for anybody.
    if let Some(&least) = sizes.iter().find(|bytes| **bytes > 0) {
        claims.push((("barrier", 0), ("allreduce", least)));
    }
    for &bytes in &sizes {
        claims.push((("allreduce", bytes), (reduce_bcast, bytes)));
        claims.push((("allgather", bytes), (gather_bcast, bytes)));
    }
    for name in super::COLLECTIVES {
        claims.extend(sizes.windows(2).map(|pair| ((name, pair[0]), (name, pair[1]))));
    }
    claims
}

/// What a call takes, by round.
fn times(rounds: &[Times], (name, bytes): Call) -> BTreeMap<usize, f64> {
    let one = |times: &Times| times.get(name)?.get(&bytes).copied();
    rounds.iter().enumerate().filter_map(|(at, times)| Some((at, one(times)?))).collect()
}

/// What came of the claims.
#[derive(Default, PartialEq, Debug)]
pub(super) struct Findings {
    /// Claims that were measured.
    pub(super) claims: usize,
    /// One sentence for each that does not hold: the ratio is beyond what one library may lag
    /// behind another, and beyond 1 for certain. (Most claims are about times that are the same.
    /// Of such, one in forty has an interval that begins above 1.)
    pub(super) contradictions: Vec<String>,
    /// One sentence for each whose ratio is as large, but not for certain: more rounds tell.
    pub(super) open: Vec<String>,
}

/// Judges every claim.
pub(super) fn judge(rounds: &[Times], asked: &[u64]) -> Findings {
    let mut findings = Findings::default();
    for (call, other) in claims(asked) {
        let (mine, others) = (times(rounds, call), times(rounds, other));
        let Some(estimate) = verdict::ratio(&mine, &others, false) else { continue };
        findings.claims += 1;
        let Estimate { r, low, high } = estimate;
        if r <= LAG {
            continue;
        }
        let middle = |times: BTreeMap<usize, f64>| {
            verdict::median(&mut times.into_values().collect::<Vec<_>>())
        };
        let words = [words(call), words(other)];
        let [mine, others] = [mine, others].map(middle);
        let sentence = format!(
            "{} takes {mine:.2} us, {} {others:.2} us: {r:.2} times ({low:.2} to {high:.2})",
            words[0], words[1]
        );
        let certain = low > 1.0;
        if certain { &mut findings.contradictions } else { &mut findings.open }.push(sentence);
    }
    findings
}

fn words((name, bytes): Call) -> String {
    match name {
        "barrier" => name.to_owned(),
        _ => format!("{name} of {}", size(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[(u64, f64)]) -> Row {
        values.iter().copied().collect()
    }

    fn consistent() -> Times {
        let one = [(8, 1.0), (1024, 2.0)];
        [
            ("barrier", row(&[(0, 0.5)])),
            ("allreduce", row(&[(8, 1.9), (1024, 3.9)])),
            ("reduce+bcast", row(&[(8, 2.0), (1024, 4.0)])),
            ("gather", row(&one)),
            ("allgather", row(&[(8, 2.0), (1024, 4.5)])),
            ("gather+bcast", row(&[(8, 2.0), (1024, 5.0)])),
            ("bcast", row(&[(8, 1.0), (1024, 2.0)])),
        ]
        .map(|(name, row)| (name.to_owned(), row))
        .into()
    }

    #[test]
    fn what_is_consistent_is_left_alone() {
        // Without those about what has no row here.
        let findings = Findings { claims: 9, ..Findings::default() };
        assert_eq!(judge(&[consistent(), consistent()], &[8, 1024]), findings);
    }

    #[test]
    fn each_contradiction_is_told() {
        let cases: [(&str, u64, f64, &str); 4] = [
            ("barrier", 0, 2.9, "barrier takes 2.90 us, allreduce of 8 B 1.90 us: 1.53 times"),
            (
                "allreduce",
                1024,
                4.5,
                "allreduce of 1 KiB takes 4.50 us, reduce+bcast of 1 KiB 4.00 us: 1.12 times",
            ),
            (
                "allgather",
                1024,
                6.0,
                "allgather of 1 KiB takes 6.00 us, gather+bcast of 1 KiB 5.00 us: 1.20 times",
            ),
            ("bcast", 8, 2.5, "bcast of 8 B takes 2.50 us, bcast of 1 KiB 2.00 us: 1.25 times"),
        ];
        for (name, bytes, value, complaint) in cases {
            let mut times = consistent();
            times.get_mut(name).unwrap().insert(bytes, value);
            let told = judge(&[times], &[8, 1024]).contradictions;
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].starts_with(complaint), "{told:?}");
        }
    }

    #[test]
    fn what_is_slower_in_some_rounds_alone_is_no_contradiction() {
        let mut slow = consistent();
        slow.get_mut("bcast").unwrap().insert(8, 2.09);
        let rounds = [slow.clone(), consistent(), slow.clone(), consistent(), consistent()];
        let findings = Findings { claims: 9, ..Findings::default() };
        assert_eq!(judge(&rounds, &[8, 1024]), findings);
        // Now and then twice as slow: nothing is certain yet.
        slow.get_mut("bcast").unwrap().insert(8, 4.0);
        let rounds = [slow.clone(), consistent(), slow.clone(), consistent(), slow];
        let findings = judge(&rounds, &[8, 1024]);
        assert_eq!((findings.contradictions.len(), findings.open.len()), (0, 1), "{findings:?}");
    }
}
