//! The shared file pointer (MPI-5.0 §14.4.4).
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
use crate::buffer::UserBuffer;
use crate::datatype::{Packer, Unpacker};
use crate::error::{Error, Result};

/// A process's way to the shared file pointer of one opening of a file.
pub(crate) struct SharedPointer {
    path: PathBuf,
    /// Where it stands until somebody moves it, in etypes.
    pub(crate) start: i64,
    /// How many processes may use it.
    users: u32,
    disk: Option<Box<dyn Disk>>,
}

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
    pub(crate) fn new(path: &Path, number: u64, users: u32, start: i64) -> SharedPointer {
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
    pub(crate) fn update(
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
    pub(crate) fn end(self, storage: &dyn Storage, first: bool) {
        drop(self.disk);
        if first {
            // If it is not there, nobody has used it or all have; if it stays, it is in nobody's way.
            let _ = storage.delete(&self.path);
        }
    }

    /// Whether this process has used it.
    pub(crate) fn is_used(&self) -> bool {
        self.disk.is_some()
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
