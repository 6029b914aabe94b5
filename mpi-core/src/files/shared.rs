//! The calls on the shared file pointer (MPI-5.0 §14.4.4), and accesses in the order of ranks (§14.4.4.2).

use super::Files;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::FileHandle;
use crate::io::modes;
use crate::io::shared::SharedPointer;
use crate::io::transfer::Memory;
use crate::port::Port;

/// `MPI_DISPLACEMENT_CURRENT`.
const DISPLACEMENT_CURRENT: i64 = -1;

/// `from` and `units` more.
fn advanced(from: i64, units: i64) -> Result<i64> {
    from.checked_add(units).ok_or_else(|| {
        Error::param(ErrorClass::ARG, "count", "leads beyond the end of all files".to_owned())
    })
}

impl<P: Port> Files<'_, P> {
    fn update_shared(
        &mut self,
        fh: FileHandle,
        next: impl FnOnce(i64) -> Result<i64>,
    ) -> Result<i64> {
        // An error handler may still call from within the call that closes the file.
        let Some(mut pointer) = self.entry.file_mut(fh)?.shared.take() else {
            crate::fail!(FILE, "fh", "is being closed, so that its shared pointer is gone");
        };
        let storage = self.entry.port.storage();
        let before = pointer.update(storage, next);
        self.entry.file_mut(fh)?.shared = Some(pointer);
        before
    }

    /// Where an access of `units` etypes at the shared pointer begins; the pointer moves behind.
    pub(crate) fn take_shared(&mut self, fh: FileHandle, units: i64) -> Result<i64> {
        self.update_shared(fh, |now| advanced(now, units))
    }

    /// `MPI_File_get_position_shared`.
    ///
    /// # Errors
    /// `MPI_ERR_UNSUPPORTED_OPERATION` for a file that is read in sequence; what the operating
    /// system reports, by its class.
    pub fn position_shared(&mut self, fh: FileHandle) -> Result<i64> {
        self.entry.file(fh)?.modes.check_not_sequential()?;
        self.update_shared(fh, Ok)
    }

    /// `MPI_File_seek_shared`: all give the same.
    ///
    /// # Errors
    /// `MPI_ERR_NOT_SAME`; otherwise as [`Files::position_shared`] and `OpenFile::seek`.
    pub fn seek_shared(&mut self, fh: FileHandle, offset: i64, whence: i32) -> Result<()> {
        let file = self.entry.file(fh)?;
        file.modes.check_not_sequential()?;
        let comm = file.comm;
        self.entry.members(comm).agree_on("offset", offset)?;
        self.entry.members(comm).agree_on("whence", whence.into())?;
        let moved = if self.entry.comm(comm)?.rank == 0 {
            let end = self.entry.file(fh)?.end();
            self.update_shared(fh, |now| modes::sought(offset, whence, now, end)).map(drop)
        } else {
            Ok(())
        };
        self.entry.members(comm).fail_together(moved)
    }

    /// The displacement that a program means: `MPI_DISPLACEMENT_CURRENT` is where the shared pointer
    /// stands in a file that is read in sequence, which has no other (§14.3).
    ///
    /// # Errors
    /// What the operating system reports, by its class.
    pub fn displacement(&mut self, fh: FileHandle, displacement: i64) -> Result<i64> {
        if displacement != DISPLACEMENT_CURRENT
            || !self.entry.file(fh)?.modes.has(modes::SEQUENTIAL)
        {
            return Ok(displacement);
        }
        // Accesses before this call are over at all processes.
        let comm = self.entry.file(fh)?.comm;
        self.entry.members(comm).fail_together(Ok(()))?;
        let now = self.update_shared(fh, Ok)?;
        self.entry.file(fh)?.view.byte_offset(now)
    }

    /// The pointer goes back to the beginning of a new view, at which all processes have arrived.
    pub(crate) fn rewind_shared(&mut self, fh: FileHandle) -> Result<()> {
        let comm = self.entry.file(fh)?.comm;
        let used = self.entry.file(fh)?.shared.as_ref().is_some_and(SharedPointer::is_used);
        // Who has used it knows that there is something to take back.
        let used = self.entry.members(comm).allgather(&[used.into()])?;
        let first = used.iter().position(|used| *used != 0);
        if first == Some(self.entry.comm(comm)?.rank as usize) {
            let rewound = self.update_shared(fh, |_| Ok(0)).map(drop);
            self.entry.members(comm).fail_together(rewound)?;
        } else if first.is_some() {
            self.entry.members(comm).fail_together(Ok(()))?;
        }
        if let Some(pointer) = &mut self.entry.file_mut(fh)?.shared {
            pointer.start = 0;
        }
        Ok(())
    }

    /// Where this process's part of an ordered access begins, in etypes; the shared pointer moves
    /// behind the parts of all.
    ///
    /// # Errors
    /// If one process asks for what is no access, all fail.
    pub(crate) fn ordered_place(&mut self, fh: FileHandle, memory: &Memory) -> Result<i64> {
        let file = self.entry.file(fh)?;
        let comm = file.comm;
        let datatype = memory.elements(&self.entry.datatypes);
        let units = datatype.and_then(|datatype| file.etypes(memory, &datatype));
        let units = self.entry.members(comm).fail_together(units)?;
        let all = self.entry.members(comm).allgather_words([units.cast_unsigned()])?;
        let rank = self.entry.comm(comm)?.rank as usize;
        let add = |sum: i64, [units]: &[u64; 1]| advanced(sum, units.cast_signed());
        let (before, total) = (all[..rank].iter().try_fold(0, add)?, all.iter().try_fold(0, add)?);
        let taken = if rank == 0 { self.take_shared(fh, total) } else { Ok(0) };
        let taken = self.entry.members(comm).fail_together(taken)?;
        let [start] = self.entry.members(comm).allgather_words([taken.cast_unsigned()])?[0];
        advanced(start.cast_signed(), before)
    }
}
