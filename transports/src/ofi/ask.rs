//! What is asked of libfabric, and its offers as the choice sees them.

use super::bindings::*;
use super::choice::{CAPS, MODE, MR_MODE, Offer, choose, passed_over, refusal};
use super::library::{Info, Library, given};
use super::settings::OfiSettings;

/// What is used, and what was found out about it.
pub(super) struct Chosen {
    pub(super) info: Info,
    /// Whether fetching atomic operations were granted.
    pub(super) has_atomics: bool,
    /// The flag by which the end of an operation means that its bytes are visible at the peer; 0 where the
    /// provider has none, and then it has always this meaning for what can be asked.
    pub(super) delivery: u64,
    /// Of what there was to choose from, if the user has wanted something.
    pub(super) passed_over: Option<String>,
}

/// Asks and chooses.
pub(super) fn ask(library: &Library, settings: &OfiSettings) -> Result<Chosen, String> {
    let infos = library.offers(&needs(library)?).unwrap_or_default();
    let offers: Vec<Offer> = infos.iter().map(describe).collect();
    let Some(place) = choose(&offers, settings) else {
        let all = library.offers(&anything(library)?).unwrap_or_default();
        let all: Vec<Offer> = all.iter().map(describe).collect();
        return Err(refusal(&all, settings, &library.version()));
    };
    let passed_over = passed_over(&offers, place, settings);
    let Some(info) = infos.into_iter().nth(place) else { unreachable!("a place in this list") };
    let mut chosen = Chosen { info, has_atomics: false, delivery: 0, passed_over };
    if chosen.improve(library, FI_ATOMIC, 0)? {
        chosen.has_atomics = true;
    }
    let caps = if chosen.has_atomics { FI_ATOMIC } else { 0 };
    if chosen.improve(library, caps, FI_DELIVERY_COMPLETE)? {
        chosen.delivery = FI_DELIVERY_COMPLETE;
        // It is asked for with each operation that needs it.
        chosen.info.tx_mut().op_flags &= !FI_DELIVERY_COMPLETE;
    }
    Ok(chosen)
}

impl Chosen {
    /// Asks for more of the same: capabilities, and flags that operations may have. Whether it was granted;
    /// then that offer is the chosen one.
    fn improve(&mut self, library: &Library, caps: u64, flags: u64) -> Result<bool, String> {
        let (provider, domain) = (self.info.provider(), self.info.domain_name());
        let format = self.info.get().addr_format;
        let mut hints = needs(library)?;
        hints.get_mut().caps |= caps;
        hints.tx_mut().op_flags = flags;
        hints.fabric_mut().prov_name = given(&provider);
        hints.domain_mut().name = given(&domain);
        let is_same = |info: &Info| {
            info.provider() == provider
                && info.domain_name() == domain
                && info.get().addr_format == format
                && describe(info).lacks().is_empty()
        };
        let Some(better) = library.offers(&hints).unwrap_or_default().into_iter().find(is_same)
        else {
            return Ok(false);
        };
        self.info = better;
        Ok(true)
    }
}

/// All that is needed.
fn needs(library: &Library) -> Result<Info, String> {
    let mut hints = anything(library)?;
    hints.get_mut().caps = CAPS;
    hints.ep_mut().type_ = FI_EP_RDM;
    hints.tx_mut().msg_order = FI_ORDER_SAS;
    hints.rx_mut().msg_order = FI_ORDER_SAS;
    let domain = hints.domain_mut();
    domain.threading = FI_THREAD_DOMAIN;
    domain.control_progress = FI_PROGRESS_MANUAL;
    domain.data_progress = FI_PROGRESS_MANUAL;
    domain.resource_mgmt = FI_RM_ENABLED;
    domain.av_type = FI_AV_TABLE;
    Ok(hints)
}

/// Whatever there is that asks no more of us than we can give.
fn anything(library: &Library) -> Result<Info, String> {
    let mut hints = library.empty()?;
    hints.get_mut().mode = MODE;
    hints.domain_mut().mr_mode = MR_MODE;
    Ok(hints)
}

fn describe(info: &Info) -> Offer {
    Offer {
        provider: info.provider(),
        version: info.provider_version(),
        domain: info.domain_name(),
        is_rdm: info.ep().type_ == FI_EP_RDM,
        caps: info.get().caps,
        order: info.tx().msg_order & info.rx().msg_order,
        mode: info.get().mode,
        mr_mode: info.domain().mr_mode,
        key_bytes: info.domain().mr_key_size,
        data_bytes: info.domain().cq_data_size,
    }
}
