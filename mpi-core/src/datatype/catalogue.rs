//! The datatypes of one process by handle: what `MPI_Type_free` refuses, names (MPI-5.0 §7.8),
//! and the predefined datatypes that no constant names, of which the same arguments give the same
//! handle each time (§6.9.4, §19.1.9).

use std::collections::HashMap;
use std::sync::Arc;

use super::{BYTE, Contents, Datatype, Origin, predefined};
use crate::attributes::AttributeList;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{DatatypeHandle, DatatypeKind};
use crate::table::Table;
use crate::text::{Text, shown};

/// The datatypes of a process, with what is known of them beside the objects.
#[derive(Default)]
pub struct Datatypes {
    /// Those that procedures made; the other predefined ones are constants.
    made: Table<DatatypeKind, Arc<Datatype>>,
    /// Names that the program gave.
    names: HashMap<DatatypeHandle, Text>,
    /// Predefined datatypes that a procedure made.
    found: Vec<(Arc<Datatype>, DatatypeHandle)>,
    /// The attributes of those that have any.
    pub attributes: HashMap<DatatypeHandle, AttributeList>,
}

impl Datatypes {
    /// The datatype that a handle names, if it names one.
    #[inline]
    pub(crate) fn find(&self, handle: DatatypeHandle) -> Option<&Arc<Datatype>> {
        let constant = if handle.is_predefined() { predefined(handle.raw()) } else { None };
        constant.or_else(|| self.made.find(handle))
    }

    /// The datatype that a handle names.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE` saying what the handle was.
    #[inline]
    pub fn get(&self, handle: DatatypeHandle) -> Result<&Arc<Datatype>> {
        self.find(handle).ok_or_else(|| self.made.mistaken(handle))
    }

    /// The same, if it may be communicated.
    #[inline]
    pub(crate) fn find_committed(&self, handle: DatatypeHandle) -> Option<&Arc<Datatype>> {
        self.find(handle).filter(|datatype| datatype.is_committed())
    }

    /// The datatype that a handle names, if it may be communicated (MPI-5.0 §5.1.9).
    ///
    /// # Errors
    /// `MPI_ERR_TYPE` saying what the handle was, or that the datatype is not committed.
    #[inline]
    pub fn committed(&self, handle: DatatypeHandle) -> Result<&Arc<Datatype>> {
        self.find_committed(handle).ok_or_else(|| self.uncommitted(handle))
    }

    /// Why a handle names no datatype that may be communicated.
    #[cold]
    fn uncommitted(&self, handle: DatatypeHandle) -> Error {
        match self.get(handle) {
            Err(error) => error,
            Ok(_) => Error::param(ErrorClass::TYPE, "datatype", "has not been committed")
                .hint("Call MPI_Type_commit before communicating with a derived datatype."),
        }
    }

    /// The datatype of `count` elements, with its handle: of none a program need not name one, as with MPICH,
    /// which does not look at it.
    #[inline]
    pub(crate) fn committed_of(
        &self,
        handle: DatatypeHandle,
        count: i64,
    ) -> Result<(DatatypeHandle, &Arc<Datatype>)> {
        match self.committed(handle) {
            Ok(datatype) => Ok((handle, datatype)),
            Err(error) => of_none(handle, count).ok_or(error),
        }
    }

    /// A handle for `datatype`: of a predefined one always the same.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM` when no handle is left.
    pub fn add(&mut self, datatype: Arc<Datatype>) -> Result<DatatypeHandle> {
        let contents = match &datatype.origin {
            Origin::Named(row) => return Ok(DatatypeHandle::from_raw(row.code)),
            Origin::Made(contents) => contents,
        };
        if !datatype.is_predefined() {
            return self.keep(datatype);
        }
        let known = self.found.iter().find(|(known, _)| match &known.origin {
            Origin::Made(other) => same_call(contents, other),
            Origin::Named(_) => false,
        });
        if let Some((_, handle)) = known {
            return Ok(*handle);
        }
        let handle = self.keep(Arc::clone(&datatype))?;
        self.found.push((datatype, handle));
        Ok(handle)
    }

