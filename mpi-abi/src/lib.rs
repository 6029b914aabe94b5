//! The C interface: the trait that an ABI implements, argument checks and handle conversion.
//!
//! A face is one package with the exports of one ABI; everything else lies here, once, generic
//! over [`face::Face`].

pub mod abi;
pub mod affinity;
pub mod args;
mod c_streams;
pub mod calls;
pub mod claim;
mod configure;
pub mod cx;
mod device;
pub mod direct;
mod dying;
pub mod entry;
pub mod face;
mod failure;
pub mod fast;
pub mod foreign;
pub mod fortran;
mod fortran_callbacks;
pub mod glue;
mod lacks;
mod library;
mod logicals;
mod memory_kinds;
pub mod node;
pub mod procedure;
mod progress;
pub mod raw;
mod report;
mod standard_streams;
mod startup;
pub mod strings;
pub mod table;
mod turns;
pub mod values;

/// For the faces, which name core types and need no dependency of their own.
pub use mpi_core;
