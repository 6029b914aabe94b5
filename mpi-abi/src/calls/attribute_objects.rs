//! The objects that have attributes, and where their lists are.

use mpi_core::attributes::{Attribute, AttributeList, Holder, KeyvalHandle};
use mpi_core::error::Result;
use mpi_core::handle::{
    CommHandle, CommKind, DatatypeHandle, DatatypeKind, Kind, WinHandle, WinKind,
};

use crate::node::Node;

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
    pub(super) fn list(self, process: &Node) -> Result<Option<&AttributeList>> {
        match self {
            Object::Comm(comm) => Ok(Some(&process.comm(comm)?.attributes)),
            Object::Win(win) => Ok(Some(&process.window(win)?.attributes)),
            Object::Datatype(datatype) => {
                process.datatype(datatype)?;
                Ok(process.datatype_attributes.get(&datatype))
            }
        }
    }

    pub(super) fn put(
        self,
        process: &mut Node,
        keyval: KeyvalHandle,
        value: Attribute,
    ) -> Result<()> {
        let list = match self {
            Object::Comm(comm) => &mut process.comms.get_mut(comm)?.attributes,
            Object::Datatype(datatype) => {
                process.datatype(datatype)?;
                process.datatype_attributes.entry(datatype).or_default()
            }
            Object::Win(win) => &mut process.windows.get_mut(win)?.attributes,
        };
        list.put(&mut process.keyvals, keyval, value);
        Ok(())
    }

    pub(super) fn take(self, process: &mut Node, keyval: KeyvalHandle) {
        let list = match self {
            Object::Comm(comm) => process.comms.get_mut(comm).ok().map(|comm| &mut comm.attributes),
            Object::Datatype(datatype) => process.datatype_attributes.get_mut(&datatype),
            Object::Win(win) => process.windows.get_mut(win).ok().map(|win| &mut win.attributes),
        };
        let Some(list) = list else { return };
        list.take(&mut process.keyvals, keyval);
        if let Object::Datatype(datatype) = self
            && list.is_empty()
        {
            process.datatype_attributes.remove(&datatype);
        }
    }
}
