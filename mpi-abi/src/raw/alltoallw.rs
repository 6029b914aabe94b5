//! `MPI_Alltoallw` and `MPI_Neighbor_alltoallw` (MPI-5.0 §6.8, §8.6.2): a datatype
//! for each rank or neighbour.
#![allow(clippy::too_many_arguments)]

use std::ffi::c_void;

use mpi_core::buffer::UserBuffer;
use mpi_core::collectives::calls::{Prepared, Types, Varied};
use mpi_core::error::Result;
use mpi_core::handle::DatatypeHandle;
use mpi_core::lists::listed;

use crate::args::{self, IntArray};
use crate::calls::blocks::read;
use crate::cx::Cx;
use crate::face::Face;

/// One side's arguments, in their order.
type Given<F> = (*const c_void, IntArray, IntArray, *const <F as Face>::Datatype);

/// One side's buffer with counts, displacements in bytes and types.
struct Side<F: Face> {
    buf: UserBuffer,
    counts: IntArray,
    displs: IntArray,
    types: *const F::Datatype,
}

/// The same as core values.
struct Lists {
    counts: Vec<i64>,
    displs: Vec<i64>,
    types: Vec<DatatypeHandle>,
}

impl<F: Face> Side<F> {
    fn new(param: &'static str, (buf, counts, displs, types): Given<F>) -> Result<Side<F>> {
        Ok(Side { buf: args::buffer::<F>(param, buf)?, counts, displs, types })
    }

    /// # Safety
    /// The array of types is null or has `length` entries.
    unsafe fn read(&self, length: usize, names: &Names) -> Result<Lists> {
        let counts = read(self.counts, length, names.counts)?;
        let displs = read(self.displs, length, names.displs)?;
        crate::args::array(names.types, self.types.is_null(), length > 0)?;
        // SAFETY: the caller's promise.
        let types =
            listed((0..length).map(|rank| F::datatype_in(unsafe { *self.types.add(rank) })))?;
        Ok(Lists { counts, displs, types })
    }
}

/// What is sent and what is received.
fn sides<F: Face>(send: Given<F>, recv: Given<F>) -> Result<(Side<F>, Side<F>)> {
    Ok((Side::new("sendbuf", send)?, Side::new("recvbuf", recv)?))
}

/// What the standard calls the arrays of a side.
struct Names {
    counts: &'static str,
    displs: &'static str,
    types: &'static str,
}

const SEND: Names = Names { counts: "sendcounts", displs: "sdispls", types: "sendtypes" };
const RECV: Names = Names { counts: "recvcounts", displs: "rdispls", types: "recvtypes" };

impl Lists {
    fn varied(&self, buf: UserBuffer) -> Varied<'_> {
        Varied {
            buf,
            counts: &self.counts,
            displs: &self.displs,
            datatypes: Types::Each(&self.types),
        }
    }
}

/// `MPI_Alltoallw`.
///
/// # Safety
/// The arrays have an entry for each rank, the send side's only if it is not in place.
pub unsafe fn alltoallw<F: Face>(
    cx: &mut Cx<'_>,
    sendbuf: *const c_void,
    sendcounts: IntArray,
    sdispls: IntArray,
    sendtypes: *const F::Datatype,
    recvbuf: *mut c_void,
    recvcounts: IntArray,
    rdispls: IntArray,
    recvtypes: *const F::Datatype,
    comm: F::Comm,
) -> Result<Prepared> {
    let send = (sendbuf, sendcounts, sdispls, sendtypes);
    let (send, recv) = sides::<F>(send, (recvbuf, recvcounts, rdispls, recvtypes))?;
    let comm = F::comm_in(comm);
    let (from, to) = (send.buf, recv.buf);
    let size = cx.comm(comm)?.targets().size() as usize;
    // SAFETY: the caller's promise.
    let (outgoing, incoming) = unsafe {
        let outgoing = match from.is_in_place() {
            true => None,
            false => Some(send.read(size, &SEND)?),
        };
        (outgoing, recv.read(size, &RECV)?)
    };
    let outgoing = outgoing.as_ref().map(|lists| lists.varied(from));
    cx.calls().alltoallv(outgoing, incoming.varied(to), comm)
}

/// `MPI_Neighbor_alltoallw`.
///
/// # Safety
/// The arrays have an entry for each neighbour.
pub unsafe fn neighbor_alltoallw<F: Face>(
    cx: &mut Cx<'_>,
    sendbuf: *const c_void,
    sendcounts: IntArray,
    sdispls: *const i64,
    sendtypes: *const F::Datatype,
    recvbuf: *mut c_void,
    recvcounts: IntArray,
    rdispls: *const i64,
    recvtypes: *const F::Datatype,
    comm: F::Comm,
) -> Result<Prepared> {
    let (sdispls, rdispls) = (IntArray::wide(sdispls), IntArray::wide(rdispls));
    let send = (sendbuf, sendcounts, sdispls, sendtypes);
    let (send, recv) = sides::<F>(send, (recvbuf, recvcounts, rdispls, recvtypes))?;
    let comm = F::comm_in(comm);
    let (from, to) = (send.buf, recv.buf);
    let neighbors = cx.comm(comm)?.neighbors()?;
    // SAFETY: the caller's promise.
    let (outgoing, incoming) = unsafe {
        (send.read(neighbors.targets.len(), &SEND)?, recv.read(neighbors.sources.len(), &RECV)?)
    };
    cx.calls().neighbor_alltoallv(outgoing.varied(from), incoming.varied(to), comm)
}
