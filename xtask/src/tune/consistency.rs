//! Whether the times of collectives are consistent with each other: what is a part of something
//! else, or has fewer bytes, must not take longer (Träff, Gropp, Thakur, "Self-consistent MPI
//! performance guidelines", 2010).

use super::measure::Row;
use std::collections::BTreeMap;

/// Times of the collectives, by name and size.
pub(super) type Times = BTreeMap<&'static str, Row>;

/// A time may exceed another one by this factor and by so many microseconds.
const FACTOR: f64 = 1.05;
const SLACK: f64 = 0.1;

/// The sizes at which a collective is measured.
pub(super) fn sizes(collective: &str, asked: &[u64], ranks: u32) -> Vec<u64> {
    let mut sizes = match collective {
        "barrier" => vec![0],
        _ => asked.to_vec(),
    };
    if collective == "bcast" {
        // What follows a gather.
        sizes.extend(asked.iter().map(|size| size * u64::from(ranks)));
    }
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// One sentence for each contradiction.
pub(super) fn complaints(times: &Times, asked: &[u64], ranks: u32) -> Vec<String> {
    let time = |name: &str, size: u64| times.get(name).and_then(|row| row.get(&size)).copied();
    let mut found = Vec::new();
    let mut compare = |what: String, mine: Option<f64>, other: String, theirs: Option<f64>| {
        if let (Some(mine), Some(theirs)) = (mine, theirs)
            && mine > theirs * FACTOR + SLACK
        {
            found.push(format!("{what} takes {mine:.2} us, {other} {theirs:.2} us"));
        }
    };
    let both = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
    // One of nothing need not wait for anybody.
    if let Some(&least) = asked.iter().filter(|size| **size > 0).min() {
        let sum = format!("allreduce of {least}");
        compare("barrier".into(), time("barrier", 0), sum, time("allreduce", least));
    }
    for &size in asked {
        let parts = both(time("reduce", size), time("bcast", size));
        compare(
            format!("allreduce of {size}"),
            time("allreduce", size),
            "reduce and bcast".into(),
            parts,
        );
        let parts = both(time("gather", size), time("bcast", size * u64::from(ranks)));
        compare(
            format!("allgather of {size}"),
            time("allgather", size),
            "gather and bcast".into(),
            parts,
        );
    }
    for (name, row) in times {
        for ((small, less), (large, more)) in row.iter().zip(row.iter().skip(1)) {
            compare(format!("{name} of {small}"), Some(*less), format!("of {large}"), Some(*more));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[(u64, f64)]) -> Row {
        values.iter().copied().collect()
    }

    fn consistent() -> Times {
        let one = [(8, 1.0), (1024, 2.0)];
        Times::from([
            ("barrier", row(&[(0, 0.5)])),
            ("allreduce", row(&[(8, 1.9), (1024, 3.9)])),
            ("reduce", row(&one)),
            ("gather", row(&one)),
            ("allgather", row(&[(8, 2.0), (1024, 4.5)])),
            ("bcast", row(&[(8, 1.0), (16, 1.2), (1024, 2.0), (2048, 3.0)])),
        ])
    }

    #[test]
    fn what_is_consistent_is_left_alone() {
        assert_eq!(complaints(&consistent(), &[8, 1024], 2), [""; 0]);
    }

    #[test]
    fn each_contradiction_is_told() {
        let cases: [(&str, u64, f64, &str); 4] = [
            ("barrier", 0, 2.9, "barrier takes 2.90 us, allreduce of 8 1.90 us"),
            ("allreduce", 1024, 4.5, "allreduce of 1024 takes 4.50 us, reduce and bcast 4.00 us"),
            ("allgather", 1024, 6.0, "allgather of 1024 takes 6.00 us, gather and bcast 5.00 us"),
            ("bcast", 16, 2.5, "bcast of 16 takes 2.50 us, of 1024 2.00 us"),
        ];
        for (name, size, value, complaint) in cases {
            let mut times = consistent();
            times.get_mut(name).unwrap().insert(size, value);
            assert_eq!(complaints(&times, &[8, 1024], 2), [complaint]);
        }
    }

    #[test]
    fn sizes_are_those_that_are_compared() {
        assert_eq!(sizes("bcast", &[8, 1024], 2), [8, 16, 1024, 2048]);
        assert_eq!(sizes("gather", &[8], 2), [8]);
    }
}
