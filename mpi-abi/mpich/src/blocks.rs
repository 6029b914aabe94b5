//! Fortran's common blocks and variables of modules with the special values, which programs may define themselves.

use std::ffi::c_int;

mpi_abi::fortran_blocks! {
    mpipriv1_: [c_int; 7] = [0; 7];
    mpipriv2_: [c_int; 6] = [0; 6];
    mpiprivc_: [u8; 2] = [0; 2];
    mpifcmb5_: c_int = 0;
    mpifcmb9_: c_int = 0;
    mpifcmba_: c_int = 0;
    MPIR_F08_MPI_BOTTOM: c_int = 0;
    MPIR_F08_MPI_IN_PLACE: c_int = 0;
    __mpi_f08_link_constants_MOD_mpi_buffer_automatic: c_int = 0;
    __mpi_f08_link_constants_MOD_mpi_unweighted: c_int = 0;
    __mpi_f08_link_constants_MOD_mpi_weights_empty: c_int = 0;
    __mpi_f08_link_constants_MOD_mpi_errcodes_ignore: c_int = 0;
    __mpi_f08_link_constants_MOD_mpi_argv_null: u8 = 0;
    __mpi_f08_link_constants_MOD_mpi_argvs_null: u8 = 0;
    mpi_f08_link_constants_mp_mpi_unweighted_: c_int = 0;
    mpi_f08_link_constants_mp_mpi_weights_empty_: c_int = 0;
    mpi_f08_link_constants_mp_mpi_errcodes_ignore_: c_int = 0;
    mpi_f08_link_constants_mp_mpi_argv_null_: u8 = 0;
    mpi_f08_link_constants_mp_mpi_argvs_null_: u8 = 0;
}
