//! The one set of requirements for every transport: what the core relies on, as test bodies.
//!
//! In: a function that makes connected-to-be transports, the `i`-th of which knows the `k`-th as
//! `PeerId(k)`; one transport alone is tested against itself. Out: a panic that says which
//! promise of [`mpi_core::port`] was broken.

use mpi_core::buffer::{RawBytes, UserBuffer};
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::{FrameKind, Header};
use mpi_core::port::{
    ADVERT_BYTES, Activity, Advert, Body, Full, Landing, Offer, OfferKind, PeerId, Pulled, Sink,
    Token, Transport, Why,
};

/// Polls in a row without any movement after which something is lost.
const PATIENCE: u32 = 1_000_000;

/// A small frame as it arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Who sent it.
    pub peer: PeerId,
    /// Its header but for the inline length, which is the transport's affair.
    pub header: Header,
    /// Its body.
    pub body: Vec<u8>,
}

/// A sink that keeps what arrives.
#[derive(Default)]
pub struct Recorder {
    /// Small frames, in order of arrival.
    pub frames: Vec<Frame>,
    /// Where bulk data with a context id shall go; what is not named is discarded.
    pub landings: Vec<(u64, Unpacker)>,
    /// Context id and length of bulk data that began.
    pub begun: Vec<(u64, u64)>,
    /// Bulk data that has landed.
    pub landed: Vec<Token>,
    /// Pulls that came to nothing.
    pub stranded: Vec<Token>,
    /// Bulk data that has left.
    pub sent: Vec<Token>,
    /// Peers that are gone.
    pub down: Vec<(PeerId, Why)>,
}

impl Sink for Recorder {
    fn frame(&mut self, peer: PeerId, header: &Header, body: RawBytes<'_>) {
        let header = Header { inline_len: 0, ..*header };
        self.frames.push(Frame { peer, header, body: body.to_vec() });
    }

    fn begin_eager(&mut self, _: PeerId, header: &Header, len: u64) -> Option<(Unpacker, Token)> {
        let place = self.landings.iter().position(|(context, _)| *context == header.context)?;
        self.begun.push((header.context, len));
        Some((self.landings.swap_remove(place).1, Token(header.context)))
    }

    fn begin(&mut self, _: PeerId, header: &Header, len: u64) -> Landing {
        self.begun.push((header.context, len));
        let place = self.landings.iter().position(|(context, _)| *context == header.context);
        place.map_or(Landing::Discard, |place| Landing::User(self.landings.swap_remove(place).1))
    }

    fn landed(&mut self, _: PeerId, token: Token) {
        self.landed.push(token);
    }

    fn stranded(&mut self, _: PeerId, token: Token) {
        self.stranded.push(token);
    }

    fn sent(&mut self, token: Token) {
        self.sent.push(token);
    }

    fn peer_down(&mut self, peer: PeerId, why: Why) {
        self.down.push((peer, why));
    }
}

/// Transports and what each has received.
pub struct World<T> {
    ends: Vec<(T, Recorder)>,
}

impl<T: Transport> World<T> {
    /// A world of these transports.
    pub fn new(ends: Vec<T>) -> World<T> {
        World { ends: ends.into_iter().map(|end| (end, Recorder::default())).collect() }
    }

    /// The transports.
    pub fn into_ends(self) -> Vec<T> {
        self.ends.into_iter().map(|(end, _)| end).collect()
    }

    fn last(&self) -> usize {
        self.ends.len() - 1
    }

    /// How many transports there are.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// One of the transports.
    pub fn transport(&mut self, end: usize) -> &mut T {
        &mut self.ends[end].0
    }

    /// What `end` has received.
    pub fn got(&mut self, end: usize) -> &mut Recorder {
        &mut self.ends[end].1
    }

