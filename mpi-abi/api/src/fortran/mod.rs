//! The Fortran interfaces (MPI-5.0 chapter 19), generated from the same description as the C one.
//!
//! Leaves: `mpif.h`, and the sources of the modules `mpi` and `mpi_f08`, which declare external
//! procedures and hold no code, so that nothing of them is linked; and the entry points that all
//! three interfaces call, in Rust, which every face includes. A handle of `mpi_f08` is a derived
//! type around the INTEGER, and a status of its own is the array of INTEGERs, so that one entry
//! point serves all three.

mod constants;
mod declare;
pub mod entries;
pub mod intel;
pub(crate) mod mpi;
pub(crate) mod mpi_f08;
#[cfg(feature = "files")]
pub(crate) mod mpif;
pub(crate) mod peers;
mod sections;
#[cfg(test)]
mod tests;
mod text;
mod types;

use crate::description::{Direction, Parameter, Procedure};
use crate::kind::Kind;

/// What Fortran calls C functions of the same name with a `TYPE(C_PTR)` in place of an address.
const WITH_C_PTR: &[&str] =
    &["Alloc_mem", "Win_allocate", "Win_allocate_shared", "Win_shared_query"];

/// The procedures that Fortran has.
pub(crate) fn procedures(all: &[Procedure]) -> impl Iterator<Item = &Procedure> {
    all.iter().filter(|procedure| !procedure.fortran.is_empty())
}

/// Whether the interface called `name` (`mpif`, `mpi`, `mpi_f08`) has the procedure.
pub(crate) fn has(procedure: &Procedure, name: &str) -> bool {
    procedure.fortran.iter().any(|interface| interface == name)
}

/// Whether Fortran has the parameter: what C programs get from `main` it has not, and the
/// large-count parameters only in that form.
pub(crate) fn is_passed(procedure: &Procedure, parameter: &Parameter, large: bool) -> bool {
    let from_main = match parameter.kind {
        Kind::Argc | Kind::Argv => true,
        _ => procedure.name == "Info_create_env" && ["argc", "argv"].contains(&&*parameter.name),
    };
    !from_main && (large || !parameter.large_only)
}

/// The parameters that Fortran passes, without the error code that comes last.
pub(crate) fn parameters(procedure: &Procedure, large: bool) -> impl Iterator<Item = &Parameter> {
    procedure.parameters.iter().filter(move |parameter| is_passed(procedure, parameter, large))
}

/// Whether the last argument is an error code. `MPI_PCONTROL` speaks to a tool and has none
/// (MPI-5.0 §15.2.4).
pub(crate) fn has_ierror(procedure: &Procedure) -> bool {
    procedure.returns.is_none() && !procedure.variadic
}

/// Which way a value goes in Fortran. `MPI_CANCEL` leaves the handle as it is, though C passes a
/// pointer to it.
pub(crate) fn direction(procedure: &Procedure, parameter: &Parameter) -> Direction {
    match (procedure.name.as_str(), &parameter.kind) {
        ("Cancel", Kind::Handle(_)) => Direction::In,
        _ => parameter.direction,
    }
}

/// Whether the parameter is a string, whose length travels behind all arguments.
pub(crate) fn has_length(parameter: &Parameter) -> bool {
    matches!(parameter.kind, Kind::Text(_) | Kind::Texts | Kind::TextArrays)
}

/// Whether the parameter counts requests or statuses from 1 in Fortran (MPI-5.0 §3.7.5).
pub(crate) fn is_index(procedure: &Procedure, parameter: &Parameter) -> bool {
    let completes =
        ["Wait", "Test", "Request_get"].iter().any(|word| procedure.name.starts_with(word));
    completes && ["index", "array_of_indices"].contains(&&*parameter.name)
}

/// Whether an address of a procedure that MPI-3.0 removed is a plain INTEGER in Fortran.
pub(crate) fn is_narrow(procedure: &Procedure, parameter: &Parameter) -> bool {
    procedure.removed && matches!(parameter.kind, Kind::Wide(_))
}
