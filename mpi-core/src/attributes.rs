//! Attribute caching on communicators, datatypes and windows (MPI-5.0 §7.7).
//!
//! Copy and delete functions are user code, which may call MPI again. So nothing here calls
//! them: [`AttributeList::copies`] and [`AttributeList::deletions`] list the calls in the order
//! that the standard wants, the caller makes them with nothing borrowed, and applies each result
//! by [`AttributeList::put`] or [`AttributeList::take`].

use crate::error::{Error, ErrorClass, Result};
use crate::handle::{Handle, Kind};
use crate::table::Table;

/// Marker of handles that name an attribute key. In C such a handle is an int.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyvalKind {}

impl Kind for KeyvalKind {
    const NUMBER: u32 = 12;
    /// `MPI_KEYVAL_INVALID` of the standard ABI.
    const NULL: u32 = 0;
    const NOUN: &'static str = "attribute key";
}

/// Handle of an attribute key.
pub type KeyvalHandle = Handle<KeyvalKind>;

/// The kind of object that a key belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holder {
    /// Keys of `MPI_Comm_create_keyval`.
    Comm,
    /// Keys of `MPI_Type_create_keyval`.
    Datatype,
    /// Keys of `MPI_Win_create_keyval`.
    Win,
}

impl Holder {
    /// The parameter in which the standard's procedures take such a key.
    pub fn parameter(self) -> &'static str {
        match self {
            Holder::Comm => "comm_keyval",
            Holder::Datatype => "type_keyval",
            Holder::Win => "win_keyval",
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Holder::Comm => "communicators",
            Holder::Datatype => "datatypes",
            Holder::Win => "windows",
        }
    }
}

/// The interface through which something was given: which decides how a function is called and
/// how a value is to be read back (§19.3.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Convention {
    /// C: a `void *`.
    C,
    /// Fortran with `INTEGER` values (MPI-1).
    FortranInteger,
    /// Fortran with `INTEGER(KIND=MPI_ADDRESS_KIND)` values.
    FortranAddress,
}

/// What happens to an attribute when its object is duplicated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyFunction {
    /// `MPI_*_NULL_COPY_FN`: the copy has no such attribute.
    Null,
    /// `MPI_*_DUP_FN`: the copy has the same value.
    Dup,
    /// The user's function at this address decides.
    User(usize, Convention),
}

/// What happens to an attribute when it or its object goes away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeleteFunction {
    /// `MPI_*_NULL_DELETE_FN`: nothing.
    Null,
    /// The user's function at this address is called.
    User(usize, Convention),
}

/// The value of an attribute, one word, and the interface through which it was set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attribute {
    /// The pointer's or integer's bits.
    pub value: usize,
    /// Who set it.
    pub set_by: Convention,
}

impl Attribute {
    /// What a duplicate gets when a copy function of `convention` was shown `shown` and answered
    /// `answer`: the attribute itself if that is what it was shown.
    pub fn copied(self, shown: i64, answer: i64, convention: Convention) -> Attribute {
        if shown == answer {
            return self;
        }
        Attribute { value: answer as usize, set_by: convention }
    }
}

/// An attribute key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keyval {
    /// What it can be attached to.
    pub holder: Holder,
    /// What duplicating an object does.
    pub copy: CopyFunction,
    /// What deleting the attribute does.
    pub delete: DeleteFunction,
    /// The word handed to both functions.
    pub extra_state: usize,
}

/// A call of a copy function that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyCall {
    /// The key, as the function is told it.
    pub keyval: KeyvalHandle,
    /// What to do; never `Null`.
    pub function: CopyFunction,
    /// The key's extra state.
    pub extra_state: usize,
    /// The value in the old object.
    pub attribute: Attribute,
}

/// A call of a delete function that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeleteCall {
    /// The key, as the function is told it.
    pub keyval: KeyvalHandle,
    /// What to do, possibly nothing.
    pub function: DeleteFunction,
    /// The key's extra state.
    pub extra_state: usize,
    /// The value that goes.
    pub attribute: Attribute,
}

struct KeyEntry {
    keyval: Keyval,
    /// Objects that have an attribute under this key.
    uses: u32,
    /// `MPI_*_free_keyval` was called: the key ends with its last use.
    freed: bool,
}

