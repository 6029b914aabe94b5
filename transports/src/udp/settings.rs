//! What can be chosen about UDP, out of the table of all settings.

use std::time::Duration;

use mpi_core::header::INLINE_BYTES;
use mpi_core::settings::{Ports, Settings};

/// Most sockets by which a process sends.
pub const SOCKETS_MAX: u32 = 64;

/// Settings of the UDP transport.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UdpSettings {
    /// Sockets by which a process sends in turn.
    pub sockets: u32,
    /// Largest body of a small frame, in bytes: at least what control frames have.
    pub eager_bytes: u32,
    /// Bytes of small frames to one peer that are kept until it has them.
    pub window_bytes: u32,
    /// Bytes of the kernel's buffer for what has come: of all peers together.
    pub receive_bytes: u32,
    /// The longest datagram, with what is around a link's bytes.
    pub datagram_bytes: u32,
    /// How long a peer may be out of reach, for the network that finds out whether it is lost.
    pub patience: Duration,
    /// Where to hear.
    pub ports: Ports,
}

impl From<&Settings> for UdpSettings {
    fn from(settings: &Settings) -> UdpSettings {
        let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        UdpSettings {
            sockets: settings.udp_sockets,
            eager_bytes: narrow(settings.udp_eager_bytes),
            window_bytes: narrow(settings.udp_window_bytes),
            receive_bytes: narrow(settings.udp_receive_bytes),
            datagram_bytes: narrow(settings.udp_datagram_bytes),
            patience: settings.tcp_patience,
            ports: settings.udp_ports,
        }
    }
}

impl Default for UdpSettings {
    fn default() -> UdpSettings {
        UdpSettings::from(&Settings::default())
    }
}

impl UdpSettings {
    /// The same, with what cannot be brought within bounds.
    pub(super) fn bounded(mut self) -> UdpSettings {
        self.sockets = self.sockets.clamp(1, SOCKETS_MAX);
        self.window_bytes = self.window_bytes.clamp(16 << 10, 1 << 30);
        self.eager_bytes = self.eager_bytes.clamp(INLINE_BYTES as u32, self.window_bytes / 4);
        self.receive_bytes = self.receive_bytes.clamp(64 << 10, 1 << 30);
        self
    }
}
