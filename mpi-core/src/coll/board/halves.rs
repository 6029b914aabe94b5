//! Reducing long vectors of two ranks through their streams, by halves (MPI-5.0 §6.9.6): each writes the other
//! one's half of its contribution, reduces its own half, and writes what comes of it tile by tile.
//!
//! Each decides by itself whether it writes a half or the whole. An empty piece that is not the last goes before
//! a half, so its reader knows. Who has got a half reduces its own one and takes in the rest of the result; who
//! has got the whole reduces all of it; and who has written a half sends the result of its own one. So any two
//! decisions agree with each other, and as a rule both are the same, since both ranks run on one machine.
//!
//! By halves three parts of four are copied and reduced, but half of it only when the other one is ready. That
//! pays where a peer is cheap to write to. OSU's allreduce (Zen 5, near), as a whole, by halves, and Intel MPI: 64 KiB
//! 2.75, 2.83 and 3.08 µs, 128 KiB 5.29, 4.86 and 5.59, 256 KiB 11.0, 10.3 and 12.4, 1 MiB 53.6, 50.0 and 49.9. The
//! same of two ranks on one core (Zen 3), mostly whole and by halves: 256 KiB 40.7 and 36.7, 512 KiB 78.8 and 69.5,
//! 1 MiB 164 and 149.

use super::fold::{Fold, Order, Streams, keep, section};
use super::message::{Incoming, Outgoing};
use super::reduce::{Job, share_bytes};
use super::shown::Way;
use super::transfer::Transfer;
use super::work::WaitFor;
use crate::boards::{Audience, Boards, Piece, Source};
use crate::buffer::UserBuffer;
use crate::datatype::{Packer, Unpacker};
use crate::entry::Entry;
use crate::error::Result;
use crate::port::Port;

/// Vectors of at most so many pieces are written as a whole: of two, a half is one that nothing goes on beside.
const PIECES: usize = 2;

/// Which bytes of a vector a rank reduces for both.
#[derive(Clone, Copy)]
struct Half {
    begin: usize,
    len: usize,
}

/// The halves of `len` bytes in elements of `unit`, of rank 0 and of rank 1.
fn halves(len: usize, unit: usize) -> [Half; 2] {
    let share = share_bytes(len, 2, unit).min(len);
    [Half { begin: 0, len: share }, Half { begin: share, len: len - share }]
}

/// Whether a piece says that the other one's half follows, no more.
pub(super) fn announces_half(piece: Piece) -> bool {
    piece.len == 0 && !piece.last && piece.apart == 0
}

impl Outgoing {
    /// The same behind a piece that says that it is a half.
    fn announced(self) -> Outgoing {
        Outgoing { way: Way::Announced, ..self }
    }

    /// Goes on with the same bytes at the end of this copy of them.
    fn go_on_from(&mut self, copy: &[u8], end: usize) {
        let left = self.remaining();
        let at = copy.as_ptr().wrapping_add(end).wrapping_sub(left as usize);
        self.source = Packer::contiguous(UserBuffer(at.cast_mut()), left);
    }
}

impl<P: Port> Entry<'_, P> {
    /// Reduces `len` bytes of two ranks. The contribution of this one is `whole` if that has been shown, or written
    /// already, and else written, all of it or a half.
    pub(super) fn reduce_by_halves(
        &mut self,
        mut job: Job,
        len: usize,
        whole: Outgoing,
    ) -> Result<()> {
        let (seat, other) = (job.seat, 1 - job.seat.rank);
        let both = halves(len, job.unit);
        let (mine, theirs) = (both[seat.rank as usize], both[other as usize]);
        let is_open = !whole.done && !whole.is_shown() && len > PIECES * whole.most;
        let divides = is_open && self.port.memory_mut().writes_halves(seat.board);
        let (mut out, end) = match divides {
            true => {
                let at = job.own.offset(theirs.begin as i64);
                let half = section(self, seat, Audience::Everyone, at, theirs.len, job.unit);
                (half.announced(), theirs.begin + theirs.len)
            }
            false => (whole, len),
        };
        while out.push(self, seat) {}
        let from = Source::Public(other);
        let first = self.await_piece(seat, from, WaitFor::Each(Source::Public))?;
        let divided = announces_half(first);
        if divided {
            self.port.memory_mut().consume_piece(seat.board, from);
        }
        let kept: Vec<u8>;
        if divides != divided && job.own == job.recv {
            // One of the results may come before what it overwrites has gone out.
            kept = keep(job.own, len)?;
            job.own = UserBuffer(kept.as_ptr().cast_mut());
            out.go_on_from(&kept, end);
        }
        let mut transfer = Transfer::new(seat);
        let range = if divided { mine } else { Half { begin: 0, len } };
        let mut task = job.task(range.begin, range.len, Order::Down(1), Streams::Public);
        match (divides, divided) {
            (true, true) => task.to = Some(Audience::One(other)),
            (true, false) => {
                let result = job.recv.offset(mine.begin as i64);
                let half = section(self, seat, Audience::One(other), result, mine.len, job.unit);
                transfer.send_last(half);
            }
            (false, _) => task.follows = !divided && job.own == job.recv,
        }
        transfer.send(out);
        if divided {
            let at = job.recv.offset(theirs.begin as i64);
            let into = Unpacker::contiguous(at, theirs.len as u64);
            transfer.receive(Incoming::new(Source::Private(other), into));
        }
        transfer.reduce(Fold::new(self, seat, task));
        transfer.run(self)
    }
}