/// All attribute keys that the user made.
#[derive(Default)]
pub struct Keyvals(Table<KeyvalKind, KeyEntry>);

impl Keyvals {
    /// No keys.
    pub fn new() -> Keyvals {
        Keyvals::default()
    }

    /// Makes a key (`MPI_*_create_keyval`).
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM` when none is left.
    pub fn create(&mut self, keyval: Keyval) -> Result<KeyvalHandle> {
        self.0.insert(KeyEntry { keyval, uses: 0, freed: false })
    }

    /// Gives a key up (`MPI_*_free_keyval`). One in use stays until its last attribute is gone;
    /// giving that up again, through a copy of its handle, changes nothing.
    ///
    /// # Errors
    /// As [`Keyvals::get`].
    pub fn free(&mut self, holder: Holder, handle: KeyvalHandle) -> Result<()> {
        self.get(holder, handle)?;
        self.0.get_mut(handle)?.freed = true;
        self.drop_unused(handle);
        Ok(())
    }

    /// The key, if it is one for `holder`.
    ///
    /// # Errors
    /// `MPI_ERR_KEYVAL` in the parameter of the holder's procedures.
    pub fn get(&self, holder: Holder, handle: KeyvalHandle) -> Result<&Keyval> {
        let entry = self.0.get(handle).map_err(|error| {
            let text = error.what().to_owned();
            Error::param(ErrorClass::KEYVAL, holder.parameter(), text)
        })?;
        if entry.keyval.holder != holder {
            let text =
                format!("is a key for {}, not for {}", entry.keyval.holder.noun(), holder.noun());
            return Err(Error::param(ErrorClass::KEYVAL, holder.parameter(), text));
        }
        Ok(&entry.keyval)
    }

    fn drop_unused(&mut self, handle: KeyvalHandle) {
        if self.0.get(handle).is_ok_and(|entry| entry.freed && entry.uses == 0) {
            let _ = self.0.remove(handle);
        }
    }

    fn retain(&mut self, handle: KeyvalHandle) {
        if let Ok(entry) = self.0.get_mut(handle) {
            entry.uses += 1;
        }
    }

    fn release(&mut self, handle: KeyvalHandle) {
        if let Ok(entry) = self.0.get_mut(handle) {
            entry.uses -= 1;
        }
        self.drop_unused(handle);
    }
}

/// The attributes of one object, in the order in which they were set. It must be emptied before
/// it is dropped, or keys stay in use for ever.
#[derive(Default, Debug)]
pub struct AttributeList(Vec<(KeyvalHandle, Attribute)>);

impl AttributeList {
    /// No attributes.
    pub fn new() -> AttributeList {
        AttributeList::default()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The attribute under `keyval` (`MPI_*_get_attr`); the caller has looked the key up.
    pub fn get(&self, keyval: KeyvalHandle) -> Option<Attribute> {
        self.0.iter().find(|(key, _)| *key == keyval).map(|(_, attribute)| *attribute)
    }

    /// Sets an attribute and makes it the last one set. The one that it replaces must have been
    /// deleted before ([`AttributeList::deletion`], §7.7.2), and is dropped silently otherwise.
    pub fn put(&mut self, keyvals: &mut Keyvals, keyval: KeyvalHandle, attribute: Attribute) {
        keyvals.retain(keyval);
        self.take(keyvals, keyval);
        self.0.push((keyval, attribute));
    }

    /// Takes an attribute out, after its delete function succeeded.
    pub fn take(&mut self, keyvals: &mut Keyvals, keyval: KeyvalHandle) -> Option<Attribute> {
        let place = self.0.iter().position(|(key, _)| *key == keyval)?;
        let (_, attribute) = self.0.remove(place);
        keyvals.release(keyval);
        Some(attribute)
    }

    /// The calls due when the object is duplicated, in the order of setting.
    pub fn copies(&self, keyvals: &Keyvals) -> Vec<CopyCall> {
        let call = |&(handle, attribute): &(KeyvalHandle, Attribute)| {
            let keyval = &keyvals.0.get(handle).ok()?.keyval;
            let (function, extra_state) = (keyval.copy, keyval.extra_state);
            (function != CopyFunction::Null).then_some(CopyCall {
                keyval: handle,
                function,
                extra_state,
                attribute,
            })
        };
        self.0.iter().filter_map(call).collect()
    }

    /// The call due when the attribute under `keyval` is deleted or set anew.
    pub fn deletion(&self, keyvals: &Keyvals, handle: KeyvalHandle) -> Option<DeleteCall> {
        let attribute = self.get(handle)?;
        let keyval = &keyvals.0.get(handle).ok()?.keyval;
        let (function, extra_state) = (keyval.delete, keyval.extra_state);
        Some(DeleteCall { keyval: handle, function, extra_state, attribute })
    }

    /// The calls due when the object is freed: in the reverse order of setting, which §11.2.4
    /// wants for `MPI_COMM_SELF` at finalize. A function may itself delete attributes, so the
    /// caller asks [`AttributeList::get`] again before each.
    pub fn deletions(&self, keyvals: &Keyvals) -> Vec<DeleteCall> {
        self.0.iter().rev().filter_map(|(handle, _)| self.deletion(keyvals, *handle)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyval(holder: Holder, copy: CopyFunction) -> Keyval {
        Keyval { holder, copy, delete: DeleteFunction::User(9, Convention::C), extra_state: 5 }
    }

    fn value(value: usize) -> Attribute {
        Attribute { value, set_by: Convention::C }
    }

    #[test]
    fn a_key_in_use_outlives_its_being_freed() {
        let mut keyvals = Keyvals::new();
        let (mut one, mut two) = (AttributeList::new(), AttributeList::new());
        let key = keyvals.create(keyval(Holder::Comm, CopyFunction::Dup)).unwrap();
        one.put(&mut keyvals, key, value(1));
        one.put(&mut keyvals, key, value(2));
        two.put(&mut keyvals, key, value(3));
        keyvals.free(Holder::Comm, key).unwrap();
        keyvals.free(Holder::Comm, key).unwrap();
        assert_eq!(one.take(&mut keyvals, key), Some(value(2)));
        assert!(keyvals.get(Holder::Comm, key).is_ok());
        assert_eq!(one.take(&mut keyvals, key), None);
        assert_eq!(two.take(&mut keyvals, key), Some(value(3)));
        let error = keyvals.get(Holder::Comm, key).unwrap_err();
        assert_eq!((error.class(), error.parameter()), (ErrorClass::KEYVAL, Some("comm_keyval")));
        assert!(error.what().starts_with("was freed"), "{error}");
    }

    #[test]
    fn a_key_belongs_to_one_kind_of_object() {
        let mut keyvals = Keyvals::new();
        let key = keyvals.create(keyval(Holder::Datatype, CopyFunction::Null)).unwrap();
        let error = keyvals.free(Holder::Win, key).unwrap_err();
        assert_eq!(
            error.to_string(),
            "win_keyval is a key for datatypes, not for windows [MPI_ERR_KEYVAL]"
        );
        let error = keyvals.get(Holder::Win, Handle::NULL).unwrap_err();
        assert_eq!(error.what(), "is MPI_KEYVAL_INVALID");
    }

    #[test]
    fn copies_go_forward_and_deletions_backward_in_the_order_of_setting() {
        let mut keyvals = Keyvals::new();
        let mut list = AttributeList::new();
        let copies = [CopyFunction::Dup, CopyFunction::Null, CopyFunction::User(7, Convention::C)];
        let keys = copies.map(|copy| keyvals.create(keyval(Holder::Comm, copy)).unwrap());
        for (n, key) in keys.iter().enumerate() {
            list.put(&mut keyvals, *key, value(n));
        }
        let order: Vec<_> = list.deletions(&keyvals).iter().map(|call| call.keyval).collect();
        assert_eq!(order, [keys[2], keys[1], keys[0]]);
        list.put(&mut keyvals, keys[0], value(10));
        let order: Vec<_> = list.deletions(&keyvals).iter().map(|call| call.keyval).collect();
        assert_eq!(order, [keys[0], keys[2], keys[1]]);
        let order: Vec<_> =
            list.copies(&keyvals).iter().map(|call| (call.keyval, call.attribute)).collect();
        assert_eq!(order, [(keys[2], value(2)), (keys[0], value(10))]);
    }
}
