//! Attributes on communicators, datatypes and windows (MPI-5.0 §7.7), and their keys. What the
//! standard gives from the start is in `predefined`.
//!
//! Copy and delete functions are the program's, may call MPI, and may free what they were called
//! for: an attribute is looked up again after each call.

use std::ffi::{c_int, c_void};
use std::ptr;

use mpi_core::attributes::{
    Attribute, Convention, CopyCall, CopyFunction, DeleteCall, DeleteFunction, Holder, Keyval,
    KeyvalHandle,
};
use mpi_core::error::{Error, Result};
use mpi_core::handle::{CommHandle, DatatypeHandle, WinHandle};

use super::attribute_objects::Object;
use super::attribute_values::{Found, about};
use super::predefined;
use crate::cx::Cx;
use crate::failure::of_code;
use crate::fortran_callbacks as callbacks;

fn handle(keyval: i32) -> KeyvalHandle {
    KeyvalHandle::from_raw(keyval.cast_unsigned())
}

/// Calls what is due when an attribute goes.
fn call_delete(cx: &mut Cx<'_>, object: Object, call: DeleteCall) -> Result<()> {
    let DeleteFunction::User(address, convention) = call.function else { return Ok(()) };
    let found = Found::Set(call.attribute);
    if convention != Convention::C {
        let about = about(cx, object, call.keyval, call.extra_state);
        let value = found.for_fortran();
        // SAFETY: the program made this key with this Fortran function.
        let code = cx.call_out(|_| unsafe { callbacks::delete(address, convention, about, value) });
        return check(cx, code, "the delete function of an attribute");
    }
    let function: *const c_void = ptr::with_exposed_provenance(address);
    let (kind, raw) = object.name();
    let keyval = call.keyval.raw().cast_signed();
    let value = found.for_c();
    let state = ptr::with_exposed_provenance_mut(call.extra_state);
    let delete = cx.face.call_delete_attr;
    // SAFETY: the program made this key with this function for objects of this kind.
    let code = cx.call_out(|_| unsafe { delete(function, kind, raw, keyval, value, state) });
    check(cx, code, "the delete function of an attribute")
}

fn check(cx: &Cx<'_>, code: c_int, what: &'static str) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(of_code(cx, code, what)) }
}

/// Deletes the attributes of an object that is about to go, unless a function of one refuses.
pub(crate) fn delete_all(cx: &mut Cx<'_>, object: Object) -> Result<()> {
    delete_each(cx, object, Err)
}

/// The same of a communicator that goes whatever their functions say: that of the process itself in `MPI_Finalize`
/// (§11.2.4), which nobody could call again.
pub(crate) fn delete_all_in_the_end(cx: &mut Cx<'_>, comm: CommHandle) -> Result<()> {
    delete_each(cx, Object::Comm(comm), |error| {
        tracing::warn!("an attribute of MPI_COMM_SELF: {}", error.what());
        Ok(())
    })
}

/// Deletes attributes, the last one set first (§11.2.4), as long as `refused` lets a refusal pass.
fn delete_each(
    cx: &mut Cx<'_>,
    object: Object,
    refused: impl Fn(Error) -> Result<()>,
) -> Result<()> {
    while let Some(call) = next_deletion(cx, object)? {
        call_delete(cx, object, call).or_else(&refused)?;
        object.take(cx, call.keyval);
    }
    Ok(())
}

fn next_deletion(cx: &Cx<'_>, object: Object) -> Result<Option<DeleteCall>> {
    let list = object.list(cx)?;
    Ok(list.and_then(|list| list.deletions(&cx.keyvals).first().copied()))
}

/// Gives the duplicate `new` the attributes of `old` that their copy functions let pass.
pub(crate) fn copy_all(cx: &mut Cx<'_>, old: Object, new: Object) -> Result<()> {
    let calls = old.list(cx)?.map(|list| list.copies(&cx.keyvals)).unwrap_or_default();
    for call in calls {
        let mut attribute = call.attribute;
        if let CopyFunction::User(address, convention) = call.function {
            match call_copy(cx, old, &call, address, convention)? {
                Some(copied) => attribute = copied,
                None => continue,
            }
        }
        new.put(cx, call.keyval, attribute)?;
    }
    Ok(())
}

/// Asks the function at `address` what the duplicate gets, if anything.
fn call_copy(
    cx: &mut Cx<'_>,
    old: Object,
    call: &CopyCall,
    address: usize,
    convention: Convention,
) -> Result<Option<Attribute>> {
    let found = Found::Set(call.attribute);
    if convention != Convention::C {
        let about = about(cx, old, call.keyval, call.extra_state);
        let value = found.for_fortran();
        // SAFETY: the program made this key with this Fortran function.
        let copy = cx.call_out(|_| unsafe { callbacks::copy(address, convention, about, value) });
        check(cx, copy.code, "the copy function of an attribute")?;
        return Ok(copy.wanted.then(|| call.attribute.copied(value, copy.value, convention)));
    }
    let function: *const c_void = ptr::with_exposed_provenance(address);
    let (kind, raw) = old.name();
    let keyval = call.keyval.raw().cast_signed();
    let state = ptr::with_exposed_provenance_mut(call.extra_state);
    let value = found.for_c();
    let copy = cx.face.call_copy_attr;
    // SAFETY: the program made this key with this function for objects of this kind.
    let (code, copied, wanted) =
        cx.call_out(|_| unsafe { copy(function, kind, raw, keyval, state, value) });
    check(cx, code, "the copy function of an attribute")?;
    let (value, copied) = (value.expose_provenance() as i64, copied.expose_provenance() as i64);
    Ok(wanted.then(|| call.attribute.copied(value, copied, convention)))
}

