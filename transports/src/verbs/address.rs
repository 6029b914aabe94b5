//! Where a port is, as others say it: in a business card, in a handshake, and to the device.
//!
//! In: bytes and texts from anybody. Out: addresses, or nothing.

use rdma_sys::{ibv_ah_attr, ibv_gid, ibv_global_route};

use super::choice::{Chosen, Gid, Link};

/// Routers that a packet may pass.
const HOPS: u8 = 64;

/// Bytes of an address in a handshake.
pub(super) const PORT_BYTES: usize = 19;

/// Where a port is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct PortAddress {
    pub(super) link: Link,
    pub(super) gid: Gid,
    pub(super) lid: u16,
}

impl PortAddress {
    pub(super) fn of(chosen: &Chosen) -> PortAddress {
        PortAddress { link: chosen.link, gid: chosen.gid, lid: chosen.lid }
    }

    pub(super) fn to_bytes(self) -> [u8; PORT_BYTES] {
        let mut bytes = [0; PORT_BYTES];
        bytes[..16].copy_from_slice(&self.gid);
        bytes[16..18].copy_from_slice(&self.lid.to_le_bytes());
        bytes[18] = (self.link == Link::Ethernet).into();
        bytes
    }

    pub(super) fn from_bytes(bytes: [u8; PORT_BYTES]) -> Option<PortAddress> {
        let (gid, rest) = bytes.split_first_chunk()?;
        let link = match rest[2] {
            0 => Link::InfiniBand,
            1 => Link::Ethernet,
            _ => return None,
        };
        Some(PortAddress { link, gid: *gid, lid: u16::from_le_bytes([rest[0], rest[1]]) })
    }

    /// The way there from a port of ours.
    pub(super) fn way(&self, from: &Chosen) -> Result<ibv_ah_attr, String> {
        if self.link != from.link {
            let name = |link| if link == Link::Ethernet { "Ethernet" } else { "InfiniBand" };
            return Err(format!(
                "port {} of {} is on {}, the peer's on {}; name devices of one network in FERRITE_VERBS_DEVICES",
                from.port,
                from.device,
                name(from.link),
                name(self.link),
            ));
        }
        // On InfiniBand packets go by the local number, but to another subnet by the global address as well.
        let is_global = self.link == Link::Ethernet || self.gid[..8] != from.gid[..8];
        Ok(ibv_ah_attr {
            grh: ibv_global_route {
                dgid: ibv_gid { raw: self.gid },
                flow_label: 0,
                sgid_index: from.gid_index,
                hop_limit: HOPS,
                traffic_class: from.traffic_class,
            },
            dlid: self.lid,
            sl: from.service_level,
            src_path_bits: 0,
            static_rate: 0,
            is_global: is_global.into(),
            port_num: from.port,
        })
    }
}

/// Where a process hears handshakes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address {
    pub(super) port: PortAddress,
    pub(super) queue_pair: u32,
    pub(super) qkey: u32,
}

/// What a card begins with: what it is, and the version of its form.
const CARD: &str = "verbs1";

impl Address {
    /// The text: `verbs1:e:GID:LID:QPN:QKEY`, in hexadecimal digits of fixed number.
    pub(super) fn card(&self) -> String {
        let link = if self.port.link == Link::Ethernet { 'e' } else { 'i' };
        let gid = u128::from_be_bytes(self.port.gid);
        let (lid, number, qkey) = (self.port.lid, self.queue_pair, self.qkey);
        format!("{CARD}:{link}:{gid:032x}:{lid:04x}:{number:06x}:{qkey:08x}")
    }

    /// Reads such a text, which anybody may have written.
    pub(super) fn from_card(card: &str) -> Result<Address, String> {
        let wrong = || {
            let start: String = card.chars().take(60).collect();
            format!("\"{start}\" is no card for verbs of this version of Ferrite MPI")
        };
        Address::read(card).ok_or_else(wrong)
    }

    fn read(card: &str) -> Option<Address> {
        let mut fields = card.split(':');
        let mut field = || fields.next();
        if field()? != CARD {
            return None;
        }
        let link = match field()? {
            "e" => Link::Ethernet,
            "i" => Link::InfiniBand,
            _ => return None,
        };
        let gid = digits(field()?, 32)?.to_be_bytes();
        let lid = u16::try_from(digits(field()?, 4)?).ok()?;
        let queue_pair = u32::try_from(digits(field()?, 6)?).ok()?;
        let qkey = u32::try_from(digits(field()?, 8)?).ok()?;
        let port = PortAddress { link, gid, lid };
        field().is_none().then_some(Address { port, queue_pair, qkey })
    }
}

/// So many hexadecimal digits.
pub(super) fn digits(text: &str, number: usize) -> Option<u128> {
    let is_hex = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    let good = text.len() == number && text.bytes().all(is_hex);
    good.then(|| u128::from_str_radix(text, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn port()(ethernet: bool, gid: Gid, lid: u16) -> PortAddress {
            let link = if ethernet { Link::Ethernet } else { Link::InfiniBand };
            PortAddress { link, gid, lid }
        }
    }

    proptest! {
        #[test]
        fn cards_come_back_and_nothing_near_them(
            port in port(), queue_pair in 0u32..1 << 24, qkey: u32,
            place in any::<prop::sample::Index>(), instead in "[ -~]",
        ) {
            let address = Address { port, queue_pair, qkey };
            let card = address.card();
            prop_assert!(card.len() <= crate::cards::CARD_MAX);
            prop_assert_eq!(Address::from_card(&card), Ok(address));
            let place = place.index(card.len());
            prop_assert!(Address::from_card(&card[..place]).is_err());
            let changed = format!("{}{instead}{}", &card[..place], &card[place + 1..]);
            // Another digit is another address; nothing else passes.
            prop_assert!(Address::from_card(&changed).is_ok_and(|read| read.card() == changed)
                || Address::from_card(&changed).is_err());
            let longer = format!("{card}{instead}");
            prop_assert!(Address::from_card(&longer).is_err());
        }

        #[test]
        fn any_text_is_read_without_panic(text in ".{0,80}") {
            prop_assert!(Address::from_card(&text).is_err());
        }

        #[test]
        fn addresses_come_back_from_bytes(port in port(), other: u8) {
            let mut bytes = port.to_bytes();
            prop_assert_eq!(PortAddress::from_bytes(bytes), Some(port));
            bytes[18] = other;
            prop_assert_eq!(PortAddress::from_bytes(bytes).is_some(), other < 2);
        }
    }
}
