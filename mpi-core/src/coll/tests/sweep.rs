//! What all sweeps over algorithms, sizes and parameters share.

use super::data::mix;
use super::sim::{Memory, run};
use crate::coll::menu::{Algorithm, Collective};
use crate::coll::plan::{Problem, plan};
use crate::coll::schedule::Schedule;
use crate::coll::select::Choice;

/// All small sizes, and some around powers of two, of three and of ten.
pub(super) const SIZES: &[usize] =
    &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 27, 31, 32, 33, 64, 100];

/// Some sizes with every interesting property, for sweeps that are wide otherwise.
pub(super) const FEW_SIZES: &[usize] = &[1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 33];

/// Lengths of messages and blocks.
pub(super) const LENS: &[i64] = &[0, 1, 2, 7, 41];

/// Longer messages among many processes show nothing that fewer or shorter ones do not.
const LEN_TIMES_SIZE_MAX: i64 = 700;

/// Everything that is chosen in a test, but for the problem itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) size: usize,
    pub(super) root: usize,
    pub(super) len: i64,
    pub(super) in_place: bool,
    pub(super) commutative: bool,
    pub(super) choice: Choice,
}

impl Case {
    /// Calls `check` for every algorithm of the collective with every size, length, number of
    /// ports and root; roots are sampled.
    pub(super) fn sweep(collective: Collective, sizes: &[usize], mut check: impl FnMut(Case)) {
        for &(algorithm, needs) in collective.menu() {
            for &size in sizes {
                for (ports, &len) in (0..LENS.len() * 4).map(|i| (i % 4 + 1, &LENS[i / 4])) {
                    if len * size as i64 > LEN_TIMES_SIZE_MAX {
                        continue;
                    }
                    let roots = [0, size - 1, mix(len as u64, ports as u64) as usize % size];
                    for (i, root) in roots.into_iter().enumerate() {
                        let commutative = needs.met(size, true) && !needs.met(size, false);
                        if needs.met(size, commutative) {
                            let choice = Choice { algorithm, ports, segment: ports as i64 };
                            let in_place = (i + ports) % 2 == 0;
                            check(Case { size, root, len, in_place, commutative, choice });
                        }
                    }
                }
            }
        }
    }

    /// The algorithm's name, for messages.
    pub(super) fn algorithm(&self) -> Algorithm {
        self.choice.algorithm
    }

    /// Plans for all ranks and runs the plans.
    pub(super) fn run(
        &self,
        problem: impl Fn(usize) -> Problem,
        memory: impl Fn(usize) -> Memory,
    ) -> Vec<Memory> {
        let schedules: Vec<Schedule> = (0..self.size)
            .map(|rank| match plan(rank, self.size, &problem(rank), &self.choice) {
                Ok(schedule) => schedule,
                Err(error) => panic!("{self:?}: {error}"),
            })
            .collect();
        let seed = mix(self.size as u64 * 64 + self.choice.ports as u64, self.root as u64)
            ^ u64::from(self.in_place)
            ^ self.len as u64;
        match run(&schedules, (0..self.size).map(memory).collect(), seed) {
            Ok(memory) => memory,
            Err(fault) => panic!("{self:?}: {fault}"),
        }
    }
}
