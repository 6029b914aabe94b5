//! The path of a process to itself: a queue in its own memory, with the semantics of any other
//! transport, so that the core needs no special case.

use std::collections::VecDeque;

use mpi_core::buffer::RawBytes;
use mpi_core::datatype::{Packer, Unpacker};
use mpi_core::header::Header;
use mpi_core::port::{
    Activity, Advert, Body, Caps, Full, Landing, Offer, PeerId, ProcessName, Pulled, Sink, Token,
    Transport,
};

use crate::offers::LOOPBACK;

/// Frames that wait at most.
const FRAMES_MAX: usize = 256;
/// Largest body of a frame, in bytes.
const FRAME_BYTES: usize = 64 << 10;
/// Bytes moved at a time between two buffers of which one is not one run of memory.
const BOUNCE_BYTES: usize = 32 << 10;

/// The transport of a process to itself.
#[derive(Default)]
pub struct Loopback {
    me: Option<PeerId>,
    frames: VecDeque<(Header, Vec<u8>)>,
    /// Buffers of frames that were delivered, for the next ones.
    spare: Vec<Vec<u8>>,
    bulk: VecDeque<(Header, Packer, Token)>,
}

impl Loopback {
    /// A path on which nothing waits.
    pub fn new() -> Loopback {
        Loopback::default()
    }

    /// Whether a poll would find nothing.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.frames.is_empty() && self.bulk.is_empty()
    }

    #[cold]
    #[inline(never)]
    fn deliver<S: Sink>(&mut self, sink: &mut S) {
        let Some(me) = self.me else { return };
        // What the sink's owner sends in answer waits for the next poll.
        for _ in 0..self.frames.len() {
            if let Some((header, bytes)) = self.frames.pop_front() {
                sink.frame(me, &header, RawBytes::from(&bytes[..]));
                self.spare.push(bytes);
            }
        }
        for _ in 0..self.bulk.len() {
            if let Some((header, mut source, token)) = self.bulk.pop_front() {
                let landing = sink.begin(me, &header, source.remaining());
                if let Landing::User(mut to) = landing {
                    copy(&mut source, &mut to);
                    sink.landed(me, Token(header.context));
                }
                sink.sent(token);
            }
        }
    }
}

impl Transport for Loopback {
    fn add_peer(&mut self, peer: PeerId, _: &ProcessName) {
        self.me = Some(peer);
    }

    fn caps(&self, _: PeerId) -> Caps {
        Caps { frame_bytes_max: FRAME_BYTES, name: "loopback" }
    }

    fn send(&mut self, _: PeerId, header: &Header, body: Body<'_>) -> Result<(), Full> {
        if self.frames.len() >= FRAMES_MAX || self.me.is_none() {
            return Err(Full);
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        let len = match &body {
            Body::Bytes(body) => body.len(),
            Body::Packed(packer) => packer.remaining() as usize,
        };
        bytes.clear();
        bytes.reserve(len);
        // SAFETY: the vector has room for `len` bytes, all of which the copies fill; the body is
        // readable by `Body`'s contract.
        unsafe {
            match body {
                Body::Bytes(body) => body.copy_to(bytes.as_mut_ptr()),
                Body::Packed(packer) => {
                    packer.pack_into(bytes.as_mut_ptr(), len);
                }
            }
            bytes.set_len(len);
        }
        self.frames.push_back((*header, bytes));
        Ok(())
    }

    fn hold(&mut self) {}

    fn release(&mut self) {}

    fn send_bulk(
        &mut self,
        _: PeerId,
        header: &Header,
        source: Packer,
        token: Token,
        _: Option<Advert>,
    ) {
        self.bulk.push_back((*header, source, token));
    }

    #[inline]
    fn poll<S: Sink>(&mut self, sink: &mut S) -> Activity {
        if self.is_idle() {
            return Activity::Idle;
        }
        self.deliver(sink);
        Activity::Busy
    }

    fn offer(&mut self, _: PeerId, address: *const u8, _: u64) -> Offer {
        Offer { kind: LOOPBACK, words: [address.expose_provenance() as u64, 0] }
    }

    fn pull(&mut self, _: PeerId, offer: &Offer, len: u64, to: &mut Unpacker, _: Token) -> Pulled {
        if offer.kind != LOOPBACK {
            return Pulled::Unavailable; // a message with gaps, which has no one place
        }
        let bytes = std::ptr::with_exposed_provenance(offer.words[0] as usize);
        // SAFETY: the offer was made by `offer` of this very process, whose request keeps the
        // bytes readable until its rendezvous ends; the destination is the caller's.
        unsafe { to.unpack_from(RawBytes::new(bytes, len as usize)) };
        Pulled::Done
    }

    fn is_flushed(&self) -> bool {
        self.is_idle()
    }
}

/// Moves all that `from` has left, as far as `to` has room.
fn copy(from: &mut Packer, to: &mut Unpacker) {
    if let Some((at, len)) = from.as_contiguous() {
        // SAFETY: both messages' memory belongs to their requests until sent and landed.
        unsafe { to.unpack_from(RawBytes::new(at, len as usize)) };
        return;
    }
    let mut bounce = vec![0; BOUNCE_BYTES];
    while from.remaining() > 0 {
        // SAFETY: the bounce buffer has that many bytes; memory as above.
        let n = unsafe { from.pack_into(bounce.as_mut_ptr(), BOUNCE_BYTES) };
        // SAFETY: as above.
        unsafe { to.unpack_from(RawBytes::from(&bounce[..n])) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi_core::buffer::UserBuffer;

    #[test]
    fn what_was_not_offered_is_not_fetched() {
        let mut room = [0_u8; 64];
        let mut to = Unpacker::contiguous(UserBuffer(room.as_mut_ptr()), 64);
        let pulled = Loopback::new().pull(PeerId(0), &Offer::default(), 64, &mut to, Token(1));
        assert_eq!(pulled, Pulled::Unavailable);
        assert_eq!(to.remaining(), 64);
    }

    #[test]
    fn meets_all_requirements() {
        crate::conformance::check(|| {
            let mut loopback = Loopback::new();
            loopback.add_peer(PeerId(0), &ProcessName { job: "j".into(), rank: 0 });
            vec![loopback]
        });
    }
}
