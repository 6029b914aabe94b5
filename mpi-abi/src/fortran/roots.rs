//! Whether a process is the root of a collective procedure, which alone gives some of the arguments.

use std::ffi::c_int;

use mpi_core::handle::{CommKind, Handle, Kind};

use crate::calls::blocks;
use crate::entry::{self, Owner};
use crate::face::Face;
use crate::procedure::Procedure;

/// Whether it is. Behind a handle that is none there is no root, and the call itself will say so.
pub fn is_root<F: Face>(root: c_int, comm: c_int) -> bool {
    let handle = Handle::from_raw(F::handle_from_fint(CommKind::NUMBER, comm));
    let mut is_root = false;
    entry::call::<F>(Procedure::CommRank, Owner::None, |cx| {
        is_root = blocks::is_root(cx, F::rank_in(root), handle).unwrap_or(false);
        Ok(())
    });
    is_root
}
