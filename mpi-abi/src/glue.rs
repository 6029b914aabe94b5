//! The glue between exports and bodies, one function for each procedure, generic over the face.
//!
//! Enters: C arguments, with what is 32 bits wide in one form of a procedure and 64 in its `_c`
//! twin already of one width. Leaves: the C result. In between stand the checks that the kind of
//! an argument allows ([`crate::args`]), the conversions of the [`Face`], and the call of the body
//! inside [`entry::call`]. Generated from `mpi-abi/api`.
//!
//! # Safety
//! Of every function: the arguments are what MPI requires of the C program.
#![allow(unused_unsafe, clippy::too_many_arguments, clippy::missing_safety_doc)]

use crate::cx::Owner;
use crate::entry;
use crate::face::Face;
use crate::procedure::Procedure;

/// What an exported function that is not part of MPI returns: an error that says so.
#[cold]
pub fn extension<F: Face>(procedure: Procedure) -> std::ffi::c_int {
    entry::unsupported::<F>(procedure, Owner::None)
}

/// What a query of MPICH's that is not part of MPI answers: no, as where there is no such device.
pub unsafe fn denied(answer: *mut std::ffi::c_int) -> std::ffi::c_int {
    if !answer.is_null() {
        // SAFETY: by the promise of all functions here.
        unsafe { *answer = 0 };
    }
    0
}

/// Exports a procedure under its two names, so that a tool may come between (MPI-5.0 §15.2). Both call the glue and
/// become one function that way: if `MPI_X` called `PMPI_X` it would jump there by an address on a page of its own.
#[macro_export]
macro_rules! twins {
    ($pmpi:ident, $mpi:ident, ($($name:ident: $type:ty),*) -> $result:ty, $glue:expr) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $pmpi($($name: $type),*) -> $result {
            // SAFETY: the program keeps what MPI asks of it, which is all that the glue asks.
            unsafe { $glue }
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $mpi($($name: $type),*) -> $result {
            // SAFETY: as above.
            unsafe { $glue }
        }
    };
}

pub use generated::*;

// The bodies of generated functions are unsafe as a whole; why each call is sound is said above.
#[allow(clippy::undocumented_unsafe_blocks, clippy::needless_bool_assign, unused_imports)]
mod generated {
    use std::ffi::{c_char, c_int, c_void};

    use mpi_core::buffer::UserBuffer;
    use mpi_core::errhandler::Target;
    use mpi_core::error::ErrorClass;
    use mpi_core::handle::*;
    use mpi_core::status::Status;
    use mpi_core::text::Text;

    use crate::args::{self, IntArray, IntArrayMut, IntOut};
    use crate::cx::Owner;
    use crate::entry;
    use crate::face::{ConstantGroup, Face};
    use crate::procedure::Procedure;
    use crate::strings::copy_out;

    include!(concat!(env!("OUT_DIR"), "/glue.rs"));
}
