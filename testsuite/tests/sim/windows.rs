//! One-sided communication by whole processes in simulated worlds: locks keep others out whatever
//! the order of events, accumulates lose nothing, exposures are waited for (MPI-5.0 §12.3, §12.5).

use mpi_core::buffer::UserBuffer;
use mpi_core::collectives::calls::Typed;
use mpi_core::error::ErrorClass;
use mpi_core::group::Group;
use mpi_core::handle::{DatatypeHandle, OpHandle, WinHandle};
use mpi_core::info::Info;
use mpi_core::port::PeerId;
use mpi_core::rma::{LOCK_EXCLUSIVE, LOCK_SHARED};
use mpi_core::windows::Target;
use testsuite::sim::{COMM_WORLD, SimEntry, World};
use transports::sim::{Nodes, SimOptions};

/// `MPI_INT64_T`.
const INT64: DatatypeHandle = DatatypeHandle::from_raw(0x258);
/// `MPI_SUM`.
const SUM: OpHandle = OpHandle::from_raw(0x21);
const ROUNDS: i64 = 12;

fn one(value: &mut i64) -> Typed {
    Typed { buf: UserBuffer(std::ptr::from_mut(value).cast()), count: 1, datatype: INT64 }
}

fn cell(win: WinHandle, rank: i32, disp: i64) -> Target {
    Target { win, rank, disp, count: 1, datatype: INT64, by_request: false }
}

fn read(mpi: &mut SimEntry<'_>, win: WinHandle, rank: i32, disp: i64) -> i64 {
    let mut value = 0;
    mpi.window(win).unwrap().get(one(&mut value), cell(win, rank, disp), &mpi.datatypes).unwrap();
    value
}

fn write(mpi: &mut SimEntry<'_>, win: WinHandle, rank: i32, disp: i64, mut value: i64) {
    mpi.window(win).unwrap().put(one(&mut value), cell(win, rank, disp), &mpi.datatypes).unwrap();
}

/// Lets others do something, for a time that differs.
fn dawdle(mpi: &mut SimEntry<'_>, round: i64) {
    for _ in 0..(round + i64::from(mpi.identity.rank)) % 5 * 4 {
        mpi.poll();
    }
}

/// A sum by reading and writing under exclusive locks at each target; readers see it at rest.
fn exclude(mpi: &mut SimEntry<'_>, win: WinHandle, size: i32) {
    let me = mpi.identity.rank as i32;
    for round in 0..ROUNDS {
        let to = (me + round as i32) % size;
        mpi.windows().lock(win, LOCK_EXCLUSIVE, to, 0).unwrap();
        let before = read(mpi, win, to, 0);
        assert_eq!(before, read(mpi, win, to, 1), "another writer is inside");
        write(mpi, win, to, 0, before + 1);
        dawdle(mpi, round);
        write(mpi, win, to, 1, before + 1);
        mpi.window_mut(win).unwrap().unlock(to).unwrap();
        mpi.windows().lock(win, LOCK_SHARED, to, 0).unwrap();
        let first = read(mpi, win, to, 0);
        dawdle(mpi, round);
        assert_eq!(first, read(mpi, win, to, 1), "a writer is inside with a reader");
        mpi.window_mut(win).unwrap().unlock(to).unwrap();
    }
    mpi.windows().lock_all(win, 0).unwrap();
    for to in 0..size {
        let mut added = 1;
        mpi.windows().accumulate(one(&mut added), None, cell(win, to, 2), SUM).unwrap();
        dawdle(mpi, to.into());
    }
    mpi.window_mut(win).unwrap().unlock_all().unwrap();
}

