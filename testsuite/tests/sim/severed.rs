//! Links that carry nothing from the beginning, every subset of them, under every collective: a job either gives
//! the right answer, having gone round them, or it is ended with the reason. It never hangs, and no process comes to
//! its end while something that it sent is nowhere.

use crate::calls::{Call, live};
use mpi_core::coll::menu::Collective;
use testsuite::sim::{Hang, Outcome, SimEntry, World};
use transports::sim::{Nodes, SimOptions};

const RANKS: u32 = 4;

/// All links of the world.
fn links() -> Vec<(u32, u32)> {
    (0..RANKS).flat_map(|low| (low + 1..RANKS).map(move |high| (low, high))).collect()
}

/// A world of ranks on nodes of their own, without the links whose bits are set.
fn world(seed: u64, cut: usize) -> World {
    let cut = |at: &usize| cut >> at & 1 == 1;
    let all = links();
    let severed = (0..all.len()).filter(cut).map(|at| all[at]).collect();
    let network = SimOptions { severed, nodes: Nodes::Blocks(1), ..SimOptions::default() };
    World { network, ..World::new(seed, RANKS) }
}

/// A run ends in one of the two ways; whether it came to its own end.
fn judge<R>(outcome: Result<Outcome<R>, Hang>, what: &str) -> bool {
    match outcome {
        Ok(_) => true,
        Err(Hang { ended: Some(why), .. }) => {
            assert!(why.contains("cannot be delivered"), "{what}: {why}");
            false
        }
        Err(hang) => panic!("{what}: {hang}"),
    }
}

#[test]
fn every_collective_gives_the_right_answer_or_ends_the_job() {
    for (seed, &collective) in (0u64..).zip(Collective::ALL) {
        for len in [1, 40_000] {
            let ended = (0..1 << links().len()).filter(|&cut| {
                let root = cut % RANKS as usize;
                let calls = vec![Call { collective, len, root, salt: cut as i64 }];
                let run = world(seed << 16 | cut as u64, cut)
                    .start_mpi(move |mpi: &mut SimEntry<'_>| live(mpi, &calls, 1));
                let what = format!("{collective} of {len} with links {cut:06b} cut");
                let is_over = judge(run, &what);
                assert!(is_over || cut != 0, "{what}");
                !is_over
            });
            // All ranks take part in each, so that no world without links comes to an end of its own.
            assert!(ended.count() > 1, "{collective} of {len}");
        }
    }
}
