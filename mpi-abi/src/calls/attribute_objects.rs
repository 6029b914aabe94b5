//! The objects that have attributes, and where their lists are.

use mpi_core::attributes::{Attribute, AttributeList, Holder, KeyvalHandle};
use mpi_core::error::Result;
use mpi_core::handle::{
    CommHandle, CommKind, DatatypeHandle, DatatypeKind, Kind, WinHandle, WinKind,
};
use mpi_core::objects::Objects;

/// An object that has attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Object {
    /// A communicator.
    Comm(CommHandle),
    /// A datatype, predefined or not.
    Datatype(DatatypeHandle),
    /// A window.
    Win(WinHandle),
}

impl Object {
    pub(crate) fn holder(self) -> Holder {
        match self {
            Object::Comm(_) => Holder::Comm,
            Object::Datatype(_) => Holder::Datatype,
            Object::Win(_) => Holder::Win,
        }
    }

    /// Kind number and handle, as callbacks are told them.
    pub(crate) fn name(self) -> (u32, u32) {
        match self {
            Object::Comm(comm) => (CommKind::NUMBER, comm.raw()),
            Object::Datatype(datatype) => (DatatypeKind::NUMBER, datatype.raw()),
            Object::Win(win) => (WinKind::NUMBER, win.raw()),
        }
    }

    /// Its attributes; `None` for a datatype that never had any.
    pub(super) fn list(self, objects: &Objects) -> Result<Option<&AttributeList>> {
        match self {
            Object::Comm(comm) => Ok(Some(&objects.comm(comm)?.attributes)),
            Object::Win(win) => Ok(Some(&objects.window(win)?.attributes)),
            Object::Datatype(datatype) => {
                objects.datatypes.get(datatype)?;
                Ok(objects.datatypes.attributes.get(&datatype))
            }
        }
    }

    pub(super) fn put(
        self,
        objects: &mut Objects,
        keyval: KeyvalHandle,
        value: Attribute,
    ) -> Result<()> {
        let list = match self {
            Object::Comm(comm) => &mut objects.comms.get_mut(comm)?.attributes,
            Object::Datatype(datatype) => {
                objects.datatypes.get(datatype)?;
                objects.datatypes.attributes.entry(datatype).or_default()
            }
            Object::Win(win) => &mut objects.windows.get_mut(win)?.attributes,
        };
        list.put(&mut objects.keyvals, keyval, value);
        Ok(())
    }

    pub(super) fn take(self, objects: &mut Objects, keyval: KeyvalHandle) {
        let list = match self {
            Object::Comm(comm) => objects.comms.get_mut(comm).ok().map(|comm| &mut comm.attributes),
            Object::Datatype(datatype) => objects.datatypes.attributes.get_mut(&datatype),
            Object::Win(win) => objects.windows.get_mut(win).ok().map(|win| &mut win.attributes),
        };
        let Some(list) = list else { return };
        list.take(&mut objects.keyvals, keyval);
        if let Object::Datatype(datatype) = self
            && list.is_empty()
        {
            objects.datatypes.attributes.remove(&datatype);
        }
    }
}
