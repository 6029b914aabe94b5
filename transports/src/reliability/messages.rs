//! Large messages that the peer does not have yet, in the memory of their requests; they take turns.

use std::collections::VecDeque;
use std::ops::Range;

use mpi_core::datatype::Packer;
use mpi_core::header::Header;
use mpi_core::port::Token;

use super::flow::Flow;
use crate::fragment::{FRAGMENT_BYTES, FragmentHead};

/// Messages that take turns; others wait until one of them is given out.
const TURNS: usize = 8;

struct Message {
    header: Header,
    source: Packer,
    token: Token,
    total: u64,
    flow: Flow,
    /// Whether it is among those that have something to send.
    is_ready: bool,
}

/// Messages by number.
#[derive(Default)]
pub(super) struct Messages {
    /// Those from number `first` on; `None` are those that the peer has.
    list: VecDeque<Option<Message>>,
    first: u64,
    /// Those that have something to send, in the order of their turns.
    ready: VecDeque<u64>,
}

impl Messages {
    /// Whether the peer has all of them.
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Bytes of the oldest message that the peer does not have.
    pub(super) fn left_of_first(&self) -> u64 {
        let first = self.list.front().and_then(Option::as_ref);
        first.map_or(0, |message| message.total.saturating_sub(message.flow.low()))
    }

    /// Adds a message.
    pub(super) fn push(&mut self, header: &Header, source: Packer, token: Token) {
        let (header, total) = (*header, source.remaining());
        let flow = Flow::new(places(total));
        self.ready.push_back(self.first + self.list.len() as u64);
        self.list.push_back(Some(Message { header, source, token, total, flow, is_ready: true }));
    }

    fn get(&mut self, id: u64) -> Option<&mut Message> {
        self.list.get_mut(id.checked_sub(self.first)? as usize)?.as_mut()
    }

    /// Whether there may be something to send.
    #[inline]
    pub(super) fn has_next(&self) -> bool {
        !self.ready.is_empty()
    }

    /// What goes next into a datagram that has `room` for a load: number and range.
    pub(super) fn next(&mut self, room: usize) -> Option<(u64, Range<u64>)> {
        while let Some(id) = self.ready.pop_front() {
            let Some(message) = self.get(id) else { continue };
            let range = message.flow.next(room - FRAGMENT_BYTES, u64::MAX);
            message.is_ready = message.flow.has_next(u64::MAX);
            if message.is_ready {
                self.ready.insert(self.ready.len().min(TURNS - 1), id);
            }
            if let Some(range) = range {
                return Some((id, range));
            }
        }
        None
    }

    /// A fragment of a message: its head, and a cursor over its bytes.
    pub(super) fn fragment(&self, id: u64, range: &Range<u64>) -> Option<(FragmentHead, Packer)> {
        let message = self.list.get(id.checked_sub(self.first)? as usize)?.as_ref()?;
        let mut source = message.source.clone();
        source.skip(range.start);
        source.truncate(range.end - range.start);
        let (header, total, at) = (message.header, message.total, range.start);
        Some((FragmentHead { header, id, total, at }, source))
    }

    /// The peer has this range of a message. The token of one of which that was the last.
    pub(super) fn acknowledge(&mut self, id: u64, range: Range<u64>) -> Option<Token> {
        let message = self.get(id)?;
        message.flow.acknowledge(range);
        if !message.flow.is_done() {
            return None;
        }
        let ended = self.list.get_mut((id - self.first) as usize)?.take()?;
        while self.list.pop_front_if(|front| front.is_none()).is_some() {
            self.first += 1;
        }
        Some(ended.token)
    }

    /// This range has to go again, before anything new.
    pub(super) fn lose(&mut self, id: u64, range: Range<u64>) {
        let Some(message) = self.get(id) else { return };
        message.flow.lose(range);
        if !std::mem::replace(&mut message.is_ready, true) {
            self.ready.push_front(id);
        }
    }

    /// Gives back the memory that is not in use.
    pub(super) fn trim(&mut self) {
        self.list.shrink_to_fit();
        self.ready.shrink_to_fit();
    }
}

/// Places of a message of so many bytes: an empty one has one, so that it is sent and acknowledged as
/// others are.
#[inline]
pub(super) fn places(total: u64) -> u64 {
    total.max(1)
}
