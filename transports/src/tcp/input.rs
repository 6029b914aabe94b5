//! The incoming half of a stream: from bytes, however they were cut, to records.
//!
//! Its state outlives connections as that of [`super::output`] does, so what has begun to arrive
//! over one connection goes on over the next. Bytes of a piece, and of a frame that a receive waits
//! for, can be read by the kernel straight into the message's memory: [`Input::landing`] says
//! where. What arrives is told to a [`Listener`]; no input or output happens here.

use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Unpacker;
use mpi_core::header::{HEADER_BYTES, Header};
use mpi_core::port::Token;

use super::record::{Kind, PIECE_BYTES, PieceHead, RECORD_BYTES, Record};

/// Who hears what a stream brought. An error is the peer's breach of the protocol.
pub(super) trait Listener {
    /// The peer has so many bytes of the opposite direction.
    fn acknowledged(&mut self, place: u64) -> Result<(), &'static str>;
    /// A frame of the core.
    fn frame(&mut self, header: &Header, body: RawBytes<'_>);
    /// A frame of the core begins whose body of `len` bytes is still on its way. Where it goes, if
    /// that is known; then [`Listener::frame_done`] follows, else [`Listener::frame`].
    fn frame_begins(&mut self, header: &Header, len: u64) -> Option<(Unpacker, Token)>;
    /// The body of a frame is where [`Listener::frame_begins`] wanted it.
    fn frame_done(&mut self, token: Token);
    /// A piece of `len` bytes begins; where it goes, or `None` for bytes that nobody wants.
    fn piece(&mut self, head: &PieceHead, len: u64) -> Result<Option<Unpacker>, &'static str>;
    /// `len` bytes of a transfer are in place; the piece is complete.
    fn piece_done(&mut self, id: u64, len: u64) -> Result<(), &'static str>;
    /// The peer wants an acknowledgement.
    fn ping(&mut self);
    /// The peer leaves.
    fn bye(&mut self);
}

/// So many bytes of a frame must be missing before it is worth a thought where they go.
const WORTH_PLACING: usize = 4 << 10;

/// What ends when its last byte has come.
#[derive(Clone, Copy)]
enum End {
    /// A piece of a transfer: its number, and the piece's length.
    Piece(u64, u64),
    /// The body of a frame.
    Frame(Token),
}

/// Bytes that are arriving and have their place.
struct Piece {
    end: End,
    left: u64,
    to: Option<Unpacker>,
}

/// How far a stream was read.
#[derive(Default)]
pub(super) struct Input {
    received: u64,
    /// The beginning of a record whose rest has not come.
    partial: Vec<u8>,
    piece: Option<Piece>,
}

impl Input {
    /// Bytes received in all.
    #[inline]
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Bytes that were received but are no whole record; they come first in the next
    /// [`Input::take`].
    #[inline]
    pub(super) fn partial(&self) -> &[u8] {
        &self.partial
    }

    /// Whether part of a piece has come and the rest of it is still to come.
    #[inline]
    pub(super) fn is_amid_piece(&self) -> bool {
        self.piece.as_ref().is_some_and(|piece| matches!(piece.end, End::Piece(..)))
    }

    /// How many further bytes a record that has begun needs at least.
    pub(super) fn missing(&self) -> usize {
        let head = self.partial.first_chunk();
        let len = head.and_then(|head| Record::from_bytes(head, usize::MAX / 2).ok());
        let need = len.map_or(0, |record| match record.kind {
            Kind::Piece => PIECE_BYTES,
            _ => record.len as usize,
        });
        (RECORD_BYTES + need).saturating_sub(self.partial.len())
    }

    /// Where the next bytes go if they are one run of a message's memory.
    #[inline]
    pub(super) fn landing(&self) -> Option<(*mut u8, usize)> {
        let piece = self.piece.as_ref()?;
        let (at, len) = piece.to.as_ref()?.as_contiguous()?;
        let len = len.min(piece.left);
        (len > 0).then_some((at, len as usize))
    }

    /// Notes that `n` bytes were read to where [`Input::landing`] said.
    pub(super) fn landed(&mut self, n: usize, to: &mut impl Listener) -> Result<(), &'static str> {
        self.received += n as u64;
        if let Some(piece) = &mut self.piece {
            if let Some(unpacker) = &mut piece.to {
                unpacker.skip(n as u64);
            }
            piece.left -= n as u64;
        }
        self.end_piece(to)
    }

