//! Which of the providers that libfabric offers is used: a judgement over descriptions.
//!
//! In: the offers, and what the user wants. Out: the place of one of them, or a sentence that names the
//! providers and what each lacks.

use std::ffi::c_int;

use super::bindings::*;
use super::settings::OfiSettings;
use super::stamp::RANKS;

/// What a provider must do for us: messages, and writes and reads of others' memory.
pub(super) const CAPS: u64 = FI_MSG | FI_RMA;
/// What it may ask of us, of the kinds that its structures of operations need.
pub(super) const MODE: u64 = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
/// What it may ask of us when memory is registered. Keys of more than 8 bytes are not among this.
pub(super) const MR_MODE: c_int = FI_MR_LOCAL
    | FI_MR_VIRT_ADDR
    | FI_MR_ALLOCATED
    | FI_MR_PROV_KEY
    | FI_MR_ENDPOINT
    | FI_MR_HMEM
    | FI_MR_COLLECTIVE
    | FI_MR_RMA_EVENT;
/// Bytes of data that a message must carry beside its own.
const DATA_BYTES_MIN: usize = 4;

/// What libfabric says of one offer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Offer {
    pub(super) provider: String,
    pub(super) version: String,
    pub(super) domain: String,
    pub(super) is_rdm: bool,
    pub(super) caps: u64,
    pub(super) order: u64,
    pub(super) mode: u64,
    pub(super) mr_mode: c_int,
    pub(super) key_bytes: usize,
    pub(super) data_bytes: usize,
}

/// The best first. What is not named stands after the networks that are, and before TCP.
const PREFERRED: &[&str] = &["efa", "cxi", "verbs;ofi_rxm", "opx", "psm3"];
const ORDINARY: &[&str] =
    &["tcp", "tcp;ofi_rxm", "net", "net;ofi_rxm", "shm", "sockets", "udp;ofi_rxd"];

impl Offer {
    /// What it lacks of all that is asked for.
    pub(super) fn lacks(&self) -> Vec<&'static str> {
        let keys = "keys of at most 8 bytes for memory";
        let facts = [
            (self.is_rdm, "reliable endpoints without connections"),
            (self.caps & FI_MSG != 0, "messages"),
            (self.caps & FI_RMA != 0, "writes to and reads from memory"),
            (self.order & FI_ORDER_SAS != 0, "messages in order"),
            (self.data_bytes >= DATA_BYTES_MIN, "4 bytes of data beside each message"),
            (self.key_bytes <= 8 && self.mr_mode & !MR_MODE == 0, keys),
            (self.mode & !MODE == 0, "messages without its own prefix in their memory"),
        ];
        facts.into_iter().filter(|(is_so, _)| !is_so).map(|(_, what)| what).collect()
    }

    /// Smaller is better.
    fn place(&self) -> usize {
        let name = self.provider.as_str();
        let layered = name.split(';').any(|part| part.starts_with("ofi_hook") || part == "lnx");
        let known = PREFERRED.iter().position(|known| *known == name);
        let ordinary = || ORDINARY.iter().position(|known| *known == name);
        let unknown = PREFERRED.len();
        match known.or_else(|| ordinary().map(|place| unknown + 1 + place)) {
            _ if layered => usize::MAX,
            Some(place) => place,
            None => unknown,
        }
    }

    /// Whether it is a network of its own.
    fn is_fabric(&self) -> bool {
        self.place() < PREFERRED.len()
    }

    /// How well it fits a wanted provider: 0 if it is that, 1 if that is a part of it.
    fn is_provider(&self, wanted: &str) -> Option<u8> {
        let is_part = self.provider.split(';').any(|part| part == wanted);
        match self.provider == wanted {
            _ if wanted.is_empty() => Some(0),
            true => Some(0),
            false => is_part.then_some(1),
        }
    }

    fn is_domain(&self, wanted: &str) -> bool {
        wanted.is_empty() || self.domain == wanted
    }
}

/// The place of the offer to use, among those that libfabric gives for what is asked.
pub(super) fn choose(offers: &[Offer], settings: &OfiSettings) -> Option<usize> {
    let fitting = offers.iter().enumerate().filter(|(_, offer)| offer.lacks().is_empty());
    let meant = fitting.filter(|(_, offer)| offer.is_fabric() || !settings.only_fabrics);
    let named = meant.filter(|(_, offer)| offer.is_domain(&settings.domain));
    let judged = named.filter_map(|(place, offer)| {
        let fit = offer.is_provider(&settings.provider)?;
        // The loopback is a way to the own host alone.
        Some((fit, offer.place(), offer.domain == "lo", place))
    });
    judged.min().map(|(.., place)| place)
}

/// Why none can be used, out of all that there is, whether it fits or not.
pub(super) fn refusal(all: &[Offer], settings: &OfiSettings, library: &str) -> String {
    let wanted = settings.provider.as_str();
    let of_provider = || all.iter().filter(|offer| offer.is_provider(wanted).is_some());
    let named = || of_provider().filter(|offer| offer.is_domain(&settings.domain));
    if all.is_empty() {
        return format!(
            "libfabric {library} has no provider that works on this host; FI_PROVIDER may exclude some, and \
             FI_LOG_LEVEL=info shows why others do not"
        );
    }
    if of_provider().next().is_none() {
        let names = listed(all.iter().map(|offer| offer.provider.clone()));
        return format!(
            "libfabric {library} has no provider {wanted} on this host (FERRITE_OFI_PROVIDER); it has {names}"
        );
    }
    if named().next().is_none() {
        let domains = listed(of_provider().map(|offer| offer.domain.clone()));
        let domain = &settings.domain;
        return format!(
            "libfabric {library} has no domain {domain} here (FERRITE_OFI_DOMAIN); it has {domains}"
        );
    }
    if settings.only_fabrics && !named().any(Offer::is_fabric) {
        let names = listed(named().map(|offer| offer.provider.clone()));
        return format!(
            "libfabric {library} has no network of its own here, only {names}; FERRITE_TRANSPORT=ofi takes them all \
             the same"
        );
    }
    let faults = listed(named().map(|offer| {
        let lacks = offer.lacks();
        let lacks =
            if lacks.is_empty() { "all of this at once".to_owned() } else { lacks.join(", ") };
        format!("{} lacks {lacks}", offer.provider)
    }));
    format!(
        "no provider of libfabric {library} offers what is needed: {faults}; use another network"
    )
}

/// The others that could have been used, where the user has wanted one.
pub(super) fn passed_over(
    offers: &[Offer],
    chosen: usize,
    settings: &OfiSettings,
) -> Option<String> {
    if settings.provider.is_empty() && settings.domain.is_empty() {
        return None;
    }
    let one = &offers[chosen];
    let is_other = |offer: &&Offer| {
        (&offer.provider, &offer.domain) != (&one.provider, &one.domain) && offer.lacks().is_empty()
    };
    let others = offers.iter().filter(is_other);
    let others = listed(others.map(|offer| format!("{} on {}", offer.provider, offer.domain)));
    Some(match others.is_empty() {
        true => "as it was asked for; there is no other".to_owned(),
        false => format!("as it was asked for; passed over: {others}"),
    })
}

/// Each once, in the order of coming.
fn listed(names: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all.join("; ")
}

/// Why a process of this rank cannot use libfabric, if it cannot.
pub(super) fn rank_too_high(rank: u32) -> Option<String> {
    (rank >= RANKS).then(|| {
        format!("rank {rank} cannot use libfabric, which serves ranks below {RANKS}; use another network")
    })
}

#[cfg(test)]
#[path = "choice_tests.rs"]
mod tests;
