//! Files (MPI-5.0 chapter 14): ordinary files that the processes of a communicator open together.
//!
//! The bytes of a file are at its [`Disk`], which the port provides; the core makes no system call. What a process sees
//! of a file is its [`View`]: a cursor over the file type, whose addresses are places in the file. Each process moves
//! its data by itself (`transfer`), also in collective reads and writes; [`files`](crate::files) has the calls.

pub mod disk;
pub mod modes;
pub mod representation;
pub(crate) mod shared;
pub mod split;
pub mod transfer;
pub mod view;

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::handle::{CommHandle, ErrhandlerHandle};
use crate::status::Status;
use disk::Disk;
use modes::Modes;
use view::View;

/// A file that is open in this process.
pub struct OpenFile {
    /// The communicator of those who opened it: a duplicate, so that the program's may be freed.
    pub comm: CommHandle,
    /// How it was opened.
    pub modes: Modes,
    /// What this process sees of it.
    pub view: View,
    /// Whether concurrent accesses exclude each other (§14.6.1).
    pub atomic: bool,
    /// What becomes of errors (§14.7).
    pub errhandler: ErrhandlerHandle,
    /// The individual file pointer, in etypes from the beginning of the view.
    pub(crate) position: i64,
    /// The split access that has begun, and what became of it.
    pub(crate) split: Option<(split::Split, Status)>,
    /// The shared file pointer; absent only while it is moved.
    pub(crate) shared: Option<shared::SharedPointer>,
    pub(crate) path: PathBuf,
    pub(crate) disk: Box<dyn Disk>,
}

impl OpenFile {
    /// What the operating system reported while `doing` something, as an error of its class.
    pub(crate) fn trouble(&self, doing: &str, error: &std::io::Error) -> Error {
        disk::error_of(&self.path, doing, error)
    }

    /// Brings what this process wrote to the device.
    pub(crate) fn sync(&self) -> Result<()> {
        self.disk.sync().map_err(|error| self.trouble("sync", &error))
    }

    /// The size of the file in bytes (`MPI_File_get_size`).
    ///
    /// # Errors
    /// What the operating system reports, by its class.
    pub fn size(&self) -> Result<u64> {
        self.disk.size().map_err(|error| self.trouble("ask the size of", &error))
    }

    /// The individual file pointer, in etypes (`MPI_File_get_position`).
    ///
    /// # Errors
    /// `MPI_ERR_UNSUPPORTED_OPERATION` for a file that is read in sequence.
    pub fn position(&self) -> Result<i64> {
        self.modes.check_not_sequential()?;
        Ok(self.position)
    }

    /// Moves the individual file pointer by `offset` etypes from where `whence` says
    /// (`MPI_File_seek`, §14.4.3).
    ///
    /// # Errors
    /// `MPI_ERR_ARG` if that is before the beginning of the view.
    pub fn seek(&mut self, offset: i64, whence: i32) -> Result<()> {
        self.modes.check_not_sequential()?;
        self.position = modes::sought(offset, whence, self.position, self.end())?;
        Ok(())
    }

    /// How many etypes of the view the file has.
    pub(crate) fn end(&self) -> Result<i64> {
        Ok(self.view.etypes_below(self.size()?))
    }
}
