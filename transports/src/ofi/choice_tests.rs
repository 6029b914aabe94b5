//! Judgements over described offers.

use super::*;

fn offer(provider: &str, domain: &str) -> Offer {
    Offer {
        provider: provider.into(),
        version: "1.0".into(),
        domain: domain.into(),
        is_rdm: true,
        caps: CAPS,
        order: FI_ORDER_SAS,
        mode: 0,
        mr_mode: FI_MR_LOCAL | FI_MR_PROV_KEY,
        key_bytes: 8,
        data_bytes: 8,
    }
}

fn settings(provider: &str, domain: &str) -> OfiSettings {
    let (provider, domain) = (provider.into(), domain.into());
    OfiSettings { provider, domain, only_fabrics: false, ..OfiSettings::default() }
}

fn chosen<'a>(offers: &'a [Offer], provider: &str, domain: &str) -> Option<(&'a str, &'a str)> {
    let place = choose(offers, &settings(provider, domain))?;
    Some((&offers[place].provider, &offers[place].domain))
}

#[test]
fn the_fastest_network_is_chosen_unasked() {
    let order = [
        "efa",
        "cxi",
        "verbs;ofi_rxm",
        "opx",
        "psm3",
        "a new one",
        "tcp",
        "tcp;ofi_rxm",
        "net",
        "net;ofi_rxm",
        "shm",
        "sockets",
        "udp;ofi_rxd",
        "tcp;ofi_hook_debug",
    ];
    let mut offers: Vec<Offer> = order.iter().rev().map(|name| offer(name, "d")).collect();
    for name in order {
        assert_eq!(chosen(&offers, "", ""), Some((name, "d")));
        offers.retain(|offer| offer.provider != name);
    }
    assert_eq!(chosen(&offers, "", ""), None);
}

#[test]
fn of_several_domains_the_first_is_chosen_and_the_loopback_last() {
    let offers = [offer("tcp", "lo"), offer("tcp", "eth0"), offer("tcp", "eth1")];
    assert_eq!(chosen(&offers, "", ""), Some(("tcp", "eth0")));
    assert_eq!(chosen(&offers, "", "lo"), Some(("tcp", "lo")));
    assert_eq!(chosen(&offers[..1], "", ""), Some(("tcp", "lo")));
    assert_eq!(chosen(&offers, "", "eth7"), None);
    let why = refusal(&offers, &settings("", "eth7"), "1.17");
    assert!(why.contains("eth7") && why.contains("lo; eth0; eth1"), "{why}");
}

#[test]
fn a_wanted_provider_is_taken_by_its_name_or_that_of_its_layer() {
    let offers = [offer("efa", "e"), offer("tcp;ofi_rxm", "eth0"), offer("verbs;ofi_rxm", "m")];
    assert_eq!(chosen(&offers, "tcp", ""), Some(("tcp;ofi_rxm", "eth0")));
    assert_eq!(chosen(&offers, "verbs;ofi_rxm", ""), Some(("verbs;ofi_rxm", "m")));
    assert_eq!(chosen(&offers, "cxi", ""), None);
    let why = refusal(&offers, &settings("cxi", ""), "1.17");
    assert!(why.contains("no provider cxi") && why.contains("efa; tcp;ofi_rxm"), "{why}");
    let both = [offer("tcp;ofi_rxm", "eth0"), offer("tcp", "eth0")];
    assert_eq!(
        chosen(&both, "tcp", ""),
        Some(("tcp", "eth0")),
        "itself before what is built on it"
    );
    let told = passed_over(&both, 1, &settings("tcp", "")).unwrap();
    assert!(told.contains("passed over: tcp;ofi_rxm on eth0"), "{told}");
    assert_eq!(passed_over(&both, 1, &settings("", "")), None);
}

#[test]
fn what_lacks_something_is_named_with_it() {
    type Spoil = fn(&mut Offer);
    let cases: [(Spoil, &str); 7] = [
        (|offer| offer.is_rdm = false, "reliable"),
        (|offer| offer.caps = FI_MSG, "writes to and reads"),
        (|offer| offer.caps = FI_RMA, "messages"),
        (|offer| offer.order = 0, "in order"),
        (|offer| offer.data_bytes = 0, "4 bytes"),
        (|offer| offer.key_bytes = 24, "8 bytes"),
        (|offer| offer.mode = 1 << 58, "prefix"),
    ];
    for (spoil, what) in cases {
        let mut offers = [offer("odd", "d")];
        assert_eq!(chosen(&offers, "", ""), Some(("odd", "d")));
        spoil(&mut offers[0]);
        assert_eq!(chosen(&offers, "", ""), None, "{what}");
        for wanted in ["", "odd"] {
            let why = refusal(&offers, &settings(wanted, ""), "2.5");
            assert!(why.contains("odd lacks") && why.contains(what), "{why}");
        }
    }
    let raw = Offer { mr_mode: 1 << 3, ..offer("odd", "d") };
    assert!(raw.lacks()[0].contains("keys"), "raw keys have any length");
    assert!(refusal(&[], &settings("", ""), "2.5").contains("FI_PROVIDER"));
}

#[test]
fn ranks_that_no_stamp_can_tell_are_refused() {
    assert_eq!(rank_too_high(RANKS - 1), None);
    assert!(rank_too_high(RANKS).unwrap().contains(&RANKS.to_string()));
}

#[test]
fn unasked_only_a_network_of_its_own_is_taken() {
    let unasked = OfiSettings { only_fabrics: true, ..settings("", "") };
    let offers = [offer("tcp", "eth0"), offer("a new one", "d"), offer("cxi", "cxi0")];
    assert_eq!(choose(&offers, &unasked), Some(2));
    assert_eq!(choose(&offers[..2], &unasked), None);
    let why = refusal(&offers[..2], &unasked, "2.5");
    assert!(why.contains("only tcp; a new one") && why.contains("FERRITE_TRANSPORT=ofi"), "{why}");
}
