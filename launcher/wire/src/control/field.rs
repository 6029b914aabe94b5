//! What all frames have in common: a version, a length, fields, and how a packet can be none.

use std::fmt;

/// The version that this crate writes. A reader refuses others, naming both.
pub const VERSION: u8 = 4;

/// Longest frame, header included; longer texts are cut when written.
pub const FRAME_MAX: usize = 64 * 1024;

pub(super) const HEADER: usize = 8;
/// Why a packet is not a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameError {
    /// Shorter than its header or than the fields of its kind, or not as long as it says.
    Length,
    /// Another version than ours.
    Version(u8),
    /// A kind, face or padding byte that this version does not have.
    Unknown(u8),
    /// A text that is not UTF-8.
    NotText,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::Length => write!(f, "a control frame has a wrong length"),
            FrameError::Version(v) => {
                write!(f, "a control frame is of version {v}, this mpirun speaks {VERSION}")
            }
            FrameError::Unknown(code) => write!(f, "a control frame has an unknown code {code}"),
            FrameError::NotText => write!(f, "a control frame holds bytes that are not text"),
        }
    }
}

impl std::error::Error for FrameError {}

/// The first bytes, and the rest.
pub(super) fn take<const N: usize>(bytes: &[u8]) -> Result<([u8; N], &[u8]), FrameError> {
    let (head, rest) = bytes.split_first_chunk::<N>().ok_or(FrameError::Length)?;
    Ok((*head, rest))
}

/// The next number.
pub(super) fn number(body: &mut &[u8]) -> Result<u32, FrameError> {
    let (bytes, rest) = take::<4>(body)?;
    *body = rest;
    Ok(u32::from_le_bytes(bytes))
}
