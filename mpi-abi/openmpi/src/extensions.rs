//! What Open MPI's library has beside MPI: clocks and sums of addresses that its Fortran modules call,
//! and `OMPI_Affinity_str` of its `mpi-ext.h`.

use std::ffi::{c_char, c_int};

use mpi_abi::affinity::{self, Notation};
use mpi_abi::cx::Owner;
use mpi_abi::direct::misc;
use mpi_abi::entry;
use mpi_abi::fortran_names;
use mpi_abi::mpi_core::error::{Error, ErrorClass};
use mpi_abi::procedure::Procedure;
use mpi_abi::strings::copy_out;

use crate::OpenMpi;

/// Bytes of each string of `OMPI_Affinity_str`.
const AFFINITY_STRING_MAX: usize = 1024;

unsafe extern "C-unwind" fn wtime(time: *mut f64) {
    // SAFETY: the program's variable.
    unsafe { *time = misc::wtime::<OpenMpi>() };
}

unsafe extern "C-unwind" fn wtick(tick: *mut f64) {
    // SAFETY: the program's variable.
    unsafe { *tick = misc::wtick::<OpenMpi>() };
}

unsafe extern "C-unwind" fn aint_add(base: *const i64, disp: *const i64, sum: *mut i64) {
    // SAFETY: the program's variables.
    unsafe { *sum = misc::aint_add::<OpenMpi>(*base, *disp) };
}

unsafe extern "C-unwind" fn aint_diff(one: *const i64, other: *const i64, difference: *mut i64) {
    // SAFETY: the program's variables.
    unsafe { *difference = misc::aint_diff::<OpenMpi>(*one, *other) };
}

#[allow(unreachable_pub, missing_docs, non_snake_case, clippy::missing_safety_doc)]
mod names {
    use super::{aint_add, aint_diff, fortran_names, wtick, wtime};

    fortran_names!(wtime: MPI_WTIME_F90 mpi_wtime_f90 mpi_wtime_f90_ mpi_wtime_f90__);
    fortran_names!(wtick: MPI_WTICK_F90 mpi_wtick_f90 mpi_wtick_f90_ mpi_wtick_f90__);
    fortran_names!(aint_add:
        MPI_AINT_ADD_F90 mpi_aint_add_f90 mpi_aint_add_f90_ mpi_aint_add_f90__);
    fortran_names!(aint_diff:
        MPI_AINT_DIFF_F90 mpi_aint_diff_f90 mpi_aint_diff_f90_ mpi_aint_diff_f90__);
}

/// Tells to what `mpirun` bound this process, to what it is bound, and which processors there are: in
/// words when `format` is 0, as a map when it is 1.
///
/// # Safety
/// The strings have room for [`AFFINITY_STRING_MAX`] bytes.
#[allow(non_snake_case)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn OMPI_Affinity_str(
    format: c_int,
    ompi_bound: *mut c_char,
    current_binding: *mut c_char,
    exists: *mut c_char,
) -> c_int {
    entry::call_any_time::<OpenMpi>(Procedure::OMPIAffinityStr, Owner::None, |_| {
        let notation = match format {
            0 => Some(Notation::Words),
            1 => Some(Notation::Map),
            _ => None,
        };
        let texts = notation.map(affinity::told).unwrap_or_default();
        for (to, text) in [ompi_bound, current_binding, exists].into_iter().zip(&texts) {
            // SAFETY: the caller's promise.
            unsafe { copy_out(to, AFFINITY_STRING_MAX, text.as_bytes()) };
        }
        notation.map(drop).ok_or_else(|| {
            Error::param(ErrorClass::ARG, "fmt_type", format!("is {format}, which is no format"))
        })
    })
}
