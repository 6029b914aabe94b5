//! The status of a completed operation (MPI-5.0 §3.2.5), as the core keeps it.

use crate::constants::{ANY_SOURCE, ANY_TAG};
use crate::error::ErrorClass;

/// Source, tag, error and number of bytes of a message. Each face lays it out its own way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// Rank of the sender in the communicator of the receive.
    pub source: i32,
    /// Tag of the message.
    pub tag: i32,
    /// Class of the error with which the operation ended.
    pub error: ErrorClass,
    /// Bytes received (of packed data).
    pub bytes: u64,
    /// Whether the operation was cancelled.
    pub cancelled: bool,
}

impl Status {
    /// The *empty* status of §3.7.3: what a null or inactive request returns.
    pub const EMPTY: Status = Status {
        source: ANY_SOURCE,
        tag: ANY_TAG,
        error: ErrorClass::SUCCESS,
        bytes: 0,
        cancelled: false,
    };

    /// The status of a receive from `MPI_PROC_NULL` (§3.10).
    pub const PROC_NULL: Status =
        Status { source: crate::constants::PROC_NULL, tag: ANY_TAG, ..Status::EMPTY };
}
