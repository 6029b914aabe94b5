//! The incoming half of a stream: from bytes, however they were cut, to records.
//!
//! Its state outlives connections as that of [`super::output`] does: what was received is counted by
//! parts of records (see [`super::record`]), each whole and with the right tag, and the next
//! connection goes on behind the last of them. Bytes of a body can be read by the kernel straight into
//! the message's memory: [`Input::landing`] says where. What arrives is told to a [`Listener`]; no
//! input or output happens here.

use mpi_core::buffer::RawBytes;
use mpi_core::datatype::Unpacker;
use mpi_core::header::{HEADER_BYTES, Header};
use mpi_core::port::Token;

use super::record::{FRAGMENT_BYTES, FragmentHead, Kind, RECORD_BYTES, Record};
use super::seal::{Altered, Reading, Seal};

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
    /// A fragment of `len` bytes begins; where it goes, or `None` for bytes that nobody wants.
    fn fragment(&mut self, head: &FragmentHead, len: u64)
    -> Result<Option<Unpacker>, &'static str>;
    /// The fragment of a transfer that has begun is in place.
    fn fragment_done(&mut self, id: u64) -> Result<(), &'static str>;
    /// The peer wants an acknowledgement.
    fn ping(&mut self);
    /// The peer leaves.
    fn bye(&mut self);
}

/// What is wrong with what came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// The peer does not keep to the protocol.
    Breach(&'static str),
    /// It was changed on the way.
    Altered,
}

impl From<&'static str> for Fault {
    fn from(breach: &'static str) -> Fault {
        Fault::Breach(breach)
    }
}

impl From<Altered> for Fault {
    fn from(_: Altered) -> Fault {
        Fault::Altered
    }
}

/// So much memory for bodies stays with a stream.
const KEPT_BYTES: usize = 256 << 10;

/// What ends when a body is whole.
#[derive(Clone, Copy)]
enum End {
    /// A fragment of a transfer, by its number.
    Fragment(u64),
    /// A frame that is in its place.
    Placed(Token),
    /// A frame whose body is kept until then.
    Kept(Header),
}

/// The body of a long record that is arriving.
struct Body {
    end: End,
    len: u64,
    left: u64,
    /// Where it goes in the end, and the next bytes of it unless they are kept.
    target: Option<Unpacker>,
    to: Option<Unpacker>,
    /// Whether it is kept until it is whole.
    is_kept: bool,
    reading: Option<Reading>,
}

/// How far a stream was read.
#[derive(Default)]
pub(super) struct Input {
    seal: Seal,
    received: u64,
    /// The beginning of a part whose rest has not come.
    partial: Vec<u8>,
    body: Option<Body>,
    /// Bytes of a body that is kept.
    kept: Vec<u8>,
}

impl Input {
    /// Nothing yet, of a stream that is protected so.
    pub(super) fn new(seal: Seal) -> Input {
        Input { seal, ..Input::default() }
    }

    /// Bytes received in all, in whole parts.
    #[inline]
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Bytes that came but are no whole part; they come first in the next [`Input::take`].
    #[inline]
    pub(super) fn partial(&self) -> &[u8] {
        &self.partial
    }

    /// Whether part of a fragment has come and the rest of it is still to come.
    #[inline]
    pub(super) fn is_amid_fragment(&self) -> bool {
        self.body.as_ref().is_some_and(|body| matches!(body.end, End::Fragment(_)))
    }

    /// How many further bytes the part that has begun needs at least.
    pub(super) fn missing(&self) -> usize {
        let tag = self.seal.tag_bytes();
        let need = match (&self.body, self.head(&self.partial, usize::MAX / 2)) {
            (Some(_), _) => tag,
            (None, Some(Ok(record))) => {
                let rest = match record.kind {
                    Kind::Fragment => FRAGMENT_BYTES + tag,
                    Kind::Frame if record.is_long() => HEADER_BYTES + tag,
                    Kind::Frame => record.len as usize + tag,
                    Kind::Ack | Kind::Ping | Kind::Bye => 0,
                };
                RECORD_BYTES + tag + rest
            }
            _ => RECORD_BYTES + tag,
        };
        need.saturating_sub(self.partial.len())
    }

    /// Goes on over a new connection, which begins behind what was received.
    pub(super) fn restart(&mut self) {
        self.partial.clear();
        if let Some(body) = &mut self.body {
            body.left = body.len;
            body.to.clone_from(&body.target);
            body.reading = self.seal.read_body(self.received);
        }
    }

    /// Where the next bytes go if they are one run of memory.
    #[inline]
    pub(super) fn landing(&mut self) -> Option<(*mut u8, usize)> {
        let body = self.body.as_ref().filter(|body| body.left > 0)?;
        if body.is_kept {
            let rest = self.kept.get_mut((body.len - body.left) as usize..body.len as usize)?;
            return Some((rest.as_mut_ptr(), rest.len()));
        }
        let (at, len) = body.to.as_ref()?.as_contiguous()?;
        let len = len.min(body.left);
        (len > 0).then_some((at, len as usize))
    }

