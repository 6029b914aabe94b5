//! The environment (MPI-5.0 chapter 9, §11.2): versions, names, memory, the end.

use std::ffi::c_void;
use std::ptr;

use launch_wire::Bootstrap;
use mpi_core::buffer::UserBuffer;
use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::handle::{CommHandle, InfoHandle};
use mpi_core::info::Info;
use mpi_core::text::Text;

use super::attributes::delete_all_in_the_end;
use super::info::copied;
use crate::cx::{AlwaysCx, Cx};
use crate::library::{Phase, phase, thread_level};
use crate::startup;

/// `MPI_Finalize`. The attributes of `MPI_COMM_SELF` go before anything else does (§11.2.4).
pub fn finalize(cx: &mut Cx<'_>) -> Result<()> {
    if phase() != Phase::Running {
        return Err(Error::new(ErrorClass::OTHER, "MPI_Init has not been called")
            .hint("A session is ended by MPI_Session_finalize."));
    }
    startup::refuse_others(cx)?;
    delete_all_in_the_end(cx, CommHandle::from_raw(mpi_core::comm::SELF))?;
    startup::finish(cx)
}

/// `MPI_Initialized`.
pub fn initialized(_: &mut AlwaysCx, flag: &mut bool) -> Result<()> {
    *flag = phase() >= Phase::Running;
    Ok(())
}

/// `MPI_Finalized`.
pub fn finalized(_: &mut AlwaysCx, flag: &mut bool) -> Result<()> {
    *flag = phase() == Phase::After;
    Ok(())
}

/// `MPI_Query_thread`.
pub fn query_thread(_: &mut Cx<'_>, provided: &mut i32) -> Result<()> {
    *provided = thread_level().0;
    Ok(())
}

/// `MPI_Is_thread_main`.
pub fn is_thread_main(_: &mut Cx<'_>, flag: &mut bool) -> Result<()> {
    // SAFETY: gettid cannot fail.
    *flag = thread_level().1 == unsafe { libc::gettid() };
    Ok(())
}

/// `MPI_Abort`: ends the job, whatever the communicator (§9.5 allows that).
pub fn abort(cx: &mut Cx<'_>, comm: CommHandle, errorcode: i32) -> Result<()> {
    let place = match cx.comm(comm) {
        Ok(comm) if !comm.name.is_empty() => format!(" on {}", comm.name),
        _ => String::new(),
    };
    let text = crate::failure::place() + &format!("MPI_Abort{place} with code {errorcode}");
    crate::failure::end_job(errorcode, &text, Bootstrap::abort)
}

/// `MPI_Get_version`.
pub fn get_version(cx: &mut AlwaysCx, version: &mut i32, subversion: &mut i32) -> Result<()> {
    (*version, *subversion) = cx.face.mpi_version;
    Ok(())
}

/// `MPI_Abi_get_version`.
pub fn abi_get_version(cx: &mut AlwaysCx, abi_major: &mut i32, abi_minor: &mut i32) -> Result<()> {
    (*abi_major, *abi_minor) = cx.face.abi_version;
    Ok(())
}

/// `MPI_Abi_get_info`: the sizes of the integers of this ABI (MPI-5.0 §20.2.1).
pub fn abi_get_info(cx: &mut AlwaysCx, info: &mut InfoHandle) -> Result<()> {
    // All three are 64 bits wide in every face, wherever we run.
    let sizes = ["mpi_aint_size", "mpi_count_size", "mpi_offset_size"];
    let mut answer = Info::new();
    for key in sizes {
        answer.set(key, size_of::<i64>().to_string())?;
    }
    *info = cx.always.infos.lock().insert(answer)?;
    Ok(())
}

/// `MPI_Get_library_version`.
pub fn get_library_version(cx: &mut AlwaysCx, version: &mut Text) -> Result<()> {
    *version =
        format!("Ferrite MPI {}, {}, {}", version::VERSION, cx.face.name, version::BUILD).into();
    Ok(())
}

/// `MPI_Get_processor_name`.
pub fn get_processor_name(_: &mut Cx<'_>, name: &mut Text) -> Result<()> {
    *name = startup::host_name().into();
    Ok(())
}

/// `MPI_Alloc_mem` (§9.2): memory of the shared arena, which peers on the node read in place;
/// when that is used up, ordinary memory.
pub fn alloc_mem(
    cx: &mut Cx<'_>,
    size: i64,
    info: InfoHandle,
    baseptr: &mut UserBuffer,
) -> Result<()> {
    let Ok(bytes) = usize::try_from(size) else {
        mpi_core::fail!(ARG, "size", "is {size}, but a size cannot be negative");
    };
    let (bytes, align) = (bytes.max(1), alignment(cx, info)?);
    let shared = cx.port.allocate(bytes, align);
    let mut memory: *mut c_void = shared.map_or(ptr::null_mut(), <*mut u8>::cast);
    if memory.is_null() {
        // SAFETY: the address is written to, or left null if there is no memory.
        unsafe { libc::posix_memalign(&mut memory, align, bytes) };
    }
    if memory.is_null() {
        let text = format!("there are no {size} bytes of memory at a multiple of {align}");
        return Err(Error::new(ErrorClass::NO_MEM, text));
    }
    *baseptr = UserBuffer(memory.cast());
    Ok(())
}

/// What the address is to be a multiple of: a cache line, or more if the info asks for it by
/// `mpi_minimum_memory_alignment` (§9.2). What is no number there is passed over, as hints may be.
fn alignment(cx: &Cx<'_>, info: InfoHandle) -> Result<usize> {
    const LINE: usize = 64;
    if info.is_null() {
        return Ok(LINE);
    }
    let info = copied(&cx.always, info)?;
    Ok(info.hint_alignment().map_or(LINE, |asked| asked.max(LINE)))
}

/// `MPI_Free_mem`.
pub fn free_mem(cx: &mut Cx<'_>, base: UserBuffer) -> Result<()> {
    let shared = cx.port.free(base.0);
    if !shared {
        // SAFETY: by the standard the address came from MPI_Alloc_mem, hence from posix_memalign.
        unsafe { libc::free(base.0.cast()) };
    }
    Ok(())
}
