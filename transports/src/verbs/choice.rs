//! Which devices, ports and addresses a process uses: a choice from what was found, by itself or as the user says.
//!
//! In: a description of all devices. Out: the chosen ones, the first for messages; or a sentence that says why there
//! is none and what to do. Nothing here touches a device.

use super::settings::{DEVICES_MAX, VerbsSettings};

/// An address of a port.
pub(super) type Gid = [u8; 16];

/// What carries a port's packets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Link {
    InfiniBand,
    Ethernet,
}

/// How packets with an address look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GidKind {
    /// InfiniBand's own, or RoCE version 1, which no router passes on.
    Plain,
    /// RoCE version 2: over UDP.
    Routable,
}

/// An entry of a port's table of addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct GidFound {
    pub(super) index: u8,
    pub(super) gid: Gid,
    pub(super) kind: GidKind,
}

/// A port, as found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PortFound {
    pub(super) number: u8,
    pub(super) is_active: bool,
    pub(super) link: Link,
    pub(super) lid: u16,
    /// Bytes of a packet at most.
    pub(super) mtu: u16,
    /// Megabits a second.
    pub(super) speed: u32,
    pub(super) gids: Vec<GidFound>,
    /// The partitions, by index.
    pub(super) pkeys: Vec<u16>,
}

/// A device, as found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DeviceFound {
    pub(super) name: String,
    /// Why it cannot be used at all, in a few words.
    pub(super) unfit: Option<String>,
    pub(super) ports: Vec<PortFound>,
}

/// What to use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Chosen {
    pub(super) device: String,
    pub(super) port: u8,
    pub(super) link: Link,
    pub(super) lid: u16,
    pub(super) gid_index: u8,
    pub(super) gid: Gid,
    pub(super) pkey_index: u16,
    pub(super) mtu: u16,
    /// Whether the user has said that it is to be this MTU.
    pub(super) is_mtu_forced: bool,
    pub(super) service_level: u8,
    pub(super) traffic_class: u8,
}

/// Chooses.
pub(super) fn choose(
    found: &[DeviceFound],
    settings: &VerbsSettings,
) -> Result<Vec<Chosen>, String> {
    if found.is_empty() {
        return Err("this host has no device for verbs (ibv_devices shows none); is there a card, and is its \
                    driver loaded?"
            .to_owned());
    }
    if settings.devices.trim().is_empty() {
        return fastest(found, settings).map(|chosen| vec![chosen]);
    }
    let names: Vec<&str> = settings.devices.split(',').map(str::trim).collect();
    if names.len() > DEVICES_MAX {
        return Err(format!(
            "FERRITE_VERBS_DEVICES names {} devices, but a process uses at most {DEVICES_MAX}",
            names.len(),
        ));
    }
    let mut chosen: Vec<Chosen> = Vec::new();
    for name in names {
        let one = named(found, name, settings)?;
        if chosen.iter().any(|other| (&other.device, other.port) == (&one.device, one.port)) {
            return Err(format!("FERRITE_VERBS_DEVICES names {name} twice"));
        }
        chosen.push(one);
    }
    Ok(chosen)
}

/// The best of all ports.
fn fastest(found: &[DeviceFound], settings: &VerbsSettings) -> Result<Chosen, String> {
    let mut best: Option<(u32, Chosen)> = None;
    let mut whys = Vec::new();
    for device in found {
        match port_of(device, settings.port, settings) {
            Ok((port, chosen)) if best.as_ref().is_none_or(|(speed, _)| port.speed > *speed) => {
                best = Some((port.speed, chosen));
            }
            Ok(_) => {}
            Err(why) => whys.push(why),
        }
    }
    best.map(|(_, chosen)| chosen).ok_or_else(|| mpi_core::error::listed(&whys))
}

