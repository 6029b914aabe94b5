//! Reduction operations of the program, and the local reduction (MPI-5.0 §6.9.5 to §6.9.7).

use std::ffi::c_void;

use mpi_core::attributes::Convention;
use mpi_core::buffer::UserBuffer;
use mpi_core::callout::{Reduction, UserFunction};
use mpi_core::coll::aliased::EqualBuffers;
use mpi_core::datatype::check_elements;
use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::handle::{DatatypeHandle, OpHandle};
use mpi_core::op::{Op, UserOp};

use crate::cx::Cx;

/// `MPI_Op_create` and, if `large`, `MPI_Op_create_c`.
pub fn op_create(
    cx: &mut Cx<'_>,
    user_fn: *const c_void,
    large: bool,
    commute: bool,
    op: &mut OpHandle,
) -> Result<()> {
    *op = create(cx, user_fn, large, Convention::C, commute)?;
    Ok(())
}

/// An operation with a function of either language.
pub(crate) fn create(
    cx: &mut Cx<'_>,
    user_fn: *const c_void,
    large: bool,
    convention: Convention,
    commutative: bool,
) -> Result<OpHandle> {
    if user_fn.is_null() {
        mpi_core::fail!(ARG, "user_fn", "is NULL, but must be a function");
    }
    let function = UserFunction { address: user_fn.addr(), large, convention };
    cx.ops.insert(Op::User(UserOp { function, commutative }))
}

/// `MPI_Op_free`. Reductions that were begun with it keep its function.
pub fn op_free(cx: &mut Cx<'_>, op: &mut OpHandle) -> Result<()> {
    if let Some(Op::Builtin(builtin)) = Op::predefined(op.raw()) {
        let what = format!("is {}, which cannot be freed", builtin.name());
        return Err(Error::param(ErrorClass::OP, "op", what)
            .hint("Predefined operations stay; remove this call."));
    }
    cx.ops.remove(*op)?;
    *op = OpHandle::NULL;
    Ok(())
}

/// `MPI_Op_commutative`.
pub fn op_commutative(cx: &mut Cx<'_>, op: OpHandle, commute: &mut bool) -> Result<()> {
    *commute = cx.op(op)?.is_commutative();
    Ok(())
}

/// `MPI_Reduce_local` (§6.9.7).
pub fn reduce_local(
    cx: &mut Cx<'_>,
    inbuf: UserBuffer,
    inoutbuf: UserBuffer,
    count: i64,
    datatype: DatatypeHandle,
    op: OpHandle,
) -> Result<()> {
    let kind = cx.datatypes.committed(datatype)?.clone();
    for (name, buffer) in [("inbuf", inbuf), ("inoutbuf", inoutbuf)] {
        check_elements(name, buffer, count, &kind)?;
    }
    let equal = inbuf == inoutbuf && count > 0 && inbuf.is_real();
    if equal && cx.equal_buffers == EqualBuffers::Refused {
        let what = "is the same memory as inoutbuf";
        return Err(Error::param(ErrorClass::BUFFER, "inbuf", what)
            .hint("Copy the elements to a buffer of their own first."));
    }
    match cx.op(op)? {
        Op::Builtin(builtin) => {
            let kernel = builtin.kernel(&kind)?;
            // SAFETY: by the standard the buffers hold `count` elements and do not overlap.
            unsafe { kernel.reduce(inbuf.0, inoutbuf.0, count as usize) };
        }
        Op::User(user) => {
            let reduction = Reduction {
                function: user.function,
                op,
                input: inbuf.0,
                inout: inoutbuf.0,
                count,
                datatype,
                extent: kind.extent(),
            };
            // SAFETY: as above; the function is the program's own.
            cx.call_out(|code| unsafe { code.reduce(&reduction) });
        }
    }
    Ok(())
}
