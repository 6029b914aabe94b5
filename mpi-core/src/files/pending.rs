//! Nonblocking and split accesses (MPI-5.0 §14.4.2, §14.4.5): the access is made when it begins, as
//! the standard allows, and what is left is to hand over its status.

use super::Files;
use crate::error::{Error, ErrorClass, Result};
use crate::handle::RequestHandle;
use crate::io::split::Split;
use crate::io::transfer::Access;
use crate::port::Port;
use crate::request::Request;

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
