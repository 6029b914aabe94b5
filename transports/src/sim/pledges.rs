//! What processes have told each other for their rendezvous, and whether they keep to it: an offer
//! is ended once and not fetched after that, and a landing is written to by whom it was told, for
//! the message that it is for, and once.
//!
//! In: offers and landings as they are told, used and ended. Out: a panic over whoever breaks a
//! rule; words that nobody has told are no pledge, since a peer may say anything.

use mpi_core::port::{Advert, Offer};

use super::endpoint::EndpointId;
use crate::offers::SIMULATED;

/// Bytes that `from` lets `to` fetch.
struct Offered {
    from: EndpointId,
    to: EndpointId,
    offer: Offer,
    ended: bool,
}

/// Where `from` may write the bytes of one message to `to`.
struct Landing {
    from: EndpointId,
    to: EndpointId,
    /// Token and length of the message.
    message: (u64, u64),
    advert: Advert,
    used: bool,
}

/// All that was told, in the order of telling.
#[derive(Default)]
pub(super) struct Pledges {
    offers: Vec<Offered>,
    landings: Vec<Landing>,
}

impl Pledges {
    /// `from` offers `to` the bytes at an address.
    pub(super) fn offer(&mut self, from: EndpointId, to: EndpointId, address: u64) -> Offer {
        let offer = Offer { kind: SIMULATED, words: [address, self.offers.len() as u64] };
        self.offers.push(Offered { from, to, offer, ended: false });
        offer
    }

    fn find(&mut self, from: EndpointId, to: EndpointId, offer: &Offer) -> Option<&mut Offered> {
        let place = usize::try_from(offer.words[1]).ok()?;
        let offered = self.offers.get_mut(place)?;
        (offered.offer == *offer && (offered.from, offered.to) == (from, to)).then_some(offered)
    }

    /// Whether `to` may fetch what it says that `from` has offered.
    ///
    /// # Panics
    /// The offer has been ended, though the bytes were still to be fetched.
    pub(super) fn may_fetch(&mut self, from: EndpointId, to: EndpointId, offer: &Offer) -> bool {
        let offered = self.find(from, to, offer);
        let ended = offered.as_ref().is_some_and(|offered| offered.ended);
        assert!(!ended, "{from:?} has ended {offer:?}, which {to:?} fetches");
        offered.is_some()
    }

    /// `from` ends an offer.
    ///
    /// # Panics
    /// It has made no such offer, or has ended it already.
    pub(super) fn end(&mut self, from: EndpointId, to: EndpointId, offer: &Offer) {
        let offered = self.find(from, to, offer);
        let offered = offered.unwrap_or_else(|| panic!("{from:?} made {to:?} no {offer:?}"));
        assert!(!std::mem::replace(&mut offered.ended, true), "{from:?} ended {offer:?} twice");
    }

    /// `from` leaves in good order.
    ///
    /// # Panics
    /// It has not ended all its offers.
    pub(super) fn leave(&self, from: EndpointId) {
        let open = self.offers.iter().filter(|offered| offered.from == from && !offered.ended);
        let open = open.count();
        assert!(open == 0, "{from:?} leaves with {open} offers that have not ended");
    }

    /// `to` tells `from` where the message with this token and length goes.
    pub(super) fn advertise(
        &mut self,
        from: EndpointId,
        to: EndpointId,
        message: (u64, u64),
    ) -> Advert {
        let mut bytes = [0; 24];
        let words = [self.landings.len() as u64, message.0, !message.1];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        let advert = Advert { kind: SIMULATED, bytes };
        self.landings.push(Landing { from, to, message, advert, used: false });
        advert
    }

    /// `from` sends `to` the message with this token and length where it was told.
    ///
    /// # Panics
    /// It was told by or for another, or has been there already.
    pub(super) fn use_landing(
        &mut self,
        from: EndpointId,
        to: EndpointId,
        message: (u64, u64),
        advert: &Advert,
    ) {
        let place = advert.bytes.first_chunk().map_or(u64::MAX, |word| u64::from_le_bytes(*word));
        let known = usize::try_from(place).ok().and_then(|place| self.landings.get_mut(place));
        let Some(landing) = known.filter(|landing| landing.advert == *advert) else { return };
        let meant = (landing.from, landing.to, landing.message);
        assert_eq!(meant, (from, to, message), "a landing is used for another message");
        assert!(!std::mem::replace(&mut landing.used, true), "{from:?} used {advert:?} twice");
    }

    /// How many landings were told, and used.
    pub(super) fn landings(&self) -> Landings {
        let used = self.landings.iter().filter(|landing| landing.used).count();
        Landings { told: self.landings.len(), used }
    }
}

/// Landings that receivers have told their senders.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Landings {
    /// Their number.
    pub told: usize,
    /// How many of them came back with the bytes.
    pub used: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: EndpointId = EndpointId(0);
    const B: EndpointId = EndpointId(1);

    fn panics(act: impl FnOnce(&mut Pledges)) -> bool {
        let mut pledges = Pledges::default();
        let act = std::panic::AssertUnwindSafe(|| act(&mut pledges));
        std::panic::catch_unwind(act).is_err()
    }

    #[test]
    fn an_offer_is_fetched_until_it_is_ended_once() {
        let mut pledges = Pledges::default();
        let offer = pledges.offer(A, B, 7);
        assert!(pledges.may_fetch(A, B, &offer) && !pledges.may_fetch(B, A, &offer));
        let foreign = Offer { words: [8, offer.words[1]], ..offer };
        assert!(!pledges.may_fetch(A, B, &foreign), "a peer may say anything");
        pledges.end(A, B, &offer);
        pledges.leave(A);
        let ended = |pledges: &mut Pledges| {
            let offer = pledges.offer(A, B, 7);
            pledges.end(A, B, &offer);
            offer
        };
        assert!(panics(|pledges| {
            let offer = ended(pledges);
            pledges.end(A, B, &offer);
        }));
        assert!(panics(|pledges| {
            let offer = ended(pledges);
            pledges.may_fetch(A, B, &offer);
        }));
        assert!(panics(|pledges| pledges.end(A, B, &foreign)));
        assert!(panics(|pledges| {
            pledges.offer(A, B, 7);
            pledges.leave(A);
        }));
    }

    #[test]
    fn a_landing_is_used_once_by_whom_it_was_told() {
        let used = |uses: &[(EndpointId, u64)]| {
            panics(|pledges| {
                let advert = pledges.advertise(A, B, (5, 100));
                for (from, token) in uses {
                    pledges.use_landing(*from, B, (*token, 100), &advert);
                }
                assert_eq!(pledges.landings(), Landings { told: 1, used: uses.len() });
            })
        };
        assert!(!used(&[]) && !used(&[(A, 5)]));
        assert!(used(&[(B, 5)]) && used(&[(A, 6)]) && used(&[(A, 5), (A, 5)]));
        let nobodys = Advert { kind: SIMULATED, bytes: [0xff; 24] };
        assert!(!panics(|pledges| pledges.use_landing(A, B, (5, 100), &nobodys)));
    }
}
