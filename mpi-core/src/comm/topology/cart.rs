//! Grids (MPI-5.0 §8.5.1, §8.5.5 to §8.5.7): ranks run through coordinates in row-major order.

use crate::constants::PROC_NULL;
use crate::error::Result;
use crate::fail;

/// A grid of processes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cart {
    dims: Vec<i32>,
    periods: Vec<bool>,
}

impl Cart {
    /// A grid with these dimensions; those with a period wrap round.
    ///
    /// # Errors
    /// `MPI_ERR_DIMS` for a dimension that is not positive, or a grid of more processes than
    /// `size`.
    pub fn new(dims: Vec<i32>, periods: Vec<bool>, size: u32) -> Result<Cart> {
        debug_assert_eq!(dims.len(), periods.len());
        if let Some(at) = dims.iter().position(|&dim| dim <= 0) {
            fail!(DIMS, "dims", "has {} as element {at}, but must be positive", dims[at]);
        }
        let product = dims.iter().try_fold(1i64, |product, &dim| {
            Some(product * i64::from(dim)).filter(|&product| product <= i64::from(size))
        });
        if product.is_none() {
            fail!(DIMS, "dims", "is a grid {dims:?}, but the communicator has {size} processes");
        }
        Ok(Cart { dims, periods })
    }

    /// Lengths of the dimensions.
    pub fn dims(&self) -> &[i32] {
        &self.dims
    }

    /// Which dimensions wrap round.
    pub fn periods(&self) -> &[bool] {
        &self.periods
    }

    /// Number of processes.
    pub fn size(&self) -> u32 {
        self.dims.iter().map(|&dim| dim as u32).product()
    }

    /// The coordinates of a rank (`MPI_Cart_coords`).
    pub fn coords(&self, rank: u32) -> Vec<i32> {
        let mut rest = rank as i32;
        let mut coords = vec![0; self.dims.len()];
        for (coord, dim) in coords.iter_mut().zip(&self.dims).rev() {
            *coord = rest % dim;
            rest /= dim;
        }
        coords
    }

    /// The rank at `coords`, which wrap round where the dimension does (`MPI_Cart_rank`).
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a coordinate outside of a dimension that does not wrap round.
    pub fn rank(&self, coords: &[i32]) -> Result<u32> {
        let mut rank = 0;
        for (at, &coord) in coords.iter().enumerate() {
            let dim = self.dims[at];
            if !self.periods[at] && !(0..dim).contains(&coord) {
                let last = dim - 1;
                fail!(ARG, "coords", "has {coord} as element {at}, beyond 0 to {last}");
            }
            rank = rank * dim + coord.rem_euclid(dim);
        }
        Ok(rank as u32)
    }

    /// Whom `rank` receives from and sends to when all shift their data by `disp` along
    /// dimension `direction` (`MPI_Cart_shift`).
    ///
    /// # Errors
    /// `MPI_ERR_DIMS` for a dimension that the grid has not.
    pub fn shift(&self, rank: u32, direction: i32, disp: i32) -> Result<(i32, i32)> {
        let at = match usize::try_from(direction) {
            Ok(at) if at < self.dims.len() => at,
            _ => fail!(
                DIMS,
                "direction",
                "is {direction}, but the grid has {} dimensions",
                self.dims.len()
            ),
        };
        let step = i64::from(disp);
        Ok((self.along(rank, at, -step), self.along(rank, at, step)))
    }

    /// The rank that is `step` further along a dimension; `MPI_PROC_NULL` beyond its end.
    fn along(&self, rank: u32, at: usize, step: i64) -> i32 {
        let dim = i64::from(self.dims[at]);
        let stride: i64 = self.dims[at + 1..].iter().map(|&dim| i64::from(dim)).product();
        let own = i64::from(rank) / stride % dim;
        let there = match own + step {
            there if self.periods[at] => there.rem_euclid(dim),
            there if (0..dim).contains(&there) => there,
            _ => return PROC_NULL,
        };
        (i64::from(rank) + (there - own) * stride) as i32
    }

    /// The neighbours of `rank` in the order of neighbourhood collectives (§8.6): for each
    /// dimension the one before and the one after.
    pub fn neighbors(&self, rank: u32) -> Vec<i32> {
        (0..self.dims.len())
            .flat_map(|at| [self.along(rank, at, -1), self.along(rank, at, 1)])
            .collect()
    }

