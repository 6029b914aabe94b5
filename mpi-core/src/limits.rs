//! Every limit of the core, once: a named constant with its unit and the reason for its value.
//!
//! What a user may want to change is a setting (see [`crate::settings`]) and not a limit.

/// Longest info key in bytes without a terminating NUL: `MPI_MAX_INFO_KEY` − 1 of the standard
/// ABI. A face whose ABI has less checks for itself when it hands keys out.
pub const INFO_KEY_MAX: usize = 255;
/// Longest info value in bytes without a terminating NUL: `MPI_MAX_INFO_VAL` − 1 of the standard
/// ABI.
pub const INFO_VALUE_MAX: usize = 1023;
/// Longest text of a user's error code in bytes without NUL: `MPI_MAX_ERROR_STRING` − 1.
pub const ERROR_STRING_MAX: usize = 511;
/// Entries of a matching queue that are looked through one by one; a search that would go further
/// has the queue hashed: a hashed look-up costs as much as many compares of neighbouring entries.
pub const LINEAR_MATCH: usize = 32;
/// Objects that one segment of a table holds: a table's first allocation, small enough that a
/// program with one communicator does not pay for thousands.
pub const TABLE_SEGMENT: usize = 64;
/// Bytes of a communicator's name that a roll call carries: what is left in its cache line.
pub const ROLL_CALL_NAME: usize = 24;
/// Schedules of collectives that a process keeps: what a loop of a program calls, and few enough to
/// be looked through one by one.
pub const KEPT_SCHEDULES: usize = 16;
/// Steps of all schedules kept together, of some hundred bytes each.
pub const KEPT_STEPS: usize = 4096;
/// Persistent collective operations of a process that have a board of their own, some mebibytes of
/// address space each: the others go by messages.
pub const ROOMS_MAX: u32 = 64;
/// Collective operations in progress at once whose lists and scratch memory are kept for others.
pub const LEFT_MAX: usize = 8;
/// Bytes of scratch memory that an ended operation leaves for the next: more is given back, since
/// clearing it costs little beside using it.
pub const LEFT_BYTES_MAX: usize = 1 << 20;
