//! Every limit of the core, once: what the standard or safety demands, with its unit and the reason for its value.
//!
//! What a user may want to change is a setting (see [`crate::settings`]); what trades time or memory is a tuning value
//! (see [`crate::tuning`]).

/// Longest info key in bytes without a terminating NUL: `MPI_MAX_INFO_KEY` − 1 of the standard
/// ABI. A face whose ABI has less checks for itself when it hands keys out.
pub const INFO_KEY_MAX: usize = 255;
/// Longest info value in bytes without a terminating NUL: `MPI_MAX_INFO_VAL` − 1 of the standard
/// ABI.
pub const INFO_VALUE_MAX: usize = 1023;
/// Longest text of a user's error code in bytes without NUL: `MPI_MAX_ERROR_STRING` − 1.
pub const ERROR_STRING_MAX: usize = 511;
/// Bytes of a communicator's name that a roll call carries: what is left in its cache line.
pub const ROLL_CALL_NAME: usize = 24;
/// Persistent collective operations of a process that have a segment of their own, some mebibytes of
/// address space each: the others go by messages.
pub const SHADOWS_MAX: u32 = 64;
/// Elements that a message of the fast path may have: a number times the bytes of an element then fits its type.
pub const FAST_ELEMENTS_MAX: u64 = 1 << 48;
/// Messages that carry one round of a partitioned send: they are counted in memory at both ends, whatever number of
/// partitions the other end names.
pub const CHUNKS_MAX: u32 = 1 << 16;
