//! See the package description.

pub mod abi_values;
mod abi_values_mpich;
mod abi_values_openmpi;

pub use abi_values_mpich::mpich as constants_mpich;
pub use abi_values_openmpi::openmpi as constants_openmpi;
