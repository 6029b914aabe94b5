//! Large messages on their way in: fragments in any order, each put where it belongs as it comes.
//!
//! A byte is written once: where a fragment comes again, also in parts, only what is new is written, since
//! the memory of a message is the program's again when the last byte has come.

use std::collections::BTreeMap;
use std::ops::Range;

use mpi_core::buffer::RawBytes;
use mpi_core::port::{Landing, Token};

use super::messages::places;
use super::ranges::Ranges;
use super::{Breach, Listener};
use crate::fragment::FragmentHead;

/// Messages that may be on their way in at once, and runs of them that may be complete while others are
/// not: more than a path holds fragments of.
const OPEN_MAX: usize = 1 << 16;

struct Message {
    token: Token,
    total: u64,
    landing: Landing,
    come: Ranges,
}

/// Messages of which something has come and something has not.
#[derive(Default)]
pub(super) struct Arrivals {
    open: BTreeMap<u64, Message>,
    /// Numbers of those that are complete.
    done: Ranges,
}

impl Arrivals {
    /// Takes a fragment; whether there was room for it.
    pub(super) fn take(
        &mut self,
        head: &FragmentHead,
        bytes: &[u8],
        to: &mut impl Listener,
    ) -> Result<bool, Breach> {
        if self.done.contains(head.id) {
            return Ok(true);
        }
        let is_full = self.open.len().max(self.done.holes()) >= OPEN_MAX;
        if is_full && head.id != self.done.low() && !self.open.contains_key(&head.id) {
            return Ok(false);
        }
        let message = self.open.entry(head.id).or_insert_with(|| Message {
            token: Token(head.header.context),
            total: head.total,
            landing: to.begin(&head.header, head.total),
            come: Ranges::default(),
        });
        if message.total != head.total {
            return Err(Breach("two fragments of it disagree about their message"));
        }
        let end = head.at + places(bytes.len() as u64);
        let Message { come, landing, .. } = message;
        come.insert(head.at..end, |new| put(landing, head.at, bytes, &new));
        if message.come.low() < places(message.total) {
            return Ok(true);
        }
        let ended = self.open.remove(&head.id);
        self.done.insert(head.id..head.id + 1, drop);
        if let Some(Message { token, landing: Landing::User(_), .. }) = ended {
            to.landed(token);
        }
        Ok(true)
    }

    /// Whether something has come of a message and something has not.
    pub(super) fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }

    /// Gives back the memory that is not in use.
    pub(super) fn trim(&mut self) {
        self.done.trim();
    }
}

/// Puts the bytes at the places `new` of a message where they belong; `bytes` begin at the place `at`.
fn put(landing: &Landing, at: u64, bytes: &[u8], new: &Range<u64>) {
    let Landing::User(to) = landing else { return };
    let (from, len) = ((new.start - at) as usize, (new.end - new.start) as usize);
    // An empty message has a place and no bytes.
    let Some(bytes) = bytes.get(from..from + len) else { return };
    let mut to = to.clone();
    to.skip(new.start);
    // SAFETY: the memory of the request is writable until `landed`, by the contract of `Landing`, and
    // is no part of a datagram.
    unsafe { to.unpack_from(RawBytes::from(bytes)) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::pattern;
    use crate::reliability::tests::{Recorder, target};
    use mpi_core::header::Header;
    use proptest::prelude::*;

    fn head(id: u64, total: u64, at: u64) -> FragmentHead {
        FragmentHead { header: Header { context: 70 + id, ..Header::default() }, id, total, at }
    }

    proptest! {
        #[test]
        fn each_byte_comes_to_its_place_once(
            total in 0usize..3000,
            fragments in prop::collection::vec((any::<prop::sample::Index>(), 0usize..700), 0..40),
        ) {
            let source = pattern(1, total);
            let mut memory = vec![0; total];
            let (mut all, mut heard) = (Arrivals::default(), Recorder::default());
            heard.landings.push((70, target(&mut memory)));
            let random = fragments.iter().filter(|_| total > 0).map(|(at, len)| (at.index(total), *len));
            let rest = (0..total.max(1)).step_by(100).map(|at| (at, 100));
            for (at, len) in random.chain(rest) {
                let bytes = &source[at..total.min(at + len)];
                if !bytes.is_empty() || total == 0 {
                    prop_assert_eq!(all.take(&head(0, total as u64, at as u64), bytes, &mut heard), Ok(true));
                }
            }
            prop_assert_eq!(&memory, &source);
            prop_assert_eq!(&heard.landed, &[Token(70)]);
            prop_assert!(all.open.is_empty());
            // The memory is the program's: a late copy does not touch it.
            memory.fill(7);
            prop_assert_eq!(all.take(&head(0, total as u64, 0), &source, &mut heard), Ok(true));
            prop_assert!(memory.iter().all(|byte| *byte == 7));
            prop_assert_eq!(heard.landed.len(), 1);
        }
    }

    #[test]
    fn a_message_has_one_length() {
        let (mut all, mut heard) = (Arrivals::default(), Recorder::default());
        assert_eq!(all.take(&head(0, 10, 0), &[1; 5], &mut heard), Ok(true));
        assert!(all.take(&head(0, 11, 5), &[1; 6], &mut heard).is_err());
    }

    #[test]
    fn who_begins_too_many_messages_is_not_heard() {
        let (mut all, mut heard) = (Arrivals::default(), Recorder::default());
        for id in 0..OPEN_MAX as u64 {
            assert_eq!(all.take(&head(id, 2, 0), &[1], &mut heard), Ok(true));
        }
        assert_eq!(all.take(&head(1 << 40, 2, 0), &[1], &mut heard), Ok(false));
        assert_eq!(all.take(&head(7, 2, 1), &[1], &mut heard), Ok(true));
        assert_eq!(all.take(&head(1 << 40, 2, 0), &[1], &mut heard), Ok(true));
    }
}
