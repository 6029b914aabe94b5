//! What can be chosen about unreliable connections, out of the table of all settings.

use mpi_core::settings::Settings;

use crate::bounds::within;
use crate::datagrams::Limits;
use crate::verbs::settings::VerbsSettings;

/// Settings of the transport over unreliable connections.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UcSettings {
    /// What is chosen about verbs of any kind.
    pub verbs: VerbsSettings,
    /// Buffers for what has come, of each peer.
    pub receive_buffers: u32,
    /// What is no matter of queue pairs.
    pub limits: Limits,
}

impl From<&Settings> for UcSettings {
    fn from(settings: &Settings) -> UcSettings {
        let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        UcSettings {
            verbs: settings.into(),
            receive_buffers: settings.verbs_uc_receive_buffers,
            limits: Limits {
                eager_bytes: narrow(settings.verbs_uc_eager_bytes),
                window_bytes: narrow(settings.verbs_uc_window_bytes),
                datagram_bytes: narrow(settings.verbs_uc_datagram_bytes),
                patience: settings.tcp_patience,
            },
        }
    }
}

impl Default for UcSettings {
    fn default() -> UcSettings {
        UcSettings::from(&Settings::default())
    }
}

impl UcSettings {
    /// Whether that can be.
    ///
    /// # Errors
    /// A value is out of its bounds, in a sentence.
    pub(super) fn check(&self) -> Result<(), String> {
        within("FERRITE_VERBS_UC_RECEIVE_BUFFERS", self.receive_buffers, 16..=4096)?;
        let bounds = Limits::datagram_bounds();
        within("FERRITE_VERBS_UC_DATAGRAM_BYTES", self.limits.datagram_bytes, bounds)?;
        self.limits.check("FERRITE_VERBS_UC")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_bounds_is_refused_with_name_value_and_bounds() {
        let good = UcSettings::default();
        assert_eq!(good.check(), Ok(()));
        let refused = |wrong: UcSettings| wrong.check().unwrap_err();
        let few = refused(UcSettings { receive_buffers: 15, ..good.clone() });
        assert_eq!(few, "FERRITE_VERBS_UC_RECEIVE_BUFFERS is 15 and has to be from 16 to 4096");
        for bytes in [0, 511, 65_508] {
            let limits = Limits { datagram_bytes: bytes, ..good.limits };
            let wrong = refused(UcSettings { limits, ..good.clone() });
            let told = format!(
                "FERRITE_VERBS_UC_DATAGRAM_BYTES is {bytes} and has to be from 512 to 65507"
            );
            assert_eq!(wrong, told);
        }
        let limits = Limits { window_bytes: 1, ..good.limits };
        let narrow = refused(UcSettings { limits, ..good });
        assert!(narrow.starts_with("FERRITE_VERBS_UC_WINDOW_BYTES is 1 "), "{narrow}");
    }
}
