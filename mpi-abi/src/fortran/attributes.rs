//! Attributes: values are INTEGERs in MPI-1's procedures and have the width of an address in those
//! of MPI-2 (MPI-5.0 §7.7, §19.3.7).

use std::ffi::{c_int, c_void};

use mpi_core::attributes::{Convention, Holder};
use mpi_core::handle::{CommKind, DatatypeKind, Handle, Kind, WinKind};

use super::{Fortran, done};
use crate::calls::attribute_objects::Object;
use crate::calls::attributes as calls;
use crate::cx::Owner;
use crate::entry;
use crate::face::{ConstantGroup, Face};
use crate::procedure::Procedure;

/// An INTEGER of one of the two widths that extra states and values have.
trait Width: Copy {
    const CONVENTION: Convention;
    fn wide(self) -> i64;
    fn of(value: i64) -> Self;
}

impl Width for c_int {
    const CONVENTION: Convention = Convention::FortranInteger;
    fn wide(self) -> i64 {
        i64::from(self)
    }
    fn of(value: i64) -> c_int {
        value as c_int
    }
}

impl Width for i64 {
    const CONVENTION: Convention = Convention::FortranAddress;
    fn wide(self) -> i64 {
        self
    }
    fn of(value: i64) -> i64 {
        value
    }
}

unsafe fn create<F: Face, W: Width>(
    procedure: Procedure,
    holder: Holder,
    functions: (*const c_void, *const c_void),
    keyval: *mut c_int,
    extra_state: *mut W,
    ierror: *mut c_int,
) {
    let code = entry::call::<F>(procedure, Owner::None, |cx| {
        let (copy, delete) = functions;
        // SAFETY: the program's variables.
        unsafe {
            let state = (*extra_state).wide() as usize;
            let made = calls::create(cx, holder, copy, delete, state, W::CONVENTION)?;
            *keyval = F::constant_out(ConstantGroup::Keyval, made);
        }
        Ok(())
    });
    // SAFETY: the program's variable.
    unsafe { done(ierror, code) };
}

unsafe fn set<F: Fortran, W: Width>(
    procedure: Procedure,
    owner: Owner,
    object: Object,
    keyval: *const c_int,
    value: *mut W,
    ierror: *mut c_int,
) {
    // SAFETY: the program's variables.
    unsafe {
        let keyval = F::constant_in(ConstantGroup::Keyval, F::keyval(*keyval));
        let value = (*value).wide() as usize;
        let code = entry::call::<F>(procedure, owner, |cx| {
            calls::set(cx, object, keyval, value, W::CONVENTION)
        });
        done(ierror, code);
    }
}

unsafe fn get<F: Fortran, W: Width>(
    procedure: Procedure,
    owner: Owner,
    object: Object,
    keyval: *const c_int,
    value: *mut W,
    flag: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: the program's variables.
    unsafe {
        let keyval = F::constant_in(ConstantGroup::Keyval, F::keyval(*keyval));
        let code = entry::call::<F>(procedure, owner, |cx| {
            let found = calls::find(cx, object, keyval)?;
            *flag = c_int::from(found.is_some());
            super::logical_out(flag);
            if let Some(found) = found {
                *value = W::of(found.for_fortran());
            }
            Ok(())
        });
        done(ierror, code);
    }
}

macro_rules! keyvals {
    ($($name:ident $procedure:ident $holder:ident $width:ty;)*) => {$(
        #[doc = concat!("An attribute key with Fortran functions: `", stringify!($name), "`.")]
        pub unsafe fn $name<F: Face>(
            copy: *const c_void,
            delete: *const c_void,
            keyval: *mut c_int,
            extra_state: *mut $width,
            ierror: *mut c_int,
        ) {
            let (procedure, holder) = (Procedure::$procedure, Holder::$holder);
            // SAFETY: the caller's promise is the same.
            unsafe {
                create::<F, _>(procedure, holder, (copy, delete), keyval, extra_state, ierror);
            }
        }
    )*};
}

keyvals! {
    comm_create_keyval CommCreateKeyval Comm i64;
    type_create_keyval TypeCreateKeyval Datatype i64;
    win_create_keyval WinCreateKeyval Win i64;
    keyval_create KeyvalCreate Comm c_int;
}

macro_rules! accesses {
    ($(
        $set:ident $set_procedure:ident $get:ident $get_procedure:ident $kind:ident $object:expr,
        $owner:expr, $width:ty;
    )*) => {$(
        #[doc = concat!("Sets an attribute: `", stringify!($set), "`.")]
        pub unsafe fn $set<F: Fortran>(
            object: *const c_int,
            keyval: *const c_int,
            value: *mut $width,
            ierror: *mut c_int,
        ) {
            // SAFETY: the caller's promise is the same.
            unsafe {
                let handle = Handle::from_raw(F::handle_from_fint($kind::NUMBER, *object));
                let (procedure, owner) = (Procedure::$set_procedure, $owner(handle));
                set::<F, _>(procedure, owner, $object(handle), keyval, value, ierror);
            }
        }

        #[doc = concat!("Reads an attribute: `", stringify!($get), "`.")]
        pub unsafe fn $get<F: Fortran>(
            object: *const c_int,
            keyval: *const c_int,
            value: *mut $width,
            flag: *mut c_int,
            ierror: *mut c_int,
        ) {
            // SAFETY: the caller's promise is the same.
            unsafe {
                let handle = Handle::from_raw(F::handle_from_fint($kind::NUMBER, *object));
                let (procedure, owner) = (Procedure::$get_procedure, $owner(handle));
                get::<F, _>(procedure, owner, $object(handle), keyval, value, flag, ierror);
            }
        }
    )*};
}

accesses! {
    comm_set_attr CommSetAttr comm_get_attr CommGetAttr CommKind Object::Comm, Owner::Comm, i64;
    attr_put AttrPut attr_get AttrGet CommKind Object::Comm, Owner::Comm, c_int;
    type_set_attr TypeSetAttr type_get_attr TypeGetAttr DatatypeKind Object::Datatype, |_| Owner::None, i64;
    win_set_attr WinSetAttr win_get_attr WinGetAttr WinKind Object::Win, Owner::Win, i64;
}
