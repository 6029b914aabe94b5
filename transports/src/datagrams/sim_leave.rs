//! Processes that take leave of each other over a simulated network: it ends, as long as something comes
//! through.

use std::time::Duration;

use mpi_core::port::{Transport, Why};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::sim_storm::BAD;
use super::sim_world::World;
use crate::conformance::pattern;
use crate::reliability::sim_storm::seeds;
use crate::udp::UdpSettings;
use crate::udp::sim_net::FAIR;

/// The leave of all from all is over this soon in fair weather, though cables are cut; and where a third is lost,
/// so that many questions in a row may be, each of which waits twice as long as the one before it.
const FAIR_BOUND: Duration = Duration::from_secs(3);
const BAD_BOUND: Duration = Duration::from_secs(600);

/// Some say something, then all leave, at different times; some cables are cut for good before that.
fn part(seed: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (size, count) = (random.random_range(2..5), random.random_range(1..4));
    let (weather, bound) = [(FAIR, FAIR_BOUND), (BAD, BAD_BOUND)][random.random_range(0..2usize)];
    let mut world = World::new(seed, size, vec![[weather; 2]; count], &UdpSettings::default());
    for from in 0..size {
        for to in (0..size).filter(|to| *to != from) {
            if random.random_bool(0.7) {
                assert!(world.push(from, to, 7, &pattern(seed, random.random_range(0..5000))));
            }
        }
    }
    let whole = random.random_range(0..count);
    world.run_until("all has come", bound, |world| {
        world.ends.iter().all(|end| end.udp.is_flushed())
    });
    for cable in (0..count).filter(|cable| *cable != whole) {
        for from in 0..size {
            (0..size).for_each(|to| world.sim.set_cut(cable, [from, to], random.random_bool(0.6)));
        }
    }
    // Each leaves once, when its time has come; whoever computes hears of it later.
    let leaves: Vec<Duration> = (0..size)
        .map(|_| world.now() + Duration::from_millis(random.random_range(0..300)))
        .collect();
    let mut stays = vec![true; size];
    world.run_until("all have left", bound, |world| {
        let now = world.now();
        for rank in 0..size {
            if leaves[rank] <= now && std::mem::replace(&mut stays[rank], false) {
                world.ends[rank].udp.leave();
            }
        }
        world.wake_at = leaves.iter().copied().filter(|at| *at > now).min();
        stays.iter().all(|stays| !stays) && world.ends.iter().all(|end| end.udp.has_left())
    });
    for end in &world.ends {
        assert!(end.got.down.iter().all(|(_, why)| *why == Why::Finalized), "{:?}", end.got.down);
    }
}

#[test]
fn all_part_in_any_weather() {
    seeds(200).for_each(part);
}
