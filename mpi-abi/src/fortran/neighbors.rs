//! How long arrays are whose length only the communicator knows.

use std::ffi::{c_int, c_void};

use mpi_core::handle::{CommKind, Handle, Kind};

use super::{Fortran, Special, comm};
use crate::entry::{self, Owner};
use crate::face::{ConstantGroup, Face};
use crate::glue;
use crate::procedure::Procedure;

/// What `MPI_Topo_test` answers, in the core's numbers.
const CART: c_int = 211;
const GRAPH: c_int = 212;
const DIST_GRAPH: c_int = 213;

/// The number of processes that a collective call exchanges with: of the other group on an
/// intercommunicator. A handle that is none has no elements, and the call itself will say so.
pub fn comm_size<F: Face>(fint: c_int) -> usize {
    let mut size = 0;
    let handle = Handle::from_raw(F::handle_from_fint(CommKind::NUMBER, fint));
    entry::call::<F>(Procedure::Alltoallw, Owner::None, |cx| {
        if let Ok(comm) = cx.comm(handle) {
            size =
                comm.remote.as_ref().map_or(comm.size() as usize, |remote| remote.size() as usize);
        }
        Ok(())
    });
    size
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
    let mut dims = 0;
    // SAFETY: the place is local.
    let code = unsafe { glue::cartdim_get::<F>(comm::<F>(fint), &mut dims) };
    if code == 0 { super::length(i64::from(dims)) } else { 0 }
}

/// The numbers of neighbours that send to this process and that it sends to.
fn degrees<F: Face>(fint: c_int) -> (usize, usize) {
    let handle = comm::<F>(fint);
    let (mut kind, mut rank, mut sources, mut targets, mut weighted) = (0, 0, 0, 0, 0);
    // SAFETY: the places are local.
    unsafe {
        if glue::topo_test::<F>(handle, &mut kind) != 0 {
            return (0, 0);
        }
        match F::constant_in(ConstantGroup::Topology, kind) {
            CART => (2 * cart_dims::<F>(fint), 2 * cart_dims::<F>(fint)),
            GRAPH => {
                glue::comm_rank::<F>(handle, &mut rank);
                glue::graph_neighbors_count::<F>(handle, rank, &mut sources);
                let count = super::length(i64::from(sources));
                (count, count)
            }
            DIST_GRAPH => {
                let (into, out) = (&mut sources, &mut targets);
                glue::dist_graph_neighbors_count::<F>(handle, into, out, &mut weighted);
                (super::length(i64::from(sources)), super::length(i64::from(targets)))
            }
            _ => (0, 0),
        }
    }
}

/// The neighbours that send to this process.
pub fn in_degree<F: Face>(fint: c_int) -> usize {
    degrees::<F>(fint).0
}

/// The neighbours that this process sends to.
pub fn out_degree<F: Face>(fint: c_int) -> usize {
    degrees::<F>(fint).1
}