/// The device that the user means by `name` or `name:port`.
fn named(found: &[DeviceFound], name: &str, settings: &VerbsSettings) -> Result<Chosen, String> {
    let (name, port) = match name.split_once(':') {
        None => (name, settings.port),
        Some((device, port)) => {
            let number = port.parse().ok().filter(|port| *port > 0);
            let why = || format!("FERRITE_VERBS_DEVICES has \"{name}\", whose port is no number");
            (device, number.ok_or_else(why)?)
        }
    };
    let Some(device) = found.iter().find(|device| device.name == name) else {
        let names: Vec<&str> = found.iter().map(|device| device.name.as_str()).collect();
        return Err(format!(
            "FERRITE_VERBS_DEVICES names the device \"{name}\", but this host has {}",
            names.join(", "),
        ));
    };
    port_of(device, port, settings).map(|(_, chosen)| chosen)
}

/// The best port of a device, or the one of this number.
fn port_of<'a>(
    device: &'a DeviceFound,
    number: u32,
    settings: &VerbsSettings,
) -> Result<(&'a PortFound, Chosen), String> {
    let name = &device.name;
    if let Some(why) = &device.unfit {
        return Err(format!("{name} {why}"));
    }
    let meant = |port: &&PortFound| number == 0 || u32::from(port.number) == number;
    let mut ports: Vec<&PortFound> = device.ports.iter().filter(meant).collect();
    if ports.is_empty() {
        return Err(format!(
            "{name} has no port {number}, but ports 1 to {}; see FERRITE_VERBS_PORT",
            device.ports.len(),
        ));
    }
    ports.retain(|port| port.is_active);
    // The first of the fastest.
    let Some(port) = ports.into_iter().rev().max_by_key(|port| port.speed) else {
        let which = if number == 0 { "port".to_owned() } else { format!("port {number}") };
        return Err(format!(
            "{name} has no active {which} (ibv_devinfo shows its state); is the cable in, the interface up, and on \
             InfiniBand a subnet manager running?"
        ));
    };
    Ok((port, use_port(device, port, settings)?))
}

/// What there is to say about the use of a port.
fn use_port(
    device: &DeviceFound,
    port: &PortFound,
    settings: &VerbsSettings,
) -> Result<Chosen, String> {
    let at = format!("port {} of {}", port.number, device.name);
    let gid = gid_of(port, &settings.gid_index, &at)?;
    let within = |name: &str, value: u32, max: u8| {
        u8::try_from(value)
            .ok()
            .filter(|value| *value <= max)
            .ok_or_else(|| format!("FERRITE_VERBS_{name} is {value}, but may be 0 to {max}"))
    };
    let mtu = match settings.mtu {
        0 => port.mtu,
        wanted if ![256, 512, 1024, 2048, 4096].contains(&wanted) => {
            return Err(format!(
                "FERRITE_VERBS_MTU is {wanted}, but may be 256, 512, 1024, 2048 or 4096"
            ));
        }
        wanted if wanted > u32::from(port.mtu) => {
            return Err(format!(
                "FERRITE_VERBS_MTU is {wanted}, but {at} carries {} at most; a larger MTU of its network interface \
                 would allow more",
                port.mtu,
            ));
        }
        wanted => wanted as u16,
    };
    Ok(Chosen {
        device: device.name.clone(),
        port: port.number,
        link: port.link,
        lid: port.lid,
        gid_index: gid.index,
        gid: gid.gid,
        pkey_index: pkey_of(port, &settings.pkey, &at)?,
        mtu,
        is_mtu_forced: settings.mtu != 0,
        service_level: within("SERVICE_LEVEL", settings.service_level, 15)?,
        traffic_class: within("TRAFFIC_CLASS", settings.traffic_class, 255)?,
    })
}