    /// Takes bytes that begin with [`Input::partial`], `fresh` of which are new.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        fresh: usize,
        frame_max: usize,
        to: &mut impl Listener,
    ) -> Result<(), &'static str> {
        self.received += fresh as u64;
        let mut at = 0;
        while at < bytes.len() {
            let used = match self.piece {
                Some(_) => self.take_piece(&bytes[at..], to)?,
                None => self.take_record(&bytes[at..], frame_max, to)?,
            };
            if used == 0 {
                break;
            }
            at += used;
        }
        // `bytes` begins with a copy of what is partial, so that may be overwritten.
        self.partial.clear();
        self.partial.extend_from_slice(&bytes[at..]);
        Ok(())
    }

    /// Bytes of the piece that is arriving.
    fn take_piece(&mut self, bytes: &[u8], to: &mut impl Listener) -> Result<usize, &'static str> {
        let Some(piece) = &mut self.piece else { return Ok(0) };
        let n = bytes.len().min(usize::try_from(piece.left).unwrap_or(usize::MAX));
        if let Some(unpacker) = &mut piece.to {
            // SAFETY: the request's memory is writable until its transfer has landed, by the
            // contract of `Landing`, and is no part of our buffer.
            unsafe { unpacker.unpack_from(RawBytes::from(&bytes[..n])) };
        }
        piece.left -= n as u64;
        self.end_piece(to)?;
        Ok(n)
    }

    #[inline]
    fn end_piece(&mut self, to: &mut impl Listener) -> Result<(), &'static str> {
        match self.piece.take_if(|piece| piece.left == 0) {
            Some(Piece { end: End::Piece(id, len), .. }) => to.piece_done(id, len),
            Some(Piece { end: End::Frame(token), .. }) => {
                to.frame_done(token);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// A frame of which `rest` is the beginning: if it is known where its body goes, that takes
    /// what comes from now on. Bytes used.
    #[cold]
    fn place_frame(
        &mut self,
        record: &Record,
        rest: &[u8],
        to: &mut impl Listener,
    ) -> Result<usize, &'static str> {
        let len = record.len as usize;
        let Some(header) = rest.first_chunk::<HEADER_BYTES>() else { return Ok(0) };
        if len - rest.len() < WORTH_PLACING {
            return Ok(0);
        }
        let body = (len - HEADER_BYTES) as u64;
        let Some((landing, token)) = to.frame_begins(&Header::from_bytes(header), body) else {
            return Ok(0);
        };
        to.acknowledged(record.ack)?;
        self.piece = Some(Piece { end: End::Frame(token), left: body, to: Some(landing) });
        Ok(RECORD_BYTES + HEADER_BYTES)
    }

    /// One record, or as much of it as there is; 0 while more bytes are needed.
    #[inline]
    fn take_record(
        &mut self,
        bytes: &[u8],
        frame_max: usize,
        to: &mut impl Listener,
    ) -> Result<usize, &'static str> {
        let Some((head, rest)) = bytes.split_first_chunk() else { return Ok(0) };
        let record = Record::from_bytes(head, frame_max)?;
        let len = record.len as usize;
        match record.kind {
            Kind::Frame => {
                let Some(frame) = rest.get(..len) else {
                    return self.place_frame(&record, rest, to);
                };
                let Some((header, body)) = frame.split_first_chunk::<HEADER_BYTES>() else {
                    return Err("a frame of it is too short");
                };
                to.acknowledged(record.ack)?;
                to.frame(&Header::from_bytes(header), RawBytes::from(body));
                Ok(RECORD_BYTES + len)
            }
            Kind::Piece => {
                let Some(head) = rest.first_chunk::<PIECE_BYTES>() else { return Ok(0) };
                to.acknowledged(record.ack)?;
                let len = (len - PIECE_BYTES) as u64;
                let head = PieceHead::from_bytes(head, len)?;
                let landing = to.piece(&head, len)?;
                self.piece = Some(Piece { end: End::Piece(head.id, len), left: len, to: landing });
                self.end_piece(to)?;
                Ok(RECORD_BYTES + PIECE_BYTES)
            }
            Kind::Ack | Kind::Ping | Kind::Bye => {
                to.acknowledged(record.ack)?;
                match record.kind {
                    Kind::Ping => to.ping(),
                    Kind::Bye => to.bye(),
                    _ => {}
                }
                Ok(RECORD_BYTES)
            }
        }
    }
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
