//! Large messages: cut into fragments on the way out, put together on the way in.
//!
//! A message short of the stripe limit takes one stream, each the next in turn (paper 000, §4.2);
//! a longer one is striped: evenly, a fragment for each stream, if that makes no fragment longer than
//! fragments are, or else whichever stream has sent all it had takes its next fragment. The memory of a
//! message belongs to its transfer until the peer has acknowledged its last byte, since a broken
//! connection may have to send any of it again.

use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::Header;
use mpi_core::port::{Landing, Token};

use super::coverage::Coverage;
use super::record::{FragmentHead, Kind};
use super::stream::Stream;

/// A message on its way to a peer.
struct Leaving {
    id: u64,
    header: Header,
    source: Packer,
    token: Token,
    total: u64,
    at: u64,
    /// Fragments that are not acknowledged.
    fragments: u32,
    /// The stream that carries it, unless all do.
    stream: Option<u32>,
    /// Bytes of each stream's fragment, if it is cut evenly.
    share: Option<u32>,
    /// The streams that have had theirs, by bits.
    served: u32,
    begun: bool,
}

const _: () = assert!(super::STREAMS_MAX <= u32::BITS);

/// A message on its way from a peer.
pub(super) struct Arriving {
    id: u64,
    token: Token,
    total: u64,
    coverage: Coverage,
    landing: Landing,
}

/// The messages on their way to a peer.
#[derive(Default)]
pub(super) struct Outbound {
    all: Vec<Leaving>,
    /// Number of the next one.
    next: u64,
    /// Stream of the next one that takes one stream.
    turn: u32,
}

impl Outbound {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
    }

    /// Takes over a message; the streams that are to carry it.
    pub(super) fn add(
        &mut self,
        header: &Header,
        source: Packer,
        token: Token,
        (streams, stripe, fragment): (u32, u64, u32),
    ) -> std::ops::Range<u32> {
        let total = source.remaining();
        let stream = (total < stripe).then_some(self.turn % streams);
        if stream.is_some() {
            self.turn = self.turn.wrapping_add(1);
        }
        let share = total.div_ceil(streams.into()).next_multiple_of(64);
        let even = stream.is_none() && total > 0 && share <= fragment.into();
        let share = even.then_some(share as u32);
        let id = self.next;
        self.next += 1;
        let header = *header;
        let (at, fragments, served, begun) = (0, 0, 0, false);
        self.all.push(Leaving {
            id,
            header,
            source,
            token,
            total,
            at,
            fragments,
            stream,
            share,
            served,
            begun,
        });
        stream.map_or(0..streams, |one| one..one + 1)
    }

    /// Puts the next fragment that the stream with this number may carry on it; whether there was one.
    pub(super) fn push_fragment(
        &mut self,
        stream: u32,
        to: &mut Stream,
        fragment_bytes: u32,
    ) -> bool {
        let mine = |leaving: &Leaving| {
            leaving.stream.is_none_or(|one| one == stream)
                && (leaving.share.is_none() || leaving.served & (1 << stream) == 0)
                && (!leaving.begun || leaving.source.remaining() > 0)
        };
        let Some(place) = self.all.iter().position(mine) else { return false };
        let leaving = &mut self.all[place];
        leaving.served |= 1 << stream;
        leaving.push_fragment(to, leaving.share.unwrap_or(fragment_bytes));
        // Transfers take turns.
        let last = self.all.len() - 1;
        if place < last {
            self.all[place..].rotate_left(1);
        }
        true
    }

    /// A fragment of transfer `id` is with the peer; the token of a transfer of which that was the
    /// last.
    pub(super) fn released(&mut self, id: u64) -> Option<Token> {
        let place = self.all.iter().position(|one| one.id == id)?;
        let one = &mut self.all[place];
        one.fragments -= 1;
        let is_over = one.fragments == 0 && one.source.remaining() == 0;
        is_over.then(|| self.all.remove(place).token)
    }
}

impl Leaving {
    fn push_fragment(&mut self, stream: &mut Stream, fragment_bytes: u32) {
        let len = self.source.remaining().min(fragment_bytes.into()) as usize;
        let head =
            FragmentHead { header: self.header, id: self.id, total: self.total, at: self.at };
        let ack = stream.tell();
        stream.output.push_front(Kind::Fragment, ack, head.to_bytes(), len);
        self.begun = true;
        self.at += len as u64;
        self.fragments += 1;
        match self.source.as_contiguous() {
            Some((at, _)) if len > 0 && !stream.output.encrypts() => {
                self.source.skip(len as u64);
                // SAFETY: the message is readable until `sent`, by the contract of `send_bulk`.
                unsafe { stream.output.push_user(at, len, self.id) };
            }
            _ => {
                let mut bytes = vec![0; len].into_boxed_slice();
                // SAFETY: the box has `len` bytes; the message is readable until `sent`, by the
                // contract of `send_bulk`.
                unsafe { self.source.pack_into(bytes.as_mut_ptr(), len) };
                stream.output.push_packed(bytes, self.id);
            }
        }
    }
}

impl Arriving {
    /// The transfer that a first fragment begins, once the sink has said where it goes.
    fn new(head: &FragmentHead, landing: Landing) -> Arriving {
        let token = Token(head.header.context);
        let coverage = Coverage::default();
        Arriving { id: head.id, token, total: head.total, coverage, landing }
    }

    /// Where a fragment of `len` bytes goes that begins on a stream. No other fragment may be for its
    /// bytes.
    fn place(
        &mut self,
        stream: u32,
        head: &FragmentHead,
        len: u64,
    ) -> Result<Option<Unpacker>, &'static str> {
        if head.total != self.total {
            return Err("two fragments of it disagree about their message");
        }
        self.coverage.begin(stream, head.at..head.at + len)?;
        let Landing::User(to) = &self.landing else { return Ok(None) };
        let mut to = to.clone();
        to.skip(head.at);
        to.truncate(len);
        Ok(Some(to))
    }
}

/// A fragment of `len` bytes begins on a stream: where it goes. The first one of a message asks where all
/// of that is to land.
pub(super) fn begin_fragment(
    arriving: &mut Vec<Arriving>,
    stream: u32,
    head: &FragmentHead,
    len: u64,
    landing: impl FnOnce() -> Landing,
) -> Result<Option<Unpacker>, &'static str> {
    let known = arriving.iter().position(|one| one.id == head.id);
    let place = known.unwrap_or_else(|| {
        arriving.push(Arriving::new(head, landing()));
        arriving.len() - 1
    });
    arriving[place].place(stream, head, len)
}

/// The fragment of transfer `id` that a stream was within has come; a message that is complete, with its
/// token if somebody wanted it.
pub(super) fn end_fragment(
    arriving: &mut Vec<Arriving>,
    stream: u32,
    id: u64,
) -> Result<Option<Option<Token>>, &'static str> {
    let place = arriving.iter().position(|one| one.id == id);
    let place = place.ok_or("a fragment of it belongs to no message")?;
    let one = &mut arriving[place];
    one.coverage.end(stream)?;
    Ok(one.coverage.is_whole(one.total).then(|| {
        let Arriving { token, landing, .. } = arriving.swap_remove(place);
        matches!(landing, Landing::User(_)).then_some(token)
    }))
}
