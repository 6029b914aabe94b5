//! The MPICH face: `libmpi.so.12`, also for programs built with Intel MPI, MVAPICH and Cray MPICH.
//!
//! Handles are 32-bit codes (`handles`), a status has 20 bytes (`status`); `face` ties them to
//! the trait, `symbols` holds what the library exports beside the procedures.

mod blocks;
mod cxx;
mod face;
mod fortran;
mod handles;
mod status;
mod symbols;
mod tables;

/// The MPICH ABI.
#[derive(Debug)]
pub(crate) enum Mpich {}

#[allow(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]
#[allow(clippy::too_many_arguments, unreachable_pub, missing_docs, non_snake_case)]
mod exports {
    type Here = crate::Mpich;
    include!(concat!(env!("GENERATED"), "/mpich_exports.rs"));
}

#[cfg(test)]
mod tests;
