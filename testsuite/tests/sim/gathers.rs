//! Gathers of long blocks in simulated worlds whose ranks share processors, whoever comes first.

use crate::calls::{Call, live};
use mpi_core::coll::menu::Collective;
use testsuite::sim::World;
use transports::sim::SimOptions;

fn oversubscribed(seed: u64, ranks: u32) -> World {
    let network = SimOptions { processors: Some(2), ..SimOptions::default() };
    World { network, ..World::new(seed, ranks) }
}

#[test]
fn long_blocks_come_to_a_root_whoever_is_there_first() {
    for seed in 0..60u64 {
        let ranks = 3 + (seed % 6) as u32;
        let outcome = oversubscribed(seed, ranks).start_mpi(move |mpi| {
            mpi.selection.patience = 0;
            let call = |n: usize| {
                let collective = match n % 5 {
                    0 => Collective::Barrier,
                    1 | 2 => Collective::Gather,
                    3 => Collective::Gatherv,
                    _ => Collective::ALL[(n + seed as usize) % Collective::ALL.len()],
                };
                let root = (n / 10 + seed as usize) % ranks as usize;
                Call { collective, len: [70, 3, 2_000, 9_000][n / 2 % 4], root, salt: n as i64 }
            };
            let calls: Vec<Call> = (0..60).map(call).collect();
            live(mpi, &calls, 1);
        });
        outcome.unwrap_or_else(|hang| panic!("seed {seed}: {hang}"));
    }
}
