//! What the library lacks, said once on standard error, whatever the program does with the error: many programs set
//! `MPI_ERRORS_RETURN`, look at no code, and fail much later.
//!
//! In: the procedure that was called, or the level of thread support that was asked for. Out: a line.

use std::io::Write;

use mpi_core::error::{Error, ErrorClass};
use parking_lot::Mutex;

use crate::failure;
use crate::procedure::Procedure;
use crate::table::FaceTable;

/// The error of a procedure that is not implemented. One that ends the job, which says it, needs no words here.
pub(crate) fn error(face: &FaceTable, procedure: Procedure, is_fatal: bool) -> Error {
    let (what, hint) = about(procedure);
    let error = Error::new(ErrorClass::UNSUPPORTED_OPERATION, what).hint(hint);
    if !is_fatal && is_first(procedure) {
        tell(failure::line(face, procedure, &error));
    }
    error
}

/// What is missing, and what a program can do without it.
fn about(procedure: Procedure) -> (&'static str, &'static str) {
    use Procedure::*;
    match procedure {
        CommSpawn | CommSpawnMultiple => (
            "a job cannot start further processes yet",
            "Start all of them by mpirun; for a pool of workers in Python: \
             mpirun -n N python -m mpi4py.futures SCRIPT.",
        ),
        OpenPort | ClosePort | CommAccept | CommConnect | CommJoin | PublishName
        | UnpublishName | LookupName => (
            "jobs cannot connect to each other yet",
            "Start the programs as one job: mpirun -n 2 ./server : -n 2 ./client.",
        ),
        WinCreate | WinAllocate | WinCreateDynamic | WinAttach | WinDetach => (
            "of all windows only those of MPI_Win_allocate_shared are implemented yet",
            "Let the program use messages instead of one-sided communication, or within a node \
             MPI_Win_allocate_shared.",
        ),
        RegisterDatarep => (
            "data representations of the program's own are not implemented yet",
            "The representations native, internal and external32 are there.",
        ),
        other if other.name().starts_with("MPIX_") => (
            "this extension of another library is not implemented",
            "Let the program be built without it; docs/coverage.md lists what is there.",
        ),
        _ => (
            "this procedure is not implemented yet",
            "docs/coverage.md lists what is; this library names every procedure it lacks.",
        ),
    }
}

/// Whether nothing has been said of `procedure` yet in this process.
fn is_first(procedure: Procedure) -> bool {
    static SAID: Mutex<Vec<u16>> = Mutex::new(Vec::new());
    let mut said = SAID.lock();
    let is_first = !said.contains(&procedure.number());
    said.extend(is_first.then_some(procedure.number()));
    is_first
}

/// Writes a line in one piece.
fn tell(mut line: String) {
    line.push('\n');
    // If standard error is gone there is nobody left to tell.
    let _ = std::io::stderr().write_all(line.as_bytes());
}
