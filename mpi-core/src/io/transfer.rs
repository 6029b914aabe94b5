//! Reading and writing (MPI-5.0 §14.4): the runs of the view on one side, the program's memory on
//! the other.

use std::sync::Arc;

use super::OpenFile;
use crate::buffer::UserBuffer;
use crate::datatype::{Datatype, Packer, Unpacker};
use crate::entry::Entry;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{DatatypeHandle, FileHandle};
use crate::p2p::send::check_count;
use crate::port::Port;
use crate::status::Status;

/// Where in the file an access begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// So many etypes from the beginning of the view.
    At(i64),
    /// At the individual file pointer, which moves on.
    Pointer,
    /// At the shared file pointer, which moves on.
    Shared,
    /// So many etypes from the beginning of the view, as the shared file pointer said.
    Granted(i64),
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

impl OpenFile {
    /// Reads from `offset` etypes on, up to the end of the file; returns how many bytes of memory.
    fn read(&self, offset: i64, memory: &Memory, datatype: &Arc<Datatype>) -> Result<u64> {
        self.view.datarep.read(memory, datatype, |to| self.read_bytes(offset, to))
    }

    /// Writes from `offset` etypes on; returns how many bytes of memory.
    fn write(&self, offset: i64, memory: &Memory, datatype: &Arc<Datatype>) -> Result<u64> {
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
    fn exclusively(&self, exclusive: bool, access: impl FnOnce() -> Result<u64>) -> Result<u64> {
        if !self.atomic {
            return access();
        }
        self.disk.lock(exclusive).map_err(|error| self.trouble("lock", &error))?;
        let outcome = access();
        self.disk.unlock().map_err(|error| self.trouble("unlock", &error))?;
        outcome
    }

    /// How many etypes the elements are that an access moves.
    fn etypes(&self, memory: &Memory, datatype: &Datatype) -> Result<i64> {
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
    fn take_position(&mut self, units: i64) -> Result<i64> {
        let offset = self.position;
        let Some(next) = offset.checked_add(units) else {
            crate::fail!(ARG, "count", "leads beyond the end of all files");
        };
        self.position = next;
        Ok(offset)
    }
}

fn finished(bytes: u64) -> Status {
    Status { bytes, ..Status::EMPTY }
}

impl<P: Port> Entry<'_, P> {
    /// `MPI_File_read` and its kin: the status counts what was there.
    ///
    /// # Errors
    /// `MPI_ERR_ACCESS` if the file was opened for writing alone; what the operating system
    /// reports, by its class.
    pub fn file_read(&mut self, fh: FileHandle, place: Place, memory: Memory) -> Result<Status> {
        let datatype = self.elements(&memory)?;
        self.file(fh)?.modes.check_read()?;
        let offset = self.file_place(fh, place, &memory, &datatype)?;
        let file = self.file(fh)?;
        file.exclusively(false, || file.read(offset, &memory, &datatype)).map(finished)
    }

    /// `MPI_File_write` and its kin.
    ///
    /// # Errors
    /// `MPI_ERR_READ_ONLY` if the file was opened for reading alone; what the operating system
    /// reports, by its class.
    pub fn file_write(&mut self, fh: FileHandle, place: Place, memory: Memory) -> Result<Status> {
        let datatype = self.elements(&memory)?;
        self.file(fh)?.modes.check_write()?;
        let offset = self.file_place(fh, place, &memory, &datatype)?;
        let file = self.file(fh)?;
        file.exclusively(true, || file.write(offset, &memory, &datatype)).map(finished)
    }

    /// Where an access begins; the pointer that it uses moves behind it.
    fn file_place(
        &mut self,
        fh: FileHandle,
        place: Place,
        memory: &Memory,
        datatype: &Datatype,
    ) -> Result<i64> {
        let file = self.file_mut(fh)?;
        if matches!(place, Place::At(_) | Place::Pointer) {
            file.modes.check_not_sequential()?;
        }
        let units = file.etypes(memory, datatype)?;
        match place {
            Place::At(offset) | Place::Granted(offset) => Ok(offset),
            Place::Pointer => file.take_position(units),
            Place::Shared => self.take_shared(fh, units),
        }
    }

    /// How many etypes an access moves.
    pub(super) fn etypes_of(&self, fh: FileHandle, memory: &Memory) -> Result<i64> {
        let datatype = self.elements(memory)?;
        self.file(fh)?.etypes(memory, &datatype)
    }

    fn elements(&self, memory: &Memory) -> Result<Arc<Datatype>> {
        let datatype = self.committed(memory.datatype)?;
        let Memory { buf, count, .. } = *memory;
        check_count(count)?;
        let nowhere = buf.0.is_null() && datatype.predefined_code().is_some();
        if nowhere && count > 0 && datatype.size() > 0 {
            crate::fail!(BUFFER, "buf", "is NULL, but count is {count}");
        }
        Ok(Arc::clone(datatype))
    }
}
