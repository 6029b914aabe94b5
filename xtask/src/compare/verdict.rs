//! The judgement on a row: decision 34.
//!
//! Enters: values of two libraries by round. Leaves: the median of the ratios inside the rounds
//! with its 95 % interval by bootstrap, and what that says about the bar of the row.

use super::groups::Bar;
use std::collections::BTreeMap;

/// By how much a ratio may exceed 1 that is no worse than 1.
pub(crate) const LAG: f64 = 1.05;
/// Resamplings for an interval.
const RESAMPLINGS: usize = 2000;

/// A point estimate with its interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Estimate {
    pub(crate) r: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// What came out, the worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Verdict {
    /// The bar is missed, or our library did not run.
    Fails,
    /// The bar is reached.
    Holds,
    /// Better than the best peer, for certain.
    Better,
    /// There was nothing to compare with.
    Alone,
}

impl Verdict {
    /// The word in the table.
    pub(crate) fn word(self, bar: Bar) -> &'static str {
        match (self, bar) {
            (Verdict::Fails, Bar::NoWorse) => "**worse**",
            (Verdict::Fails, _) => "**missed**",
            (Verdict::Holds, Bar::NoWorse) => "no worse",
            (Verdict::Holds, _) => "reached",
            (Verdict::Better, _) => "better",
            (Verdict::Alone, _) => "",
        }
    }
}

/// The middle of some values.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

/// The median of ours/theirs over the rounds that both have; below 1 is better for us.
pub(crate) fn ratio(
    ours: &BTreeMap<usize, f64>,
    theirs: &BTreeMap<usize, f64>,
    more_is_better: bool,
) -> Option<Estimate> {
    let both = ours.iter().filter_map(|(round, mine)| Some((*mine, *theirs.get(round)?)));
    let mut ratios: Vec<f64> = both
        .map(|(mine, other)| if more_is_better { other / mine } else { mine / other })
        .collect();
    if ratios.is_empty() {
        return None;
    }
    let mut state = 1;
    let mut medians: Vec<f64> = (0..RESAMPLINGS)
        .map(|_| {
            let mut drawn: Vec<f64> =
                ratios.iter().map(|_| ratios[random(&mut state) % ratios.len()]).collect();
            median(&mut drawn)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    let (low, high) = (medians[RESAMPLINGS / 40], medians[RESAMPLINGS - 1 - RESAMPLINGS / 40]);
    Some(Estimate { r: median(&mut ratios), low, high })
}

/// SplitMix64: the same rows give the same interval each time.
fn random(state: &mut u64) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as usize
}

/// Holds a row to its bar; `ours` is our median.
pub(crate) fn judge(bar: Bar, ours: f64, best: Option<Estimate>) -> Verdict {
    let better = best.is_some_and(|estimate| estimate.high < 1.0);
    let holds = match (bar, best) {
        (Bar::Below(limit), _) => ours < limit,
        (_, None) | (Bar::Free, _) => return Verdict::Alone,
        (Bar::NoWorse, Some(Estimate { r, low, .. })) => low <= 1.0 && r <= LAG,
        (Bar::Part(part), Some(Estimate { r, .. })) => r <= part,
        (Bar::Better, Some(_)) => better,
    };
    match (holds, better) {
        (false, _) => Verdict::Fails,
        (true, true) if bar == Bar::NoWorse => Verdict::Better,
        (true, _) => Verdict::Holds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(values: &[f64]) -> BTreeMap<usize, f64> {
        values.iter().copied().enumerate().collect()
    }

    #[test]
    fn the_ratio_is_taken_inside_the_rounds() {
        // The machine was twice as slow in the second round, for both.
        let (ours, theirs) = (values(&[1.0, 2.0, 1.0]), values(&[2.0, 4.0, 2.0]));
        let estimate = ratio(&ours, &theirs, false).expect("an estimate");
        assert_eq!(estimate, Estimate { r: 0.5, low: 0.5, high: 0.5 });
        assert_eq!(ratio(&ours, &theirs, true).expect("an estimate").r, 2.0);
        assert_eq!(ratio(&ours, &BTreeMap::new(), false), None);
    }

    #[test]
    fn the_interval_covers_the_spread_and_not_more() {
        let ours = values(&[0.9, 0.95, 1.0, 1.05, 1.1, 0.9, 0.95, 1.0, 1.05, 1.1]);
        let ones = values(&[1.0; 10]);
        let Estimate { r, low, high } = ratio(&ours, &ones, false).expect("an estimate");
        assert_eq!(r, 1.0);
        assert!((0.9..1.0).contains(&low) && high > 1.0 && high <= 1.1, "{low} {high}");
    }

    #[test]
    fn the_bars_are_those_of_the_decision() {
        let estimate = |r, low, high| Some(Estimate { r, low, high });
        assert_eq!(judge(Bar::NoWorse, 1.0, estimate(1.04, 0.99, 1.1)), Verdict::Holds);
        assert_eq!(judge(Bar::NoWorse, 1.0, estimate(1.06, 0.99, 1.1)), Verdict::Fails);
        assert_eq!(judge(Bar::NoWorse, 1.0, estimate(1.03, 1.01, 1.1)), Verdict::Fails);
        assert_eq!(judge(Bar::NoWorse, 1.0, estimate(0.9, 0.8, 0.99)), Verdict::Better);
        assert_eq!(judge(Bar::Part(0.25), 1.0, estimate(0.3, 0.2, 0.4)), Verdict::Fails);
        assert_eq!(judge(Bar::Part(0.25), 1.0, estimate(0.2, 0.2, 0.4)), Verdict::Holds);
        assert_eq!(judge(Bar::Better, 1.0, estimate(0.99, 0.9, 1.0)), Verdict::Fails);
        assert_eq!(judge(Bar::Below(1.0), 0.5, None), Verdict::Holds);
        assert_eq!(judge(Bar::Below(1.0), 1.5, estimate(0.1, 0.1, 0.1)), Verdict::Fails);
        assert_eq!(judge(Bar::NoWorse, 1.0, None), Verdict::Alone);
    }
}
