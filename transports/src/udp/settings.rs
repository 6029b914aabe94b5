//! What can be chosen about UDP, out of the table of all settings.

use std::time::Duration;

use mpi_core::settings::{Ports, Settings};

use crate::bounds::within;
use crate::datagrams::Limits;

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
    /// Whether that can be.
    ///
    /// # Errors
    /// A value is out of its bounds, in a sentence.
    pub(super) fn check(&self) -> Result<(), String> {
        within("FERRITE_UDP_SOCKETS", self.sockets, 1..=SOCKETS_MAX)?;
        within("FERRITE_UDP_RECEIVE_BYTES", self.receive_bytes, 64 << 10..=1 << 30)?;
        self.limits().check("FERRITE_UDP")
    }

    /// Those that are no matter of sockets.
    pub(crate) fn limits(&self) -> Limits {
        let UdpSettings { eager_bytes, window_bytes, datagram_bytes, patience, .. } = *self;
        Limits { eager_bytes, window_bytes, datagram_bytes, patience }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_bounds_is_refused_with_name_value_and_bounds() {
        let good = UdpSettings::default();
        assert_eq!(good.check(), Ok(()));
        for (wrong, names) in [
            (
                UdpSettings { sockets: 0, ..good.clone() },
                "FERRITE_UDP_SOCKETS is 0 and has to be from 1 to 64",
            ),
            (UdpSettings { sockets: 65, ..good.clone() }, "FERRITE_UDP_SOCKETS is 65"),
            (UdpSettings { window_bytes: 1, ..good.clone() }, "FERRITE_UDP_WINDOW_BYTES is 1 "),
            (UdpSettings { receive_bytes: 1, ..good.clone() }, "FERRITE_UDP_RECEIVE_BYTES is 1 "),
            (UdpSettings { datagram_bytes: 100, ..good.clone() }, "from 512 to 65507, or 0"),
            (
                UdpSettings { eager_bytes: 1 << 20, ..good.clone() },
                "to 262144, a quarter of FERRITE_UDP_WINDOW_BYTES",
            ),
        ] {
            let told = wrong.check().unwrap_err();
            assert!(told.contains(names), "{told}");
        }
    }
}
