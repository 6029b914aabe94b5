//! Puts, gets and accumulates (MPI-5.0 §12.3). What is asked for with a request is done when the
//! call returns, and so is the request.

use mpi_core::buffer::UserBuffer;
use mpi_core::error::Result;
use mpi_core::handle::{DatatypeHandle, OpHandle, RequestHandle, WinHandle};
use mpi_core::windows::Target;

use crate::calls::blocks::typed;
use crate::cx::Cx;

/// Elements of the window of the process `rank`, for an operation without a request.
fn at(win: WinHandle, rank: i32, disp: i64, count: i64, datatype: DatatypeHandle) -> Target {
    Target { win, rank, disp, count, datatype, by_request: false }
}

/// `MPI_Put`.
#[allow(clippy::too_many_arguments)]
pub fn put(
    cx: &mut Cx<'_>,
    origin_addr: UserBuffer,
    origin_count: i64,
    origin_datatype: DatatypeHandle,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: DatatypeHandle,
    win: WinHandle,
) -> Result<()> {
    let origin = typed(origin_addr, origin_count, origin_datatype);
    let target = at(win, target_rank, target_disp, target_count, target_datatype);
    cx.window(win)?.put(origin, target, &cx.datatypes)
}

/// `MPI_Get`.
#[allow(clippy::too_many_arguments)]
pub fn get(
    cx: &mut Cx<'_>,
    origin_addr: UserBuffer,
    origin_count: i64,
    origin_datatype: DatatypeHandle,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: DatatypeHandle,
    win: WinHandle,
) -> Result<()> {
    let origin = typed(origin_addr, origin_count, origin_datatype);
    let target = at(win, target_rank, target_disp, target_count, target_datatype);
    cx.window(win)?.get(origin, target, &cx.datatypes)
}

/// `MPI_Accumulate`.
#[allow(clippy::too_many_arguments)]
pub fn accumulate(
    cx: &mut Cx<'_>,
    origin_addr: UserBuffer,
    origin_count: i64,
    origin_datatype: DatatypeHandle,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: DatatypeHandle,
    op: OpHandle,
    win: WinHandle,
) -> Result<()> {
    let origin = typed(origin_addr, origin_count, origin_datatype);
    let target = at(win, target_rank, target_disp, target_count, target_datatype);
    cx.windows().accumulate(origin, None, target, op)
}

/// `MPI_Get_accumulate`.
#[allow(clippy::too_many_arguments)]
pub fn get_accumulate(
    cx: &mut Cx<'_>,
    origin_addr: UserBuffer,
    origin_count: i64,
    origin_datatype: DatatypeHandle,
    result_addr: UserBuffer,
    result_count: i64,
    result_datatype: DatatypeHandle,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: DatatypeHandle,
    op: OpHandle,
    win: WinHandle,
) -> Result<()> {
    let origin = typed(origin_addr, origin_count, origin_datatype);
    let result = typed(result_addr, result_count, result_datatype);
    let target = at(win, target_rank, target_disp, target_count, target_datatype);
    cx.windows().accumulate(origin, Some(result), target, op)
}

/// `MPI_Rput`.
#[allow(clippy::too_many_arguments)]
pub fn rput(
    cx: &mut Cx<'_>,
    origin_addr: UserBuffer,
    origin_count: i64,
    origin_datatype: DatatypeHandle,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: DatatypeHandle,
    win: WinHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let origin = typed(origin_addr, origin_count, origin_datatype);
    let target = Target {
        by_request: true,
        ..at(win, target_rank, target_disp, target_count, target_datatype)
    };
    cx.window(win)?.put(origin, target, &cx.datatypes)?;
    *request = cx.windows().done_request(win)?;
    Ok(())
}

/// `MPI_Rget`.
#[allow(clippy::too_many_arguments)]
pub fn rget(
    cx: &mut Cx<'_>,
    origin_addr: UserBuffer,
    origin_count: i64,
    origin_datatype: DatatypeHandle,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: DatatypeHandle,
    win: WinHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let origin = typed(origin_addr, origin_count, origin_datatype);
    let target = Target {
        by_request: true,
        ..at(win, target_rank, target_disp, target_count, target_datatype)
    };
    cx.window(win)?.get(origin, target, &cx.datatypes)?;
    *request = cx.windows().done_request(win)?;
    Ok(())
}

/// `MPI_Raccumulate`.
#[allow(clippy::too_many_arguments)]
pub fn raccumulate(
    cx: &mut Cx<'_>,
    origin_addr: UserBuffer,
    origin_count: i64,
    origin_datatype: DatatypeHandle,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: DatatypeHandle,
    op: OpHandle,
    win: WinHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let origin = typed(origin_addr, origin_count, origin_datatype);
    let target = Target {
        by_request: true,
        ..at(win, target_rank, target_disp, target_count, target_datatype)
    };
    cx.windows().accumulate(origin, None, target, op)?;
    *request = cx.windows().done_request(win)?;
    Ok(())
}

/// `MPI_Rget_accumulate`.
#[allow(clippy::too_many_arguments)]
pub fn rget_accumulate(
    cx: &mut Cx<'_>,
    origin_addr: UserBuffer,
    origin_count: i64,
    origin_datatype: DatatypeHandle,
    result_addr: UserBuffer,
    result_count: i64,
    result_datatype: DatatypeHandle,
    target_rank: i32,
    target_disp: i64,
    target_count: i64,
    target_datatype: DatatypeHandle,
    op: OpHandle,
    win: WinHandle,
    request: &mut RequestHandle,
) -> Result<()> {
    let origin = typed(origin_addr, origin_count, origin_datatype);
    let result = typed(result_addr, result_count, result_datatype);
    let target = Target {
        by_request: true,
        ..at(win, target_rank, target_disp, target_count, target_datatype)
    };
    cx.windows().accumulate(origin, Some(result), target, op)?;
    *request = cx.windows().done_request(win)?;
    Ok(())
}

/// `MPI_Fetch_and_op`.
#[allow(clippy::too_many_arguments)]
pub fn fetch_and_op(
    cx: &mut Cx<'_>,
    origin_addr: UserBuffer,
    result_addr: UserBuffer,
    datatype: DatatypeHandle,
    target_rank: i32,
    target_disp: i64,
    op: OpHandle,
    win: WinHandle,
) -> Result<()> {
    let origin = typed(origin_addr, 1, datatype);
    let result = typed(result_addr, 1, datatype);
    let target = at(win, target_rank, target_disp, 1, datatype);
    cx.windows().accumulate(origin, Some(result), target, op)
}

/// `MPI_Compare_and_swap`.
#[allow(clippy::too_many_arguments)]
pub fn compare_and_swap(
    cx: &mut Cx<'_>,
    origin_addr: UserBuffer,
    compare_addr: UserBuffer,
    result_addr: UserBuffer,
    datatype: DatatypeHandle,
    target_rank: i32,
    target_disp: i64,
    win: WinHandle,
) -> Result<()> {
    let one = |buf| typed(buf, 1, datatype);
    let target = at(win, target_rank, target_disp, 1, datatype);
    cx.windows().compare_and_swap(one(origin_addr), one(compare_addr), one(result_addr), target)
}
