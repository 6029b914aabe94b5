//! What is asked of a communicator before the procedure itself is called.

use std::ffi::c_int;

use mpi_core::error::Result;
use mpi_core::handle::{CommHandle, CommKind, Handle, Kind};

use crate::cx::{Cx, Owner};
use crate::entry;
use crate::face::Face;
use crate::node;
use crate::procedure::Procedure;

/// What `look` finds at the communicator behind an INTEGER. Where there is no such thing, or MPI is not
/// running, the procedure itself will say so: an error handler hears of an error once (MPI-5.0 §9.3).
pub(super) fn found<F: Face, T>(
    fint: c_int,
    look: impl FnOnce(&Cx<'_>, CommHandle) -> Result<T>,
) -> Option<T> {
    let mut found = None;
    if node::is_open() {
        let comm = Handle::from_raw(F::handle_from_fint(CommKind::NUMBER, fint));
        entry::call::<F>(Procedure::CommRank, Owner::None, |cx| {
            found = look(cx, comm).ok();
            Ok(())
        });
    }
    found
}
