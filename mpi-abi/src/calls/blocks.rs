//! The buffers of collective operations as the program gives them: arrays of counts and
//! displacements, one entry a rank.

use mpi_core::buffer::UserBuffer;
use mpi_core::collectives::calls::{Typed, Types, Varied};
use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::handle::{CommHandle, DatatypeHandle};

use crate::args::IntArray;
use crate::cx::Cx;

/// A buffer argument with its count and type.
pub(crate) fn typed(buf: UserBuffer, count: i64, datatype: DatatypeHandle) -> Typed {
    Typed { buf, count, datatype }
}

/// Counts and displacements of a v-variant.
pub(crate) struct Lists {
    counts: Vec<i64>,
    displs: Vec<i64>,
}

impl Lists {
    pub(crate) fn varied(&self, buf: UserBuffer, datatype: DatatypeHandle) -> Varied<'_> {
        Varied { buf, counts: &self.counts, displs: &self.displs, datatypes: Types::Same(datatype) }
    }
}

/// The program's arrays of counts and displacements, one entry a rank, with their names.
pub(crate) fn lists(
    cx: &Cx<'_>,
    comm: CommHandle,
    counts: (IntArray, &'static str),
    displs: (IntArray, &'static str),
) -> Result<Lists> {
    Ok(Lists {
        counts: per_rank(cx, comm, counts.0, counts.1)?,
        displs: per_rank(cx, comm, displs.0, displs.1)?,
    })
}

/// A program's array of one entry a rank.
pub(crate) fn per_rank(
    cx: &Cx<'_>,
    comm: CommHandle,
    array: IntArray,
    param: &'static str,
) -> Result<Vec<i64>> {
    read(array, cx.comm(comm)?.targets().size() as usize, param)
}

/// A program's array of one entry for each rank of the local group.
pub(crate) fn per_member(
    cx: &Cx<'_>,
    comm: CommHandle,
    array: IntArray,
    param: &'static str,
) -> Result<Vec<i64>> {
    read(array, cx.comm(comm)?.size() as usize, param)
}

/// Counts and displacements of the blocks that come from the neighbours in a topology.
pub(crate) fn per_source(
    cx: &Cx<'_>,
    comm: CommHandle,
    counts: IntArray,
    displs: IntArray,
) -> Result<Lists> {
    let sources = cx.comm(comm)?.neighbors()?.sources.len();
    let counts = read(counts, sources, "recvcounts")?;
    Ok(Lists { counts, displs: read(displs, sources, "rdispls")? })
}

/// The same of the blocks that go to them.
pub(crate) fn per_target(
    cx: &Cx<'_>,
    comm: CommHandle,
    counts: IntArray,
    displs: IntArray,
) -> Result<Lists> {
    let targets = cx.comm(comm)?.neighbors()?.targets.len();
    let counts = read(counts, targets, "sendcounts")?;
    Ok(Lists { counts, displs: read(displs, targets, "sdispls")? })
}

/// A program's array that by the standard has `length` entries.
pub(crate) fn read(array: IntArray, length: usize, param: &'static str) -> Result<Vec<i64>> {
    if array.is_null() && length > 0 {
        return Err(Error::param(ErrorClass::ARG, param, "is NULL"));
    }
    // SAFETY: by the standard the array has so many entries.
    unsafe { array.to_vec(length) }
}

pub(crate) fn is_root(cx: &Cx<'_>, root: i32, comm: CommHandle) -> Result<bool> {
    let state = cx.comm(comm)?;
    Ok(match state.remote {
        None => state.rank as i32 == root,
        Some(_) => root == mpi_core::constants::ROOT,
    })
}