    /// A handle of its own for `datatype`, whatever the program does with those that it has.
    pub(crate) fn keep(&mut self, datatype: Arc<Datatype>) -> Result<DatatypeHandle> {
        self.made.insert(datatype)
    }

    /// Gives up a handle that [`keep`](Datatypes::keep) gave.
    pub(crate) fn give_up(&mut self, handle: DatatypeHandle) -> Result<()> {
        self.made.remove(handle).map(drop)
    }

    /// `MPI_Type_free`. Operations under way keep the object until they are complete.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE` for a predefined datatype and for what is none.
    pub fn free(&mut self, handle: DatatypeHandle) -> Result<()> {
        if self.get(handle)?.is_predefined() {
            let name = shown(self.name(handle)?);
            let text = format!("is a predefined datatype ({name}), which cannot be freed");
            return Err(Error::param(ErrorClass::TYPE, "datatype", text));
        }
        self.names.remove(&handle);
        self.give_up(handle)
    }

    /// `MPI_Type_get_name`: the name that the program gave, or else the standard's.
    ///
    /// # Errors
    /// The handle names no datatype, and is not null either.
    pub fn name(&self, handle: DatatypeHandle) -> Result<&[u8]> {
        if handle.is_null() {
            return Ok(b"MPI_DATATYPE_NULL");
        }
        let datatype = self.get(handle)?;
        let given = self.names.get(&handle).map(|name| &**name);
        Ok(given.or(datatype.predefined_name().map(str::as_bytes)).unwrap_or_default())
    }

    /// `MPI_Type_set_name`.
    ///
    /// # Errors
    /// The handle names no datatype.
    pub fn set_name(&mut self, handle: DatatypeHandle, name: Text) -> Result<()> {
        self.get(handle)?;
        self.names.insert(handle, name);
        Ok(())
    }
}

/// What stands for the type of no elements where none is named.
#[cold]
fn of_none(handle: DatatypeHandle, count: i64) -> Option<(DatatypeHandle, &'static Arc<Datatype>)> {
    if count != 0 || !handle.is_null() {
        return None;
    }
    predefined(BYTE.raw()).map(|byte| (BYTE, byte))
}

/// Whether two calls were the same procedure with the same arguments, of which no datatype but
/// named ones is any.
fn same_call(one: &Contents, other: &Contents) -> bool {
    let codes = |contents: &Contents| -> Vec<Option<u32>> {
        contents.datatypes.iter().map(|datatype| datatype.predefined_code()).collect()
    };
    one.combiner == other.combiner && one.integers == other.integers && codes(one) == codes(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{Form, basic, predefined};

    #[test]
    fn the_same_arguments_give_the_same_predefined_datatype() {
        let mut datatypes = Datatypes::default();
        let mut handle = |made: Result<Arc<Datatype>>| datatypes.add(made.unwrap()).unwrap();
        let first = handle(Datatype::f90_real(6, 30));
        assert_eq!(handle(Datatype::f90_real(6, 30)), first);
        assert_ne!(handle(Datatype::f90_real(6, 31)), first);
        assert_ne!(handle(Datatype::f90_complex(6, 30)), first);
        let [short, double] = [0x208, basic::DOUBLE].map(|code| predefined(code).unwrap());
        let pair = |value, index| Datatype::value_index(value, index).map(Option::unwrap);
        let int = predefined(basic::INT).unwrap();
        let long = predefined(0x20a).unwrap();
        let named = handle(pair(double, int));
        assert!(named.is_predefined(), "MPI_DOUBLE_INT has a name");
        let made = handle(pair(double, long));
        assert_eq!(handle(pair(double, long)), made);
        assert_ne!(handle(pair(short, long)), made);
        assert_eq!(handle(Ok(Arc::clone(int))).raw(), basic::INT);
    }

    #[test]
    fn a_derived_datatype_gets_a_handle_of_its_own_each_time() {
        let mut datatypes = Datatypes::default();
        let int = predefined(basic::INT).unwrap();
        let made = Datatype::contiguous(2, int, Form::Int).unwrap();
        let first = datatypes.add(Arc::clone(&made)).unwrap();
        let second = datatypes.add(made).unwrap();
        assert_ne!(first, second);
        assert_eq!(datatypes.made.len(), 2);
    }
}
