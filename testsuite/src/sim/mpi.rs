//! Simulated ranks that are whole MPI processes.

use std::sync::Arc;

use mpi_core::callout::NoUserCode;
use mpi_core::comm::WORLD;
use mpi_core::entry::Entry;
use mpi_core::handle::CommHandle;
use mpi_core::objects::Identity;
use mpi_core::process::Process;
use transports::sim::SimPort;

use super::{Hang, Outcome, RankContext, World};

/// `MPI_COMM_WORLD`.
pub const COMM_WORLD: CommHandle = CommHandle::from_raw(WORLD);

/// A call into a simulated process.
pub type SimEntry<'a> = Entry<'a, SimPort>;

impl World {
    /// Runs this world with an MPI process in each rank, between its initialisation and the
    /// point at which everything that it sent has been delivered.
    ///
    /// # Errors
    /// As [`World::run`].
    ///
    /// # Panics
    /// As [`World::run`].
    pub fn start_mpi<R: 'static>(
        &self,
        body: impl Fn(&mut SimEntry<'_>) -> R + 'static,
    ) -> Result<Outcome<R>, Hang> {
        self.start(move |context| live(context, &body))
    }
}

fn live<R>(mut context: RankContext, body: impl Fn(&mut SimEntry<'_>) -> R) -> R {
    let mut process = Process::new(Some(context.take_port()), &NoUserCode, Arc::default());
    let RankContext { ref job, rank, size, .. } = context;
    process.join(Identity { job: job.clone(), rank, size });
    process.begin_world();
    let mut entry = Entry::new(&mut process);
    let result = body(&mut entry);
    entry.block_until(|process| process.is_quiescent());
    result
}
