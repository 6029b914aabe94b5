//! What the Fortran entry points of all faces need (MPI-5.0 chapter 19).
//!
//! Enters: arguments as Fortran passes them: by reference, handles as INTEGERs, truth values as
//! LOGICALs, strings padded with blanks, special values as addresses. Leaves: what the C function
//! of the same name takes, and its results the other way. The entry points themselves are
//! generated (`fortran_entries.rs`) and included by each face, whose glue they call:
//! the Fortran interfaces hold no state and no logic of MPI.
//!
//! # Safety
//! Of every unsafe function: the arguments are what MPI requires of the Fortran program.
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]

mod arrays;
mod attributes;
mod copies;
mod functions;
mod handles;
pub mod intel;
mod neighbors;
pub mod owners;
mod packed;
mod parts;
mod queries;
mod ready;
mod roots;
mod sections;
mod spawn;
mod texts;

pub use arrays::{indices, length, narrowed, widened};
pub use attributes::*;
pub use copies::copied;
pub use functions::*;
pub use handles::*;
pub use neighbors::{cart_dims, comm_size, in_degree, out_degree, unless_in_place};
pub use packed::Packed;
pub use parts::{Part, whole};
pub use ready::{
    dup_fn, dup_fn_wide, null_copy_fn, null_copy_fn_wide, null_delete_fn, null_delete_fn_wide,
};
pub use roots::is_root;
pub use sections::Section;
pub use spawn::{comm_spawn, comm_spawn_multiple};
pub use texts::{Text, info_get_string, session_get_nth_pset, stripped, taken, text};

use std::ffi::{c_int, c_void};

pub use crate::cx::Owner;
use crate::face::Face;
pub use crate::logicals::{logical, logical_out, logical_value, logicals, logicals_out};

/// `MPI_UNDEFINED`.
pub const UNDEFINED: c_int = mpi_core::constants::UNDEFINED;

/// A special value that Fortran programs name by the address of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Special {
    /// `MPI_BOTTOM`.
    Bottom,
    /// `MPI_IN_PLACE`.
    InPlace,
    /// `MPI_BUFFER_AUTOMATIC`.
    BufferAutomatic,
    /// `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`.
    StatusIgnore,
    /// `MPI_ERRCODES_IGNORE`.
    ErrcodesIgnore,
    /// `MPI_UNWEIGHTED`.
    Unweighted,
    /// `MPI_WEIGHTS_EMPTY`.
    WeightsEmpty,
    /// `MPI_ARGV_NULL` and `MPI_ARGVS_NULL`.
    ArgvNull,
}

/// What a face knows of its Fortran programs.
pub trait Fortran: Face {
    /// Whether the functions of a generalized request work on the program's own variable, as with
    /// MPICH and Open MPI, whose programs may look there for what they wrote. Else they get a copy
    /// of its value: the argument is INTENT(IN) and may be an expression (MPI-5.0 §13.2).
    const SHARES_STATE: bool;
    /// Which special value the variable at `address` stands for. The variables are the program's
    /// own, or the library's, which the linker makes one (decision 5).
    fn special(address: *const c_void) -> Option<Special>;
    /// The C number of an attribute key that Fortran gave.
    fn keyval(fint: c_int) -> c_int {
        fint
    }
    /// The C value of `special`.
    fn special_out(special: Special) -> *mut c_void;
    /// The variable `MPI_BUFFER_AUTOMATIC`, if its programs have one.
    fn buffer_automatic() -> Option<*mut c_void>;
}

/// The C address of a buffer.
#[inline]
pub fn buffer<F: Fortran>(address: *mut c_void) -> *mut c_void {
    match F::special(address) {
        None => address,
        Some(special) => F::special_out(special),
    }
}

/// Makes the address of a detached buffer, at `place`, the one that the program attached: for
/// `MPI_BUFFER_AUTOMATIC` that of the variable (MPI-5.0 §3.6).
pub unsafe fn detached<F: Fortran>(place: *mut c_void) {
    if let Some(variable) = F::buffer_automatic() {
        let place = place.cast::<*mut c_void>();
        // SAFETY: the program's TYPE(C_PTR), just written.
        unsafe {
            if *place == F::special_out(Special::BufferAutomatic) {
                *place = variable;
            }
        }
    }
}

/// The C address of a status, or the value that ignores it. The layouts are the same (§19.3.5).
#[inline]
pub fn status<F: Fortran>(address: *mut c_int) -> *mut F::Status {
    buffer::<F>(address.cast()).cast()
}

/// The C address of an array of statuses, or the value that ignores them.
#[inline]
pub fn statuses<F: Fortran>(address: *mut c_int) -> *mut F::Status {
    status::<F>(address)
}

/// The C address of weights, or the values for none.
pub fn weights<F: Fortran>(address: *mut c_int) -> *mut c_int {
    buffer::<F>(address.cast()).cast()
}

/// Reports the error code, unless `mpi_f08` left the argument out.
#[inline]
pub unsafe fn done(ierror: *mut c_int, code: c_int) {
    if !ierror.is_null() {
        // SAFETY: the program's variable.
        unsafe { *ierror = code };
    }
}

/// Exports one entry point under all the names that compilers give it: jumps, since an alias made
/// behind the compiler's back is not exported (decision 2).
#[macro_export]
macro_rules! fortran_names {
    ($function:ident: $($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C-unwind" fn $name() {
                #[cfg(target_arch = "x86_64")]
                std::arch::naked_asm!("jmp {}", sym $function);
                #[cfg(target_arch = "aarch64")]
                std::arch::naked_asm!("b {}", sym $function);
            }
        )*
    };
}

/// Returns from a function what stands at an address, if a named block begins there.
#[macro_export]
macro_rules! first_of {
    ($address:ident: $($block:ident $special:ident)*) => {
        $(if std::ptr::eq($address, (&raw const $block).cast()) {
            return Some($crate::fortran::Special::$special);
        })*
    };
}
