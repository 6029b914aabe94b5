//! The Open MPI face: `libmpi.so.40`.
//!
//! A handle is the address of an object whose first word says which core handle it stands for
//! (`word`); the predefined ones are exported data (`objects`), those of the user are cells that
//! never move (`cells`). `face` ties them to the trait; `symbols`, `extensions`, `cxx` and `cxx_errors`
//! hold what the library exports beside procedures and handles.

mod cells;
mod cxx;
mod cxx_errors;
mod extensions;
mod face;
mod fortran;
mod handles;
mod objects;
mod status;
mod symbols;
mod word;

/// The Open MPI ABI.
#[derive(Debug)]
pub(crate) enum OpenMpi {}

#[allow(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]
#[allow(clippy::too_many_arguments, unreachable_pub, missing_docs, non_snake_case)]
mod exports {
    type Here = crate::OpenMpi;
    include!(concat!(env!("GENERATED"), "/openmpi_exports.rs"));
}

#[cfg(test)]
mod tests;