/// The address of a port: as the user says; on InfiniBand the first; on Ethernet one that routers pass on, of IPv4
/// rather than IPv6, and one of a network rather than of a wire alone.
fn gid_of<'a>(port: &'a PortFound, wanted: &str, at: &str) -> Result<&'a GidFound, String> {
    if !wanted.trim().is_empty() {
        let index = wanted.trim().parse::<u8>();
        let found = index.ok().and_then(|index| port.gids.iter().find(|gid| gid.index == index));
        return found.ok_or_else(|| {
            let there: Vec<String> = port.gids.iter().map(|gid| gid.index.to_string()).collect();
            format!(
                "FERRITE_VERBS_GID_INDEX is {wanted}, but {at} has addresses of the numbers {}",
                there.join(", "),
            )
        });
    }
    let rank = |gid: &GidFound| match port.link {
        Link::InfiniBand => 0,
        Link::Ethernet => {
            let routable = if gid.kind == GidKind::Routable { 4 } else { 0 };
            let scope = match &gid.gid {
                [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, ..] => 2,
                [0xfe, 0x80, ..] => 0,
                _ => 1,
            };
            routable + scope
        }
    };
    port.gids.iter().rev().max_by_key(|gid| rank(gid)).ok_or_else(|| {
        format!(
            "{at} has no address (its table of GIDs is empty); has its interface an IP address?"
        )
    })
}

/// The index of a partition: membership, the highest bit, may differ.
fn pkey_of(port: &PortFound, wanted: &str, at: &str) -> Result<u16, String> {
    let wanted = wanted.trim();
    if wanted.is_empty() {
        let first = port.pkeys.iter().position(|pkey| pkey & 0x7fff != 0);
        return Ok(first.unwrap_or(0) as u16);
    }
    let digits = wanted.strip_prefix("0x").or(wanted.strip_prefix("0X"));
    let number = digits.map_or_else(|| wanted.parse(), |digits| u16::from_str_radix(digits, 16));
    let number = number.map_err(|_| {
        format!("FERRITE_VERBS_PKEY is \"{wanted}\", which is no partition such as 0x8001")
    })?;
    let same = |pkey: &u16| pkey & 0x7fff == number & 0x7fff;
    port.pkeys.iter().position(same).map(|index| index as u16).ok_or_else(|| {
        let there: Vec<String> = port.pkeys.iter().filter(|pkey| **pkey != 0).map(hex).collect();
        format!("FERRITE_VERBS_PKEY is {wanted}, but {at} belongs to {}", there.join(", "))
    })
}

