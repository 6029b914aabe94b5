//! Functions of the program: error handlers, reductions, generalized requests, representations of
//! data. They take everything by reference, handles as INTEGERs, and report through a last
//! argument.

use std::ffi::{c_char, c_int, c_void};
use std::mem::transmute;

use mpi_core::attributes::Convention;
use mpi_core::errhandler::Target;

use super::texts::text;
use super::{Fortran, datatype_out, done, errhandler_out, op_out, request_out};
use crate::calls;
use crate::cx::Owner;
use crate::entry;
use crate::face::Face;
use crate::glue;
use crate::procedure::Procedure;

/// `MPI_OP_CREATE`.
pub unsafe fn op_create<F: Face>(
    user_fn: *const c_void,
    commute: *const c_int,
    op: *mut c_int,
    large: bool,
    ierror: *mut c_int,
) {
    // SAFETY: the program's variables.
    unsafe {
        let commute = super::logical(*commute) != 0;
        let code = entry::call::<F>(Procedure::OpCreate, Owner::None, |cx| {
            let convention = Convention::FortranInteger;
            let made = calls::ops::create(cx, user_fn, large, convention, commute)?;
            *op = op_out::<F>(F::op_out(made));
            Ok(())
        });
        done(ierror, code);
    }
}

macro_rules! errhandlers {
    ($($name:ident $procedure:ident $way_in:ident $target:ident $parameter:literal;)*) => {$(
        #[doc = concat!("The error handler of a Fortran function: `", stringify!($name), "`.")]
        pub unsafe fn $name<F: Face>(
            function: *const c_void,
            errhandler: *mut c_int,
            ierror: *mut c_int,
        ) {
            let code = entry::$way_in::<F>(Procedure::$procedure, Owner::None, |cx| {
                let convention = Convention::FortranInteger;
                let target = Target::$target;
                let made = calls::errors::create(&cx.always, function, convention, target, $parameter)?;
                // SAFETY: the program's variable.
                unsafe { *errhandler = errhandler_out::<F>(F::errhandler_out(made)) };
                Ok(())
            });
            // SAFETY: the program's variable.
            unsafe { done(ierror, code) };
        }
    )*};
}

errhandlers! {
    comm_create_errhandler CommCreateErrhandler call Comm "comm_errhandler_fn";
    win_create_errhandler WinCreateErrhandler call Win "win_errhandler_fn";
    file_create_errhandler FileCreateErrhandler call File "file_errhandler_fn";
    session_create_errhandler SessionCreateErrhandler call_any_time Session "session_errhandler_fn";
    errhandler_create ErrhandlerCreate call Comm "comm_errhandler_fn";
}

type Query = unsafe extern "C-unwind" fn(*mut i64, *mut c_int, *mut c_int);
type Free = unsafe extern "C-unwind" fn(*mut i64, *mut c_int);
type Cancel = unsafe extern "C-unwind" fn(*mut i64, *mut c_int, *mut c_int);

/// What stands behind a generalized request of a Fortran program: made by `MPI_GREQUEST_START`,
/// gone after the free function, which is called once (MPI-5.0 §13.2).
struct Generalized {
    query: Query,
    free: Free,
    cancel: Cancel,
    state: State,
}

/// What the functions get as their state, see [`Fortran::SHARES_STATE`].
enum State {
    Copied(i64),
    Programs(*mut i64),
}

impl State {
    fn address(&mut self) -> *mut i64 {
        match self {
            State::Copied(state) => state,
            State::Programs(state) => *state,
        }
    }
}

unsafe extern "C-unwind" fn query<F: Face>(behind: *mut c_void, status: *mut F::Status) -> c_int {
    let mut code = 0;
    // SAFETY: `behind` is what `grequest_start` made; the layouts of the statuses are the same.
    unsafe {
        let behind = behind.cast::<Generalized>();
        ((*behind).query)((*behind).state.address(), status.cast(), &mut code);
    }
    code
}

unsafe extern "C-unwind" fn free(behind: *mut c_void) -> c_int {
    let mut code = 0;
    // SAFETY: as above; this is the last call for this request.
    unsafe {
        let mut behind = Box::from_raw(behind.cast::<Generalized>());
        (behind.free)(behind.state.address(), &mut code);
    }
    code
}

unsafe extern "C-unwind" fn cancel(behind: *mut c_void, complete: c_int) -> c_int {
    let (mut code, mut complete) = (0, complete);
    // SAFETY: as for `query`.
    unsafe {
        super::logical_out(&mut complete);
        let behind = behind.cast::<Generalized>();
        ((*behind).cancel)((*behind).state.address(), &mut complete, &mut code);
    }
    code
}

