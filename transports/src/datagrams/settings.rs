//! What is to be known of a process and can be chosen about it, whatever carries its datagrams.

use std::ops::RangeInclusive;
use std::time::Duration;

use mpi_core::header::INLINE_BYTES;

use super::batch::AROUND_BYTES;
use crate::bounds::within;
use crate::reliability::Config;
use crate::sys::udp::BATCH_BYTES_MAX;
use crate::tcp::Secret;

/// Bytes that a datagram may have on every way, what UDP and IP put around it aside (RFC 8899, §5.1.2).
pub(crate) const BASE_BYTES: u16 = 1200;
/// Bytes of frames that a peer may send before it hears more.
const CREDIT_BYTES: u32 = 64 << 10;
/// The shortest that datagrams may be made: a head with all that it may tell fits, and some content.
const DATAGRAM_BYTES_MIN: u32 = 512;

/// Who a process is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The job, by the identity that its launcher gave it.
    pub job: String,
    /// Rank of this process in the job.
    pub rank: u32,
    /// What all processes of the job know and nobody else.
    pub secret: Secret,
}

/// What can be chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Largest body of a small frame, in bytes: at least what control frames have.
    pub eager_bytes: u32,
    /// Bytes of small frames to one peer that are kept until it has them.
    pub window_bytes: u32,
    /// The longest datagram, with what is around a link's bytes; 0 for what the way carries.
    pub datagram_bytes: u32,
    /// How long a peer may be out of reach, for the network that finds out whether it is lost.
    pub patience: Duration,
}

impl Limits {
    /// Whether that can be; `area` begins the names of the settings.
    ///
    /// # Errors
    /// A value is out of its bounds, in a sentence.
    pub(crate) fn check(&self, area: &str) -> Result<(), String> {
        let within = |name, value, bounds| within(&format!("{area}_{name}"), value, bounds);
        within("WINDOW_BYTES", self.window_bytes, 16 << 10..=1 << 30)?;
        within("EAGER_BYTES", self.eager_bytes, INLINE_BYTES as u32..=self.window_bytes / 4)
            .map_err(|why| format!("{why}, a quarter of {area}_WINDOW_BYTES"))?;
        match self.datagram_bytes {
            0 => Ok(()),
            bytes => within("DATAGRAM_BYTES", bytes, Limits::datagram_bounds())
                .map_err(|why| format!("{why}, or 0")),
        }
    }

    /// Bounds of a datagram's longest length, where one has to be said.
    pub(crate) fn datagram_bounds() -> RangeInclusive<u32> {
        DATAGRAM_BYTES_MIN..=BATCH_BYTES_MAX as u32
    }

    /// What is the same for all links.
    pub(super) fn link(&self) -> Config {
        Config {
            datagram_bytes: BASE_BYTES - AROUND_BYTES as u16,
            frame_bytes_max: self.eager_bytes,
            kept_bytes_max: self.window_bytes,
            credit: CREDIT_BYTES.max(self.eager_bytes),
        }
    }
}
