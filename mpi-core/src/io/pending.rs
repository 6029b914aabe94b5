//! Nonblocking and split accesses (MPI-5.0 §14.4.2, §14.4.5): the access is made when it begins, as
//! the standard allows, and what is left is to hand over its status.

use super::transfer::{Access, Place, Way};
use super::{Files, OpenFile};
use crate::error::{Error, ErrorClass, Result};
use crate::handle::RequestHandle;
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
    fn of(access: &Access) -> Split {
        match (access.way, access.place) {
            (Way::Read, Place::At(_)) => Split::ReadAtAll,
            (Way::Read, Place::Pointer) => Split::ReadAll,
            (Way::Read, Place::Shared | Place::Ordered) => Split::ReadOrdered,
            (Way::Write, Place::At(_)) => Split::WriteAtAll,
            (Way::Write, Place::Pointer) => Split::WriteAll,
            (Way::Write, Place::Shared | Place::Ordered) => Split::WriteOrdered,
        }
    }

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

impl OpenFile {
    /// The status of a split access, which ends.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` if none of this kind has begun.
    pub fn end_split(&mut self, split: Split) -> Result<Status> {
        match self.split {
            Some((begun, status)) if begun == split => {
                self.split = None;
                Ok(status)
            }
            _ => {
                let begin = split.name();
                crate::fail!(OTHER, "{begin} has begun no access of this file")
            }
        }
    }
}

impl<P: Port> Files<'_, P> {
    /// Makes an access of which a request is left: `MPI_File_iread` and its kin.
    ///
    /// # Errors
    /// As [`Files::access`].
    pub fn start(&mut self, access: Access) -> Result<RequestHandle> {
        let status = self.access(access)?;
        let comm = self.entry.file(access.fh)?.comm;
        self.entry.vci.requests.insert(Request::finished(status, comm))
    }

    /// Makes a split access, of which a file has one at a time (§14.4.5).
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` naming the one under way; as [`Files::access`].
    pub fn begin(&mut self, access: Access) -> Result<()> {
        if let Some((begun, _)) = self.entry.file(access.fh)?.split {
            return Err(Error::new(
                ErrorClass::OTHER,
                format!("{} has begun an access of this file that was not ended", begun.name()),
            ));
        }
        let status = self.access(access)?;
        self.entry.file_mut(access.fh)?.split = Some((Split::of(&access), status));
        Ok(())
    }
}
