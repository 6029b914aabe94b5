//! Balanced dimensions for a number of processes (`MPI_Dims_create`, MPI-5.0 §8.5.2).
//!
//! Balanced means that the longest and the shortest dimension that were to be chosen differ as
//! little as possible, as Träff and Lübbe define it ("Specification guideline violations by
//! MPI_Dims_create", EuroMPI 2015). Their search is followed too: divisors are tried from the
//! root upwards, and a branch is left as soon as its bound is no better than what was found.

use crate::error::Result;
use crate::fail;

/// Fills the dimensions that are 0, longest first; the others stay.
///
/// # Errors
/// `MPI_ERR_DIMS` for a negative dimension, or when those given do not divide `nodes`, or are
/// all given and have another product.
pub fn fill(nodes: i32, dims: &mut [i32]) -> Result<()> {
    if nodes < 1 {
        fail!(ARG, "nnodes", "is {nodes}, but must be positive");
    }
    if let Some(at) = dims.iter().position(|&dim| dim < 0) {
        fail!(DIMS, "dims", "has {} as element {at}, but must not be negative", dims[at]);
    }
    let free = dims.iter().filter(|&&dim| dim == 0).count();
    let given: i128 = dims
        .iter()
        .filter(|&&dim| dim > 0)
        .fold(1i128, |product, &dim| product.saturating_mul(i128::from(dim)));
    let divides = i128::from(nodes) % given == 0;
    if !divides || (free == 0 && given != i128::from(nodes)) {
        fail!(DIMS, "dims", "has a product of {given}, which does not make up {nodes} processes");
    }
    let mut chosen = balanced((i128::from(nodes) / given) as i32, free).into_iter();
    for dim in dims.iter_mut().filter(|dim| **dim == 0) {
        *dim = chosen.next().expect("one is chosen for each that is free");
    }
    Ok(())
}

/// The `count` factors of `nodes` that are nearest to each other, in falling order.
fn balanced(nodes: i32, count: usize) -> Vec<i32> {
    let divisors = divisors(nodes);
    let mut search = Search { divisors: &divisors, taken: Vec::new(), best: Vec::new() };
    search.descend(nodes, count, nodes);
    search.best
}

fn divisors(nodes: i32) -> Vec<i32> {
    let low: Vec<i32> = (1..).take_while(|d| d * d <= i64::from(nodes)).map(|d| d as i32).collect();
    let low: Vec<i32> = low.into_iter().filter(|d| nodes % d == 0).collect();
    let high = low.iter().rev().map(|d| nodes / d).filter(|d| i64::from(*d).pow(2) > nodes.into());
    low.iter().copied().chain(high).collect()
}

/// The greatest integer whose `degree`-th power is at most `value`.
fn root(value: i32, degree: usize) -> i32 {
    let fits = |base: i32| {
        let product = (0..degree.min(32)).try_fold(1i64, |product, _| {
            Some(product * i64::from(base)).filter(|&product| product <= i64::from(value))
        });
        base <= 1 || product.is_some()
    };
    let (mut low, mut high) = (1, value);
    while low < high {
        let middle = low + (high - low + 1) / 2;
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

struct Search<'a> {
    divisors: &'a [i32],
    taken: Vec<i32>,
    best: Vec<i32>,
}

impl Search<'_> {
    /// Cuts `rest` into `count` further factors of at most `most`.
    fn descend(&mut self, rest: i32, count: usize, most: i32) {
        if count == 0 {
            if rest == 1 && self.is_better(self.taken.last().copied().unwrap_or(1)) {
                self.best.clone_from(&self.taken);
            }
            return;
        }
        let shortest = root(rest, count);
        let from = self.divisors.partition_point(|&d| d < shortest);
        for at in from..self.divisors.len() {
            let next = self.divisors[at];
            if next > most || next > rest || !self.may_be_better(next, rest, count) {
                return;
            }
            if rest % next == 0 {
                self.taken.push(next);
                self.descend(rest / next, count - 1, next);
                self.taken.pop();
            }
        }
    }

    /// Whether dimensions of which `next` is one of those left, and not the shortest, can differ
    /// less than the best.
    fn may_be_better(&self, next: i32, rest: i32, count: usize) -> bool {
        let others = if count == 1 { next } else { root(rest / next.max(1), count - 1) };
        let first = self.taken.first().copied().unwrap_or(next);
        self.best.is_empty() || first - others.min(next) < self.spread()
    }

    fn is_better(&self, last: i32) -> bool {
        let first = self.taken.first().copied().unwrap_or(1);
        self.best.is_empty() || first - last < self.spread()
    }

    fn spread(&self) -> i32 {
        match (self.best.first(), self.best.last()) {
            (Some(first), Some(last)) => first - last,
            _ => i32::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least spread of all factorizations, by trying all.
    fn least_spread(nodes: i32, count: usize) -> i32 {
        fn all(rest: i32, count: usize, least: i32, most: i32) -> i32 {
            if count == 0 {
                return if rest == 1 { most - least } else { i32::MAX };
            }
            let factors = (1..=rest).filter(|factor| rest % factor == 0);
            factors
                .map(|factor| all(rest / factor, count - 1, least.min(factor), most.max(factor)))
                .min()
                .unwrap_or(i32::MAX)
        }
        all(nodes, count, i32::MAX, 1)
    }

    #[test]
    fn chosen_dimensions_are_balanced_and_fall() {
        for nodes in 1..=200 {
            for count in 1..=4 {
                let mut dims = vec![0; count];
                fill(nodes, &mut dims).unwrap();
                assert_eq!(dims.iter().product::<i32>(), nodes);
                assert!(dims.is_sorted_by(|a, b| a >= b), "{nodes}: {dims:?}");
                let spread = dims[0] - dims[count - 1];
                assert_eq!(spread, least_spread(nodes, count), "{nodes}: {dims:?}");
            }
        }
    }

    #[test]
    fn the_standards_examples() {
        let filled = |nodes, dims: &[i32]| {
            let mut dims = dims.to_vec();
            fill(nodes, &mut dims).map(|()| dims)
        };
        assert_eq!(filled(6, &[0, 0]).unwrap(), [3, 2]);
        assert_eq!(filled(7, &[0, 0]).unwrap(), [7, 1]);
        assert_eq!(filled(6, &[0, 3, 0]).unwrap(), [2, 3, 1]);
        assert!(filled(7, &[0, 3, 0]).is_err());
        assert!(filled(6, &[2, 2]).is_err());
        assert!(filled(6, &[-1, 0]).is_err());
        assert!(filled(0, &[0]).is_err());
        assert_eq!(filled(1, &[]).unwrap(), []);
        assert!(filled(2, &[]).is_err());
    }

    #[test]
    fn great_numbers_and_many_dimensions_end() {
        for (nodes, count) in [(1 << 30, 30), (2_095_133_040, 10), (i32::MAX, 5), (1, 5000)] {
            let mut dims = vec![0; count];
            fill(nodes, &mut dims).unwrap();
            assert_eq!(dims.iter().map(|&dim| i64::from(dim)).product::<i64>(), nodes.into());
        }
    }
}
