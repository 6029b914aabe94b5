//! The incoming half: whatever the cuts, the records that were sent come out; noise does no harm.

use mpi_core::buffer::UserBuffer;
use proptest::prelude::*;

use super::*;
use crate::tcp::record::LONG_BYTES;
use crate::tcp::seal::tests::seals;

#[derive(Clone, PartialEq, Eq, Debug)]
enum Heard {
    Acknowledged(u64),
    Frame(u64, Vec<u8>),
    Fragment(u64, u64),
    Done(u64),
    Ping,
    Bye,
}

/// Writes all that is heard down; fragments go to `memory`, frames that it expects to `frame`.
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

    fn fragment(
        &mut self,
        head: &FragmentHead,
        len: u64,
    ) -> Result<Option<Unpacker>, &'static str> {
        self.heard.push(Heard::Fragment(head.id, len));
        let to = UserBuffer(self.memory.as_mut_ptr());
        let mut to = Unpacker::contiguous(to, self.memory.len() as u64);
        to.skip(head.at);
        to.truncate(len);
        Ok(Some(to))
    }

    fn fragment_done(&mut self, id: u64) -> Result<(), &'static str> {
        self.heard.push(Heard::Done(id));
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

/// A part as it comes on a stream that is protected so.
fn sealed(seal: Seal, stream: &mut Vec<u8>, part: &[u8], is_body: bool) {
    let (place, mut part) = (stream.len() as u64, part.to_vec());
    let tag = match is_body {
        true => seal.close_body(place, &mut part),
        false => seal.close(place, &mut part),
    };
    stream.extend(part);
    stream.extend(tag.into_iter().flatten());
}

/// Adds the bytes of one record to a stream; what is to be heard of it.
fn add_record(seal: Seal, stream: &mut Vec<u8>, n: u64, what: u8, len: usize) -> Vec<Heard> {
    let body = body(n, len);
    let header = Header { context: n, ..Header::default() };
    let (kind, front, mut heard) = match what % 4 {
        0 => (Kind::Frame, header.to_bytes().to_vec(), vec![Heard::Frame(n, body.clone())]),
        1 => {
            let head = FragmentHead { header, id: n, total: MEMORY as u64, at: 0 };
            let len = len.max(1) as u64;
            (Kind::Fragment, head.to_bytes().into(), vec![Heard::Fragment(n, len), Heard::Done(n)])
        }
        2 => (Kind::Ping, vec![], vec![Heard::Ping]),
        _ => (Kind::Ack, vec![], vec![]),
    };
    let body = match kind {
        Kind::Frame => body,
        Kind::Fragment if body.is_empty() => vec![9],
        Kind::Fragment => body,
        _ => vec![],
    };
    heard.insert(0, Heard::Acknowledged(n));
    let head = Record { len: (front.len() + body.len()) as u32, kind, ack: n };
    sealed(seal, stream, &head.to_bytes(), false);
    match kind {
        Kind::Frame if body.len() < LONG_BYTES => {
            sealed(seal, stream, &[front, body].concat(), false);
        }
        Kind::Frame | Kind::Fragment => {
            sealed(seal, stream, &front, false);
            sealed(seal, stream, &body, true);
        }
        _ => {}
    }
    heard
}

/// The body of such a record.
fn body(n: u64, len: usize) -> Vec<u8> {
    (0..len).map(|i| (n as usize * 13 + i) as u8).collect()
}

/// Feeds bytes as the transport does: into memory where a fragment lands, else by way of a buffer.
fn feed(
    input: &mut Input,
    to: &mut Scribe,
    mut bytes: &[u8],
    cut: usize,
    directly: bool,
) -> Result<(), Fault> {
    while !bytes.is_empty() {
        if let (true, Some((at, room))) = (directly, input.landing()) {
            let n = room.min(bytes.len()).min(cut);
            // SAFETY: `landing` lies in the scribe's memory and has `room` bytes.
            unsafe { RawBytes::from(&bytes[..n]).copy_to(at) };
            input.landed(n, to)?;
            bytes = &bytes[n..];
            continue;
        }
        let n = cut.min(bytes.len());
        let mut buffer = [input.partial(), &bytes[..n]].concat();
        input.take(&mut buffer, 9000, to)?;
        bytes = &bytes[n..];
    }
    Ok(())
}

fn scribe() -> Scribe {
    Scribe { heard: Vec::new(), memory: vec![0; MEMORY], frame: Vec::new() }
}

