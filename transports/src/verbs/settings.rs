//! What can be chosen about verbs, out of the table of all settings.

use std::time::Duration;

use mpi_core::settings::{DataOrder, Settings};

/// Queue pairs to a peer at most, of all devices together.
pub const RAILS_MAX: usize = 16;
/// Devices that a process uses at most: a key of 64 bits has room for two of 32.
pub const DEVICES_MAX: usize = 2;

/// Settings of verbs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerbsSettings {
    /// Devices by name, with commas, `name:port` where a port is meant; the fastest when empty.
    pub devices: String,
    /// The port of a device; 0 for the fastest.
    pub port: u32,
    /// Which of a port's addresses is this process's, by its number; the best when empty.
    pub gid_index: String,
    /// The partition, as 0x8001; the port's first when empty.
    pub pkey: String,
    /// The service level of InfiniBand, and the priority of Ethernet.
    pub service_level: u32,
    /// The traffic class of packets that carry global addresses.
    pub traffic_class: u32,
    /// Bytes of a packet at most; 0 for what both ends' ports have.
    pub mtu: u32,
    /// Queue pairs to each peer, on each device.
    pub queue_pairs: u32,
    /// Work that one queue pair holds.
    pub depth: u32,
    /// Time after which a packet that was not acknowledged is sent again.
    pub timeout: Duration,
    /// How often it is sent again before the peer counts as lost.
    pub retries: u32,
    /// Whether memory is followed by the device where it can.
    pub on_demand_paging: bool,
    /// Whether bytes can be relied on to become visible in order.
    pub data_order: DataOrder,
}

impl From<&Settings> for VerbsSettings {
    fn from(settings: &Settings) -> VerbsSettings {
        VerbsSettings {
            devices: settings.verbs_devices.clone(),
            port: settings.verbs_port,
            gid_index: settings.verbs_gid_index.clone(),
            pkey: settings.verbs_pkey.clone(),
            service_level: settings.verbs_service_level,
            traffic_class: settings.verbs_traffic_class,
            mtu: settings.verbs_mtu,
            queue_pairs: settings.verbs_queue_pairs,
            depth: settings.verbs_depth,
            timeout: settings.verbs_timeout,
            retries: settings.verbs_retries,
            on_demand_paging: settings.verbs_on_demand_paging,
            data_order: settings.verbs_data_order,
        }
    }
}

impl Default for VerbsSettings {
    fn default() -> VerbsSettings {
        VerbsSettings::from(&Settings::default())
    }
}

impl VerbsSettings {
    /// The same, with what cannot be brought within bounds.
    pub(super) fn bounded(mut self) -> VerbsSettings {
        self.queue_pairs = self.queue_pairs.clamp(1, (RAILS_MAX / DEVICES_MAX) as u32);
        self.depth = self.depth.clamp(16, 4096);
        self.retries = self.retries.min(7);
        self
    }
}
