//! What a process sees of calls that do not agree without looking for it: another one's contribution has another
//! length than its own call expects (MPI-5.0 §6.1). What else differs, and who differs, the checked mode finds.

use crate::error::{Error, ErrorClass};

const HINT: &str = "Make the calls, counts and types of all processes agree: with FERRITE_COLL_CHECK=1 in the \
                    environment an error names who differs.";

/// There are bytes beyond what is expected of `rank`.
#[cold]
pub(crate) fn too_long(rank: u32, by: u64) -> Error {
    let what = format!("rank {rank} contributes {by} bytes more than this process expects");
    Error::new(ErrorClass::TRUNCATE, what).hint(HINT)
}

/// The contribution of `rank` to a reduction is shorter than that of this process.
#[cold]
pub(crate) fn too_short(rank: u32) -> Error {
    let what = format!("rank {rank} contributes fewer elements than this process");
    Error::new(ErrorClass::TRUNCATE, what).hint(HINT)
}
