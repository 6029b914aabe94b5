//! The calls that read and write (MPI-5.0 §14.4).

use super::Files;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::handle::FileHandle;
use crate::io::transfer::{Access, Memory, Place, Way};
use crate::port::Port;
use crate::status::Status;

impl<P: Port> Files<'_, P> {
    /// Makes an access: `MPI_File_read` and all its kin. The status counts what was there.
    ///
    /// # Errors
    /// `MPI_ERR_ACCESS` if the file was opened for writing alone, `MPI_ERR_READ_ONLY` if for reading
    /// alone; what the operating system reports, by its class. If one process fails to get its
    /// place in the order of ranks, all do.
    pub fn access(&mut self, access: Access) -> Result<Status> {
        let Access { fh, way, place, memory } = access;
        let modes = self.entry.file(fh)?.modes;
        // All have opened it in the same mode, so that nobody waits for who may not.
        match way {
            Way::Read => modes.check_read()?,
            Way::Write => modes.check_write()?,
        }
        let ordered = match place {
            Place::Ordered => Some(self.ordered_place(fh, &memory)?),
            _ => None,
        };
        let datatype = memory.elements(&self.entry.datatypes)?;
        let offset = match ordered {
            Some(offset) => offset,
            None => self.place(fh, place, &memory, &datatype)?,
        };
        let file = self.entry.file(fh)?;
        let moved = file.exclusively(way == Way::Write, || match way {
            Way::Read => file.read(offset, &memory, &datatype),
            Way::Write => file.write(offset, &memory, &datatype),
        });
        moved.map(|bytes| Status { bytes, ..Status::EMPTY })
    }

    /// Where an access begins; the pointer that it uses moves behind it.
    fn place(
        &mut self,
        fh: FileHandle,
        place: Place,
        memory: &Memory,
        datatype: &Datatype,
    ) -> Result<i64> {
        let file = self.entry.file_mut(fh)?;
        if matches!(place, Place::At(_) | Place::Pointer) {
            file.modes.check_not_sequential()?;
        }
        let units = file.etypes(memory, datatype)?;
        match place {
            Place::At(offset) => Ok(offset),
            Place::Pointer => file.take_position(units),
            Place::Shared | Place::Ordered => self.take_shared(fh, units),
        }
    }
}
