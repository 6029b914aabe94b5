//! A send and a receive buffer that are one piece of memory (MPI-5.0 §6.2 forbids it; `MPI_IN_PLACE` is what means it).
//!
//! Enters: the buffers of a call whose arguments are sound otherwise. Leaves: an error that names them, or, where
//! the program's library takes the call (decision 91), the same call in place.

use super::place::Places;
use crate::buffer::UserBuffer;
use crate::error::{Error, ErrorClass, Result};

/// What becomes of a collective whose send and receive buffer are one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EqualBuffers {
    /// It is refused.
    #[default]
    Refused,
    /// It goes in place where that means the same, and is refused elsewhere.
    InPlace,
}

/// Of how many elements a reduction with equal buffers goes in place at most, if any does: of none.
pub(crate) const NONE: i64 = 0;
/// Of one.
pub(crate) const ONE: i64 = 1;
/// Of any number.
pub(crate) const ANY: i64 = i64::MAX;

/// The buffer that `MPI_IN_PLACE` may stand for, and the other one.
#[derive(Clone, Copy)]
pub(crate) enum Own {
    Send,
    /// At the root of a scatter.
    Recv,
}

fn refusal(own: Own) -> Error {
    let (param, other, hint) = match own {
        Own::Send => ("sendbuf", "recvbuf", SEND_HINT),
        Own::Recv => ("recvbuf", "sendbuf", RECV_HINT),
    };
    Error::param(ErrorClass::BUFFER, param, format!("is the same memory as {other}")).hint(hint)
}

const SEND_HINT: &str =
    "Pass MPI_IN_PLACE as sendbuf if the data lies where the result goes, else use two buffers.";
const RECV_HINT: &str = "Pass MPI_IN_PLACE as recvbuf if the root's part is to stay where it is, \
                         else use two buffers.";

impl EqualBuffers {
    /// What a reduction of `count` elements into `recv` takes as the contribution `send`: itself, or
    /// `MPI_IN_PLACE` if both are the same and the library that the program was built for takes so many.
    pub(crate) fn contribution(
        self,
        send: UserBuffer,
        recv: UserBuffer,
        count: i64,
        most: i64,
    ) -> Result<UserBuffer> {
        if send != recv || count <= 0 || !send.is_real() {
            return Ok(send);
        }
        match self {
            EqualBuffers::InPlace if count <= most => Ok(UserBuffer::IN_PLACE),
            _ => Err(refusal(Own::Send)),
        }
    }

    /// The block of this process, and whether the call goes in place: as the program says, or since the block is that
    /// of `rank` among the `blocks` of all and the library that the program was built for takes that.
    pub(crate) fn apart(
        self,
        block: Places,
        in_place: bool,
        own: Own,
        blocks: &Places,
        rank: usize,
    ) -> Result<(Places, bool)> {
        let Some(place) = block.first() else { return Ok((block, in_place)) };
        let same = |index| blocks.get(index).is_some_and(|other| other.is_same(&place));
        match same(rank) {
            true if self == EqualBuffers::InPlace => Ok((Places::None, true)),
            false if !same(0) => Ok((block, in_place)),
            _ => Err(refusal(own)),
        }
    }
}

/// Refuses a full exchange one of whose blocks is received where it is sent from.
pub(crate) fn exchanged_apart(from: &Places, into: &Places) -> Result<()> {
    match from.iter().zip(into.iter()).any(|(from, into)| from.is_same(&into)) {
        true => Err(refusal(Own::Send)),
        false => Ok(()),
    }
}
