//! Opening, closing, sizes (MPI-5.0 §14.2, §14.6): what the processes of a file do together.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Files;
use crate::error::Result;
use crate::handle::{CommHandle, ErrhandlerHandle, FileHandle};
use crate::io::OpenFile;
use crate::io::disk::{Existence, Storage, error_of};
use crate::io::modes::{APPEND, CREATE, DELETE_ON_CLOSE, EXCL, Modes};
use crate::io::shared::SharedPointer;
use crate::io::view::View;
use crate::port::Port;

/// Names of file systems that a program may put before a path, as `nfs:/home/x`; they say
/// nothing that the operating system does not know.
const PREFIXES: [&str; 7] = ["ufs:", "nfs:", "xfs:", "gpfs:", "lustre:", "panfs:", "testfs:"];

/// The file name without the file system's.
fn path_of(filename: &[u8]) -> &Path {
    let rest = |prefix: &&str| filename.strip_prefix(prefix.as_bytes());
    let path = PREFIXES.iter().find_map(rest).unwrap_or(filename);
    // Bytes are what the operating system takes a path for.
    Path::new(OsStr::from_bytes(path))
}

fn delete(storage: &dyn Storage, path: &Path) -> Result<()> {
    storage.delete(path).map_err(|error| error_of(path, "delete", &error))
}

