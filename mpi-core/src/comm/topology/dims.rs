//! Balanced dimensions for a number of processes (`MPI_Dims_create`, MPI-5.0 §8.5.2).
//!
//! Balanced means that the longest and the shortest dimension that were to be chosen differ as
//! little as possible, as Träff and Lübbe define it ("Specification guideline violations by
//! MPI_Dims_create", EuroMPI 2015). Of equally balanced ones that is taken whose shortest dimension
//! is longest, then its second shortest, and so on: the standard leaves it open, and MPICH takes
//! the same. The search is that of the paper: divisors are tried from the root upwards, and a
//! branch is left as soon as its bound is worse than what was found.

use crate::error::{Error, ErrorClass, Result};
use crate::fail;

/// Dimensions that messages show.
const SHOWN_MAX: usize = 8;

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
        return Err(wrong(format!("has {} as element {at}, but must not be negative", dims[at])));
    }
    let free = dims.iter().filter(|&&dim| dim == 0).count();
    let given: i128 = dims
        .iter()
        .filter(|&&dim| dim > 0)
        .fold(1i128, |product, &dim| product.saturating_mul(i128::from(dim)));
    let divides = i128::from(nodes) % given == 0;
    if !divides || (free == 0 && given != i128::from(nodes)) {
        return Err(wrong(match free {
            0 => format!("is {}, a grid of {given} processes, but nnodes is {nodes}", shown(dims)),
            _ => format!("is {}, but {nodes} processes are no multiple of {given}", shown(dims)),
        }));
    }
    let mut chosen = balanced((i128::from(nodes) / given) as i32, free).into_iter();
    for dim in dims.iter_mut().filter(|dim| **dim == 0) {
        *dim = chosen.next().expect("one is chosen for each that is free");
    }
    Ok(())
}

/// An error in the dimensions, mostly of a program that has left in them what they were before.
#[cold]
fn wrong(what: String) -> Error {
    Error::param(ErrorClass::DIMS, "dims", what)
        .hint("MPI_Dims_create chooses the elements that are 0 and keeps the others: set to 0 what it is to choose.")
}

/// `2 x 0 x 3`.
fn shown(dims: &[i32]) -> String {
    let all: Vec<String> = dims.iter().take(SHOWN_MAX).map(i32::to_string).collect();
    all.join(" x ") + if dims.len() > SHOWN_MAX { " x ..." } else { "" }
}

/// Dimensions that are searched for: a number below 2³¹ has no more than 30 factors above 1, so of 31 the
/// shortest is 1, as are all further ones. The search goes one call deeper for each.
const SEARCHED_MAX: usize = 31;

/// The `count` factors of `nodes` that are nearest to each other, in falling order.
fn balanced(nodes: i32, count: usize) -> Vec<i32> {
    let divisors = divisors(nodes);
    let mut search = Search { divisors: &divisors, taken: Vec::new(), best: Vec::new() };
    search.descend(nodes, count.min(SEARCHED_MAX), nodes);
    let mut best = search.best;
    best.resize(count, 1);
    best
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
            if rest == 1 && self.is_better() {
                self.best.clone_from(&self.taken);
            }
            return;
        }
        let shortest = root(rest, count);
        let from = self.divisors.partition_point(|&d| d < shortest);
        for at in from..self.divisors.len() {
            let next = self.divisors[at];
            if next > most || next > rest || !self.may_be_as_good(next, rest, count) {
                return;
            }
            if rest % next == 0 {
                self.taken.push(next);
                self.descend(rest / next, count - 1, next);
                self.taken.pop();
            }
        }
    }

    /// Whether dimensions of which `next` is one of those left, and not the shortest, can be as
    /// balanced as the best.
    fn may_be_as_good(&self, next: i32, rest: i32, count: usize) -> bool {
        let others = if count == 1 { next } else { root(rest / next.max(1), count - 1) };
        let first = self.taken.first().copied().unwrap_or(next);
        first - others.min(next) <= spread(&self.best).unwrap_or(i32::MAX)
    }

    /// Whether the dimensions taken are better than the best.
    fn is_better(&self) -> bool {
        match (spread(&self.taken), spread(&self.best)) {
            (Some(taken), Some(best)) if taken == best => {
                self.taken.iter().rev().gt(self.best.iter().rev())
            }
            (Some(taken), Some(best)) => taken < best,
            _ => true,
        }
    }
}

/// How much the longest and the shortest of falling dimensions differ.
fn spread(dims: &[i32]) -> Option<i32> {
    Some(dims.first()? - dims.last()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All falling factorizations into `count` factors of at most `most`.
    fn factorizations(nodes: i32, count: usize, most: i32) -> Vec<Vec<i32>> {
        if count == 0 {
            return if nodes == 1 { vec![Vec::new()] } else { Vec::new() };
        }
        let factors = (1..=most.min(nodes)).filter(|factor| nodes % factor == 0);
        let following = |first: i32| {
            let rests = factorizations(nodes / first, count - 1, first);
            rests.into_iter().map(move |rest| [vec![first], rest].concat())
        };
        factors.flat_map(following).collect()
    }

    #[test]
    fn a_newcomer_hears_what_to_set() {
        let says = |nodes, dims: &mut [i32]| fill(nodes, dims).unwrap_err();
        assert_eq!(says(4, &mut [2, 3]).what(), "is 2 x 3, a grid of 6 processes, but nnodes is 4");
        assert_eq!(says(4, &mut [3, 0]).what(), "is 3 x 0, but 4 processes are no multiple of 3");
        assert!(says(4, &mut [0, -7]).advice().contains("set to 0"));
        assert!(
            says(4, &mut [7; 100]).what().starts_with("is 7 x 7 x 7 x 7 x 7 x 7 x 7 x 7 x ...")
        );
    }

    #[test]
    #[cfg_attr(miri, ignore = "minutes of safe code")]
    fn the_most_balanced_and_of_these_the_longest_from_the_end() {
        let sizes = (1..=200).chain([5040, 5616]);
        for (nodes, count) in sizes.flat_map(|nodes| (1..=4).map(move |count| (nodes, count))) {
            let mut dims = vec![0; count];
            fill(nodes, &mut dims).unwrap();
            let all = factorizations(nodes, count, nodes);
            let best = all.into_iter().min_by_key(|dims| {
                let from_the_end: Vec<i32> = dims.iter().rev().copied().collect();
                (dims[0] - dims[count - 1], std::cmp::Reverse(from_the_end))
            });
            assert_eq!(Some(dims), best, "{nodes}");
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
    #[cfg_attr(miri, ignore = "minutes of safe code")]
    fn great_numbers_and_many_dimensions_end() {
        let few = [(1 << 30, 30), (2_095_133_040, 10), (i32::MAX, 5)];
        let many = [(1 << 30, 31), (1 << 30, 5000), (720_720, 32), (1, 1_000_000)];
        for (nodes, count) in few.into_iter().chain(many) {
            let mut dims = vec![0; count];
            fill(nodes, &mut dims).unwrap();
            assert_eq!(dims.iter().map(|&dim| i64::from(dim)).product::<i64>(), nodes.into());
        }
    }
}
