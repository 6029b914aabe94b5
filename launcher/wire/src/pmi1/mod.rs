//! PMI version 1: one-line messages of `key=value` words between a rank and its launcher.
//!
//! [`line`](mod@line) parses and prints them, [`Client`] speaks for a rank, [`mapping`] holds the node map that
//! a launcher offers. The server is the launcher's own.

mod client;
pub mod line;
pub mod mapping;
mod segment;

pub use client::{Client, PmiError};
pub use line::{Line, LineBuffer, WireError, compose};

/// Longest line that either end accepts, line end included: room for a value of 64 KiB, far above
/// what any known launcher announces as `vallen_max`.
pub const LINE_MAX: usize = 80 * 1024;

/// Most words on one line; the longest regular command has six.
pub const WORDS_MAX: usize = 64;

/// What a launcher announces about the lengths that it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Maxes {
    /// Longest name of a key-value space.
    pub kvsname: usize,
    /// Longest key.
    pub key: usize,
    /// Longest value.
    pub value: usize,
}

/// The lengths that our own launcher announces; they are those of MPICH's, which some clients
/// take for granted.
pub const MAXES: Maxes = Maxes { kvsname: 256, key: 64, value: 1024 };
