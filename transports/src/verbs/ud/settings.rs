//! What can be chosen about datagrams of verbs, out of the table of all settings.

use mpi_core::settings::Settings;

use crate::bounds::within;
use crate::datagrams::Limits;
use crate::verbs::settings::VerbsSettings;

/// Most queue pairs by which a process sends datagrams.
pub const SEND_QUEUE_PAIRS_MAX: u32 = 64;

/// Settings of the transport over datagrams of verbs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UdSettings {
    /// What is chosen about verbs of any kind.
    pub verbs: VerbsSettings,
    /// Buffers for what has come, at most: of all peers together.
    pub receive_buffers: u32,
    /// Queue pairs by which a process sends in turn.
    pub send_queue_pairs: u32,
    /// What is no matter of queue pairs.
    pub limits: Limits,
}

impl From<&Settings> for UdSettings {
    fn from(settings: &Settings) -> UdSettings {
        let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        UdSettings {
            verbs: settings.into(),
            receive_buffers: settings.verbs_ud_receive_buffers,
            send_queue_pairs: settings.verbs_ud_send_queue_pairs,
            limits: Limits {
                eager_bytes: narrow(settings.verbs_ud_eager_bytes),
                window_bytes: narrow(settings.verbs_ud_window_bytes),
                datagram_bytes: 0,
                patience: settings.tcp_patience,
            },
        }
    }
}

impl Default for UdSettings {
    fn default() -> UdSettings {
        UdSettings::from(&Settings::default())
    }
}

impl UdSettings {
    /// Whether that can be.
    ///
    /// # Errors
    /// A value is out of its bounds, in a sentence.
    pub(super) fn check(&self) -> Result<(), String> {
        within("FERRITE_VERBS_UD_RECEIVE_BUFFERS", self.receive_buffers, 16..=1 << 16)?;
        let bounds = 1..=SEND_QUEUE_PAIRS_MAX;
        within("FERRITE_VERBS_UD_SEND_QUEUE_PAIRS", self.send_queue_pairs, bounds)?;
        self.verbs.check()?;
        self.limits.check("FERRITE_VERBS_UD")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_bounds_is_refused_with_name_value_and_bounds() {
        let good = UdSettings::default();
        assert_eq!(good.check(), Ok(()));
        let refused = |wrong: UdSettings| wrong.check().unwrap_err();
        let few = refused(UdSettings { receive_buffers: 15, ..good.clone() });
        assert_eq!(few, "FERRITE_VERBS_UD_RECEIVE_BUFFERS is 15 and has to be from 16 to 65536");
        let none = refused(UdSettings { send_queue_pairs: 0, ..good.clone() });
        assert_eq!(none, "FERRITE_VERBS_UD_SEND_QUEUE_PAIRS is 0 and has to be from 1 to 64");
        let verbs = VerbsSettings { retries: 7, ..good.verbs.clone() };
        let forever = refused(UdSettings { verbs, ..good.clone() });
        assert_eq!(forever, "FERRITE_VERBS_RETRIES is 7 and has to be from 0 to 6");
        let limits = Limits { window_bytes: 1, ..good.limits };
        let narrow = refused(UdSettings { limits, ..good });
        assert!(narrow.starts_with("FERRITE_VERBS_UD_WINDOW_BYTES is 1 "), "{narrow}");
    }
}
