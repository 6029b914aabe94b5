//! What calls leave behind in a whole process of a simulated world: nothing, when they fail, and the
//! name of the procedure that runs, when the program's own code has called another one.

use std::ptr::NonNull;

use mpi_core::entry::Entry;
use mpi_core::error::ErrorClass;
use mpi_core::group::Group;
use mpi_core::port::PeerId;
use testsuite::sim::World;

#[test]
fn a_leader_that_there_is_not_leaves_no_communicator() {
    let outcome = World::new(1, 4).start_mpi(|mpi| {
        let (me, before) = (mpi.identity.rank, mpi.comms.len());
        let mut half =
            |first| mpi.new_group(Group::new(vec![PeerId(first), PeerId(first + 1)])).unwrap();
        let (mine, theirs) = (half(me / 2 * 2), half(2 - me / 2 * 2));
        for leader in [-1, 2, i32::MAX] {
            let failed =
                mpi.communicators().intercomm_from_groups((mine, leader), (theirs, 0), b"halves");
            assert_eq!(failed.unwrap_err().class(), ErrorClass::RANK);
        }
        let made =
            mpi.communicators().intercomm_from_groups((mine, 1), (theirs, 1), b"halves").unwrap();
        mpi.communicators().free(made).unwrap();
        mpi.comms.len() - before
    });
    for left in outcome.unwrap_or_else(|hang| panic!("{hang}")).results {
        assert_eq!(left.unwrap(), 0);
    }
}

#[test]
fn what_a_callback_calls_is_not_what_runs_after_it() {
    let outcome = World::new(1, 1).start_mpi(|mpi| {
        mpi.procedure = 7;
        let process = NonNull::from(&mut **mpi);
        mpi.call_out(|_| {
            // SAFETY: the process lives, and is entered from within a `call_out` alone.
            let mut entry = unsafe { Entry::from_raw(process) };
            entry.procedure = 9;
        });
        mpi.procedure
    });
    for procedure in outcome.unwrap_or_else(|hang| panic!("{hang}")).results {
        assert_eq!(procedure.unwrap(), 7);
    }
}