    /// Polls every end once; whether any of them moved something.
    fn turn(&mut self) -> bool {
        let mut busy = false;
        for (end, sink) in &mut self.ends {
            busy |= end.poll(sink) == Activity::Busy;
            assert_eq!(sink.down, [], "a peer that is alive was given up");
        }
        busy
    }

    /// Polls until `done`.
    pub fn run_until(&mut self, what: &str, mut done: impl FnMut(&mut World<T>) -> bool) {
        let mut idle = 0;
        while !done(self) {
            idle = if self.turn() { 0 } else { idle + 1 };
            assert!(idle < PATIENCE, "nothing moves any more, while waiting until {what}");
        }
    }

    /// Sends a frame, polling while there is no room.
    pub fn send(&mut self, from: usize, to: usize, header: &Header, body: &[u8]) {
        self.run_until("there is room for a frame", |world| {
            let body = Body::Bytes(RawBytes::from(body));
            world.transport(from).send(PeerId(to as u32), header, body).is_ok()
        });
    }
}

/// The bytes of message number `seed`.
pub fn pattern(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..len).map(step).collect()
}

fn header(n: u64) -> Header {
    Header {
        credit: n as u16 ^ 0x5a5a,
        sequence: n as u16,
        kind: FrameKind::Eager as u8,
        inline_len: 0,
        context: n << 33 | n,
        source: n as i32 - 5,
        tag: -(n as i32),
    }
}

fn packer(bytes: &[u8]) -> Packer {
    Packer::contiguous(UserBuffer(bytes.as_ptr().cast_mut()), bytes.len() as u64)
}

fn unpacker(bytes: &mut [u8]) -> Unpacker {
    Unpacker::contiguous(UserBuffer(bytes.as_mut_ptr()), bytes.len() as u64)
}

/// Runs the whole set over worlds that `make` makes.
pub fn check<T: Transport>(mut make: impl FnMut() -> Vec<T>) {
    for requirement in [
        frames_of_every_length_arrive_as_sent,
        frames_kept_back_arrive_in_order,
        a_full_path_refuses_and_loses_nothing,
        a_packed_body_is_drained_iff_accepted,
        long_frames_land_where_the_sink_wants,
        bulk_lands_and_tells_both_ends,
        bulk_is_cut_or_dropped_as_the_sink_wants,
        small_frames_pass_bulk_both_ways,
        a_pull_fetches_what_was_offered,
        bulk_lands_where_it_was_advertised,
    ] {
        requirement(&mut World::new(make()));
    }
}

/// A kind that no transport has.
const NOBODYS: OfferKind = OfferKind(0xff);

fn lengths(max: usize) -> Vec<usize> {
    let near = |n: usize| [n.saturating_sub(1), n, n + 1];
    let mut lengths: Vec<usize> = (0..=66).collect();
    lengths.extend([100, 256, 1000, 4096, max].into_iter().flat_map(near));
    lengths.retain(|len| *len <= max);
    lengths
}

/// Between [`Transport::hold`] and [`Transport::release`] frames and bulk data may be kept back,
/// and others may arrive; afterwards all go.
fn frames_kept_back_arrive_in_order<T: Transport>(world: &mut World<T>) {
    let (from, to) = (0, world.last());
    let source = pattern(9, 100_000);
    for round in 0..3 {
        let mut target = vec![0; source.len()];
        let head = Header { kind: FrameKind::Data as u8, ..header(round + 70) };
        world.got(to).landings.push((head.context, unpacker(&mut target)));
        world.transport(from).hold();
        for n in 0..5 {
            world.send(from, to, &header(round * 5 + n), &pattern(n, 10));
        }
        world.transport(from).send_bulk(
            PeerId(to as u32),
            &head,
            packer(&source),
            Token(round),
            None,
        );
        world.transport(from).release();
        world.run_until("all that was kept back is there", |world| {
            world.got(to).frames.len() as u64 == round * 5 + 5
                && world.got(to).landed.contains(&Token(head.context))
                && world.got(from).sent.contains(&Token(round))
        });
        assert!(target == source, "bulk data that was kept back is wrong");
    }
    for (n, frame) in (0..).zip(&world.got(to).frames) {
        assert_eq!(frame.header.context, header(n).context);
    }
}

