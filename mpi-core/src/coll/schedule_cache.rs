//! The schedules made lately: programs repeat their calls, and making a schedule takes longer than a small operation.
//!
//! Enters: what a schedule depends on, neither its memory nor members. Leaves: the schedule, made or found.

use std::rc::Rc;
use std::sync::Arc;

use super::hierarchy;
use super::hierarchy::groups::Groups;
use super::plan::{Problem, plan};
use super::schedule::Schedule;
use super::select::Selection;
use super::shape::{Choice, Shape};
use crate::error::Result;
use crate::tuning::{CACHED_SCHEDULES, CACHED_STEPS};

/// Schedules, those used lately in front.
#[derive(Default)]
pub(crate) struct ScheduleCache {
    entries: Vec<Entry>,
    /// Steps of all of them.
    steps: usize,
}

/// What a schedule depends on that goes node by node.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Nodes {
    pub(crate) groups: Arc<Groups>,
    /// By which its stages get their algorithms.
    pub(crate) shape: Shape,
}

struct Entry {
    /// Rank and number of processes.
    place: [usize; 2],
    /// The nodes by which it goes.
    nodes: Option<Nodes>,
    choice: Choice,
    problem: Problem,
    schedule: Rc<Schedule>,
}

impl ScheduleCache {
    /// The schedule of a rank among so many processes, node by node if nodes are given, with stages as `table` says.
    ///
    /// # Errors
    /// As [`plan`], or [`hierarchy::plan`].
    pub(crate) fn get(
        &mut self,
        place: [usize; 2],
        nodes: Option<Nodes>,
        problem: &Problem,
        choice: &Choice,
        table: &Selection,
    ) -> Result<Rc<Schedule>> {
        let fits = |entry: &Entry| {
            entry.place == place
                && entry.nodes == nodes
                && entry.choice == *choice
                && entry.problem == *problem
        };
        if let Some(at) = self.entries.iter().position(fits) {
            // Halfway to the front: one that is used once does not drive out those in use.
            self.entries.swap(at, at / 2);
            return Ok(self.entries[at / 2].schedule.clone());
        }
        let [rank, size] = place;
        let schedule = match &nodes {
            Some(Nodes { groups, shape }) => {
                hierarchy::plan(rank, groups, problem, shape, choice.ports, table)?
            }
            None => plan(rank, size, problem, choice)?,
        };
        let schedule = Rc::new(schedule);
        self.keep(Entry {
            place,
            nodes,
            choice: *choice,
            problem: problem.clone(),
            schedule: schedule.clone(),
        });
        Ok(schedule)
    }

    fn keep(&mut self, entry: Entry) {
        let steps = entry.schedule.len();
        if steps > CACHED_STEPS {
            return;
        }
        while self.entries.len() >= CACHED_SCHEDULES || self.steps + steps > CACHED_STEPS {
            let Some(last) = self.entries.pop() else { break };
            self.steps -= last.schedule.len();
        }
        self.steps += steps;
        self.entries.push(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coll::menu::{Algorithm, Collective};

    const SHAPE: Shape = Shape {
        collective: Collective::Allreduce,
        size: 4,
        ranks_per_node: 2,
        oversubscribed: false,
        processors: 2,
        bytes: 64,
        unit: 8,
        commutative: true,
        shared_memory: false,
        nodes: true,
        blocking: false,
    };

    fn get(cache: &mut ScheduleCache, len: i64) -> Rc<Schedule> {
        let table = Selection::default();
        cache
            .get([0, 4], None, &Problem::Bcast { root: 0, len }, &Choice::ONLY, &table)
            .unwrap_or_else(|_| {
                let choice = Choice { algorithm: Algorithm::Binomial, ..Choice::ONLY };
                cache.get([0, 4], None, &Problem::Bcast { root: 0, len }, &choice, &table).unwrap()
            })
    }

    #[test]
    fn the_same_call_finds_its_schedule_and_another_does_not() {
        let mut cache = ScheduleCache::default();
        let first = get(&mut cache, 8);
        assert!(Rc::ptr_eq(&first, &get(&mut cache, 8)));
        assert!(!Rc::ptr_eq(&first, &get(&mut cache, 9)));
        assert!(Rc::ptr_eq(&first, &get(&mut cache, 8)));
    }

    #[test]
    fn other_nodes_have_another_schedule_and_the_same_ones_of_another_communicator_have_not() {
        let mut cache = ScheduleCache::default();
        let problem = Problem::Allreduce { len: 8, in_place: false };
        let (table, shape) = (Selection::default(), SHAPE);
        let mut by = |firsts: [u32; 4]| {
            let groups = Groups::new(&firsts).map(Arc::new);
            let nodes = groups.map(|groups| Nodes { groups, shape });
            cache.get([0, 4], nodes, &problem, &Choice::ONLY, &table).unwrap()
        };
        let first = by([0, 0, 2, 2]);
        assert!(Rc::ptr_eq(&first, &by([0, 0, 2, 2])));
        assert!(!Rc::ptr_eq(&first, &by([0, 1, 0, 1])));
    }

    #[test]
    fn calls_that_never_come_again_do_not_drive_out_those_that_do() {
        let mut cache = ScheduleCache::default();
        let often = get(&mut cache, 8);
        for other in 0..10 * CACHED_SCHEDULES as i64 {
            assert!(Rc::ptr_eq(&often, &get(&mut cache, 8)));
            get(&mut cache, 100 + other);
            assert!(cache.entries.len() <= CACHED_SCHEDULES);
        }
        let steps: usize = cache.entries.iter().map(|entry| entry.schedule.len()).sum();
        assert_eq!(steps, cache.steps);
    }

    #[test]
    #[cfg_attr(miri, ignore = "minutes of safe code")]
    fn what_is_too_long_is_made_anew() {
        let mut cache = ScheduleCache::default();
        let problem = Problem::Alltoall { block: 1, in_place: false };
        let place = [0, CACHED_STEPS];
        let table = Selection::default();
        let first = cache.get(place, None, &problem, &Choice::ONLY, &table).unwrap();
        assert!(!Rc::ptr_eq(
            &first,
            &cache.get(place, None, &problem, &Choice::ONLY, &table).unwrap()
        ));
        assert_eq!(cache.steps, 0);
    }
}
