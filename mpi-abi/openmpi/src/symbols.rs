//! What `libmpi.so.40` exports beside procedures and handles: the predefined attribute functions,
//! the blocks by whose addresses Fortran programs name special values, and pointers to them.

use std::ffi::{c_int, c_void};

use mpi_abi::abi::Abi;
use mpi_abi::claim::FaceMark;

use crate::objects::Address;
use crate::objects::tables::*;

/// How a face of Ferrite is recognised in a process.
#[allow(non_upper_case_globals)]
#[unsafe(no_mangle)]
pub(crate) static ferrite_face_openmpi: FaceMark = FaceMark::new(Abi::OpenMpi);

mpi_abi::fortran_blocks! {
    mpi_fortran_bottom_: c_int = 0;
    mpi_fortran_in_place_: c_int = 0;
    mpi_fortran_unweighted_: c_int = 0;
    mpi_fortran_weights_empty_: c_int = 0;
    mpi_fortran_errcodes_ignore_: c_int = 0;
    mpi_fortran_argv_null_: u8 = 0;
    mpi_fortran_argvs_null_: u8 = 0;
    mpi_fortran_status_ignore_: [c_int; F_STATUS_SIZE as usize] = [0; F_STATUS_SIZE as usize];
    mpi_fortran_statuses_ignore_: [c_int; F_STATUS_SIZE as usize] = [0; F_STATUS_SIZE as usize];
}

/// Exported pointers to exported data.
macro_rules! pointers {
    ($($name:ident -> $target:ident;)*) => {
        $(
            #[allow(non_upper_case_globals)]
            #[unsafe(no_mangle)]
            pub(crate) static $name: Address = Address((&raw const $target).cast());
        )*
    };
}

pointers! {
    MPI_F_STATUS_IGNORE -> mpi_fortran_status_ignore_;
    MPI_F_STATUSES_IGNORE -> mpi_fortran_statuses_ignore_;
    MPI_F08_STATUS_IGNORE -> mpi_fortran_status_ignore_;
    MPI_F08_STATUSES_IGNORE -> mpi_fortran_statuses_ignore_;
    ompi_mpi_2dblprec_addr -> ompi_mpi_2dblprec;
    ompi_mpi_2integer_addr -> ompi_mpi_2integer;
    ompi_mpi_2real_addr -> ompi_mpi_2real;
    ompi_mpi_character_addr -> ompi_mpi_character;
    ompi_mpi_comm_null_addr -> ompi_mpi_comm_null;
    ompi_mpi_comm_self_addr -> ompi_mpi_comm_self;
    ompi_mpi_comm_world_addr -> ompi_mpi_comm_world;
    ompi_mpi_complex16_addr -> ompi_mpi_complex16;
    ompi_mpi_complex32_addr -> ompi_mpi_complex32;
    ompi_mpi_complex4_addr -> ompi_mpi_complex4;
    ompi_mpi_complex8_addr -> ompi_mpi_complex8;
    ompi_mpi_cplex_addr -> ompi_mpi_cplex;
    ompi_mpi_dblcplex_addr -> ompi_mpi_dblcplex;
    ompi_mpi_dblprec_addr -> ompi_mpi_dblprec;
    ompi_mpi_errhandler_null_addr -> ompi_mpi_errhandler_null;
    ompi_mpi_errors_abort_addr -> ompi_mpi_errors_abort;
    ompi_mpi_errors_are_fatal_addr -> ompi_mpi_errors_are_fatal;
    ompi_mpi_errors_return_addr -> ompi_mpi_errors_return;
    ompi_mpi_errors_throw_exceptions_addr -> ompi_mpi_errors_throw_exceptions;
    ompi_mpi_file_null_addr -> ompi_mpi_file_null;
    ompi_mpi_group_empty_addr -> ompi_mpi_group_empty;
    ompi_mpi_group_null_addr -> ompi_mpi_group_null;
    ompi_mpi_info_null_addr -> ompi_mpi_info_null;
    ompi_mpi_integer16_addr -> ompi_mpi_integer16;
    ompi_mpi_integer1_addr -> ompi_mpi_integer1;
    ompi_mpi_integer2_addr -> ompi_mpi_integer2;
    ompi_mpi_integer4_addr -> ompi_mpi_integer4;
    ompi_mpi_integer8_addr -> ompi_mpi_integer8;
    ompi_mpi_integer_addr -> ompi_mpi_integer;
    ompi_mpi_logical1_addr -> ompi_mpi_logical1;
    ompi_mpi_logical2_addr -> ompi_mpi_logical2;
    ompi_mpi_logical4_addr -> ompi_mpi_logical4;
    ompi_mpi_logical8_addr -> ompi_mpi_logical8;
    ompi_mpi_logical_addr -> ompi_mpi_logical;
    ompi_mpi_op_band_addr -> ompi_mpi_op_band;
    ompi_mpi_op_bor_addr -> ompi_mpi_op_bor;
    ompi_mpi_op_bxor_addr -> ompi_mpi_op_bxor;
    ompi_mpi_op_land_addr -> ompi_mpi_op_land;
    ompi_mpi_op_lor_addr -> ompi_mpi_op_lor;
    ompi_mpi_op_lxor_addr -> ompi_mpi_op_lxor;
    ompi_mpi_op_max_addr -> ompi_mpi_op_max;
    ompi_mpi_op_maxloc_addr -> ompi_mpi_op_maxloc;
    ompi_mpi_op_min_addr -> ompi_mpi_op_min;
    ompi_mpi_op_minloc_addr -> ompi_mpi_op_minloc;
    ompi_mpi_op_no_op_addr -> ompi_mpi_op_no_op;
    ompi_mpi_op_null_addr -> ompi_mpi_op_null;
    ompi_mpi_op_prod_addr -> ompi_mpi_op_prod;
    ompi_mpi_op_replace_addr -> ompi_mpi_op_replace;
    ompi_mpi_op_sum_addr -> ompi_mpi_op_sum;
    ompi_mpi_real16_addr -> ompi_mpi_real16;
    ompi_mpi_real2_addr -> ompi_mpi_real2;
    ompi_mpi_real4_addr -> ompi_mpi_real4;
    ompi_mpi_real8_addr -> ompi_mpi_real8;
    ompi_mpi_real_addr -> ompi_mpi_real;
    ompi_mpi_win_null_addr -> ompi_mpi_win_null;
    ompi_request_null_addr -> ompi_request_null;
}