fn frames_of_every_length_arrive_as_sent<T: Transport>(world: &mut World<T>) {
    let (from, to) = (0, world.last());
    let max = world.transport(from).caps(PeerId(to as u32)).frame_bytes_max;
    let mut expected = Vec::new();
    for round in 0..3 {
        for len in lengths(max) {
            let n = round << 32 | len as u64;
            world.send(from, to, &header(n), &pattern(n, len));
            let peer = PeerId(from as u32);
            expected.push(Frame { peer, header: header(n), body: pattern(n, len) });
        }
    }
    let count = expected.len();
    world.run_until("all frames are there", |world| world.got(to).frames.len() >= count);
    for (got, expected) in world.got(to).frames.iter().zip(&expected) {
        assert_eq!(got, expected);
    }
    world.turn();
    assert_eq!(world.got(to).frames.len(), count, "a frame came twice");
}

fn a_full_path_refuses_and_loses_nothing<T: Transport>(world: &mut World<T>) {
    let (from, to) = (0, world.last());
    world.send(from, to, &header(0), b"first");
    world.run_until("the path is open", |world| !world.got(to).frames.is_empty());
    for len in [8, 200, world.transport(from).caps(PeerId(to as u32)).frame_bytes_max] {
        world.got(to).frames.clear();
        // What went before has come, but its sender may not know that yet.
        world.send(from, to, &header(0), &pattern(0, len));
        let mut accepted = 1u64;
        while accepted < 100_000 {
            let bytes = pattern(accepted, len);
            let body = Body::Bytes(RawBytes::from(&bytes[..]));
            match world.transport(from).send(PeerId(to as u32), &header(accepted), body) {
                Ok(()) => accepted += 1,
                Err(Full) => break,
            }
        }
        assert!(accepted < 100_000, "{accepted} frames were taken unread");
        world.send(from, to, &header(accepted), &pattern(accepted, len));
        let count = accepted as usize + 1;
        world.run_until("the flood is over", |world| world.got(to).frames.len() >= count);
        for (n, frame) in (0u64..).zip(&world.got(to).frames) {
            assert_eq!((frame.header, &frame.body), (header(n), &pattern(n, len)));
        }
    }
}

fn a_packed_body_is_drained_iff_accepted<T: Transport>(world: &mut World<T>) {
    let (from, to) = (0, world.last());
    let mut refused = 0;
    for n in 0..2000u64 {
        let bytes = pattern(n, 1 + n as usize % 300);
        let mut source = packer(&bytes);
        world.run_until("there is room for a packed frame", |world| {
            let body = Body::Packed(&mut source);
            let answer = world.transport(from).send(PeerId(to as u32), &header(n), body);
            let left = if answer.is_ok() { 0 } else { bytes.len() as u64 };
            refused += u32::from(answer.is_err());
            assert_eq!(source.remaining(), left, "after {answer:?}");
            answer.is_ok()
        });
    }
    assert!(refused > 0, "no frame was ever refused, so this proved nothing");
    world.run_until("all frames are there", |world| world.got(to).frames.len() >= 2000);
    for (n, frame) in (0u64..).zip(&world.got(to).frames) {
        assert_eq!(frame.body, pattern(n, 1 + n as usize % 300));
    }
}