    /// Notes that `n` bytes were read to where [`Input::landing`] said.
    pub(super) fn landed(&mut self, n: usize, to: &mut impl Listener) -> Result<(), Fault> {
        if let Some(body) = &mut self.body {
            if let Some(unpacker) = &mut body.to {
                if let (Some(reading), Some((at, _))) =
                    (&mut body.reading, unpacker.as_contiguous())
                {
                    // SAFETY: the kernel has just written them, to memory that is the transfer's
                    // until it has landed.
                    reading.add(unsafe { RawBytes::new(at, n) });
                }
                unpacker.skip(n as u64);
            } else if let (true, Some(reading)) = (body.is_kept, &mut body.reading) {
                let begin = (body.len - body.left) as usize;
                reading.add(RawBytes::from(&self.kept[begin..begin + n]));
            }
            body.left -= n as u64;
        }
        match self.seal.tag_bytes() {
            0 => self.end_body(&[], to).map(drop),
            _ => Ok(()),
        }
    }

    /// Takes bytes that begin with [`Input::partial`].
    pub(super) fn take(
        &mut self,
        bytes: &mut [u8],
        frame_max: usize,
        to: &mut impl Listener,
    ) -> Result<(), Fault> {
        let mut at = 0;
        while at < bytes.len() {
            let used = match self.body {
                Some(_) => self.take_body(&bytes[at..], to)?,
                None => self.take_record(&mut bytes[at..], frame_max, to)?,
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

    /// Bytes of the body that is arriving, or its tag.
    fn take_body(&mut self, bytes: &[u8], to: &mut impl Listener) -> Result<usize, Fault> {
        let Some(body) = &mut self.body else { return Ok(0) };
        if body.left == 0 {
            return self.end_body(bytes, to);
        }
        let n = bytes.len().min(usize::try_from(body.left).unwrap_or(usize::MAX));
        let next = RawBytes::from(&bytes[..n]);
        if let Some(reading) = &mut body.reading {
            reading.add(next);
        }
        if body.is_kept {
            let begin = (body.len - body.left) as usize;
            self.kept[begin..begin + n].copy_from_slice(&bytes[..n]);
        } else if let Some(unpacker) = &mut body.to {
            // SAFETY: the request's memory is writable until its transfer has landed, by the
            // contract of `Landing`, and is no part of our buffer.
            unsafe { unpacker.unpack_from(next) };
        }
        body.left -= n as u64;
        if body.left == 0 && self.seal.tag_bytes() == 0 {
            self.end_body(&[], to)?;
        }
        Ok(n)
    }

    /// Ends a body of which all bytes have come, with its tag at the beginning of `bytes`; how many of
    /// these were used.
    fn end_body(&mut self, bytes: &[u8], to: &mut impl Listener) -> Result<usize, Fault> {
        let Some(tag) = bytes.get(..self.seal.tag_bytes()) else { return Ok(0) };
        let Some(body) = self.body.as_mut().filter(|body| body.left == 0) else { return Ok(0) };
        let kept = &mut self.kept[..if body.is_kept { body.len as usize } else { 0 }];
        match body.reading.take() {
            Some(reading) => reading.check(tag)?,
            None if body.is_kept => self.seal.open_body(self.received, kept, tag)?,
            None => {}
        }
        self.received += body.len + tag.len() as u64;
        if let (true, Some(unpacker)) = (body.is_kept, &mut body.target) {
            // SAFETY: as where bytes of a body are taken.
            unsafe { unpacker.unpack_from(RawBytes::from(&*kept)) };
        }
        let (end, len) = (body.end, body.len);
        self.body = None;
        match end {
            End::Fragment(id) => to.fragment_done(id)?,
            End::Placed(token) => to.frame_done(token),
            End::Kept(header) => to.frame(&header, RawBytes::from(&self.kept[..len as usize])),
        }
        if self.kept.len() > KEPT_BYTES {
            self.kept = Vec::new();
        }
        Ok(tag.len())
    }

    /// The head at the beginning of `bytes`, once it is there; frames may have bodies of `frame_max`
    /// bytes.
    #[inline]
    fn head(&self, bytes: &[u8], frame_max: usize) -> Option<Result<Record, Fault>> {
        let mut head = *bytes.first_chunk()?;
        let tag = bytes.get(RECORD_BYTES..RECORD_BYTES + self.seal.tag_bytes())?;
        let opened = self.seal.open(self.received, &mut head, tag).map_err(Fault::from);
        Some(opened.and_then(|()| Ok(Record::from_bytes(&head, frame_max)?)))
    }

    /// One record, or as much of it as there is; 0 while more bytes are needed.
    #[inline]
    fn take_record(
        &mut self,
        bytes: &mut [u8],
        frame_max: usize,
        to: &mut impl Listener,
    ) -> Result<usize, Fault> {
        let Some(record) = self.head(bytes, frame_max) else { return Ok(0) };
        let record = record?;
        let (tag, len) = (self.seal.tag_bytes(), record.len as usize);
        let begin = RECORD_BYTES + tag;
        let used = match record.kind {
            Kind::Fragment => return self.take_fragment(&record, bytes, to),
            Kind::Frame if record.is_long() => return self.take_long_frame(&record, bytes, to),
            Kind::Frame => {
                let Some(rest) = bytes.get_mut(begin..begin + len + tag) else { return Ok(0) };
                let (frame, tag) = rest.split_at_mut(len);
                self.seal.open(self.received + begin as u64, frame, tag)?;
                let Some((header, body)) = frame.split_first_chunk::<HEADER_BYTES>() else {
                    return Err(Fault::Breach("a frame of it is too short"));
                };
                to.acknowledged(record.ack)?;
                to.frame(&Header::from_bytes(header), RawBytes::from(body));
                begin + len + tag.len()
            }
            Kind::Ack => {
                to.acknowledged(record.ack)?;
                begin
            }
            Kind::Ping => {
                to.acknowledged(record.ack)?;
                to.ping();
                begin
            }
            Kind::Bye => {
                to.acknowledged(record.ack)?;
                to.bye();
                begin
            }
        };
        self.received += used as u64;
        Ok(used)
    }

    /// The front of a long record, once it is there, and where the body begins.
    fn front<const N: usize>(&self, bytes: &[u8]) -> Option<Result<([u8; N], usize), Fault>> {
        let tag = self.seal.tag_bytes();
        let begin = RECORD_BYTES + tag;
        let rest = bytes.get(begin..begin + N + tag)?;
        let mut front = *rest.first_chunk()?;
        let opened = self.seal.open(self.received + begin as u64, &mut front, &rest[N..]);
        Some(opened.map(|()| (front, begin + N + tag)).map_err(Fault::from))
    }

    /// A fragment begins.
    fn take_fragment(
        &mut self,
        record: &Record,
        bytes: &[u8],
        to: &mut impl Listener,
    ) -> Result<usize, Fault> {
        let Some(front) = self.front::<FRAGMENT_BYTES>(bytes) else { return Ok(0) };
        let (front, used) = front?;
        to.acknowledged(record.ack)?;
        let len = u64::from(record.len) - FRAGMENT_BYTES as u64;
        let head = FragmentHead::from_bytes(&front, len)?;
        let target = to.fragment(&head, len)?;
        self.received += used as u64;
        match len {
            0 => to.fragment_done(head.id)?,
            _ => self.begin_body(End::Fragment(head.id), len, target)?,
        }
        Ok(used)
    }

    /// A long frame begins: if it is known where its body goes, that takes what comes from now on.
    fn take_long_frame(
        &mut self,
        record: &Record,
        bytes: &mut [u8],
        to: &mut impl Listener,
    ) -> Result<usize, Fault> {
        let Some(front) = self.front::<HEADER_BYTES>(bytes) else { return Ok(0) };
        let (front, used) = front?;
        let (header, len) = (Header::from_bytes(&front), record.len as usize - HEADER_BYTES);
        to.acknowledged(record.ack)?;
        if let Some(rest) = bytes.get_mut(used..used + len + self.seal.tag_bytes()) {
            let (body, tag) = rest.split_at_mut(len);
            let place = self.received + used as u64;
            match self.seal.read_body(place) {
                Some(mut reading) => {
                    reading.add(RawBytes::from(&*body));
                    reading.check(tag)?;
                }
                None => self.seal.open_body(place, body, tag)?,
            }
            let used = used + len + tag.len();
            self.received += used as u64;
            to.frame(&header, RawBytes::from(&*body));
            return Ok(used);
        }
        self.received += used as u64;
        let (end, target) = match to.frame_begins(&header, len as u64) {
            Some((target, token)) => (End::Placed(token), Some(target)),
            None => (End::Kept(header), None),
        };
        self.begin_body(end, len as u64, target)?;
        Ok(used)
    }

    /// The body of a long record begins at the place that was reached.
    fn begin_body(&mut self, end: End, len: u64, target: Option<Unpacker>) -> Result<(), Fault> {
        let is_kept = matches!(end, End::Kept(_)) || self.seal.encrypts();
        if is_kept {
            let more = (len as usize).saturating_sub(self.kept.len());
            self.kept.try_reserve(more).map_err(|_| "there is no memory for a message of it")?;
            self.kept.resize(self.kept.len() + more, 0);
        }
        let to = target.clone().filter(|_| !is_kept);
        let reading = self.seal.read_body(self.received);
        self.body = Some(Body { end, len, left: len, target, to, is_kept, reading });
        Ok(())
    }
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
