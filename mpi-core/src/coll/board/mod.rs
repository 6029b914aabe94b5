//! Collectives over the shared board of one node (see [`crate::boards`]): the blocking and nonblocking forms of what is
//! else a schedule of messages, chosen by the same table under the name `board`.
//!
//! Every process writes its contribution to its own streams and reads what it needs from the others', in place: a small
//! operation is one cache line from each to each, and nobody waits for anybody but for data. A long message is many
//! pieces, read and reduced while the next are written. With more ranks than processors that is also the form with the
//! fewest turns: who is given the processor finds what all before it have written, and writes what all after it need.
//!
//! `seat` gets a communicator its board, and `work` waits. `message` moves one message, in pieces or, if it is long,
//! from where it is `shown`; `fold` carries out a `task`: it reduces, `operand` by `operand`. A `transfer` is all that
//! one process does in a call. `describe` says what that is, `reduce` where it reduces, and `across` which operands two
//! ranks show each other. `run` runs a description to its end; `begun` begins one, and keeps the queue of those that
//! are under way.
//!
//! What is not a transfer: a barrier after which one process goes on first (`turns`), and the fast path of small
//! blocking calls (`fast`, with `fold_short`) and of those that begin (`begin_fast`).
//!
//! A process at which an operation fails says so on the board, since its streams may have stopped within a message:
//! whoever waits at that board fails with the same class, says so as well, and so do all later calls that would use it.

mod across;
mod begin_fast;
mod begun;
mod describe;
mod fast;
mod fold;
mod fold_short;
mod message;
mod operand;
mod pattern;
mod reduce;
mod run;
mod seat;
mod shown;
mod task;
mod transfer;
mod turns;
mod work;

pub(crate) use begun::Begun;
pub(crate) use fold::Scratch;
pub(super) use message::copy;
pub(crate) use seat::BoardState;
pub(crate) use turns::Lead;
pub(super) use work::polls;