/// A frame that comes in fragments goes where [`Sink::begin_eager`] says, cut to its room; any
/// other goes to [`Sink::frame`], and those behind it are not mixed up with it.
fn long_frames_land_where_the_sink_wants<T: Transport>(world: &mut World<T>) {
    let (from, to) = (0, world.last());
    let max = world.transport(from).caps(PeerId(to as u32)).frame_bytes_max;
    for (n, room) in [(1, max), (2, max / 2), (3, 0)] {
        let source = pattern(n, max);
        let mut target = vec![0xee; max];
        world.got(to).frames.clear();
        world.got(to).landings.push((header(n).context, unpacker(&mut target[..room])));
        world.send(from, to, &header(n), &source);
        world.send(from, to, &header(n + 10), b"next");
        world.run_until("the frame behind a long one is there", |world| {
            world.got(to).frames.last().is_some_and(|frame| frame.body == b"next")
        });
        let got = world.got(to);
        if got.landed.contains(&Token(header(n).context)) {
            assert!(target[..room] == source[..room], "what landed is wrong");
            assert_eq!(got.frames.len(), 1, "it came as a frame too");
        } else {
            assert!(got.frames[0].body == source, "what came as a frame is wrong");
            got.landings.clear();
        }
        assert!(target[room..].iter().all(|byte| *byte == 0xee), "it ran over its room");
    }
}

fn bulk_lands_and_tells_both_ends<T: Transport>(world: &mut World<T>) {
    let (from, to) = (0, world.last());
    for len in [0, 1, 4095, 65_536, 65_537, 3 << 20 | 11] {
        let source = pattern(len as u64, len);
        let mut target = vec![0xee; len + 64];
        let head = Header { kind: FrameKind::Data as u8, ..header(len as u64 + 1) };
        world.got(to).landings.push((head.context, unpacker(&mut target[..len])));
        let token = Token(len as u64 + 77);
        world.transport(from).send_bulk(PeerId(to as u32), &head, packer(&source), token, None);
        world.run_until("bulk data has left and landed", |world| {
            world.got(from).sent.contains(&token)
                && world.got(to).landed.contains(&Token(head.context))
        });
        assert!(world.got(to).begun.contains(&(head.context, len as u64)));
        assert!(target[..len] == source, "{len} bytes of bulk data are wrong");
        assert!(target[len..].iter().all(|byte| *byte == 0xee), "bulk data ran over its end");
    }
    world.run_until("all is flushed", |world| world.ends.iter().all(|end| end.0.is_flushed()));
}

fn bulk_is_cut_or_dropped_as_the_sink_wants<T: Transport>(world: &mut World<T>) {
    let (from, to) = (0, world.last());
    let source = pattern(4, 300_000);
    let mut target = vec![0xee; 200_000];
    let (cut, dropped) = (header(4), header(5));
    world.got(to).landings.push((cut.context, unpacker(&mut target[..150_000])));
    for (n, head) in [cut, dropped].iter().enumerate() {
        let token = Token(n as u64);
        world.transport(from).send_bulk(PeerId(to as u32), head, packer(&source), token, None);
    }
    world.run_until("both have left and one has landed", |world| {
        !world.got(to).landed.is_empty() && world.got(from).sent.len() == 2
    });
    world.run_until("all is flushed", |world| world.ends.iter().all(|end| end.0.is_flushed()));
    assert!(world.got(to).begun.iter().any(|(context, _)| *context == dropped.context));
    assert_eq!(world.got(to).landed, [Token(cut.context)], "what nobody wanted has landed");
    assert!(target[..150_000] == source[..150_000]);
    assert!(target[150_000..].iter().all(|byte| *byte == 0xee), "a cut landing ran over its end");
}

