//! A face as a value: what bodies that are not generic over it need of it, on slow paths only.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;

use mpi_core::attributes::Convention;
use mpi_core::callout::{Reduction, UserCode};
use mpi_core::error::ErrorClass;
use mpi_core::status::Status;

use crate::abi::Abi;
use crate::claim::FaceMark;
use crate::face::{ConstantGroup, Face, StringLimits};
use crate::fortran_callbacks;

type CopyAttr =
    unsafe fn(*const c_void, u32, u32, i32, *mut c_void, *mut c_void) -> (c_int, *mut c_void, bool);
type DeleteAttr = unsafe fn(*const c_void, u32, u32, i32, *mut c_void, *mut c_void) -> c_int;

/// The functions and limits of a face; see [`Face`] for each.
pub struct FaceTable {
    /// Which ABI.
    pub abi: Abi,
    /// Its name in messages.
    pub name: &'static str,
    /// String limits of its callers.
    pub limits: StringLimits,
    /// `MPI_VERSION`, `MPI_SUBVERSION`.
    pub mpi_version: (c_int, c_int),
    /// What `MPI_Abi_get_version` answers.
    pub abi_version: (c_int, c_int),
    /// `MPI_ERR_LASTCODE`.
    pub err_lastcode: c_int,
    /// The mark by which other libraries of the process find this one.
    pub mark: fn() -> &'static FaceMark,
    /// [`Face::error_out`].
    pub error_out: fn(ErrorClass) -> c_int,
    /// [`Face::error_in`].
    pub error_in: fn(c_int) -> ErrorClass,
    /// [`Face::rank_out`].
    pub rank_out: fn(i32) -> c_int,
    /// [`Face::tag_out`].
    pub tag_out: fn(i32) -> c_int,
    /// [`Face::handle_to_fint`].
    pub handle_to_fint: fn(u32) -> c_int,
    /// [`Face::handle_number`].
    pub handle_number: fn(u32) -> usize,
    /// [`Face::constant_in`].
    pub constant_in: fn(ConstantGroup, c_int) -> i32,
    /// [`Face::constant_out`].
    pub constant_out: fn(ConstantGroup, i32) -> c_int,
    /// [`Face::call_copy_attr`].
    pub call_copy_attr: CopyAttr,
    /// [`Face::call_delete_attr`].
    pub call_delete_attr: DeleteAttr,
    /// [`Face::call_errhandler`].
    pub call_errhandler: unsafe fn(*const c_void, u32, u32, c_int) -> c_int,
    /// [`Face::leave_to_cxx`].
    pub leave_to_cxx: unsafe fn(u32, u32, c_int) -> bool,
    /// [`Face::call_grequest_query`].
    pub call_grequest_query: unsafe fn(*const c_void, *mut c_void, &mut Status) -> c_int,
}

/// Carrier of a face's constants.
pub struct Of<F>(PhantomData<F>);

impl<F: Face> Of<F> {
    /// The face as a value.
    pub const TABLE: FaceTable = FaceTable {
        abi: F::ABI,
        name: F::NAME,
        limits: F::LIMITS,
        mpi_version: F::MPI_VERSION,
        abi_version: F::ABI_VERSION,
        err_lastcode: F::ERR_LASTCODE,
        mark: F::mark,
        error_out: F::error_out,
        error_in: F::error_in,
        rank_out: F::rank_out,
        tag_out: F::tag_out,
        handle_to_fint: F::handle_to_fint,
        handle_number: F::handle_number,
        constant_in: F::constant_in,
        constant_out: F::constant_out,
        call_copy_attr: F::call_copy_attr,
        call_delete_attr: F::call_delete_attr,
        call_errhandler: F::call_errhandler,
        leave_to_cxx: F::leave_to_cxx,
        call_grequest_query: F::call_grequest_query,
    };
    /// How its user functions are called.
    pub const USER_CODE: FaceCode<F> = FaceCode(PhantomData);
}

/// User functions of a program that was built for face `F`.
pub struct FaceCode<F>(PhantomData<fn() -> F>);

impl<F: Face> UserCode for FaceCode<F> {
    unsafe fn reduce(&self, call: &Reduction) {
        let function = std::ptr::without_provenance(call.function.address);
        let (mut input, mut inout, mut left) = (call.input, call.inout, call.count);
        // A function with an int count gets at most what an int holds, in several calls.
        let most = if call.function.large { i64::MAX } else { i64::from(c_int::MAX) };
        while left > 0 {
            let count = left.min(most);
            // SAFETY: the caller promises a user function and buffers of `count` elements.
            unsafe {
                if call.function.convention != Convention::C {
                    let datatype = F::handle_to_fint(call.datatype.raw());
                    fortran_callbacks::reduction(&call.function, input, inout, count, datatype);
                } else {
                    F::call_op(
                        call.op,
                        function,
                        call.function.large,
                        input,
                        inout,
                        count,
                        call.datatype,
                    );
                }
            }
            let bytes = call.extent.wrapping_mul(count) as isize;
            input = input.wrapping_offset(bytes);
            inout = inout.wrapping_offset(bytes);
            left -= count;
        }
    }
}