/// `MPI_GREQUEST_START`.
pub unsafe fn grequest_start<F: Fortran>(
    query_fn: *const c_void,
    free_fn: *const c_void,
    cancel_fn: *const c_void,
    extra_state: *mut i64,
    request: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: the program gives functions of these types, and a variable or a value.
    let behind = unsafe {
        let state = match F::SHARES_STATE {
            true => State::Programs(extra_state),
            false => State::Copied(*extra_state),
        };
        Box::into_raw(Box::new(Generalized {
            query: transmute::<*const c_void, Query>(query_fn),
            free: transmute::<*const c_void, Free>(free_fn),
            cancel: transmute::<*const c_void, Cancel>(cancel_fn),
            state,
        }))
    };
    let mut made = super::request_null::<F>();
    let queries = query::<F> as *const c_void;
    let (frees, cancels) = (free as *const c_void, cancel as *const c_void);
    // SAFETY: the functions know what they are given; the rest is the program's.
    unsafe {
        let code = glue::grequest_start::<F>(queries, frees, cancels, behind.cast(), &mut made);
        if code == 0 {
            *request = request_out::<F>(made);
        } else {
            drop(Box::from_raw(behind));
        }
        done(ierror, code);
    }
}

type Convert = unsafe extern "C-unwind" fn(
    *mut c_void,
    *mut c_int,
    *mut c_void,
    *mut c_void,
    *mut i64,
    *mut i64,
    *mut c_int,
);
type Extent = unsafe extern "C-unwind" fn(*mut c_int, *mut i64, *mut i64, *mut c_int);

/// What stands behind a representation of data, which stays (MPI-5.0 §14.5.3).
struct Representation {
    read: *const c_void,
    write: *const c_void,
    extent: *const c_void,
    extra_state: i64,
}

unsafe fn convert<F: Face>(
    function: *const c_void,
    behind: *mut Representation,
    userbuf: *mut c_void,
    datatype: F::Datatype,
    count: *mut c_void,
    filebuf: *mut c_void,
    position: i64,
) -> c_int {
    let (mut code, mut position) = (0, position);
    let mut datatype = datatype_out::<F>(datatype);
    // SAFETY: the program gave functions of this type; the count has the width of its form.
    unsafe {
        let call: Convert = transmute(function);
        let state = &raw mut (*behind).extra_state;
        call(userbuf, &mut datatype, count, filebuf, &mut position, state, &mut code);
    }
    code
}

macro_rules! conversions {
    ($($name:ident $field:ident $count:ty;)*) => {$(
        unsafe extern "C-unwind" fn $name<F: Face>(
            userbuf: *mut c_void,
            datatype: F::Datatype,
            count: $count,
            filebuf: *mut c_void,
            position: i64,
            behind: *mut c_void,
        ) -> c_int {
            let mut count = count;
            let place = (&raw mut count).cast();
            // SAFETY: `behind` is what `register_datarep` made.
            unsafe {
                let behind = behind.cast::<Representation>();
                let function = (*behind).$field;
                convert::<F>(function, behind, userbuf, datatype, place, filebuf, position)
            }
        }
    )*};
}

conversions! {
    read read c_int;
    write write c_int;
    read_large read i64;
    write_large write i64;
}

unsafe extern "C-unwind" fn extent<F: Face>(
    datatype: F::Datatype,
    extent: *mut i64,
    behind: *mut c_void,
) -> c_int {
    let mut code = 0;
    let mut datatype = datatype_out::<F>(datatype);
    // SAFETY: as above.
    unsafe {
        let behind = behind.cast::<Representation>();
        let call: Extent = transmute((*behind).extent);
        call(&mut datatype, extent, &raw mut (*behind).extra_state, &mut code);
    }
    code
}

/// `MPI_REGISTER_DATAREP`; `nulls` are the addresses of `MPI_CONVERSION_FN_NULL`.
pub unsafe fn register_datarep<F: Fortran>(
    datarep: *const c_char,
    read_fn: *const c_void,
    write_fn: *const c_void,
    extent_fn: *const c_void,
    extra_state: *mut i64,
    large: bool,
    ierror: *mut c_int,
    datarep_length: usize,
    nulls: &[*const c_void],
) {
    // SAFETY: the program's variables.
    let (name, extra_state) = unsafe { (text(datarep, datarep_length), *extra_state) };
    let behind = Representation { read: read_fn, write: write_fn, extent: extent_fn, extra_state };
    let shown = |function: *const c_void, int: *const c_void, wide: *const c_void| {
        if nulls.contains(&function) {
            std::ptr::null()
        } else if large {
            wide
        } else {
            int
        }
    };
    let reads = shown(read_fn, read::<F> as *const c_void, read_large::<F> as *const c_void);
    let writes = shown(write_fn, write::<F> as *const c_void, write_large::<F> as *const c_void);
    let extents = extent::<F> as *const c_void;
    let behind = Box::into_raw(Box::new(behind));
    // SAFETY: the functions know what they are given.
    unsafe {
        let state = behind.cast();
        let name = name.as_ptr();
        let code = glue::register_datarep::<F>(name, reads, writes, large, extents, state);
        if code != 0 {
            drop(Box::from_raw(behind));
        }
        done(ierror, code);
    }
}

/// `MPI_F_SYNC_REG`: does nothing, out of the compiler's sight (MPI-5.0 §19.1.17).
pub extern "C-unwind" fn f_sync_reg(_buffer: *mut c_void) {}

/// `MPI_CONVERSION_FN_NULL`, which is recognised by its address and never called.
pub extern "C-unwind" fn conversion_fn_null() {}
