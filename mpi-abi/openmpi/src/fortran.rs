//! The Fortran interfaces of the Open MPI face: `libmpi_mpifh.so.40` and its companions lead here.
//!
//! Programs define the common blocks with the special variables themselves, so these are reached
//! as data that a program may define; `mpi_f08` uses the same ones.

use std::ffi::c_void;

use mpi_abi::first_of;
use mpi_abi::fortran::{Fortran, Special};

use crate::OpenMpi;
use crate::objects::tables;
use crate::symbols::*;

impl Fortran for OpenMpi {
    const SHARES_STATE: bool = true;

    #[inline]
    fn special(address: *const c_void) -> Option<Special> {
        first_of! { address:
            mpi_fortran_status_ignore_ StatusIgnore
            mpi_fortran_in_place_ InPlace
            mpi_fortran_bottom_ Bottom
            mpi_fortran_statuses_ignore_ StatusIgnore
            mpi_fortran_errcodes_ignore_ ErrcodesIgnore
            mpi_fortran_unweighted_ Unweighted
            mpi_fortran_weights_empty_ WeightsEmpty
            mpi_fortran_argv_null_ ArgvNull
            mpi_fortran_argvs_null_ ArgvNull
        }
        None
    }

    fn special_out(special: Special) -> *mut c_void {
        let number = match special {
            Special::Bottom => tables::BOTTOM,
            Special::InPlace => tables::IN_PLACE,
            Special::StatusIgnore => tables::STATUS_IGNORE,
            Special::ErrcodesIgnore => tables::ERRCODES_IGNORE,
            Special::ArgvNull => tables::ARGV_NULL,
            Special::Unweighted => tables::UNWEIGHTED,
            Special::WeightsEmpty => tables::WEIGHTS_EMPTY,
            // This ABI has no such buffer, and no variable for it.
            Special::BufferAutomatic => tables::BOTTOM,
        };
        std::ptr::without_provenance_mut(number as isize as usize)
    }

    fn buffer_automatic() -> Option<*mut c_void> {
        None
    }
}

#[allow(clippy::undocumented_unsafe_blocks, clippy::too_many_arguments)]
#[allow(clippy::missing_safety_doc, clippy::unnecessary_cast)]
#[allow(unreachable_pub, missing_docs, non_snake_case, unused_unsafe)]
mod entries {
    type Here = crate::OpenMpi;
    include!(concat!(env!("GENERATED"), "/fortran_entries.rs"));
    include!(concat!(env!("GENERATED"), "/fortran_openmpi.rs"));
}