fn small_frames_pass_bulk_both_ways<T: Transport>(world: &mut World<T>) {
    let (a, b) = (0, world.last());
    let sources: Vec<Vec<u8>> = (0..6).map(|n| pattern(n, 200_000 + 777 * n as usize)).collect();
    let mut targets: Vec<Vec<u8>> = sources.iter().map(|source| vec![0; source.len()]).collect();
    for (n, target) in (0u64..).zip(&mut targets) {
        let (from, to) = if n % 2 == 0 { (a, b) } else { (b, a) };
        world.got(to).landings.push((header(n + 1).context, unpacker(target)));
        let source = packer(&sources[n as usize]);
        let token = Token(n);
        world.transport(from).send_bulk(PeerId(to as u32), &header(n + 1), source, token, None);
    }
    for n in 0..500 {
        world.send(a, b, &header(n), &pattern(n, n as usize));
        world.send(b, a, &header(n), &pattern(n, 8));
    }
    world.run_until("everything has landed", |world| {
        let landed: usize = world.ends.iter().map(|end| end.1.landed.len()).sum();
        let frames: usize = world.ends.iter().map(|end| end.1.frames.len()).sum();
        landed == 6 && frames == 1000
    });
    assert!(targets == sources, "transfers under way together were mixed up");
    if a != b {
        for (n, frame) in (0u64..).zip(&world.got(b).frames) {
            assert_eq!(frame.body, pattern(n, n as usize), "small frames changed their order");
        }
    }
}

fn a_pull_fetches_what_was_offered<T: Transport>(world: &mut World<T>) {
    let (from, to) = (0, world.last());
    world.send(from, to, &header(0), b"first");
    world.run_until("the path is open", |world| !world.got(to).frames.is_empty());
    for len in [1, 5000, 1 << 20 | 3] {
        let source = pattern(9, len);
        let mut target = vec![0xee; len + 64];
        let peer = PeerId(to as u32);
        let offer = world.transport(from).offer(peer, source.as_ptr(), len as u64);
        let mut way_in = unpacker(&mut target[..len]);
        let peer = PeerId(from as u32);
        let token = Token(len as u64);
        match world.transport(to).pull(peer, &offer, len as u64, &mut way_in, token) {
            Pulled::Unavailable => assert_eq!(way_in.remaining(), len as u64),
            Pulled::Done => assert!(target[..len] == source, "{len} pulled bytes are wrong"),
            Pulled::Begun => {
                world.run_until("it has ended", |world| {
                    let got = world.got(to);
                    got.landed.contains(&token) || got.stranded.contains(&token)
                });
                let landed = world.got(to).landed.contains(&token);
                assert!(!landed || target[..len] == source, "{len} fetched bytes are wrong");
            }
        }
        assert!(target[len..].iter().all(|byte| *byte == 0xee), "a pull ran over its end");
        if offer.kind != OfferKind::NONE {
            let foreign = Offer { kind: NOBODYS, ..offer };
            let pulled = world.transport(to).pull(peer, &foreign, len as u64, &mut way_in, token);
            assert_eq!(pulled, Pulled::Unavailable, "another transport's words were read");
            world.transport(from).end_offer(PeerId(to as u32), &offer);
        }
    }
}

/// Words of another transport are passed over.
fn bulk_lands_where_it_was_advertised<T: Transport>(world: &mut World<T>) {
    let (from, to) = (0, world.last());
    let foreign = Advert { kind: NOBODYS, bytes: [0xff; ADVERT_BYTES] };
    for (n, len) in (1..).zip([1, 5000, 300_000]) {
        for is_foreign in [false, true] {
            let source = pattern(n, len);
            let mut target = vec![0xee; len + 64];
            let head =
                Header { kind: FrameKind::Data as u8, ..header(2 * n + u64::from(is_foreign)) };
            let room = unpacker(&mut target[..len]);
            let (peer, token) = (PeerId(from as u32), Token(head.context));
            let told = world.transport(to).advertise(peer, &room, len as u64, token);
            let advert = if is_foreign { Some(foreign) } else { told };
            world.got(to).landings.push((head.context, room));
            let packer = packer(&source);
            world.transport(from).send_bulk(PeerId(to as u32), &head, packer, Token(n), advert);
            world.run_until("bulk data has landed", |world| world.got(to).landed.contains(&token));
            assert!(target[..len] == source, "{len} bytes of bulk data are wrong");
            assert!(target[len..].iter().all(|byte| *byte == 0xee), "bulk data ran over its end");
        }
    }
}
