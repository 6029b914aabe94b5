//! How long arrays are whose length only the communicator knows. Where it does not know one, an array
//! has no elements.

use std::ffi::{c_int, c_void};

use super::queries::found;
use super::{Fortran, Special};
use crate::face::Face;

/// The number of processes that a collective call exchanges with: of the other group on an
/// intercommunicator.
pub fn comm_size<F: Face>(fint: c_int) -> usize {
    let size = found::<F, _>(fint, |cx, comm| Ok(cx.comm(comm)?.targets().size()));
    size.unwrap_or(0) as usize
}

/// `length()`, or nothing when the buffer is `MPI_IN_PLACE`.
pub fn unless_in_place<F: Fortran>(buffer: *mut c_void, length: impl FnOnce() -> usize) -> usize {
    if F::special(buffer) == Some(Special::InPlace) || buffer == F::special_out(Special::InPlace) {
        return 0;
    }
    length()
}

/// The dimensions of a Cartesian communicator.
pub fn cart_dims<F: Face>(fint: c_int) -> usize {
    found::<F, _>(fint, |cx, comm| Ok(cx.comm(comm)?.cart()?.dims().len())).unwrap_or(0)
}

/// The neighbours that send to this process.
pub fn in_degree<F: Face>(fint: c_int) -> usize {
    found::<F, _>(fint, |cx, comm| Ok(cx.comm(comm)?.neighbors()?.sources.len())).unwrap_or(0)
}

/// The neighbours that this process sends to.
pub fn out_degree<F: Face>(fint: c_int) -> usize {
    found::<F, _>(fint, |cx, comm| Ok(cx.comm(comm)?.neighbors()?.targets.len())).unwrap_or(0)
}
