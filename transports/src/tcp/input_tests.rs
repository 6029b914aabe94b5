//! The incoming half: whatever the cuts, the records that were sent come out; noise does no harm.

use mpi_core::buffer::UserBuffer;
use proptest::prelude::*;

use super::*;

#[derive(Clone, PartialEq, Eq, Debug)]
enum Heard {
    Acknowledged(u64),
    Frame(u64, Vec<u8>),
    Piece(u64, u64),
    Done(u64, u64),
    Ping,
    Bye,
}

/// Writes all that is heard down; pieces go to `memory`, frames that it expects to `frame`.
struct Scribe {
    heard: Vec<Heard>,
    memory: Vec<u8>,
    frame: Vec<u8>,
}

impl Listener for Scribe {
    fn acknowledged(&mut self, place: u64) -> Result<(), &'static str> {
        self.heard.push(Heard::Acknowledged(place));
        Ok(())
    }

    fn frame(&mut self, header: &Header, body: RawBytes<'_>) {
        self.heard.push(Heard::Frame(header.context, body.to_vec()));
    }

    fn frame_begins(&mut self, header: &Header, len: u64) -> Option<(Unpacker, Token)> {
        // Every other one goes to memory.
        if header.context.is_multiple_of(2) {
            return None;
        }
        self.frame = vec![0; len as usize];
        let to = UserBuffer(self.frame.as_mut_ptr());
        Some((Unpacker::contiguous(to, len), Token(header.context)))
    }

    fn frame_done(&mut self, token: Token) {
        self.heard.push(Heard::Frame(token.0, std::mem::take(&mut self.frame)));
    }

    fn piece(&mut self, head: &PieceHead, len: u64) -> Result<Option<Unpacker>, &'static str> {
        self.heard.push(Heard::Piece(head.id, len));
        let to = UserBuffer(self.memory.as_mut_ptr());
        let mut to = Unpacker::contiguous(to, self.memory.len() as u64);
        to.skip(head.at);
        to.truncate(len);
        Ok(Some(to))
    }

    fn piece_done(&mut self, id: u64, len: u64) -> Result<(), &'static str> {
        self.heard.push(Heard::Done(id, len));
        Ok(())
    }

    fn ping(&mut self) {
        self.heard.push(Heard::Ping);
    }

    fn bye(&mut self) {
        self.heard.push(Heard::Bye);
    }
}

const MEMORY: usize = 10_000;

/// The bytes of one record, and what is to be heard of it.
fn record(n: u64, what: u8, len: usize) -> (Vec<u8>, Vec<Heard>) {
    let body: Vec<u8> = (0..len).map(|i| (n as usize * 13 + i) as u8).collect();
    let header = Header { context: n, ..Header::default() };
    let (kind, front, mut heard) = match what % 4 {
        0 => (Kind::Frame, header.to_bytes().to_vec(), vec![Heard::Frame(n, body.clone())]),
        1 => {
            let head = PieceHead { header, id: n, total: MEMORY as u64, at: 0 };
            let len = len.max(1) as u64;
            (Kind::Piece, head.to_bytes().into(), vec![Heard::Piece(n, len), Heard::Done(n, len)])
        }
        2 => (Kind::Ping, vec![], vec![Heard::Ping]),
        _ => (Kind::Ack, vec![], vec![]),
    };
    let body = match kind {
        Kind::Frame => body,
        Kind::Piece if body.is_empty() => vec![9],
        Kind::Piece => body,
        _ => vec![],
    };
    heard.insert(0, Heard::Acknowledged(n));
    let head = Record { len: (front.len() + body.len()) as u32, kind, ack: n };
    ([&head.to_bytes()[..], &front, &body].concat(), heard)
}

/// Feeds bytes as the transport does: into memory where a piece lands, else by way of a buffer.
fn feed(input: &mut Input, to: &mut Scribe, mut bytes: &[u8], cut: usize, directly: bool) {
    while !bytes.is_empty() {
        if let (true, Some((at, room))) = (directly, input.landing()) {
            let n = room.min(bytes.len()).min(cut);
            // SAFETY: `landing` lies in the scribe's memory and has `room` bytes.
            unsafe { RawBytes::from(&bytes[..n]).copy_to(at) };
            input.landed(n, to).unwrap();
            bytes = &bytes[n..];
            continue;
        }
        let n = cut.min(bytes.len());
        let buffer = [input.partial(), &bytes[..n]].concat();
        input.take(&buffer, n, 9000, to).unwrap();
        bytes = &bytes[n..];
    }
}

proptest! {
    #[test]
    fn cuts_do_not_matter(
        records in prop::collection::vec((any::<u8>(), 0usize..9000), 1..20),
        cuts in prop::collection::vec(1usize..2000, 1..50),
        directly: bool,
    ) {
        let (mut bytes, mut expected, mut last) = (Vec::new(), Vec::new(), Vec::new());
        for (n, (what, len)) in records.iter().enumerate() {
            let (record, heard) = record(n as u64, *what, *len);
            if matches!(heard.last(), Some(Heard::Done(..))) {
                last = record[RECORD_BYTES + PIECE_BYTES..].to_vec();
            }
            bytes.extend(record);
            expected.extend(heard);
        }
        let mut to = Scribe { heard: Vec::new(), memory: vec![0; MEMORY], frame: Vec::new() };
        let mut input = Input::default();
        let (mut rest, mut cuts) = (&bytes[..], cuts.iter().cycle());
        while !rest.is_empty() {
            let n = cuts.next().copied().unwrap_or(1).min(rest.len());
            feed(&mut input, &mut to, &rest[..n], n, directly);
            rest = &rest[n..];
        }
        prop_assert_eq!(to.heard, expected);
        prop_assert!(to.memory.starts_with(&last), "a piece's bytes are wrong");
        prop_assert_eq!(input.received(), bytes.len() as u64);
        prop_assert!(input.partial().is_empty());
    }

    #[test]
    fn noise_never_panics_nor_writes_outside(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut to = Scribe { heard: Vec::new(), memory: vec![0; MEMORY], frame: Vec::new() };
        let mut input = Input::default();
        let _ = input.take(&bytes, bytes.len(), 3000, &mut to);
        prop_assert!(input.missing() <= RECORD_BYTES + 3000 + HEADER_BYTES + PIECE_BYTES);
    }

    #[test]
    fn one_changed_byte_never_panics(what: u8, len in 0usize..500, at: prop::sample::Index, by: u8) {
        let (mut bytes, _) = record(3, what, len);
        let at = at.index(bytes.len());
        bytes[at] ^= by;
        let mut to = Scribe { heard: Vec::new(), memory: vec![0; MEMORY], frame: Vec::new() };
        let _ = Input::default().take(&bytes, bytes.len(), 3000, &mut to);
    }
}
