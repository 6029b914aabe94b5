//! Collectives over the shared board of one node (see [`crate::boards`]): the blocking and
//! nonblocking forms of what is else a schedule of messages, chosen by the same table under the name
//! `board`.
//!
//! Every process writes its contribution to its own streams and reads what it needs from the
//! others', in place: a small operation is one cache line from each to each, and nobody waits for
//! anybody but for data. A long message is many pieces, read and reduced while the next are
//! written. With more ranks than processors that is also the form with the fewest turns: who is
//! given the processor finds what all before it have written, and writes what all after it need.
//!
//! `seat` gets a communicator its board, and `work` waits. `message` moves one message, in pieces or, if it is long,
//! from where it is `shown`; `fold` carries out a `task`: it reduces, `operand` by `operand`. A `transfer` is all that
//! one process does in a call. `describe` says what that is, `reduce` where it reduces, and `across` which operands two
//! ranks show each other. `run` runs a description to its end; `begun` begins one, and keeps the queue of those that are
//! under way.
//!
//! What is not a transfer: a barrier after which one process goes on first (`turns`), and the short way of small calls:
//! `quick`, `quick_varied` and `quick_reduced`, with `fold_short`, of which `listed` writes the shortest, `quick_left`
//! says what of them stays where it lies, and `begun_quick` leads from there into the queue.
//!
//! A process at which an operation fails says so on the board, since its streams may have stopped
//! within a message: whoever waits at that board fails with the same class, says so as well, and
//! so do all later calls that would use it.

mod across;
mod begun;
mod begun_quick;
mod describe;
mod fold;
mod fold_short;
mod listed;
mod message;
mod operand;
mod pattern;
mod quick;
mod quick_left;
mod quick_reduced;
mod quick_varied;
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
pub(super) use message::{copy, copy_run};
pub(super) use quick::{polls, run};
pub use quick_reduced::Reduced;
pub use quick_varied::{Elements, Uneven};
pub(crate) use seat::BoardState;
pub(crate) use turns::Lead;