impl<P: Port> Files<'_, P> {
    /// `MPI_File_open`: the processes of `comm` open one file. Rank 0 creates it if need be; if
    /// any of them cannot open it, none does.
    ///
    /// # Errors
    /// `MPI_ERR_AMODE`, `MPI_ERR_NOT_SAME`; what the operating system reports, by its class.
    pub fn open(
        &mut self,
        comm: CommHandle,
        filename: Result<&[u8]>,
        amode: i32,
        errhandler: ErrhandlerHandle,
    ) -> Result<FileHandle> {
        if self.entry.comm(comm)?.remote.is_some() {
            crate::fail!(COMM, "comm", "is an intercommunicator, which cannot open files");
        }
        let modes = Modes::new(amode);
        self.entry.members(comm).agree_on("amode", amode.into())?;
        let own = self.entry.communicators().duplicate(comm)?;
        let named =
            modes.and_then(|modes| Ok((self.entry.members(own).fail_together(filename)?, modes)));
        let opened = named.and_then(|(name, modes)| self.open_together(own, path_of(name), modes));
        let file = opened.and_then(|file| self.entry.files.insert(OpenFile { errhandler, ..file }));
        if file.is_err() {
            self.entry.communicators().free(own)?;
        } else {
            self.entry.always.errhandlers.lock().retain(errhandler)?;
        }
        file
    }

    fn open_together(&mut self, comm: CommHandle, path: &Path, modes: Modes) -> Result<OpenFile> {
        let first = self.entry.comm(comm)?.rank == 0;
        let existence = match (modes.has(CREATE), modes.has(EXCL)) {
            (true, true) => Existence::Fresh,
            (true, false) => Existence::Created,
            (false, _) => Existence::Required,
        };
        let storage = self.entry.port.storage();
        // The program may go to another folder before the name is needed again.
        let path = &storage.absolute(path).unwrap_or_else(|_| path.to_owned());
        let open = |existence| {
            let disk = storage.open(path, modes.access, existence);
            disk.map_err(|error| error_of(path, "open", &error))
        };
        // Who creates goes first: the others must find the file.
        let made = if first {
            let drawn = storage.draw().map_err(|error| error_of(path, "draw a number for", &error));
            drawn.and_then(|number| Ok((Some(open(existence)?), number)))
        } else {
            Ok((None, 0))
        };
        let (made, number) = self.entry.members(comm).fail_together_or_hear(made)?;
        let opened = match made {
            Some(disk) => Ok(disk),
            None => open(Existence::Required),
        };
        // Where the pointers of a file that is appended to begin is known before anybody can write to it.
        let measured = opened.and_then(|disk| {
            let end = if modes.has(APPEND) { disk.size() } else { Ok(0) };
            Ok((disk, end.map_err(|error| error_of(path, "ask the size of", &error))?))
        });
        let (disk, end) = self.entry.members(comm).fail_together(measured)?;
        let users = self.entry.comm(comm)?.group.size();
        // Processes may name one file by several links: its shared pointer is one all the same.
        let place = storage.resolved(path).unwrap_or_else(|_| path.clone());
        Ok(OpenFile {
            comm,
            modes,
            view: View::bytes(),
            atomic: false,
            errhandler: ErrhandlerHandle::NULL,
            position: end as i64,
            shared: Some(SharedPointer::new(&place, number, users, end as i64)),
            split: None,
            path: path.to_owned(),
            disk,
        })
    }

    /// `MPI_File_close` up to where only the object is left, which [`Files::forget`] ends: brings
    /// what was written to the device, as `MPI_File_sync` does (§14.2.2), and waits for all, so that
    /// the file can be deleted if it is to be.
    ///
    /// # Errors
    /// What the operating system reports. The object is to be dropped all the same.
    pub fn close(&mut self, fh: FileHandle) -> Result<()> {
        let file = self.entry.file(fh)?;
        let (comm, deletes) = (file.comm, file.modes.has(DELETE_ON_CLOSE));
        let is_kept = !deletes && file.modes.check_write().is_ok();
        let synced = if is_kept { file.sync() } else { Ok(()) };
        let synced = self.entry.members(comm).fail_together(synced);
        let first = self.entry.comm(comm)?.rank == 0;
        let file = self.entry.file_mut(fh)?;
        let path = file.path.clone();
        let shared = file.shared.take();
        let storage = self.entry.port.storage();
        if let Some(pointer) = shared {
            pointer.end(storage, first);
        }
        if !deletes {
            return synced;
        }
        let mine = if first { delete(storage, &path) } else { Ok(()) };
        self.entry.members(comm).fail_together(mine)
    }

    /// Ends what is left of a file that was closed; error handlers can hear of it until then.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`.
    pub fn forget(&mut self, fh: FileHandle) -> Result<()> {
        let OpenFile { comm, errhandler, .. } = self.entry.files.remove(fh)?;
        self.entry.always.errhandlers.lock().release(errhandler)?;
        self.entry.communicators().free(comm)
    }

    /// `MPI_File_delete`.
    ///
    /// # Errors
    /// What the operating system reports, by its class.
    pub fn delete(&mut self, filename: &[u8]) -> Result<()> {
        delete(self.entry.port.storage(), path_of(filename))
    }

    /// `MPI_File_set_size`: all give the same size.
    ///
    /// # Errors
    /// `MPI_ERR_ARG`, `MPI_ERR_NOT_SAME`, `MPI_ERR_READ_ONLY`; `MPI_ERR_UNSUPPORTED_OPERATION` for a file that is
    /// written in sequence (§14.2.4); what the operating system reports.
    pub fn set_size(&mut self, fh: FileHandle, size: i64) -> Result<()> {
        self.change_size(fh, size, |file, size| file.disk.set_size(size))
    }

    /// `MPI_File_preallocate`: all give the same size.
    ///
    /// # Errors
    /// As [`Files::set_size`].
    pub fn preallocate(&mut self, fh: FileHandle, size: i64) -> Result<()> {
        self.change_size(fh, size, |file, size| file.disk.reserve(size))
    }

    fn change_size(
        &mut self,
        fh: FileHandle,
        size: i64,
        change: impl FnOnce(&OpenFile, u64) -> std::io::Result<()>,
    ) -> Result<()> {
        let file = self.entry.file(fh)?;
        let comm = file.comm;
        file.modes.check_not_sequential()?;
        file.modes.check_write()?;
        self.entry.members(comm).agree_on("size", size)?;
        let Ok(wanted) = u64::try_from(size) else {
            crate::fail!(ARG, "size", "is {size}, but a size cannot be negative");
        };
        let first = self.entry.comm(comm)?.rank == 0;
        let file = self.entry.file(fh)?;
        let changed = if first { change(file, wanted) } else { Ok(()) };
        let changed = changed.map_err(|error| file.trouble("change the size of", &error));
        self.entry.members(comm).fail_together(changed)
    }

    /// `MPI_File_sync`: what this process wrote is on the device, and seen by who syncs later.
    ///
    /// # Errors
    /// What the operating system reports, by its class.
    pub fn sync(&mut self, fh: FileHandle) -> Result<()> {
        let file = self.entry.file(fh)?;
        let comm = file.comm;
        let synced = file.sync();
        self.entry.members(comm).fail_together(synced)
    }

    /// `MPI_File_set_view`.
    ///
    /// # Errors
    /// As [`View::new`]; `MPI_ERR_IO` for regions that overlap in a file that is written;
    /// `MPI_ERR_NOT_SAME` when the representations or the etypes' extents in the file differ (§14.3).
    pub fn set_view(&mut self, fh: FileHandle, view: Result<View>) -> Result<()> {
        let file = self.entry.file(fh)?;
        let (comm, written) = (file.comm, file.modes.check_write().is_ok());
        let view = view.and_then(|view| match written {
            true => view.check_writable().map(|()| view),
            false => Ok(view),
        });
        let view = self.entry.members(comm).fail_together(view)?;
        self.entry.members(comm).agree_on("datarep", view.datarep as i64)?;
        self.entry.members(comm).agree_on("etype", view.extent_of(&view.etype)?)?;
        self.rewind_shared(fh)?;
        let file = self.entry.file_mut(fh)?;
        file.view = view;
        file.position = 0;
        Ok(())
    }

    /// `MPI_File_set_atomicity`.
    ///
    /// # Errors
    /// `MPI_ERR_NOT_SAME`.
    pub fn set_atomicity(&mut self, fh: FileHandle, atomic: bool) -> Result<()> {
        let comm = self.entry.file(fh)?.comm;
        self.entry.members(comm).agree_on("flag", atomic.into())?;
        self.entry.file_mut(fh)?.atomic = atomic;
        Ok(())
    }
}