    /// The grid of the dimensions that remain, and which of these grids `rank` is in
    /// (`MPI_Cart_sub`).
    pub fn sub(&self, rank: u32, remain: &[bool]) -> (Cart, u32) {
        let kept = || remain.iter().enumerate().filter(|(_, remains)| **remains).map(|(at, _)| at);
        let cart = Cart {
            dims: kept().map(|at| self.dims[at]).collect(),
            periods: kept().map(|at| self.periods[at]).collect(),
        };
        let dropped = self.coords(rank).into_iter().zip(&self.dims).zip(remain);
        let which = dropped
            .filter(|(_, remains)| !**remains)
            .fold(0, |which, ((coord, dim), _)| which * dim + coord);
        (cart, which as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grids() -> impl Strategy<Value = (Vec<i32>, Vec<bool>)> {
        proptest::collection::vec((1..5i32, any::<bool>()), 0..4)
            .prop_map(|dims| dims.into_iter().unzip())
    }

    /// All coordinates in the order of ranks, the last one running fastest.
    fn enumerate(dims: &[i32]) -> Vec<Vec<i32>> {
        dims.iter().fold(vec![vec![]], |all, &dim| {
            all.iter().flat_map(|head| (0..dim).map(move |c| [&head[..], &[c]].concat())).collect()
        })
    }

    proptest! {
        #[test]
        fn ranks_run_through_the_grid_row_by_row((dims, periods) in grids()) {
            let cart = Cart::new(dims.clone(), periods.clone(), 1 << 20).unwrap();
            let all = enumerate(&dims);
            prop_assert_eq!(cart.size() as usize, all.len());
            for (rank, coords) in all.iter().enumerate() {
                prop_assert_eq!(&cart.coords(rank as u32), coords);
                prop_assert_eq!(cart.rank(coords).unwrap() as usize, rank);
            }
        }

        #[test]
        fn a_shift_goes_where_the_coordinates_say(
            (dims, periods) in grids(), disp in -9..9i32, pick in any::<u32>(),
        ) {
            let cart = Cart::new(dims.clone(), periods.clone(), 1 << 20).unwrap();
            let rank = pick % cart.size();
            for direction in 0..dims.len() {
                let there = |disp: i32| {
                    let mut coords = cart.coords(rank);
                    coords[direction] += disp;
                    cart.rank(&coords).map_or(PROC_NULL, |rank| rank as i32)
                };
                let shifted = cart.shift(rank, direction as i32, disp).unwrap();
                prop_assert_eq!(shifted, (there(-disp), there(disp)));
            }
            prop_assert!(cart.shift(rank, dims.len() as i32, 1).is_err());
        }

        #[test]
        fn parts_of_a_grid_have_the_processes_that_differ_where_it_remains(
            (dims, periods) in grids(), mask in any::<u8>(),
        ) {
            let cart = Cart::new(dims.clone(), periods, 1 << 20).unwrap();
            let remain: Vec<bool> = (0..dims.len()).map(|at| mask >> at & 1 == 1).collect();
            let fixed = |rank: u32| -> Vec<i32> {
                let coords = cart.coords(rank).into_iter().zip(&remain);
                coords.filter(|(_, remains)| !**remains).map(|(coord, _)| coord).collect()
            };
            for one in 0..cart.size() {
                let (part, which) = cart.sub(one, &remain);
                let mates: Vec<u32> =
                    (0..cart.size()).filter(|&other| cart.sub(other, &remain).1 == which).collect();
                prop_assert_eq!(mates.len(), part.size() as usize);
                prop_assert!(mates.iter().all(|&other| fixed(other) == fixed(one)));
            }
        }
    }

    #[test]
    fn what_is_no_grid_is_refused() {
        assert!(Cart::new(vec![2, 0], vec![false; 2], 4).is_err());
        assert!(Cart::new(vec![2, -1], vec![false; 2], 4).is_err());
        assert!(Cart::new(vec![3, 2], vec![false; 2], 4).is_err());
        assert!(Cart::new(vec![i32::MAX; 9], vec![false; 9], u32::MAX).is_err());
        assert!(Cart::new(vec![2, 2], vec![false; 2], 4).unwrap().rank(&[0, 2]).is_err());
        assert_eq!(Cart::new(vec![], vec![], 4).unwrap().size(), 1);
    }

    #[test]
    fn the_greatest_shifts_do_not_overflow() {
        let ring = Cart::new(vec![3], vec![true], 3).unwrap();
        assert_eq!(ring.shift(1, 0, i32::MIN).unwrap(), (0, 2));
        assert_eq!(ring.shift(1, 0, i32::MAX).unwrap(), (0, 2));
    }
}
