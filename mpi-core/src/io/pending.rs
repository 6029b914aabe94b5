//! Nonblocking and split accesses (MPI-5.0 §14.4.2, §14.4.5): the access is made when it begins, as
//! the standard allows, and what is left is to hand over its status.

use crate::entry::Entry;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::{FileHandle, RequestHandle};
use crate::port::Port;
use crate::request::Request;
use crate::status::Status;

/// The kinds of split collective accesses: an end must be that of its beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Split {
    /// `MPI_File_read_all_begin`.
    ReadAll,
    /// `MPI_File_read_at_all_begin`.
    ReadAtAll,
    /// `MPI_File_write_all_begin`.
    WriteAll,
    /// `MPI_File_write_at_all_begin`.
    WriteAtAll,
    /// `MPI_File_read_ordered_begin`.
    ReadOrdered,
    /// `MPI_File_write_ordered_begin`.
    WriteOrdered,
}

impl Split {
    fn name(self) -> &'static str {
        match self {
            Split::ReadAll => "MPI_File_read_all_begin",
            Split::ReadAtAll => "MPI_File_read_at_all_begin",
            Split::WriteAll => "MPI_File_write_all_begin",
            Split::WriteAtAll => "MPI_File_write_at_all_begin",
            Split::ReadOrdered => "MPI_File_read_ordered_begin",
            Split::WriteOrdered => "MPI_File_write_ordered_begin",
        }
    }
}

impl<P: Port> Entry<'_, P> {
    /// The request of an access that was made: `MPI_File_iread` and its kin.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM`.
    pub fn file_request(&mut self, fh: FileHandle, status: Status) -> Result<RequestHandle> {
        let comm = self.file(fh)?.comm;
        self.vci.requests.insert(Request::finished(status, comm))
    }

    /// Whether a split access may begin: a file has one at a time (§14.4.5).
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` naming the one under way.
    pub fn file_check_no_split(&self, fh: FileHandle) -> Result<()> {
        match self.file(fh)?.split {
            None => Ok(()),
            Some((begun, _)) => Err(Error::new(
                ErrorClass::OTHER,
                format!("{} has begun an access of this file that was not ended", begun.name()),
            )),
        }
    }

    /// A split access has begun, and is made.
    ///
    /// # Errors
    /// Those of the handle.
    pub fn file_begin(&mut self, fh: FileHandle, split: Split, status: Status) -> Result<()> {
        self.file_mut(fh)?.split = Some((split, status));
        Ok(())
    }

    /// The status of a split access, which ends.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if none of this kind has begun.
    pub fn file_end(&mut self, fh: FileHandle, split: Split) -> Result<Status> {
        let file = self.file_mut(fh)?;
        match file.split {
            Some((begun, status)) if begun == split => {
                file.split = None;
                Ok(status)
            }
            _ => {
                let begin = split.name();
                crate::fail!(OTHER, "{begin} has begun no access of this file")
            }
        }
    }
}