/// Each process gets a value from its left neighbour in epochs of post and start.
fn expose(mpi: &mut SimEntry<'_>, win: WinHandle, size: i32) {
    let me = mpi.identity.rank as i32;
    let (right, left) = ((me + 1) % size, (me + size - 1) % size);
    let mut group = |rank: i32| mpi.new_group(Group::new(vec![PeerId(rank as u32)])).unwrap();
    let (to, from) = (group(right), group(left));
    for round in 0..ROUNDS {
        mpi.windows().post(win, from, 0).unwrap();
        mpi.windows().start(win, to, 0).unwrap();
        write(mpi, win, right, 3, 100 * round + i64::from(me));
        dawdle(mpi, round);
        mpi.windows().complete(win).unwrap();
        if round % 2 == 0 {
            mpi.windows().wait(win).unwrap();
        } else {
            while !mpi.windows().test(win).unwrap() {}
        }
        mpi.windows().lock(win, LOCK_SHARED, me, 0).unwrap();
        assert_eq!(read(mpi, win, me, 3), 100 * round + i64::from(left));
        mpi.window_mut(win).unwrap().unlock(me).unwrap();
    }
}

fn live(mpi: &mut SimEntry<'_>) -> [i64; 2] {
    let (me, size) = (mpi.identity.rank as i32, mpi.identity.size as i32);
    let win = mpi.windows().allocate_shared(COMM_WORLD, 64, 8, Info::new()).unwrap();
    exclude(mpi, win, size);
    mpi.windows().fence(win, 0).unwrap();
    let seen = [read(mpi, win, me, 0), read(mpi, win, me, 2)];
    mpi.windows().fence(win, 0).unwrap();
    expose(mpi, win, size);
    mpi.windows().free(win).unwrap();
    seen
}

#[test]
fn locks_exclude_and_accumulates_add_up() {
    for seed in 0..60 {
        let ranks = 1 + (seed % 5) as u32;
        let network = SimOptions { nodes: Nodes::One, ..SimOptions::default() };
        let outcome = World { network, ..World::new(seed, ranks) }.start_mpi(live);
        let results = outcome.unwrap_or_else(|hang| panic!("{hang}")).results;
        let seen: Vec<[i64; 2]> = results.into_iter().map(|seen| seen.unwrap()).collect();
        assert_eq!(seen.iter().map(|seen| seen[0]).sum::<i64>(), ROUNDS * i64::from(ranks));
        assert!(seen.iter().all(|seen| seen[1] == i64::from(ranks)), "{seen:?}");
    }
}

#[test]
fn integers_are_not_added_to_floating_point_numbers() {
    let network = SimOptions { nodes: Nodes::One, ..SimOptions::default() };
    let outcome = World { network, ..World::new(3, 2) }.start_mpi(|mpi| {
        let win = mpi.windows().allocate_shared(COMM_WORLD, 64, 8, Info::new()).unwrap();
        mpi.windows().fence(win, 0).unwrap();
        let mut add = |datatype| {
            let mut value = 1;
            let datatype = DatatypeHandle::from_raw(datatype);
            let target = Target { datatype, ..cell(win, 0, 0) };
            mpi.windows()
                .accumulate(one(&mut value), None, target, SUM)
                .map_err(|error| error.class())
        };
        // `MPI_DOUBLE` and `MPI_LONG`, of eight bytes both.
        let results = [add(0x214), add(0x20a)];
        mpi.windows().fence(win, 0).unwrap();
        mpi.windows().free(win).unwrap();
        results
    });
    for results in outcome.unwrap_or_else(|hang| panic!("{hang}")).results {
        assert_eq!(results.unwrap(), [Err(ErrorClass::TYPE), Ok(())]);
    }
}

#[test]
fn processes_that_share_no_memory_have_no_shared_window() {
    let network = SimOptions { nodes: Nodes::Blocks(1), ..SimOptions::default() };
    let outcome = World { network, ..World::new(7, 3) }.start_mpi(|mpi| {
        let failed = mpi.windows().allocate_shared(COMM_WORLD, 64, 8, Info::new()).unwrap_err();
        failed.class()
    });
    for class in outcome.unwrap_or_else(|hang| panic!("{hang}")).results {
        assert_eq!(class.unwrap(), ErrorClass::RMA_SHARED);
    }
}