/// A stream of such records, what is to be heard of them, and the body of the last fragment.
fn stream(seal: Seal, records: &[(u8, usize)]) -> (Vec<u8>, Vec<Heard>, Vec<u8>) {
    let (mut bytes, mut expected, mut last) = (Vec::new(), Vec::new(), Vec::new());
    for (n, (what, len)) in records.iter().enumerate() {
        let heard = add_record(seal, &mut bytes, n as u64, *what, *len);
        if let Some(Heard::Done(_)) = heard.last() {
            last = if *len == 0 { vec![9] } else { body(n as u64, *len) };
        }
        expected.extend(heard);
    }
    (bytes, expected, last)
}

fn records() -> impl Strategy<Value = Vec<(u8, usize)>> {
    prop::collection::vec((any::<u8>(), 0usize..9000), 1..20)
}

/// Plays a stream with cuts, and connections that break where `breaks` says; `harm` is done to the bytes
/// of each connection. What became of it.
fn play(
    seal: Seal,
    bytes: &[u8],
    cuts: &[usize],
    directly: bool,
    mut harm: impl FnMut(u64, &mut Vec<u8>) -> bool,
) -> (Scribe, Input) {
    let (mut to, mut input) = (scribe(), Input::new(seal));
    while input.received() < bytes.len() as u64 {
        let begin = input.received();
        let mut rest = bytes[begin as usize..].to_vec();
        let is_harmed = harm(begin, &mut rest);
        let (mut at, mut cuts) = (0, cuts.iter().cycle());
        let mut fault = None;
        while at < rest.len() && fault.is_none() {
            let n = cuts.next().copied().unwrap_or(1).min(rest.len() - at);
            fault = feed(&mut input, &mut to, &rest[at..at + n], n, directly).err();
            at += n;
        }
        // A change that were only waited over would hang a receiver.
        assert_eq!(fault, is_harmed.then_some(Fault::Altered));
        input.restart();
    }
    (to, input)
}

/// What is heard without the acknowledgements, which come again with a record.
fn said(heard: &[Heard]) -> Vec<&Heard> {
    heard.iter().filter(|heard| !matches!(heard, Heard::Acknowledged(_))).collect()
}

proptest! {
    #[test]
    fn cuts_do_not_matter(
        records in records(), cuts in prop::collection::vec(1usize..2000, 1..50),
        directly: bool, seal in seals(),
    ) {
        let (bytes, expected, last) = stream(seal, &records);
        let (to, input) = play(seal, &bytes, &cuts, directly, |_, _| false);
        prop_assert_eq!(to.heard, expected);
        prop_assert!(to.memory.starts_with(&last), "a fragment's bytes are wrong");
        prop_assert_eq!(input.received(), bytes.len() as u64);
        prop_assert!(input.partial().is_empty());
    }

    #[test]
    fn connections_that_break_anywhere_do_not_matter(
        records in records(), cuts in prop::collection::vec(1usize..2000, 1..50),
        lengths in prop::collection::vec(0usize..9000, 0..30), directly: bool, seal in seals(),
    ) {
        let (bytes, expected, last) = stream(seal, &records);
        let mut lengths = lengths.iter();
        let (to, _) = play(seal, &bytes, &cuts, directly, |_, rest| {
            rest.truncate(lengths.next().copied().unwrap_or(usize::MAX));
            false
        });
        prop_assert_eq!(said(&to.heard), said(&expected));
        prop_assert!(to.memory.starts_with(&last), "a fragment's bytes are wrong");
    }

    #[test]
    fn nothing_that_was_changed_is_taken(
        records in records(), cuts in prop::collection::vec(1usize..2000, 1..50),
        harms in prop::collection::vec((0usize..20_000, 1u8..), 1..20), directly: bool,
        seal in seals().prop_filter("tags", |seal| !matches!(seal, Seal::Off)),
    ) {
        let (bytes, expected, last) = stream(seal, &records);
        let mut harms = harms.iter();
        let (to, _) = play(seal, &bytes, &cuts, directly, |_, rest| {
            let Some((at, by)) = harms.next() else { return false };
            let at = at % rest.len();
            rest[at] ^= by;
            true
        });
        prop_assert_eq!(said(&to.heard), said(&expected));
        prop_assert!(to.memory.starts_with(&last), "a fragment's bytes are wrong");
    }

    #[test]
    fn noise_never_panics_nor_writes_outside(mut bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut input = Input::default();
        let _ = input.take(&mut bytes, 3000, &mut scribe());
        prop_assert!(input.missing() <= RECORD_BYTES + LONG_BYTES + HEADER_BYTES + FRAGMENT_BYTES);
    }

    #[test]
    fn one_changed_byte_never_panics(what: u8, len in 0usize..500, at: prop::sample::Index, by: u8) {
        let mut bytes = Vec::new();
        add_record(Seal::Off, &mut bytes, 3, what, len);
        let at = at.index(bytes.len());
        bytes[at] ^= by;
        let _ = Input::default().take(&mut bytes, 3000, &mut scribe());
    }
}
