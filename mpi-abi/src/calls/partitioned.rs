//! Partitioned communication (MPI-5.0 chapter 4).

use mpi_core::buffer::UserBuffer;
use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, DatatypeHandle, InfoHandle, RequestHandle};
use mpi_core::p2p::Message;

use super::blocks::read;
use crate::args::IntArray;
use crate::calls::info::check;
use crate::calls::requests::own;
use crate::cx::Cx;

/// `MPI_Psend_init`. No hint of `info` changes how.
#[allow(clippy::too_many_arguments)]
pub fn psend_init(
    cx: &mut Cx<'_>,
    buf: UserBuffer,
    partitions: i32,
    count: i64,
    datatype: DatatypeHandle,
    dest: i32,
    tag: i32,
    comm: CommHandle,
    info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    if !info.is_null() {
        check(&cx.always, info)?;
    }
    let message = Message { buf, count, datatype, rank: dest, tag, comm };
    *request = cx.partitioned().send_init(message, partitions)?;
    Ok(())
}

/// `MPI_Precv_init`. No hint of `info` changes how.
#[allow(clippy::too_many_arguments)]
pub fn precv_init(
    cx: &mut Cx<'_>,
    buf: UserBuffer,
    partitions: i32,
    count: i64,
    datatype: DatatypeHandle,
    source: i32,
    tag: i32,
    comm: CommHandle,
    info: InfoHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    if !info.is_null() {
        check(&cx.always, info)?;
    }
    let message = Message { buf, count, datatype, rank: source, tag, comm };
    *request = cx.partitioned().receive_init(message, partitions)?;
    Ok(())
}

/// `MPI_Pready`.
pub fn pready(cx: &mut Cx<'_>, partition: i32, request: RequestHandle) -> Result<()> {
    own(cx, request);
    cx.partitioned().ready(request, partition)
}

/// `MPI_Pready_range`.
pub fn pready_range(
    cx: &mut Cx<'_>,
    partition_low: i32,
    partition_high: i32,
    request: RequestHandle,
) -> Result<()> {
    own(cx, request);
    cx.partitioned().ready_range(request, (partition_low, partition_high))
}

/// `MPI_Pready_list`.
pub fn pready_list(
    cx: &mut Cx<'_>,
    length: i64,
    array_of_partitions: IntArray,
    request: RequestHandle,
) -> Result<()> {
    own(cx, request);
    let partitions = read(array_of_partitions, length as usize, "array_of_partitions")?;
    cx.partitioned().ready_list(request, partitions.into_iter().map(|partition| partition as i32))
}

/// `MPI_Parrived`.
pub fn parrived(
    cx: &mut Cx<'_>,
    request: RequestHandle,
    partition: i32,
    flag: &mut bool,
) -> Result<()> {
    own(cx, request);
    *flag = cx.partitioned().has_arrived(request, partition)?;
    if !*flag {
        cx.poll_in_passing();
        *flag = cx.partitioned().has_arrived(request, partition)?;
    }
    Ok(())
}
