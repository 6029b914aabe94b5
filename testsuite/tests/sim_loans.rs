//! Rooms that roots lend for long blocks, in simulated worlds whose ranks share processors: whoever comes first,
//! whoever cannot write where it was lent, and what becomes of the room when the root fails.

mod calls;

use std::cell::RefCell;
use std::rc::Rc;

use calls::{Call, INT64, live, memory, prepare};
use mpi_core::buffer::UserBuffer;
use mpi_core::coll::calls::Typed;
use mpi_core::coll::menu::Collective;
use mpi_core::error::ErrorClass;
use testsuite::sim::{COMM_WORLD, World};
use transports::sim::SimOptions;

fn crowded(seed: u64, ranks: u32) -> World {
    let network = SimOptions { processors: Some(2), ..SimOptions::default() };
    World { network, ..World::new(seed, ranks) }
}

#[test]
fn long_blocks_come_to_a_root_whoever_is_there_first() {
    for seed in 0..60u64 {
        let ranks = 3 + (seed % 6) as u32;
        let outcome = crowded(seed, ranks).start_mpi(move |mpi| {
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

/// The block of rank 2 is longer than the root expects; what others have been lent is the program's again when
/// the root's call returns.
#[test]
fn a_root_that_fails_has_its_rooms_back_when_it_says_so() {
    const LEN: usize = 500;
    let mut failed = 0;
    for seed in 0..200u64 {
        let room = Rc::new(RefCell::new(vec![0i64; 5 * LEN]));
        let (shared, ranks) = (room.clone(), 5);
        let outcome = crowded(seed, ranks).start_mpi(move |mpi| {
            mpi.selection.patience = 0;
            let me = mpi.identity.rank as usize;
            let barrier = Call { collective: Collective::Barrier, len: 0, root: 0, salt: 0 };
            let mut nothing = memory(&barrier, me, ranks as usize);
            let barrier = prepare(mpi, &barrier, &mut nothing);
            mpi.run(barrier).unwrap();
            let len = if me == 2 { LEN + 1 } else { LEN };
            let mut own = vec![me as i64 + 1; len];
            let typed = |buf: *mut i64, len: usize| Typed {
                buf: UserBuffer(buf.cast()),
                count: len as i64,
                datatype: INT64,
            };
            let into = typed(shared.borrow_mut().as_mut_ptr(), LEN);
            let call = mpi.gather(typed(own.as_mut_ptr(), len), into, 0, COMM_WORLD).unwrap();
            let class = mpi.run(call).err().map(|error| error.class());
            if me == 0 {
                shared.borrow_mut().fill(-1);
            }
            class
        });
        let results = outcome.unwrap_or_else(|hang| panic!("seed {seed}: {hang}")).results;
        assert_eq!(results[0], Some(Some(ErrorClass::TRUNCATE)), "seed {seed}");
        assert!(room.borrow().iter().all(|kept| *kept == -1), "seed {seed}: written afterwards");
        failed += results.iter().filter(|result| **result == Some(None)).count();
    }
    assert!(failed > 0, "nobody was done before the root failed");
}