/// Deletes the attributes of a communicator that is about to be freed.
pub(crate) fn delete_all_of_comm(cx: &mut Cx<'_>, comm: CommHandle) -> Result<()> {
    delete_all(cx, Object::Comm(comm))
}

/// Copies the attributes of a communicator to its duplicate.
pub(crate) fn copy_all_of_comm(cx: &mut Cx<'_>, old: CommHandle, new: CommHandle) -> Result<()> {
    copy_all(cx, Object::Comm(old), Object::Comm(new))
}

fn create_in_c(
    cx: &mut Cx<'_>,
    holder: Holder,
    copy: *const c_void,
    delete: *const c_void,
    extra_state: *mut c_void,
) -> Result<i32> {
    create(cx, holder, copy, delete, extra_state.expose_provenance(), Convention::C)
}

/// A key with functions of either language.
pub(crate) fn create(
    cx: &mut Cx<'_>,
    holder: Holder,
    copy: *const c_void,
    delete: *const c_void,
    extra_state: usize,
    convention: Convention,
) -> Result<i32> {
    let keyval = Keyval {
        holder,
        copy: match copy.addr() {
            0 => CopyFunction::Null,
            1 => CopyFunction::Dup,
            address => CopyFunction::User(address, convention),
        },
        delete: match delete.addr() {
            0 => DeleteFunction::Null,
            address => DeleteFunction::User(address, convention),
        },
        extra_state,
    };
    Ok(cx.keyvals.create(keyval)?.raw().cast_signed())
}

fn free(cx: &mut Cx<'_>, holder: Holder, keyval: &mut i32) -> Result<()> {
    predefined::refuse(holder, *keyval)?;
    cx.keyvals.free(holder, handle(*keyval))?;
    *keyval = KeyvalHandle::NULL.raw().cast_signed();
    Ok(())
}

fn set_in_c(cx: &mut Cx<'_>, object: Object, keyval: i32, value: *mut c_void) -> Result<()> {
    set(cx, object, keyval, value.expose_provenance(), Convention::C)
}

/// Sets an attribute from either language.
pub(crate) fn set(
    cx: &mut Cx<'_>,
    object: Object,
    keyval: i32,
    value: usize,
    set_by: Convention,
) -> Result<()> {
    predefined::refuse(object.holder(), keyval)?;
    let keyval = handle(keyval);
    cx.keyvals.get(object.holder(), keyval)?;
    let old = object.list(cx)?.and_then(|list| list.deletion(&cx.keyvals, keyval));
    if let Some(call) = old {
        call_delete(cx, object, call)?;
    }
    object.put(cx, keyval, Attribute { value, set_by })
}

fn delete(cx: &mut Cx<'_>, object: Object, keyval: i32) -> Result<()> {
    predefined::refuse(object.holder(), keyval)?;
    let keyval = handle(keyval);
    cx.keyvals.get(object.holder(), keyval)?;
    // Where it is not set there is nothing that could fail (§7.7.4).
    if let Some(call) = object.list(cx)?.and_then(|list| list.deletion(&cx.keyvals, keyval)) {
        call_delete(cx, object, call)?;
        object.take(cx, keyval);
    }
    Ok(())
}

/// Writes the value of an attribute to `*value`, a `void *` of the program, and says if it is set.
fn get(cx: &mut Cx<'_>, object: Object, keyval: i32, value: *mut c_void) -> Result<bool> {
    if value.is_null() {
        mpi_core::fail!(ARG, "attribute_val", "is NULL, but a result is to be written there");
    }
    let found = find(cx, object, keyval)?;
    if let Some(found) = &found {
        // SAFETY: by the standard this is the address of a pointer.
        unsafe { value.cast::<*mut c_void>().write(found.for_c()) };
    }
    Ok(found.is_some())
}

/// The value of an attribute, if it is set.
pub(crate) fn find(cx: &mut Cx<'_>, object: Object, keyval: i32) -> Result<Option<Found>> {
    let held = object.list(cx)?;
    Ok(match (object, predefined::is_key(keyval)) {
        (Object::Comm(_), true) => predefined::value(cx, keyval).map(Found::Predefined),
        (Object::Win(win), _) if predefined::is_window_key(keyval) => {
            Some(predefined::window_value(cx, win, keyval)?)
        }
        _ => {
            let keyval = handle(keyval);
            cx.keyvals.get(object.holder(), keyval)?;
            held.and_then(|list| list.get(keyval)).map(Found::Set)
        }
    })
}

