//! The MPICH face: `libmpi.so.12`, also for programs built with Intel MPI, MVAPICH and Cray MPICH.
//!
//! Handles are 32-bit codes (`handles`), a status has 20 bytes (`status`); `face` ties them to
//! the trait, `symbols` holds what the library exports beside the procedures.

pub mod face;
mod handles;
pub mod status;
mod symbols;
mod tables;

#[cfg(test)]
mod tests;
