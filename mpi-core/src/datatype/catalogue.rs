//! The datatypes of one process by handle: what `MPI_Type_free` refuses, names (MPI-5.0 §7.8),
//! and the predefined datatypes that no constant names, of which the same arguments give the same
//! handle each time (§6.9.4, §19.1.9).

use std::collections::HashMap;
use std::sync::Arc;

use super::{Contents, Datatype, Origin};
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{DatatypeHandle, DatatypeKind};
use crate::port::Port;
use crate::process::Process;
use crate::table::Table;
use crate::text::{Text, shown};

/// What is known of datatypes beside the objects.
#[derive(Default, Debug)]
pub struct Catalogue {
    /// Names that the program gave.
    names: HashMap<DatatypeHandle, Text>,
    /// Predefined datatypes that a procedure made.
    found: Vec<(Arc<Datatype>, DatatypeHandle)>,
}

impl Catalogue {
    /// A handle for `datatype` in `table`: of a predefined one always the same.
    fn handle_of(
        &mut self,
        table: &mut Table<DatatypeKind, Arc<Datatype>>,
        datatype: Arc<Datatype>,
    ) -> Result<DatatypeHandle> {
        let contents = match &datatype.origin {
            Origin::Named(row) => return Ok(DatatypeHandle::from_raw(row.code)),
            Origin::Made(contents) => contents,
        };
        if !datatype.is_predefined() {
            return table.insert(datatype);
        }
        let known = self.found.iter().find(|(known, _)| match &known.origin {
            Origin::Made(other) => same_call(contents, other),
            Origin::Named(_) => false,
        });
        if let Some((_, handle)) = known {
            return Ok(*handle);
        }
        let handle = table.insert(Arc::clone(&datatype))?;
        self.found.push((datatype, handle));
        Ok(handle)
    }
}

impl<P: Port> Process<P> {
    /// A handle for `datatype`: of a predefined one always the same.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM` when no handle is left.
    pub fn new_datatype(&mut self, datatype: Arc<Datatype>) -> Result<DatatypeHandle> {
        self.catalogue.handle_of(&mut self.datatypes, datatype)
    }

    /// `MPI_Type_free`. Operations under way keep the object until they are complete.
    ///
    /// # Errors
    /// `MPI_ERR_TYPE` for a predefined datatype and for what is none.
    pub fn free_datatype(&mut self, handle: DatatypeHandle) -> Result<()> {
        if self.datatype(handle)?.is_predefined() {
            let name = shown(self.datatype_name(handle)?);
            let text = format!("is a predefined datatype ({name}), which cannot be freed");
            return Err(Error::param(ErrorClass::TYPE, "datatype", text));
        }
        self.catalogue.names.remove(&handle);
        self.datatypes.remove(handle).map(drop)
    }

    /// `MPI_Type_get_name`: the name that the program gave, or else the standard's.
    ///
    /// # Errors
    /// The handle names no datatype, and is not null either.
    pub fn datatype_name(&self, handle: DatatypeHandle) -> Result<&[u8]> {
        if handle.is_null() {
            return Ok(b"MPI_DATATYPE_NULL");
        }
        let datatype = self.datatype(handle)?;
        let given = self.catalogue.names.get(&handle).map(|name| &**name);
        Ok(given.or(datatype.predefined_name().map(str::as_bytes)).unwrap_or_default())
    }

    /// `MPI_Type_set_name`.
    ///
    /// # Errors
    /// The handle names no datatype.
    pub fn set_datatype_name(&mut self, handle: DatatypeHandle, name: Text) -> Result<()> {
        self.datatype(handle)?;
        self.catalogue.names.insert(handle, name);
        Ok(())
    }
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
        let (mut catalogue, mut table) = (Catalogue::default(), Table::new());
        let mut handle =
            |made: Result<Arc<Datatype>>| catalogue.handle_of(&mut table, made.unwrap()).unwrap();
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
        let (mut catalogue, mut table) = (Catalogue::default(), Table::new());
        let int = predefined(basic::INT).unwrap();
        let made = Datatype::contiguous(2, int, Form::Int).unwrap();
        let first = catalogue.handle_of(&mut table, Arc::clone(&made)).unwrap();
        let second = catalogue.handle_of(&mut table, made).unwrap();
        assert_ne!(first, second);
        assert_eq!(table.len(), 2);
    }
}
