//! The files of the operating system, as the core asks for them.
//!
//! A run of memory goes straight between the program's buffer and the kernel; memory with gaps
//! passes through a buffer of at most [`SCRATCH_BYTES`], so that a run of the file costs one call
//! and not one for each piece of memory.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use mpi_core::buffer::RawBytes;
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::io::disk::{Disk, Existence, Permission, Storage};

use crate::sys::file;

/// Largest buffer for memory with gaps, in bytes: the cost of a call no longer shows.
const SCRATCH_BYTES: u64 = 1 << 20;
/// What a single call moves at most; the kernel's own limit is just below 2 GiB.
const CALL_BYTES: u64 = 1 << 30;

/// The file system of the operating system.
pub struct Posix;

/// A file of it.
struct PosixFile(File);

impl Storage for Posix {
    fn open(
        &self,
        path: &Path,
        access: Permission,
        existence: Existence,
    ) -> io::Result<Box<dyn Disk>> {
        let mut options = OpenOptions::new();
        options.read(access != Permission::Write).write(access != Permission::Read);
        match existence {
            Existence::Required => {}
            Existence::Created => _ = options.create(true),
            Existence::Fresh => _ = options.create_new(true),
        }
        let file = options.open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(Box::new(PosixFile(file)))
    }

    fn delete(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        std::path::absolute(path)
    }

    fn resolved(&self, path: &Path) -> io::Result<PathBuf> {
        path.canonicalize()
    }

    fn draw(&self) -> io::Result<u64> {
        getrandom::u64().map_err(io::Error::other)
    }
}

impl Disk for PosixFile {
    fn read(&self, offset: u64, len: u64, to: &mut Unpacker) -> io::Result<u64> {
        let mut scratch = Vec::new();
        let mut done = 0;
        while done < len {
            let most = (len - done).min(CALL_BYTES);
            let got = match to.as_contiguous() {
                Some((at, room)) => {
                    // SAFETY: the request's memory is the program's and writable for what the
                    // cursor has left.
                    let got = unsafe { self.read_once(at, most.min(room), offset + done)? };
                    to.skip(got);
                    got
                }
                None => {
                    scratch.resize(most.min(SCRATCH_BYTES) as usize, 0);
                    let room = scratch.len() as u64;
                    // SAFETY: the buffer has that many bytes.
                    let got = unsafe { self.read_once(scratch.as_mut_ptr(), room, offset + done)? };
                    // SAFETY: so many bytes of the buffer are readable, and the program's memory
                    // is writable and elsewhere.
                    unsafe { to.unpack_from(RawBytes::new(scratch.as_ptr(), got as usize)) };
                    got
                }
            };
            if got == 0 {
                break;
            }
            done += got;
        }
        Ok(done)
    }

    fn write(&self, offset: u64, len: u64, from: &mut Packer) -> io::Result<()> {
        let mut scratch = Vec::new();
        let mut done = 0;
        while done < len {
            let most = (len - done).min(CALL_BYTES);
            done += match from.as_contiguous() {
                Some((at, room)) => {
                    let bytes = most.min(room);
                    // SAFETY: the request's memory is the program's and readable for what the
                    // cursor has left.
                    unsafe { self.write_all(at, bytes, offset + done)? };
                    from.skip(bytes);
                    bytes
                }
                None => {
                    scratch.resize(most.min(SCRATCH_BYTES) as usize, 0);
                    // SAFETY: the buffer has room for its length and is nobody else's.
                    let packed = unsafe { from.pack_into(scratch.as_mut_ptr(), scratch.len()) };
                    // SAFETY: so many bytes of the buffer were just written.
                    unsafe { self.write_all(scratch.as_ptr(), packed as u64, offset + done)? };
                    packed as u64
                }
            };
        }
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.0.set_len(size)
    }

    fn reserve(&self, size: u64) -> io::Result<()> {
        file::reserve(&self.0, size)
    }

    fn sync(&self) -> io::Result<()> {
        match self.0.sync_all() {
            // A pipe or a device has nothing to bring anywhere.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            outcome => outcome,
        }
    }

    fn lock(&self, exclusive: bool) -> io::Result<()> {
        file::lock(&self.0, exclusive)
    }

    fn unlock(&self) -> io::Result<()> {
        self.0.unlock()
    }
}

impl PosixFile {
    /// # Safety
    /// `to` is writable for `len` bytes.
    unsafe fn read_once(&self, to: *mut u8, len: u64, offset: u64) -> io::Result<u64> {
        // SAFETY: the caller's promise.
        unsafe { file::read_at(&self.0, to, len as usize, offset) }.map(|got| got as u64)
    }

    /// # Safety
    /// `from` is readable for `len` bytes.
    unsafe fn write_all(&self, from: *const u8, len: u64, offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < len {
            let at = from.wrapping_add(done as usize);
            // SAFETY: the caller's promise for the rest of the bytes.
            match unsafe { file::write_at(&self.0, at, (len - done) as usize, offset + done)? } {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => done += written as u64,
            }
        }
        Ok(())
    }
}
