//! Where a process hears datagrams, as its card says it: `ud1:MTU:` and the card of a queue pair
//! ([`crate::verbs::address`]), in hexadecimal digits of fixed number.
//!
//! In: texts from anybody. Out: addresses, or nothing.

use crate::verbs::address::{Address, digits};

/// What a card begins with: what it is, and the version of its form.
const CARD: &str = "ud1:";
/// Bytes of packets that a port may carry.
const MTUS: std::ops::RangeInclusive<u16> = 256..=4096;

/// Where a process hears, and how long datagrams there may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) address: Address,
    pub(super) mtu: u16,
}

impl Place {
    /// The text.
    pub(super) fn card(&self) -> String {
        format!("{CARD}{:04x}:{}", self.mtu, self.address.card())
    }

    /// Reads such a text, which anybody may have written.
    pub(super) fn from_card(card: &str) -> Option<Place> {
        let (mtu, address) = card.strip_prefix(CARD)?.split_once(':')?;
        let mtu = u16::try_from(digits(mtu, 4)?).ok().filter(|mtu| MTUS.contains(mtu))?;
        Some(Place { address: Address::from_card(address).ok()?, mtu })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::verbs::address::PortAddress;
    use crate::verbs::choice::Link;

    proptest! {
        #[test]
        fn cards_come_back_and_no_part_of_one_does(
            gid: [u8; 16], lid: u16, queue_pair in 0u32..1 << 24, qkey: u32, mtu in MTUS, cut in 1usize..40,
        ) {
            let port = PortAddress { link: Link::Ethernet, gid, lid };
            let place = Place { address: Address { port, queue_pair, qkey }, mtu };
            let card = place.card();
            prop_assert!(card.len() <= crate::cards::CARD_MAX);
            prop_assert_eq!(Place::from_card(&card), Some(place));
            prop_assert_eq!(Place::from_card(&card[..card.len() - cut]), None);
            prop_assert_eq!(Place::from_card(&card[cut..]), None);
        }

        #[test]
        fn any_text_is_read_without_panic(text in ".{0,80}", tail in "[0-9a-f:]{0,80}") {
            prop_assert_eq!(Place::from_card(&text), None);
            let _ = Place::from_card(&format!("{CARD}{tail}"));
        }
    }

    #[test]
    fn packets_of_no_port_are_refused() {
        let rest = format!("verbs1:e:{}:0000:000001:00000001", "0".repeat(32));
        for (mtu, is_right) in [("0100", true), ("1000", true), ("00ff", false), ("1001", false)] {
            let card = format!("{CARD}{mtu}:{rest}");
            assert_eq!(Place::from_card(&card).is_some(), is_right, "{card}");
        }
    }
}
