//! What can be chosen about verbs, out of the table of all settings.

use std::time::Duration;

use mpi_core::settings::{DataOrder, Settings};

use crate::bounds::within;

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
    /// Time after which a process that has never answered may be sought by another network.
    pub patience: Duration,
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
            patience: settings.verbs_patience,
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
    /// Whether that can be, as far as it does not depend on a device.
    ///
    /// # Errors
    /// A value is out of its bounds, in a sentence.
    pub(super) fn check(&self) -> Result<(), String> {
        let rails = 1..=(RAILS_MAX / DEVICES_MAX) as u32;
        within("FERRITE_VERBS_QUEUE_PAIRS", self.queue_pairs, rails)?;
        within("FERRITE_VERBS_DEPTH", self.depth, 16..=4096)?;
        // Seven is for ever to soft-RoCE, though to no other device.
        within("FERRITE_VERBS_RETRIES", self.retries, 0..=6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_bounds_is_refused_with_name_value_and_bounds() {
        let good = VerbsSettings::default();
        assert_eq!(good.check(), Ok(()));
        for (wrong, names) in [
            (
                VerbsSettings { queue_pairs: 0, ..good.clone() },
                "QUEUE_PAIRS is 0 and has to be from 1 to 8",
            ),
            (
                VerbsSettings { depth: 15, ..good.clone() },
                "DEPTH is 15 and has to be from 16 to 4096",
            ),
            (
                VerbsSettings { retries: 7, ..good.clone() },
                "RETRIES is 7 and has to be from 0 to 6",
            ),
        ] {
            let told = wrong.check().unwrap_err();
            assert!(told.contains(names), "{told}");
        }
    }
}
