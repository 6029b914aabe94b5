//! The shared file pointer (MPI-5.0 §14.4.4), and accesses in the order of ranks (§14.4.4.2).
//!
//! It lies in a small file of its own beside the file, which every process that uses the pointer
//! opens then and locks while it moves it: so it needs no process to serve it, and reaches as far
//! as the file itself does. The file is not made unless the pointer is used. Its name has a number
//! that was drawn for this opening, so that no other job can have made it, also one that was killed.
//! It goes when the last process has found it, or else when the file is closed: a job that is
//! killed leaves it only where not all its processes had used the pointer yet.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Files;
use super::disk::{Disk, Existence, Permission, Storage, error_of};
use super::modes;
use super::transfer::Memory;
use crate::buffer::UserBuffer;
use crate::datatype::{Packer, Unpacker};
use crate::error::{Error, ErrorClass, Result};
use crate::handle::FileHandle;
use crate::port::Port;

/// A process's way to the shared file pointer of one opening of a file.
pub(super) struct SharedPointer {
    path: PathBuf,
    /// Where it stands until somebody moves it, in etypes.
    start: i64,
    /// How many processes may use it.
    users: u32,
    disk: Option<Box<dyn Disk>>,
}

/// `MPI_DISPLACEMENT_CURRENT`.
const DISPLACEMENT_CURRENT: i64 = -1;
/// Bytes of the file's name that are in that of its pointer, which is longer and may have 255; the number tells
/// pointers apart.
const NAME_BYTES: usize = 200;

/// What the pointer's file holds, which is empty at first: where it stands, and how many processes
/// have opened it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Contents {
    place: i64,
    users: u32,
}

impl Contents {
    const BYTES: usize = 12;

    fn read(disk: &dyn Disk) -> std::io::Result<Option<Contents>> {
        let mut bytes = [0; Self::BYTES];
        let (buf, len) = (UserBuffer(bytes.as_mut_ptr()), bytes.len() as u64);
        let got = disk.read(0, len, &mut Unpacker::contiguous(buf, len))?;
        let place = i64::from_le_bytes(std::array::from_fn(|i| bytes[i]));
        let users = u32::from_le_bytes(std::array::from_fn(|i| bytes[8 + i]));
        Ok((got == len).then_some(Contents { place, users }))
    }

    fn write(self, disk: &dyn Disk) -> std::io::Result<()> {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.place.to_le_bytes());
        bytes[8..].copy_from_slice(&self.users.to_le_bytes());
        let (buf, len) = (UserBuffer(bytes.as_mut_ptr()), bytes.len() as u64);
        disk.write(0, len, &mut Packer::contiguous(buf, len))
    }
}

impl SharedPointer {
    /// The pointer of the opening for which `number` was drawn, by so many processes, of the file
    /// at `path`.
    pub(super) fn new(path: &Path, number: u64, users: u32, start: i64) -> SharedPointer {
        let mut name = OsString::from(".");
        let of = path.file_name().unwrap_or_default().as_bytes();
        name.push(OsStr::from_bytes(&of[..of.len().min(NAME_BYTES)]));
        name.push(format!(".{number:016x}.shared-pointer"));
        SharedPointer { path: path.with_file_name(name), start, users, disk: None }
    }

    /// Opens its file, and counts this process among those who have found it.
    fn find(&mut self, storage: &dyn Storage) -> Result<()> {
        let open = storage.open(&self.path, Permission::Both, Existence::Created);
        let disk = open.map_err(|error| {
            self.trouble("keep the shared file pointer in", error)
                .hint("Its folder must allow to make a file.")
        })?;
        disk.lock(true).map_err(|error| self.trouble("lock", error))?;
        let found = count(&*disk, self.start);
        let found = found.map_err(|error| self.trouble("read or write", error))?;
        // From here on it is not opened again, so that nobody is counted twice.
        let disk = self.disk.insert(disk);
        if found == self.users {
            // Nobody needs its name any more. If it stays, it is in nobody's way.
            let _ = storage.delete(&self.path);
        }
        let unlocked = disk.unlock();
        unlocked.map_err(|error| self.trouble("unlock", error))
    }

    /// Reads it and, while nobody else does, writes what `next` makes of it; the value before.
    fn update(
        &mut self,
        storage: &dyn Storage,
        next: impl FnOnce(i64) -> Result<i64>,
    ) -> Result<i64> {
        if self.disk.is_none() {
            self.find(storage)?;
        }
        let disk = self.disk.as_deref().expect("just found");
        disk.lock(true).map_err(|error| self.trouble("lock", error))?;
        let moved = move_on(disk, next);
        disk.unlock().map_err(|error| self.trouble("unlock", error))?;
        moved.map_err(|error| self.trouble("read or write", error))?
    }

    /// Its file goes with the opening, after which nobody uses it.
    pub(super) fn end(self, storage: &dyn Storage, first: bool) {
        drop(self.disk);
        if first {
            // If it is not there, nobody has used it or all have; if it stays, it is in nobody's way.
            let _ = storage.delete(&self.path);
        }
    }

    fn trouble(&self, doing: &str, error: std::io::Error) -> Error {
        error_of(&self.path, doing, &error)
    }
}

/// One process more has opened the file; how many now have.
fn count(disk: &dyn Disk, start: i64) -> std::io::Result<u32> {
    let found = Contents::read(disk)?.unwrap_or(Contents { place: start, users: 0 });
    let users = found.users.saturating_add(1);
    Contents { users, ..found }.write(disk)?;
    Ok(users)
}

/// The outer error is the disk's, the inner one that of `next`.
fn move_on(disk: &dyn Disk, next: impl FnOnce(i64) -> Result<i64>) -> std::io::Result<Result<i64>> {
    let now = Contents::read(disk)?.ok_or(std::io::ErrorKind::UnexpectedEof)?;
    let next = match next(now.place) {
        Ok(place) => Contents { place, ..now },
        Err(error) => return Ok(Err(error)),
    };
    if next != now {
        next.write(disk)?;
    }
    Ok(Ok(now.place))
}

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
    pub(super) fn take_shared(&mut self, fh: FileHandle, units: i64) -> Result<i64> {
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
    pub(super) fn rewind_shared(&mut self, fh: FileHandle) -> Result<()> {
        let comm = self.entry.file(fh)?.comm;
        let used =
            self.entry.file(fh)?.shared.as_ref().is_some_and(|pointer| pointer.disk.is_some());
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
    pub(super) fn ordered_place(&mut self, fh: FileHandle, memory: &Memory) -> Result<i64> {
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
