//! What `libmpi.so.12` exports beside the procedures: data that programs compare addresses with,
//! and the attribute function behind `MPI_COMM_DUP_FN`.

use std::ffi::{c_int, c_void};

use mpi_abi::abi::Abi;
use mpi_abi::claim::FaceMark;

use crate::blocks::{mpipriv1_, mpipriv2_, mpiprivc_};
use crate::status::MpichStatus;

/// An exported pointer that never changes.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct Pointer(*const c_void);

// SAFETY: the pointer itself is never written, and what it points to is never accessed.
unsafe impl Sync for Pointer {}

const EMPTY: MpichStatus = {
    // SAFETY: a status is plain integers.
    unsafe { std::mem::zeroed() }
};

static UNWEIGHTED: c_int = 0;
static WEIGHTS_EMPTY: c_int = 0;
static ALL_HANDLES: c_int = 0;

/// What `MPI_STATUS_IGNORE` of `mpi_f08` is: modules compiled with MPICH name the object itself.
#[unsafe(no_mangle)]
pub(crate) static MPIR_F08_MPI_STATUS_IGNORE_OBJ: MpichStatus = EMPTY;

/// What `MPI_STATUSES_IGNORE` of `mpi_f08` is.
#[unsafe(no_mangle)]
pub(crate) static MPIR_F08_MPI_STATUSES_IGNORE_OBJ: MpichStatus = EMPTY;

macro_rules! pointers {
    ($($name:ident -> $target:ident $(+ $bytes:literal)?;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the header.")]
            #[unsafe(no_mangle)]
            pub(crate) static $name: Pointer =
                Pointer((&raw const $target).cast::<u8>()$(.wrapping_add($bytes))?.cast());
        )*
    };
}

// What C is told of Fortran's special variables is where the programs have them (MPI-5.0 §19.3.5).
pointers! {
    MPI_UNWEIGHTED -> UNWEIGHTED;
    MPI_WEIGHTS_EMPTY -> WEIGHTS_EMPTY;
    MPI_T_PVAR_ALL_HANDLES -> ALL_HANDLES;
    MPI_F_STATUS_IGNORE -> mpipriv1_ + 8;
    MPI_F_STATUSES_IGNORE -> mpipriv2_;
    MPI_F08_STATUS_IGNORE -> MPIR_F08_MPI_STATUS_IGNORE_OBJ;
    MPI_F08_STATUSES_IGNORE -> MPIR_F08_MPI_STATUSES_IGNORE_OBJ;
    MPI_F_ARGVS_NULL -> mpiprivc_;
    MPI_F_ERRCODES_IGNORE -> mpipriv2_ + 20;
}

/// How a face of Ferrite is recognised in a process.
#[allow(non_upper_case_globals)]
#[unsafe(no_mangle)]
pub(crate) static ferrite_face_mpich: FaceMark = FaceMark::new(Abi::Mpich);

/// The value of `MPI_UNWEIGHTED`.
pub(crate) fn unweighted() -> *const c_int {
    &raw const UNWEIGHTED
}

/// The value of `MPI_WEIGHTS_EMPTY`.
pub(crate) fn weights_empty() -> *const c_int {
    &raw const WEIGHTS_EMPTY
}

/// Whether `address` is the value of `MPI_UNWEIGHTED`.
#[inline]
pub(crate) fn is_unweighted(address: *const c_int) -> bool {
    std::ptr::eq(address, unweighted())
}

/// Whether `address` is the value of `MPI_WEIGHTS_EMPTY`.
#[inline]
pub(crate) fn is_weights_empty(address: *const c_int) -> bool {
    std::ptr::eq(address, weights_empty())
}

/// Whether `handle` is the value of `MPI_T_PVAR_ALL_HANDLES`.
pub(crate) fn is_all_handles(handle: *const c_void) -> bool {
    std::ptr::addr_eq(handle, &raw const ALL_HANDLES)
}

/// `MPI_COMM_DUP_FN`, `MPI_TYPE_DUP_FN`, `MPI_WIN_DUP_FN`: copies an attribute's value (MPI-5.0
/// §7.7.2). The same function serves all kinds, whose handles are all ints.
///
/// # Safety
/// `copy` and `flag` are writable.
#[allow(non_snake_case)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn MPIR_Dup_fn(
    _object: c_int,
    _keyval: c_int,
    _extra_state: *mut c_void,
    value: *mut c_void,
    copy: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller says so.
    unsafe {
        copy.cast::<*mut c_void>().write(value);
        flag.write(1);
    }
    0
}
