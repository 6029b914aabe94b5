//! Whether a process is the root of a collective procedure, which alone gives some of the arguments.

use std::ffi::c_int;

use super::queries::found;
use crate::calls::blocks;
use crate::face::Face;

/// Whether it is. Behind a handle that is none there is no root.
pub fn is_root<F: Face>(root: c_int, comm: c_int) -> bool {
    let is_root = found::<F, _>(comm, |cx, comm| blocks::is_root(cx, F::rank_in(root), comm));
    is_root.unwrap_or(false)
}
