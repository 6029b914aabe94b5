//! What can be chosen about libfabric, out of the table of all settings.

use std::time::Duration;

use mpi_core::settings::{Settings, TransportPreference};

/// Settings of libfabric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OfiSettings {
    /// The library: a path, or a name that the loader finds.
    pub library: String,
    /// The provider; any when empty.
    pub provider: String,
    /// The domain of the provider: a device or interface; any when empty.
    pub domain: String,
    /// Whether only fabrics will do: what ends in the kernel's sockets or shared memory has better ways here, and
    /// is for who asks for libfabric.
    pub only_fabrics: bool,
    /// How long a peer to whom there was a connection may be out of reach before it counts as lost.
    pub patience: Duration,
}

impl From<&Settings> for OfiSettings {
    fn from(settings: &Settings) -> OfiSettings {
        OfiSettings {
            library: settings.ofi_library.clone(),
            provider: settings.ofi_provider.clone(),
            domain: settings.ofi_domain.clone(),
            only_fabrics: settings.transport == TransportPreference::Auto,
            patience: settings.tcp_patience,
        }
    }
}

impl Default for OfiSettings {
    fn default() -> OfiSettings {
        OfiSettings::from(&Settings::default())
    }
}
