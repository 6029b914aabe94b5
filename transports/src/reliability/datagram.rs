//! A datagram that is about to leave, for whoever sends it: where its bytes are, without a copy of them.

use mpi_core::datatype::Packer;

use super::wire::Front;

/// What follows the front of a datagram.
#[derive(Clone, Debug)]
pub enum Content<'a> {
    /// Nothing.
    Nothing,
    /// These bytes of the link's own, one after the other.
    Own([&'a [u8]; 2]),
    /// All bytes of this cursor over the program's memory, which is readable until
    /// [`super::Listener::sent`].
    User(Packer),
}

/// A datagram that is about to leave.
#[derive(Clone, Debug)]
pub struct Datagram<'a> {
    pub(super) number: u64,
    pub(super) front: Front,
    pub(super) content: Content<'a>,
    pub(super) is_probe: bool,
}

/// What probes are filled with: the halves of the largest one.
static PADDING: [u8; 1 << 15] = [0; 1 << 15];

impl Datagram<'_> {
    /// Fills it up to so many bytes.
    pub(super) fn pad_to(&mut self, bytes: u16) {
        let padding = usize::from(bytes).saturating_sub(self.front().len());
        let half = padding / 2;
        self.content = Content::Own([half, padding - half].map(|len| &PADDING[..len]));
    }

    /// Whether it only tries a size that is larger than is known to come through. It is to leave alone and
    /// unfragmented, and when the system refuses it, that is told by [`super::Link::too_big`].
    pub fn is_probe(&self) -> bool {
        self.is_probe
    }

    /// Its number, which no other datagram of this link has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its first bytes.
    pub fn front(&self) -> &[u8] {
        self.front.as_bytes()
    }

    /// What follows them.
    pub fn content(&self) -> &Content<'_> {
        &self.content
    }

    /// All its bytes.
    pub fn bytes(&self) -> usize {
        let content = match &self.content {
            Content::Nothing => 0,
            Content::Own(runs) => runs.iter().map(|run| run.len()).sum(),
            Content::User(packer) => packer.remaining() as usize,
        };
        self.front().len() + content
    }

    /// Copies it behind what `to` has.
    ///
    /// # Safety
    /// The memory of messages that were handed over and not given back is readable.
    pub unsafe fn copy_to(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(self.front());
        match &self.content {
            Content::Nothing => {}
            Content::Own(runs) => runs.iter().for_each(|run| to.extend_from_slice(run)),
            Content::User(packer) => {
                let (begin, len) = (to.len(), packer.remaining() as usize);
                to.resize(begin + len, 0);
                // SAFETY: `to` has `len` more bytes; the memory of the message is readable by the
                // caller's promise and is no part of them.
                unsafe { packer.clone().pack_into(to[begin..].as_mut_ptr(), len) };
            }
        }
    }
}
