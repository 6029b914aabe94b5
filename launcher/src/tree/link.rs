//! One stream of frames, in both directions, that never blocks: what cannot be written yet waits in
//! memory. How much that can be is bounded by what is said: output and input go only as far as the
//! other end has room (`Down::Taken`, `Up::Fed`), and the rest is small.

use super::frame::{Frame, LENGTH_MAX, MARK, VERSION};
use crate::sys::{self, Epoll, Interest};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How much is read at a time.
const CHUNK: usize = 64 * 1024;

/// How much a remote shell may write before the agent speaks.
const NOISE_MAX: usize = 64 * 1024;

/// A stream of frames.
#[derive(Debug)]
pub(crate) struct Link {
    from: OwnedFd,
    /// Gone when the other end does not read any more.
    to: Option<OwnedFd>,
    token_out: u64,
    inbox: Vec<u8>,
    taken: usize,
    /// The other end's mark has been seen.
    greeted: bool,
    outbox: Vec<u8>,
    written: usize,
    waiting: bool,
    /// When something was read last, moved on by the time in which nobody listened.
    heard: Instant,
}

impl Link {
    /// A stream over two descriptors that do not block, known to epoll as these two tokens, and the
    /// mark as its first bytes.
    pub(crate) fn new(
        epoll: &Epoll,
        (from, token_in): (OwnedFd, u64),
        (to, token_out): (OwnedFd, u64),
    ) -> io::Result<Link> {
        epoll.add(&from, token_in, Interest::Read)?;
        epoll.add(&to, token_out, Interest::Nothing)?;
        let outbox = [&MARK[..], &VERSION.to_le_bytes()].concat();
        let mut link = Link {
            from,
            to: Some(to),
            token_out,
            inbox: Vec::new(),
            taken: 0,
            greeted: false,
            outbox,
            written: 0,
            waiting: false,
            heard: Instant::now(),
        };
        link.flush(epoll);
        Ok(link)
    }

    /// Sends a frame, now or when there is room.
    pub(crate) fn send(&mut self, epoll: &Epoll, frame: &[u8]) {
        if self.to.is_some() {
            self.outbox.extend_from_slice(frame);
            self.flush(epoll);
        }
    }

    /// Whether everything has been written, or cannot be.
    pub(crate) fn is_flushed(&self) -> bool {
        self.to.is_none() || self.written == self.outbox.len()
    }

    /// There is room to write again, or nobody to read it. The room may be an old story: what
    /// waited for it may have been written since, with something that was sent in between.
    pub(crate) fn writable(&mut self, epoll: &Epoll) {
        if self.waiting {
            self.flush(epoll);
        } else if self.to.as_ref().is_some_and(sys::is_unread) {
            self.to = None;
        }
    }

    fn flush(&mut self, epoll: &Epoll) {
        let Some(to) = &self.to else { return };
        while self.written < self.outbox.len() {
            match sys::write(to, &self.outbox[self.written..]) {
                Ok(Some(n)) => self.written += n,
                Ok(None) => break,
                Err(_) => {
                    self.to = None;
                    return;
                }
            }
        }
        if self.written == self.outbox.len() {
            self.outbox.clear();
            self.written = 0;
        }
        let waiting = self.written < self.outbox.len();
        if waiting != self.waiting {
            let interest = if waiting { Interest::Write } else { Interest::Nothing };
            let _ = epoll.change(to, self.token_out, interest);
            self.waiting = waiting;
        }
    }

    /// How long the other end has been silent.
    pub(crate) fn silence(&self) -> Duration {
        self.heard.elapsed()
    }

    /// Does not count so much of its silence: nobody listened.
    pub(crate) fn excuse(&mut self, late: Duration) {
        self.heard += late;
    }

    /// Reads what is there; false at the end of the stream.
    pub(crate) fn readable(&mut self) -> bool {
        self.inbox.drain(..self.taken);
        self.taken = 0;
        let start = self.inbox.len();
        self.inbox.resize(start + CHUNK, 0);
        let read = sys::read(&self.from, &mut self.inbox[start..]);
        self.inbox.truncate(start + read.as_ref().map_or(0, |n| n.unwrap_or(0)));
        self.heard = Instant::now();
        !matches!(read, Ok(Some(0)) | Err(_))
    }

