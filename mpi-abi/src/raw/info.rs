//! `MPI_Info_create_env` (MPI-5.0 §11.2.1): what `MPI_INFO_ENV` says, for a given command line.

use std::ffi::{CStr, c_char, c_int};

use mpi_core::error::Result;

use crate::calls::info::environment;
use crate::cx::AlwaysCx;
use crate::face::Face;

/// `MPI_Info_create_env`.
///
/// # Safety
/// `argv` is null or has `argc` C strings; `info` is writable.
pub unsafe fn info_create_env<F: Face>(
    cx: &mut AlwaysCx,
    argc: c_int,
    argv: *mut *mut c_char,
    info: *mut F::Info,
) -> Result<()> {
    let count = if argv.is_null() { 0 } else { usize::try_from(argc).unwrap_or(0) };
    // SAFETY: the caller's promise.
    let arguments: Vec<&[u8]> = (0..count)
        .map(|index| unsafe { *argv.add(index) })
        .take_while(|text| !text.is_null())
        .map(|text| unsafe { CStr::from_ptr(text) }.to_bytes())
        .collect();
    let made = environment().with_arguments(&arguments);
    let handle = cx.always.infos.lock().insert(made)?;
    // SAFETY: the caller's promise.
    unsafe { *info = F::info_out(handle) };
    Ok(())
}
