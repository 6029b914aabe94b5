//! The business card of an endpoint: `ofi1:PROVIDER:PROTOCOL:DATA:BYTES:ADDRESS`.
//!
//! The protocol (number and version as the provider counts) and the bytes of data that go with each message
//! must be the same at both ends. The address is the provider's own, in hexadecimal digits, after its length.

use crate::cards::CARD_MAX;

const CARD_KIND: &str = "ofi1";

/// What both ends must have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tongue {
    /// The provider's name.
    pub(super) provider: String,
    /// Its protocol and the version of that.
    pub(super) protocol: (u32, u32),
    /// Bytes of data with each message.
    pub(super) data_bytes: usize,
}

/// Where a process hears others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Card {
    pub(super) tongue: Tongue,
    pub(super) address: Vec<u8>,
}

impl Card {
    /// The card as text.
    pub(super) fn to_text(&self) -> String {
        let Tongue { provider, protocol: (protocol, version), data_bytes } = &self.tongue;
        let (bytes, digits) = (self.address.len(), hex::encode(&self.address));
        format!("{CARD_KIND}:{provider}:{protocol}.{version}:{data_bytes}:{bytes}:{digits}")
    }

    /// Reads a card that anybody may have written.
    pub(super) fn from_text(text: &str) -> Option<Card> {
        if text.len() > CARD_MAX {
            return None;
        }
        let mut parts = text.split(':');
        let mut part = || parts.next();
        if part()? != CARD_KIND {
            return None;
        }
        let provider = part().filter(|name| !name.is_empty())?.to_owned();
        let (protocol, version) = part()?.split_once('.')?;
        let protocol = (number(protocol)?, number(version)?);
        let data_bytes = number(part()?)? as usize;
        let (bytes, digits) = (number(part()?)? as usize, part()?);
        let address = hex::decode(digits).ok()?;
        let is_ours = !digits.bytes().any(|digit| digit.is_ascii_uppercase());
        if part().is_some() || bytes == 0 || address.len() != bytes || !is_ours {
            return None;
        }
        Some(Card { tongue: Tongue { provider, protocol, data_bytes }, address })
    }
}

/// A number as this file writes it.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number: &u32| number.to_string() == text)
}

impl Tongue {
    /// Why two ends do not understand each other, if they do not.
    pub(super) fn differs(&self, theirs: &Tongue) -> Option<String> {
        if self.provider != theirs.provider {
            return Some(format!(
                "it uses libfabric's provider {} and this process {}; choose one for all ranks by \
                 FERRITE_OFI_PROVIDER",
                theirs.provider, self.provider
            ));
        }
        (self != theirs).then(|| {
            format!(
                "its provider {} speaks another version of the protocol; use the same libfabric on all hosts \
                 (FERRITE_OFI_LIBRARY)",
                self.provider
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn card(provider: &str, address: Vec<u8>) -> Card {
        let tongue = Tongue { provider: provider.into(), protocol: (17, 1), data_bytes: 8 };
        Card { tongue, address }
    }

    #[test]
    fn ends_of_two_providers_or_versions_are_told_apart_in_a_sentence() {
        let (tcp, rxm) = (card("tcp", vec![1]).tongue, card("tcp;ofi_rxm", vec![1]).tongue);
        assert_eq!(tcp.differs(&tcp), None);
        let why = tcp.differs(&rxm).unwrap();
        assert!(why.contains("tcp;ofi_rxm") && why.contains("FERRITE_OFI_PROVIDER"), "{why}");
        let newer = Tongue { protocol: (17, 2), ..tcp.clone() };
        assert!(tcp.differs(&newer).unwrap().contains("version"));
    }

    #[test]
    fn a_part_of_a_card_is_no_card() {
        let text = card("tcp;ofi_rxm", (0..16).collect()).to_text();
        assert_eq!(text, "ofi1:tcp;ofi_rxm:17.1:8:16:000102030405060708090a0b0c0d0e0f");
        for end in 0..text.len() {
            assert_eq!(Card::from_text(&text[..end]), None, "{}", &text[..end]);
        }
        for wrong in
            [format!("{text}0"), format!("{text}00"), format!("{text}:"), text.to_uppercase()]
        {
            assert_eq!(Card::from_text(&wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn cards_come_back(provider in "[a-z0-9_;]{1,20}", address in prop::collection::vec(any::<u8>(), 1..96)) {
            let card = card(&provider, address);
            let text = card.to_text();
            prop_assert!(text.len() <= CARD_MAX);
            prop_assert_eq!(Card::from_text(&text), Some(card));
        }

        #[test]
        fn noise_is_no_card(text: String, tail in "[0-9a-f:.;]{0,80}") {
            prop_assert!(Card::from_text(&text).is_none());
            if let Some(card) = Card::from_text(&format!("ofi1:{tail}")) {
                prop_assert_eq!(card.to_text(), format!("ofi1:{tail}"));
            }
        }
    }
}