/// `MPI_Comm_create_keyval`.
pub fn comm_create_keyval(
    cx: &mut Cx<'_>,
    comm_copy_attr_fn: *const c_void,
    comm_delete_attr_fn: *const c_void,
    comm_keyval: &mut i32,
    extra_state: *mut c_void,
) -> Result<()> {
    *comm_keyval =
        create_in_c(cx, Holder::Comm, comm_copy_attr_fn, comm_delete_attr_fn, extra_state)?;
    Ok(())
}

/// `MPI_Comm_free_keyval`.
pub fn comm_free_keyval(cx: &mut Cx<'_>, comm_keyval: &mut i32) -> Result<()> {
    free(cx, Holder::Comm, comm_keyval)
}

/// `MPI_Comm_set_attr`.
pub fn comm_set_attr(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    comm_keyval: i32,
    attribute_val: *mut c_void,
) -> Result<()> {
    set_in_c(cx, Object::Comm(comm), comm_keyval, attribute_val)
}

/// `MPI_Comm_get_attr`.
pub fn comm_get_attr(
    cx: &mut Cx<'_>,
    comm: CommHandle,
    comm_keyval: i32,
    attribute_val: *mut c_void,
    flag: &mut bool,
) -> Result<()> {
    *flag = get(cx, Object::Comm(comm), comm_keyval, attribute_val)?;
    Ok(())
}

/// `MPI_Comm_delete_attr`.
pub fn comm_delete_attr(cx: &mut Cx<'_>, comm: CommHandle, comm_keyval: i32) -> Result<()> {
    delete(cx, Object::Comm(comm), comm_keyval)
}

/// `MPI_Type_create_keyval`.
pub fn type_create_keyval(
    cx: &mut Cx<'_>,
    type_copy_attr_fn: *const c_void,
    type_delete_attr_fn: *const c_void,
    type_keyval: &mut i32,
    extra_state: *mut c_void,
) -> Result<()> {
    *type_keyval =
        create_in_c(cx, Holder::Datatype, type_copy_attr_fn, type_delete_attr_fn, extra_state)?;
    Ok(())
}

/// `MPI_Type_free_keyval`.
pub fn type_free_keyval(cx: &mut Cx<'_>, type_keyval: &mut i32) -> Result<()> {
    free(cx, Holder::Datatype, type_keyval)
}

/// `MPI_Type_set_attr`.
pub fn type_set_attr(
    cx: &mut Cx<'_>,
    datatype: DatatypeHandle,
    type_keyval: i32,
    attribute_val: *mut c_void,
) -> Result<()> {
    set_in_c(cx, Object::Datatype(datatype), type_keyval, attribute_val)
}

/// `MPI_Type_get_attr`.
pub fn type_get_attr(
    cx: &mut Cx<'_>,
    datatype: DatatypeHandle,
    type_keyval: i32,
    attribute_val: *mut c_void,
    flag: &mut bool,
) -> Result<()> {
    *flag = get(cx, Object::Datatype(datatype), type_keyval, attribute_val)?;
    Ok(())
}

/// `MPI_Type_delete_attr`.
pub fn type_delete_attr(cx: &mut Cx<'_>, datatype: DatatypeHandle, type_keyval: i32) -> Result<()> {
    delete(cx, Object::Datatype(datatype), type_keyval)
}

/// `MPI_Win_create_keyval`.
pub fn win_create_keyval(
    cx: &mut Cx<'_>,
    win_copy_attr_fn: *const c_void,
    win_delete_attr_fn: *const c_void,
    win_keyval: &mut i32,
    extra_state: *mut c_void,
) -> Result<()> {
    *win_keyval = create_in_c(cx, Holder::Win, win_copy_attr_fn, win_delete_attr_fn, extra_state)?;
    Ok(())
}

/// `MPI_Win_free_keyval`.
pub fn win_free_keyval(cx: &mut Cx<'_>, win_keyval: &mut i32) -> Result<()> {
    free(cx, Holder::Win, win_keyval)
}

/// `MPI_Win_set_attr`.
pub fn win_set_attr(
    cx: &mut Cx<'_>,
    win: WinHandle,
    win_keyval: i32,
    attribute_val: *mut c_void,
) -> Result<()> {
    set_in_c(cx, Object::Win(win), win_keyval, attribute_val)
}

/// `MPI_Win_get_attr`.
pub fn win_get_attr(
    cx: &mut Cx<'_>,
    win: WinHandle,
    win_keyval: i32,
    attribute_val: *mut c_void,
    flag: &mut bool,
) -> Result<()> {
    *flag = get(cx, Object::Win(win), win_keyval, attribute_val)?;
    Ok(())
}

/// `MPI_Win_delete_attr`.
pub fn win_delete_attr(cx: &mut Cx<'_>, win: WinHandle, win_keyval: i32) -> Result<()> {
    delete(cx, Object::Win(win), win_keyval)
}