fn hex(pkey: &u16) -> String {
    format!("{pkey:#06x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: Gid = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 0, 1];
    const V6_WIRE: Gid = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0xff, 0xfe, 0, 0, 1];
    const V6: Gid = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

    fn gid(index: u8, gid: Gid, kind: GidKind) -> GidFound {
        GidFound { index, gid, kind }
    }

    fn port(number: u8, link: Link, speed: u32) -> PortFound {
        PortFound {
            number,
            is_active: true,
            link,
            lid: if link == Link::InfiniBand { 7 } else { 0 },
            mtu: 1024,
            speed,
            gids: vec![
                gid(0, V6_WIRE, GidKind::Plain),
                gid(1, V6_WIRE, GidKind::Routable),
                gid(2, V4, GidKind::Plain),
                gid(3, V4, GidKind::Routable),
                gid(4, V6, GidKind::Routable),
            ],
            pkeys: vec![0xffff, 0x8001],
        }
    }

    fn device(name: &str, ports: Vec<PortFound>) -> DeviceFound {
        DeviceFound { name: name.to_owned(), unfit: None, ports }
    }

    fn host() -> Vec<DeviceFound> {
        let mut sleeping = port(2, Link::InfiniBand, 400_000);
        sleeping.is_active = false;
        let mut odd = device("siw0", vec![port(1, Link::Ethernet, 800_000)]);
        odd.unfit = Some("speaks iWARP, which has no datagrams".to_owned());
        vec![
            device("mlx5_0", vec![port(1, Link::Ethernet, 100_000), sleeping]),
            device("mlx5_1", vec![port(1, Link::InfiniBand, 200_000)]),
            device(
                "mlx5_2",
                vec![port(1, Link::Ethernet, 25_000), port(2, Link::Ethernet, 50_000)],
            ),
            device("mlx5_3", vec![port(1, Link::InfiniBand, 200_000)]),
            odd,
        ]
    }

    fn with(change: impl FnOnce(&mut VerbsSettings)) -> Result<Vec<Chosen>, String> {
        let mut settings = VerbsSettings::default();
        change(&mut settings);
        choose(&host(), &settings)
    }

    fn which(chosen: &[Chosen]) -> Vec<(&str, u8, u8)> {
        chosen.iter().map(|one| (one.device.as_str(), one.port, one.gid_index)).collect()
    }

    #[test]
    fn the_first_of_the_fastest_ports_that_can_be_used_is_taken_unasked() {
        let chosen = with(|_| ()).unwrap();
        assert_eq!(which(&chosen), [("mlx5_1", 1, 0)], "InfiniBand's first address");
        assert_eq!((chosen[0].lid, chosen[0].pkey_index, chosen[0].mtu), (7, 0, 1024));
        assert!(!chosen[0].is_mtu_forced);
    }

    #[test]
    fn named_devices_are_taken_in_their_order() {
        let chosen = with(|s| s.devices = "mlx5_2, mlx5_0:1".to_owned()).unwrap();
        assert_eq!(which(&chosen), [("mlx5_2", 2, 3), ("mlx5_0", 1, 3)], "IPv4 by RoCE v2");
        let chosen = with(|s| s.devices = "mlx5_2:1".to_owned()).unwrap();
        assert_eq!(which(&chosen), [("mlx5_2", 1, 3)]);
    }

    #[test]
    fn what_the_user_says_is_used() {
        let chosen = with(|s| {
            s.devices = "mlx5_2".to_owned();
            (s.port, s.mtu, s.service_level, s.traffic_class) = (1, 512, 3, 105);
            (s.gid_index, s.pkey) = ("4".to_owned(), "0x1".to_owned());
        });
        let chosen = &chosen.unwrap()[0];
        assert_eq!((chosen.port, chosen.gid_index, chosen.gid), (1, 4, V6));
        assert_eq!((chosen.pkey_index, chosen.mtu, chosen.is_mtu_forced), (1, 512, true));
        assert_eq!((chosen.service_level, chosen.traffic_class), (3, 105));
    }

    #[test]
    fn what_cannot_be_is_said_in_a_sentence() {
        type Change = fn(&mut VerbsSettings);
        let cases: &[(Change, &str)] = &[
            (|s| s.devices = "mlx9".into(), "but this host has mlx5_0, mlx5_1"),
            (|s| s.devices = "mlx5_0:2".into(), "no active port 2"),
            (|s| s.devices = "mlx5_0:x".into(), "no number"),
            (|s| s.devices = "mlx5_0,mlx5_0".into(), "twice"),
            (|s| s.devices = "a,b,c".into(), "at most 2"),
            (|s| s.devices = "siw0".into(), "iWARP"),
            (|s| s.port = 9, "no port 9"),
            (|s| s.mtu = 1000, "256, 512"),
            (|s| s.mtu = 4096, "carries 1024 at most"),
            (|s| s.pkey = "0x8002".into(), "belongs to 0xffff, 0x8001"),
            (|s| s.pkey = "blue".into(), "no partition"),
            (|s| s.gid_index = "9".into(), "numbers 0, 1, 2, 3, 4"),
            (|s| s.service_level = 16, "may be 0 to 15"),
            (|s| s.traffic_class = 256, "may be 0 to 255"),
        ];
        for (change, what) in cases {
            let why = with(change).unwrap_err();
            assert!(why.contains(what), "\"{why}\" does not say \"{what}\"");
        }
        let why = choose(&[], &VerbsSettings::default()).unwrap_err();
        assert!(why.contains("no device"), "{why}");
    }

    #[test]
    fn a_port_without_addresses_cannot_be_used() {
        let mut bare = port(1, Link::Ethernet, 10);
        bare.gids.clear();
        let why = choose(&[device("rxe0", vec![bare])], &VerbsSettings::default()).unwrap_err();
        assert!(why.contains("IP address"), "{why}");
    }
}