    /// The next frame, if all of it has come; an error after which the stream is of no use.
    pub(crate) fn next<F: Frame>(&mut self) -> Result<Option<F>, String> {
        if !self.greeted && !self.greeting()? {
            return Ok(None);
        }
        let rest = &self.inbox[self.taken..];
        let Some((length, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > LENGTH_MAX {
            return Err(format!("a frame of {length} bytes was announced"));
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let frame = F::decode(body).map_err(|malformed| malformed.to_string())?;
        self.taken += 4 + length;
        Ok(Some(frame))
    }

    /// Looks for the other end's mark.
    fn greeting(&mut self) -> Result<bool, String> {
        let all = MARK.len() + 4;
        let at = self.inbox.windows(MARK.len()).position(|window| window == MARK);
        let Some(at) = at else {
            return match self.inbox.len() > NOISE_MAX {
                true => Err("something else than Ferrite's mpirun answers".to_string()),
                false => Ok(false),
            };
        };
        let Some(greeting) = self.inbox.get(at..at + all) else { return Ok(false) };
        let [.., a, b, c, d] = greeting else { return Ok(false) };
        let version = u32::from_le_bytes([*a, *b, *c, *d]);
        if version != VERSION {
            return Err(format!(
                "its mpirun speaks version {version}, this one {VERSION}: install the same there"
            ));
        }
        self.taken = at + all;
        self.greeted = true;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::{Down, Up};
    use super::*;
    use proptest::prelude::*;

    /// A link whose other ends are in our hands.
    fn link() -> (Epoll, Link, OwnedFd, OwnedFd) {
        let epoll = Epoll::new().unwrap();
        let [from, theirs_to] = sys::pipe(0).unwrap();
        let [theirs_from, to] = sys::pipe(1).unwrap();
        let link = Link::new(&epoll, (from, 1), (to, 2)).unwrap();
        (epoll, link, theirs_from, theirs_to)
    }

    fn greeting() -> Vec<u8> {
        [&MARK[..], &VERSION.to_le_bytes()].concat()
    }

    #[test]
    fn what_is_sent_arrives_behind_the_mark_and_much_of_it_waits() {
        let (epoll, mut link, theirs, _to) = link();
        let big = Down::Feed { rank: 1, bytes: vec![7; 300_000] };
        link.send(&epoll, &big.encode());
        assert!(!link.is_flushed());
        let (mut got, mut chunk) = (Vec::new(), vec![0; 10_000]);
        let expected = [greeting(), big.encode()].concat();
        while got.len() < expected.len() {
            let n = sys::read(&theirs, &mut chunk).unwrap().unwrap();
            got.extend_from_slice(&chunk[..n]);
            link.writable(&epoll);
        }
        assert!(link.is_flushed() && got == expected);
        drop(theirs);
        link.send(&epoll, &Down::Go.encode());
        assert!(link.is_flushed(), "nobody will read it");
    }

    #[test]
    fn room_that_is_told_of_late_is_no_end() {
        let (epoll, mut link, theirs, _to) = link();
        link.send(&epoll, &Down::Feed { rank: 1, bytes: vec![7; 100_000] }.encode());
        assert!(!link.is_flushed());
        let mut chunk = vec![0; 1 << 20];
        sys::read(&theirs, &mut chunk).unwrap();
        let ready = epoll.wait(None).unwrap();
        // Something else in the same round writes what was left.
        link.send(&epoll, &Down::Go.encode());
        assert!(link.is_flushed() && ready == [2]);
        link.writable(&epoll);
        sys::read(&theirs, &mut chunk).unwrap();
        link.send(&epoll, &Down::Go.encode());
        assert_eq!(sys::read(&theirs, &mut chunk).unwrap(), Some(Down::Go.encode().len()));
        drop(theirs);
        assert_eq!(epoll.wait(None).unwrap(), [2]);
        link.writable(&epoll);
        assert!(link.to.is_none(), "nobody will read it");
    }

    #[test]
    fn another_version_and_something_else_are_named() {
        let (_epoll, mut link, _from, to) = link();
        sys::write(&to, &[&MARK[..], &9u32.to_le_bytes()].concat()).unwrap();
        assert!(link.readable());
        assert!(link.next::<Up>().unwrap_err().contains("version 9"));
        let (_epoll, mut link, _from, to) = self::link();
        for _ in 0..3 {
            sys::write(&to, &[b'x'; 30_000]).unwrap();
            assert!(link.readable());
        }
        assert!(link.next::<Up>().unwrap_err().contains("something else"));
    }

    proptest! {
        #[test]
        fn frames_do_not_depend_on_how_they_are_cut(
            noise in "[a-z\n]{0,20}", texts in proptest::collection::vec("\\PC{0,9}", 0..5),
            piece in 1usize..30,
        ) {
            let (_epoll, mut link, _from, to) = link();
            let frames: Vec<Up> =
                texts.into_iter().map(|text| Up::Garbled { rank: 1, text }).collect();
            let mut bytes = [noise.as_bytes(), &greeting()].concat();
            bytes.extend(frames.iter().flat_map(Frame::encode));
            let mut got = Vec::new();
            for part in bytes.chunks(piece) {
                sys::write(&to, part).unwrap();
                prop_assert!(link.readable());
                while let Some(frame) = link.next::<Up>().unwrap() {
                    got.push(frame);
                }
            }
            prop_assert_eq!(got, frames);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let (_epoll, mut link, _from, to) = link();
            sys::write(&to, &[greeting(), bytes].concat()).unwrap();
            link.readable();
            while let Ok(Some(_)) = link.next::<Up>() {}
        }
    }
}
