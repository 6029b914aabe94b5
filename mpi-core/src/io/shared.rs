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

use super::disk::{Disk, Existence, Permission, Storage, error_of};
use super::modes;
use super::transfer::Memory;
use crate::buffer::UserBuffer;
use crate::datatype::{Packer, Unpacker};
use crate::entry::Entry;
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

impl<P: Port> Entry<'_, P> {
    fn update_shared(
        &mut self,
        fh: FileHandle,
        next: impl FnOnce(i64) -> Result<i64>,
    ) -> Result<i64> {
        // An error handler may still call from within the call that closes the file.
        let Some(mut pointer) = self.file_mut(fh)?.shared.take() else {
            crate::fail!(FILE, "fh", "is being closed, so that its shared pointer is gone");
        };
        let storage = self.port.storage();
        let before = pointer.update(storage, next);
        self.file_mut(fh)?.shared = Some(pointer);
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
    pub fn file_position_shared(&mut self, fh: FileHandle) -> Result<i64> {
        self.file(fh)?.modes.check_not_sequential()?;
        self.update_shared(fh, Ok)
    }

    /// `MPI_File_seek_shared`: all give the same.
    ///
    /// # Errors
    /// `MPI_ERR_NOT_SAME`; otherwise as [`Entry::file_position_shared`] and `OpenFile::seek`.
    pub fn file_seek_shared(&mut self, fh: FileHandle, offset: i64, whence: i32) -> Result<()> {
        let file = self.file(fh)?;
        file.modes.check_not_sequential()?;
        let comm = file.comm;
        self.agree_on(comm, "offset", offset)?;
        self.agree_on(comm, "whence", whence.into())?;
        let moved = if self.comm(comm)?.rank == 0 {
            let end = self.file(fh)?.end();
            self.update_shared(fh, |now| modes::sought(offset, whence, now, end)).map(drop)
        } else {
            Ok(())
        };
        self.fail_together(comm, moved)
    }

    /// The displacement that a program means: `MPI_DISPLACEMENT_CURRENT` is where the shared pointer
    /// stands in a file that is read in sequence, which has no other (§14.3).
    ///
    /// # Errors
    /// What the operating system reports, by its class.
    pub fn file_displacement(&mut self, fh: FileHandle, displacement: i64) -> Result<i64> {
        if displacement != DISPLACEMENT_CURRENT || !self.file(fh)?.modes.has(modes::SEQUENTIAL) {
            return Ok(displacement);
        }
        // Accesses before this call are over at all processes.
        self.fail_together(self.file(fh)?.comm, Ok(()))?;
        let now = self.update_shared(fh, Ok)?;
        self.file(fh)?.view.byte_offset(now)
    }

    /// The pointer goes back to the beginning of a new view, at which all processes have arrived.
    pub(super) fn rewind_shared(&mut self, fh: FileHandle) -> Result<()> {
        let comm = self.file(fh)?.comm;
        let used = self.file(fh)?.shared.as_ref().is_some_and(|pointer| pointer.disk.is_some());
        // Who has used it knows that there is something to take back.
        let used = self.allgather_bytes(comm, &[used.into()])?;
        let first = used.iter().position(|used| *used != 0);
        if first == Some(self.comm(comm)?.rank as usize) {
            let rewound = self.update_shared(fh, |_| Ok(0)).map(drop);
            self.fail_together(comm, rewound)?;
        } else if first.is_some() {
            self.fail_together(comm, Ok(()))?;
        }
        if let Some(pointer) = &mut self.file_mut(fh)?.shared {
            pointer.start = 0;
        }
        Ok(())
    }

    /// The pointer's file goes with the opening, after which nobody uses it.
    pub(super) fn drop_shared(&mut self, pointer: Option<SharedPointer>, first: bool) {
        if let Some(SharedPointer { path, disk, .. }) = pointer {
            drop(disk);
            if first {
                // If it is not there, nobody has used it or all have; if it stays, it is in nobody's way.
                let _ = self.port.storage().delete(&path);
            }
        }
    }

    /// Where this process's part of an ordered access begins, in etypes; the shared pointer moves
    /// behind the parts of all.
    ///
    /// # Errors
    /// If one process asks for what is no access, all fail.
    pub(super) fn ordered_place(&mut self, fh: FileHandle, memory: &Memory) -> Result<i64> {
        let comm = self.file(fh)?.comm;
        let units = self.etypes_of(fh, memory);
        let units = self.fail_together(comm, units)?;
        let all = self.allgather_bytes(comm, &units.to_le_bytes())?;
        let number = |bytes: &[u8], rank: usize| {
            i64::from_le_bytes(std::array::from_fn(|i| bytes[8 * rank + i]))
        };
        let rank = self.comm(comm)?.rank as usize;
        let sum = |ranks: usize| (0..ranks).try_fold(0, |sum, i| advanced(sum, number(&all, i)));
        let (before, total) = (sum(rank)?, sum(all.len() / 8)?);
        let taken = if rank == 0 { self.take_shared(fh, total) } else { Ok(0) };
        let taken = self.fail_together(comm, taken)?;
        let start = self.allgather_bytes(comm, &taken.to_le_bytes())?;
        advanced(number(&start, 0), before)
    }
}
