//! What can be chosen about networks of registered memory, out of the table of all settings.

use mpi_core::header::INLINE_BYTES;
use mpi_core::settings::{RdmaRendezvous, Settings};

use super::credit::WINDOW_MAX;
use super::pin::PinSettings;
use super::ring::SLOTS_MAX;
use crate::bounds::within;

/// Settings of a transport over registered memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RdmaSettings {
    /// Largest body of a small frame, in bytes: at least what control frames have.
    pub eager_bytes: usize,
    /// Messages of a peer that this end has room for, before the peer asks for more.
    pub credits: u32,
    /// Slots of a ring; 0 for no rings.
    pub ring_slots: u32,
    /// Peers that may have a ring here.
    pub ring_peers: usize,
    /// Who moves the bytes of a large message.
    pub rendezvous: RdmaRendezvous,
    /// Bytes of a work request at most.
    pub fragment_bytes: usize,
    /// Bytes of the pool of registered buffers at most.
    pub pool_bytes: usize,
    /// How registrations of the program's memory are kept.
    pub pins: PinSettings,
}

impl From<&Settings> for RdmaSettings {
    fn from(settings: &Settings) -> RdmaSettings {
        let narrow = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        RdmaSettings {
            eager_bytes: narrow(settings.rdma_eager_bytes),
            credits: settings.rdma_credits,
            ring_slots: settings.rdma_ring_slots,
            ring_peers: settings.rdma_ring_peers as usize,
            rendezvous: settings.rdma_rendezvous,
            fragment_bytes: narrow(settings.rdma_fragment_bytes),
            pool_bytes: narrow(settings.rdma_pool_bytes),
            pins: PinSettings::of(settings),
        }
    }
}

impl Default for RdmaSettings {
    fn default() -> RdmaSettings {
        RdmaSettings::from(&Settings::default())
    }
}

impl RdmaSettings {
    /// Whether that can be.
    ///
    /// # Errors
    /// A value is out of its bounds, in a sentence.
    pub(super) fn check(&self) -> Result<(), String> {
        within("FERRITE_RDMA_EAGER_BYTES", self.eager_bytes, INLINE_BYTES..=1 << 20)?;
        within("FERRITE_RDMA_CREDITS", self.credits, 1..=WINDOW_MAX.into())?;
        within("FERRITE_RDMA_FRAGMENT_BYTES", self.fragment_bytes, 4 << 10..=1 << 30)?;
        within("FERRITE_RDMA_POOL_BYTES", self.pool_bytes, 64 << 10..=1 << 40)?;
        match self.ring_slots {
            0 => Ok(()),
            slots => within("FERRITE_RDMA_RING_SLOTS", slots, 2..=SLOTS_MAX.into())
                .map_err(|why| format!("{why}, or 0")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_bounds_is_refused_with_name_value_and_bounds() {
        let good = RdmaSettings::default();
        assert_eq!(good.check(), Ok(()));
        for (wrong, names) in [
            (
                RdmaSettings { credits: 100_000, ..good.clone() },
                "CREDITS is 100000 and has to be from 1 to 1024",
            ),
            (RdmaSettings { credits: 0, ..good.clone() }, "FERRITE_RDMA_CREDITS is 0 "),
            (
                RdmaSettings { ring_slots: 1, ..good.clone() },
                "RING_SLOTS is 1 and has to be from 2 to 1024, or 0",
            ),
            (RdmaSettings { eager_bytes: 1 << 30, ..good.clone() }, "EAGER_BYTES is 1073741824 "),
            (
                RdmaSettings { fragment_bytes: 0, ..good.clone() },
                "FRAGMENT_BYTES is 0 and has to be from 4096 ",
            ),
            (
                RdmaSettings { pool_bytes: 1, ..good.clone() },
                "POOL_BYTES is 1 and has to be from 65536 ",
            ),
        ] {
            let told = wrong.check().unwrap_err();
            assert!(told.contains(names), "{told}");
        }
    }
}
