//! Calls that go by one algorithm.

use mpi_core::coll::menu::{Algorithm, Collective};
use mpi_core::error::ErrorClass;
use testsuite::sim::SimEntry;

use crate::calls::{Call, memory, prepare};

/// Takes this algorithm wherever it can serve, and a segment at once.
pub(crate) fn use_only(mpi: &mut SimEntry<'_>, collective: Collective, algorithm: Algorithm) {
    let selection = mpi.selection.clone();
    mpi.selection = selection.with_override(collective, algorithm.name()).unwrap();
    mpi.selection.patience = 0;
}

/// Calls of one collective, of several lengths and from several roots.
pub(crate) fn calls_of(collective: Collective, ranks: u32) -> Vec<Call> {
    let lens = [0, 1, 5, 40, 3000];
    let call = |(n, &len): (usize, &usize)| {
        let root = n * 7 % ranks as usize;
        Call { collective, len, root, salt: n as i64 + 1 }
    };
    lens.iter().enumerate().map(call).collect()
}

/// Broadcasts, where rank 2 has not enough room, then meets; the classes of the errors.
pub(crate) fn fail_at_rank_2(
    mpi: &mut SimEntry<'_>,
    algorithm: Algorithm,
) -> [Option<ErrorClass>; 2] {
    use_only(mpi, Collective::Bcast, algorithm);
    let (me, size) = (mpi.identity.rank as usize, mpi.identity.size as usize);
    [Collective::Bcast, Collective::Barrier].map(|collective| {
        let call = Call { collective, len: if me == 2 { 5 } else { 40 }, root: 0, salt: 0 };
        let mut memory = memory(&call, me, size);
        let prepared = prepare(mpi, &call, &mut memory);
        mpi.collectives().run(&prepared).err().map(|error| error.class())
    })
}
