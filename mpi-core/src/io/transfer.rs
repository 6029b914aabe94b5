//! Reading and writing (MPI-5.0 §14.4): the runs of the view on one side, the program's memory on
//! the other.

use std::sync::Arc;

use super::OpenFile;
use crate::buffer::UserBuffer;
use crate::datatype::{Datatype, Datatypes, Packer, Unpacker, check_elements};
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{DatatypeHandle, FileHandle};
use crate::p2p::check_count;

/// Where in the file an access begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// So many etypes from the beginning of the view.
    At(i64),
    /// At the individual file pointer, which moves on.
    Pointer,
    /// At the shared file pointer, which moves on.
    Shared,
    /// There too, each process behind those of lower ranks.
    Ordered,
}

/// Which way data goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// From the file.
    Read,
    /// To the file.
    Write,
}

/// The program's side of an access.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Its buffer.
    pub buf: UserBuffer,
    /// Elements.
    pub count: i64,
    /// What they are.
    pub datatype: DatatypeHandle,
}

impl Memory {
    /// The type of its elements, which are there.
    pub(crate) fn elements(&self, datatypes: &Datatypes) -> Result<Arc<Datatype>> {
        let datatype = datatypes.committed(self.datatype)?;
        check_count(self.count)?;
        check_elements("buf", self.buf, self.count, datatype)?;
        Ok(Arc::clone(datatype))
    }
}

/// An access that the program asks for.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The file.
    pub fh: FileHandle,
    /// Which way data goes.
    pub way: Way,
    /// Where it begins.
    pub place: Place,
    /// What is read or written.
    pub memory: Memory,
}

impl OpenFile {
    /// Reads from `offset` etypes on, up to the end of the file; returns how many bytes of memory.
    pub(crate) fn read(
        &self,
        offset: i64,
        memory: &Memory,
        datatype: &Arc<Datatype>,
    ) -> Result<u64> {
        self.view.datarep.read(memory, datatype, |to| self.read_bytes(offset, to))
    }

    /// Writes from `offset` etypes on; returns how many bytes of memory.
    pub(crate) fn write(
        &self,
        offset: i64,
        memory: &Memory,
        datatype: &Arc<Datatype>,
    ) -> Result<u64> {
        self.view.datarep.write(memory, datatype, |from| self.write_bytes(offset, from))
    }

    fn read_bytes(&self, offset: i64, mut to: Unpacker) -> Result<u64> {
        let mut runs = self.view.runs(offset)?;
        let wanted = to.remaining();
        while to.remaining() > 0
            && let Some((at, len)) = runs.next(to.remaining())
        {
            let got = self.disk.read(at, len, &mut to);
            if got.map_err(|error| self.trouble("read", &error))? < len {
                break;
            }
        }
        Ok(wanted - to.remaining())
    }

    fn write_bytes(&self, offset: i64, mut from: Packer) -> Result<()> {
        let mut runs = self.view.runs(offset)?;
        while from.remaining() > 0 {
            let Some((at, len)) = runs.next(from.remaining()) else {
                let (path, left) = (&self.path, from.remaining());
                crate::fail!(IO, "the view of {path:?} has no place for {left} bytes");
            };
            let written = self.disk.write(at, len, &mut from);
            written.map_err(|error| self.trouble("write", &error))?;
        }
        Ok(())
    }

    /// Runs `access` while nobody else is at the file, if the file is in atomic mode.
    pub(crate) fn exclusively(
        &self,
        exclusive: bool,
        access: impl FnOnce() -> Result<u64>,
    ) -> Result<u64> {
        if !self.atomic {
            return access();
        }
        self.disk.lock(exclusive).map_err(|error| self.trouble("lock", &error))?;
        let outcome = access();
        self.disk.unlock().map_err(|error| self.trouble("unlock", &error))?;
        outcome
    }

    /// How many etypes the elements are that an access moves.
    pub(crate) fn etypes(&self, memory: &Memory, datatype: &Datatype) -> Result<i64> {
        let etype = self.view.unit;
        let bytes = self.view.datarep.stored_bytes(memory.count, datatype)?;
        if !bytes.is_multiple_of(etype) {
            let text = format!("asks for {bytes} bytes, but an etype of the view has {etype}");
            return Err(Error::param(ErrorClass::ARG, "count", text)
                .hint("Access whole etypes, or set a view with a smaller one."));
        }
        Ok((bytes / etype) as i64)
    }

    /// Where an access of `units` etypes at the individual pointer begins; it moves behind it.
    pub(crate) fn take_position(&mut self, units: i64) -> Result<i64> {
        let offset = self.position;
        let Some(next) = offset.checked_add(units) else {
            crate::fail!(ARG, "count", "leads beyond the end of all files");
        };
        self.position = next;
        Ok(offset)
    }
}
