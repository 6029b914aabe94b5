//! What can be chosen about TCP, out of the table of all settings.

use std::time::Duration;

use mpi_core::header::INLINE_BYTES;
use mpi_core::settings::{Ports, Settings, TcpSecurity};

use super::DATAGRAM_BYTES_MAX;
use crate::bounds::within;

/// Most streams to one peer.
pub const STREAMS_MAX: u32 = 16;

/// Settings of the TCP transport.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpSettings {
    /// Connections to each peer (paper 000's end points): the first carries small messages, all
    /// carry large ones.
    pub streams: u32,
    /// Largest body of a small frame, in bytes: at least what control frames have.
    pub eager_bytes: u32,
    /// Bytes of small frames to one peer that may be on their way: they are kept until the peer
    /// has them.
    pub window_bytes: u32,
    /// Large messages are cut into fragments of so many bytes, between which small ones pass.
    pub fragment_bytes: u32,
    /// From this many bytes on the fragments of one message go over all streams; a shorter one goes
    /// over one of them, in turn.
    pub stripe_bytes: u64,
    /// Bytes of the kernel's buffers for a connection; 0 leaves them to the kernel.
    pub socket_bytes: u32,
    /// How long a peer may be out of reach before it counts as lost.
    pub patience: Duration,
    /// Where to listen.
    pub ports: Ports,
    /// What keeps records from being changed or read on their way.
    pub security: TcpSecurity,
}

impl From<&Settings> for TcpSettings {
    fn from(settings: &Settings) -> TcpSettings {
        let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        TcpSettings {
            streams: settings.tcp_streams,
            eager_bytes: narrow(settings.tcp_eager_bytes),
            window_bytes: narrow(settings.tcp_window_bytes),
            fragment_bytes: narrow(settings.tcp_fragment_bytes),
            stripe_bytes: settings.tcp_stripe_bytes,
            socket_bytes: narrow(settings.tcp_socket_bytes),
            patience: settings.tcp_patience,
            ports: settings.tcp_ports,
            security: settings.tcp_security,
        }
    }
}

impl Default for TcpSettings {
    fn default() -> TcpSettings {
        TcpSettings::from(&Settings::default())
    }
}

impl TcpSettings {
    /// How long a connection may be silent where an answer is due, before it counts as broken and
    /// another is tried. A peer that is out of reach for good is lost after that and the patience.
    pub(super) fn silence(&self) -> Duration {
        self.patience / 2
    }

    /// Bytes of a frame that a peer may send.
    pub(super) fn frame_bytes_max(&self) -> usize {
        (self.eager_bytes as usize).max(DATAGRAM_BYTES_MAX)
    }

    /// The same, as it can be used: a message that goes unasked takes a quarter of the window at most, and the core's
    /// own frames and its smallest messages go unasked whatever is set.
    ///
    /// # Errors
    /// A value is out of its bounds, in a sentence.
    pub(super) fn checked(mut self) -> Result<TcpSettings, String> {
        within("FERRITE_TCP_STREAMS", self.streams, 1..=STREAMS_MAX)?;
        within("FERRITE_TCP_FRAGMENT_BYTES", self.fragment_bytes, 4 << 10..=1 << 30)?;
        within("FERRITE_TCP_WINDOW_BYTES", self.window_bytes, 16 << 10..=1 << 30)?;
        self.eager_bytes = self.eager_bytes.clamp(INLINE_BYTES as u32, self.window_bytes / 4);
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_bounds_is_refused_with_name_value_and_bounds() {
        let good = TcpSettings::default();
        assert_eq!(good.clone().checked(), Ok(good.clone()));
        for (wrong, names) in [
            (TcpSettings { streams: 0, ..good.clone() }, "STREAMS is 0 and has to be from 1 to 16"),
            (TcpSettings { streams: 17, ..good.clone() }, "FERRITE_TCP_STREAMS is 17 "),
            (
                TcpSettings { fragment_bytes: 1, ..good.clone() },
                "FRAGMENT_BYTES is 1 and has to be from 4096 ",
            ),
            (
                TcpSettings { window_bytes: 0, ..good.clone() },
                "WINDOW_BYTES is 0 and has to be from 16384 ",
            ),
        ] {
            let told = wrong.checked().unwrap_err();
            assert!(told.contains(names), "{told}");
        }
    }

    #[test]
    fn what_goes_unasked_takes_a_quarter_of_the_window_at_most() {
        let eager = |eager_bytes, window_bytes| {
            let settings = TcpSettings { eager_bytes, window_bytes, ..TcpSettings::default() };
            settings.checked().map(|settings| settings.eager_bytes)
        };
        assert_eq!(eager(1 << 20, 128 << 10), Ok(32 << 10));
        assert_eq!(eager(0, 128 << 10), Ok(INLINE_BYTES as u32));
    }
}
