//! The binary interfaces that programs are built for.

/// The three ABIs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Abi {
    /// The MPI-5.0 standard ABI, `libmpi_abi.so.1`.
    Standard,
    /// The MPICH ABI, `libmpi.so.12`.
    Mpich,
    /// The Open MPI ABI, `libmpi.so.40`.
    OpenMpi,
}
