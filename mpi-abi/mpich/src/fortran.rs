//! The Fortran interfaces of the MPICH face: `libmpifort.so.12` and its other names lead here.
//!
//! Programs define the common blocks with the special variables themselves, so these are reached
//! as data that a program may define. The module `mpi_f08` has variables of its own for some, by one
//! name with gfortran and by another with Intel's compiler.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use mpi_abi::first_of;
use mpi_abi::fortran::{Fortran, Special};

use crate::Mpich;
use crate::blocks::*;
use crate::symbols::{self, MPIR_F08_MPI_STATUS_IGNORE_OBJ, MPIR_F08_MPI_STATUSES_IGNORE_OBJ};
use crate::tables;

/// Whether the program has named the variable of the module where it may have meant that of the
/// common block, as only those calls do that attach a buffer.
static HAS_NAMED_THE_MODULE_S: AtomicBool = AtomicBool::new(false);

/// Attribute keys that MPICH predefines for communicators, without their last byte.
const PREDEFINED_OF_COMMS: c_int = 0x6440_0000;
/// The same for windows.
const PREDEFINED_OF_WINDOWS: c_int = 0x6600_0000;

/// The distance of `address` from the block at `block`, if it is inside its `bytes`.
#[inline]
fn within<T>(address: *const c_void, block: *const T, bytes: usize) -> Option<usize> {
    let offset = address.addr().wrapping_sub(block.addr());
    (offset < bytes).then_some(offset)
}

impl Fortran for Mpich {
    const SHARES_STATE: bool = true;

    #[inline]
    fn special(address: *const c_void) -> Option<Special> {
        if let Some(offset) = within(address, &raw const mpipriv1_, 28) {
            return Some(match offset {
                0 => Special::Bottom,
                4 => Special::InPlace,
                _ => Special::StatusIgnore,
            });
        }
        if let Some(offset) = within(address, &raw const mpipriv2_, 24) {
            return Some(if offset < 20 { Special::StatusIgnore } else { Special::ErrcodesIgnore });
        }
        if within(address, &raw const mpiprivc_, 2).is_some() {
            return Some(Special::ArgvNull);
        }
        if std::ptr::eq(
            address,
            (&raw const __mpi_f08_link_constants_MOD_mpi_buffer_automatic).cast(),
        ) {
            HAS_NAMED_THE_MODULE_S.store(true, Ordering::Relaxed);
            return Some(Special::BufferAutomatic);
        }
        first_of! { address:
            MPIR_F08_MPI_BOTTOM Bottom
            MPIR_F08_MPI_IN_PLACE InPlace
            MPIR_F08_MPI_STATUS_IGNORE_OBJ StatusIgnore
            MPIR_F08_MPI_STATUSES_IGNORE_OBJ StatusIgnore
            mpifcmb5_ Unweighted
            mpifcmb9_ WeightsEmpty
            mpifcmba_ BufferAutomatic
            __mpi_f08_link_constants_MOD_mpi_unweighted Unweighted
            __mpi_f08_link_constants_MOD_mpi_weights_empty WeightsEmpty
            __mpi_f08_link_constants_MOD_mpi_errcodes_ignore ErrcodesIgnore
            __mpi_f08_link_constants_MOD_mpi_argv_null ArgvNull
            __mpi_f08_link_constants_MOD_mpi_argvs_null ArgvNull
            mpi_f08_link_constants_mp_mpi_unweighted_ Unweighted
            mpi_f08_link_constants_mp_mpi_weights_empty_ WeightsEmpty
            mpi_f08_link_constants_mp_mpi_errcodes_ignore_ ErrcodesIgnore
            mpi_f08_link_constants_mp_mpi_argv_null_ ArgvNull
            mpi_f08_link_constants_mp_mpi_argvs_null_ ArgvNull
        }
        None
    }

    /// The predefined attributes are one higher in Fortran, where their values are no addresses.
    fn keyval(fint: c_int) -> c_int {
        let is_predefined = matches!(fint & !0xff, PREDEFINED_OF_COMMS | PREDEFINED_OF_WINDOWS);
        if is_predefined && fint & 1 == 0 { fint - 1 } else { fint }
    }

    fn special_out(special: Special) -> *mut c_void {
        let number = match special {
            Special::Bottom => tables::BOTTOM,
            Special::InPlace => tables::IN_PLACE,
            Special::BufferAutomatic => tables::BUFFER_AUTOMATIC,
            Special::StatusIgnore => tables::STATUS_IGNORE,
            Special::ErrcodesIgnore => tables::ERRCODES_IGNORE,
            Special::ArgvNull => tables::ARGV_NULL,
            Special::Unweighted => return symbols::unweighted().cast_mut().cast(),
            Special::WeightsEmpty => return symbols::weights_empty().cast_mut().cast(),
        };
        std::ptr::without_provenance_mut(number as isize as usize)
    }

    fn buffer_automatic() -> Option<*mut c_void> {
        if HAS_NAMED_THE_MODULE_S.load(Ordering::Relaxed) {
            return Some((&raw mut __mpi_f08_link_constants_MOD_mpi_buffer_automatic).cast());
        }
        Some((&raw mut mpifcmba_).cast())
    }
}

#[allow(clippy::undocumented_unsafe_blocks, clippy::too_many_arguments)]
#[allow(clippy::missing_safety_doc, clippy::unnecessary_cast)]
#[allow(unreachable_pub, missing_docs, non_snake_case, unused_unsafe)]
mod entries {
    type Here = crate::Mpich;
    include!(concat!(env!("GENERATED"), "/fortran_entries.rs"));
    include!(concat!(env!("GENERATED"), "/fortran_mpich.rs"));
    include!(concat!(env!("GENERATED"), "/fortran_intel.rs"));
}
