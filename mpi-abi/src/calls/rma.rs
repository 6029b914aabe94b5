//! Puts, gets and accumulates (MPI-5.0 §12.3). What is asked for with a request is done when the
//! call returns, and so is the request.

use mpi_core::buffer::UserBuffer;
use mpi_core::coll::calls::Typed;
use mpi_core::error::Result;
use mpi_core::handle::{DatatypeHandle, OpHandle, RequestHandle, WinHandle};
use mpi_core::rma::Target;

use crate::entry::Cx;

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
    let origin = Typed { buf: origin_addr, count: origin_count, datatype: origin_datatype };
    let target = Target {
        win,
        rank: target_rank,
        disp: target_disp,
        count: target_count,
        datatype: target_datatype,
        by_request: false,
    };
    cx.put(origin, target)
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
    let origin = Typed { buf: origin_addr, count: origin_count, datatype: origin_datatype };
    let target = Target {
        win,
        rank: target_rank,
        disp: target_disp,
        count: target_count,
        datatype: target_datatype,
        by_request: false,
    };
    cx.get(origin, target)
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
    let origin = Typed { buf: origin_addr, count: origin_count, datatype: origin_datatype };
    let target = Target {
        win,
        rank: target_rank,
        disp: target_disp,
        count: target_count,
        datatype: target_datatype,
        by_request: false,
    };
    cx.accumulate(origin, None, target, op)
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
    let origin = Typed { buf: origin_addr, count: origin_count, datatype: origin_datatype };
    let result = Typed { buf: result_addr, count: result_count, datatype: result_datatype };
    let target = Target {
        win,
        rank: target_rank,
        disp: target_disp,
        count: target_count,
        datatype: target_datatype,
        by_request: false,
    };
    cx.accumulate(origin, Some(result), target, op)
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
    let origin = Typed { buf: origin_addr, count: origin_count, datatype: origin_datatype };
    let target = Target {
        win,
        rank: target_rank,
        disp: target_disp,
        count: target_count,
        datatype: target_datatype,
        by_request: true,
    };
    cx.put(origin, target)?;
    *request = cx.done_request(win)?;
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
    let origin = Typed { buf: origin_addr, count: origin_count, datatype: origin_datatype };
    let target = Target {
        win,
        rank: target_rank,
        disp: target_disp,
        count: target_count,
        datatype: target_datatype,
        by_request: true,
    };
    cx.get(origin, target)?;
    *request = cx.done_request(win)?;
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
    let origin = Typed { buf: origin_addr, count: origin_count, datatype: origin_datatype };
    let target = Target {
        win,
        rank: target_rank,
        disp: target_disp,
        count: target_count,
        datatype: target_datatype,
        by_request: true,
    };
    cx.accumulate(origin, None, target, op)?;
    *request = cx.done_request(win)?;
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
    let origin = Typed { buf: origin_addr, count: origin_count, datatype: origin_datatype };
    let result = Typed { buf: result_addr, count: result_count, datatype: result_datatype };
    let target = Target {
        win,
        rank: target_rank,
        disp: target_disp,
        count: target_count,
        datatype: target_datatype,
        by_request: true,
    };
    cx.accumulate(origin, Some(result), target, op)?;
    *request = cx.done_request(win)?;
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
    let origin = Typed { buf: origin_addr, count: 1, datatype };
    let result = Typed { buf: result_addr, count: 1, datatype };
    let target =
        Target { win, rank: target_rank, disp: target_disp, count: 1, datatype, by_request: false };
    cx.accumulate(origin, Some(result), target, op)
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
    let one = |buf| Typed { buf, count: 1, datatype };
    let target =
        Target { win, rank: target_rank, disp: target_disp, count: 1, datatype, by_request: false };
    cx.compare_and_swap(one(origin_addr), one(compare_addr), one(result_addr), target)
}
