//! The words that the core and its transports have in common: who a peer is and why it is lost, what a look at a path
//! has found, and what the two ends of a rendezvous tell each other.

use crate::buffer::RawBytes;
use crate::datatype::{Packer, Unpacker};

/// A peer, by its place in the core's table of peers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PeerId(pub u32);

/// Who a process is: the job it was started in and its rank there.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ProcessName {
    /// The job, by the identity that its launcher gave it.
    pub job: String,
    /// Rank in the job.
    pub rank: u32,
}

/// Names a bulk transfer between two processes; chosen by the side that asked for the bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Token(pub u64);

/// The path to a peer has no room now: keep the frame and offer it again after a poll.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// Whether a poll found anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// Nothing moved.
    Idle,
    /// At least one frame or fragment of bulk data moved.
    Busy,
}

/// What a look at the next frame of one peer showed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Front {
    /// None has come.
    Empty,
    /// It was wanted and is taken.
    Taken,
    /// Something else: a poll takes care of it.
    Other,
}

/// What became of the next message of one peer that comes in several fragments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fragments {
    /// There is none, or it was not wanted: a poll takes care of it.
    Other,
    /// It is wholly where it was wanted.
    Taken,
    /// So many bytes of it are, and the rest is long in coming: the caller says by
    /// [`crate::port::Transport::land`] where that goes.
    Begun(u64),
}

/// Why a peer cannot be reached any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// It has finalized and left.
    Finalized,
    /// It or the way to it is gone; the text says how that showed.
    Lost(String),
    /// The same, and something that was accepted for it never got there: the program counts on it, and nobody else
    /// can tell, so that the job cannot go on.
    Undelivered {
        /// How that showed.
        how: String,
        /// What may help.
        hint: Option<&'static str>,
    },
}

/// The body of a small frame on its way out.
pub enum Body<'a> {
    /// Bytes of the core's own or contiguous user bytes, valid for the call.
    Bytes(RawBytes<'a>),
    /// Everything that the packer has left; the transport drains it iff it accepts the frame.
    Packed(&'a mut Packer),
}

/// Where bulk bytes go.
pub enum Landing {
    /// Into user memory that a request owns until [`crate::port::Sink::landed`] or [`crate::port::Sink::peer_down`].
    User(Unpacker),
    /// Nowhere: the message was refused; drop the bytes.
    Discard,
}

/// What a path to one peer can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caps {
    /// Largest body that [`crate::port::Transport::send`] takes.
    pub frame_bytes_max: usize,
    /// What the path is, for reports: "shared memory", "loopback", …
    pub name: &'static str,
}

/// Which transport wrote the words that one end of a rendezvous tells the other, so that no
/// transport reads those of another one as its own. Travels with them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct OfferKind(pub u8);

impl OfferKind {
    /// Nobody: nothing is told.
    pub const NONE: OfferKind = OfferKind(0);
}

/// The sender's side of a rendezvous: where its bytes can be fetched from, in its transport's own
/// words. Travels in an RTS. The words of a peer may be anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Offer {
    /// Whose words these are; [`OfferKind::NONE`] where nothing is offered.
    pub kind: OfferKind,
    /// The words. The first is an address, if one tells it: it differs from run to run.
    pub words: [u64; 2],
}

/// The receiver's side of a rendezvous: where the bytes go, in its transport's own words. Travels in a
/// CTS. The bytes of a peer may be anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Advert {
    /// Whose words these are; not [`OfferKind::NONE`].
    pub kind: OfferKind,
    /// The words.
    pub bytes: [u8; ADVERT_BYTES],
}

/// Bytes of an [`Advert`], for which a CTS has room.
pub const ADVERT_BYTES: usize = 24;

/// What became of a [`crate::port::Transport::pull`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pulled {
    /// All bytes are in place.
    Done,
    /// They are on their way: the sink hears of their end.
    Begun,
    /// This way is not open between the two; ask for the bytes by a CTS.
    Unavailable,
}
