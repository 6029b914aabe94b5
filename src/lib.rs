//! The face of the MPI-5.0 standard ABI: `libmpi_abi.so.1`, what `mpicc` links.

mod face;
mod fortran;

#[allow(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]
#[allow(clippy::too_many_arguments, unreachable_pub, missing_docs, non_snake_case)]
mod exports {
    type Here = crate::face::Standard;
    include!(concat!(env!("GENERATED"), "/standard_exports.rs"));
}
