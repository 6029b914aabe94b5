//! The values of the MPICH ABI, generated from `mpi-abi/api/constants.toml`.
#![allow(dead_code, reason = "the table names every value of the ABI, needed or not")]

use mpi_abi::face::ConstantGroup;

include!(concat!(env!("GENERATED"), "/constants_mpich.rs"));