/// `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE` of C as data for Fortran.
macro_rules! ignore_values {
    ($($name:ident)*) => {
        $(
            #[allow(non_upper_case_globals)]
            #[unsafe(no_mangle)]
            pub(crate) static $name: Address = Address(std::ptr::null());
        )*
    };
}

ignore_values! { ompi_mpi_status_ignore_addr ompi_mpi_statuses_ignore_addr }

macro_rules! copy_functions {
    ($($name:ident copies $copies:literal;)*) => {
        $(
            /// A predefined attribute copy function (MPI-5.0 §7.7.2).
            ///
            /// # Safety
            /// `copy` and `flag` are writable.
            #[allow(non_snake_case)]
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C-unwind" fn $name(
                _object: *mut c_void,
                _keyval: c_int,
                _extra_state: *mut c_void,
                value: *mut c_void,
                copy: *mut c_void,
                flag: *mut c_int,
            ) -> c_int {
                // SAFETY: the caller says so.
                unsafe {
                    if $copies {
                        copy.cast::<*mut c_void>().write(value);
                    }
                    flag.write(c_int::from($copies));
                }
                0
            }
        )*
    };
}

copy_functions! {
    OMPI_C_MPI_COMM_DUP_FN copies true;
    OMPI_C_MPI_TYPE_DUP_FN copies true;
    OMPI_C_MPI_WIN_DUP_FN copies true;
    OMPI_C_MPI_DUP_FN copies true;
    OMPI_C_MPI_COMM_NULL_COPY_FN copies false;
    OMPI_C_MPI_TYPE_NULL_COPY_FN copies false;
    OMPI_C_MPI_WIN_NULL_COPY_FN copies false;
    OMPI_C_MPI_NULL_COPY_FN copies false;
}

macro_rules! delete_functions {
    ($($name:ident)*) => {
        $(
            /// A predefined attribute delete function, which does nothing (MPI-5.0 §7.7.2).
            #[allow(non_snake_case)]
            #[unsafe(no_mangle)]
            pub(crate) extern "C-unwind" fn $name(
                _object: *mut c_void,
                _keyval: c_int,
                _value: *mut c_void,
                _extra_state: *mut c_void,
            ) -> c_int {
                0
            }
        )*
    };
}

delete_functions! {
    OMPI_C_MPI_COMM_NULL_DELETE_FN
    OMPI_C_MPI_TYPE_NULL_DELETE_FN
    OMPI_C_MPI_WIN_NULL_DELETE_FN
    OMPI_C_MPI_NULL_DELETE_FN
}
