//! Collectives over the shared segment of one node (see [`crate::node_memory`]): the blocking and nonblocking forms of
//! what is else a schedule of messages, chosen by the same table under the name `shared_memory`.
//!
//! Every process writes its contribution to its own streams and reads what it needs from the others', in place: a small
//! operation is one cache line from each to each, and nobody waits for anybody but for data. A long message is many
//! fragments, read and reduced while the next are written. With more ranks than processors that is also the form with
//! the fewest turns: who is given the processor finds what all before it have written, and writes what all after it
//! need.
//!
//! `open` gets a communicator its segment, `member` is a process's place there, and `work` waits. `message` moves one
//! message, in fragments or, if it is long, from where it is `exposed`; `fold` carries out a `task`: it reduces,
//! `operand` by `operand`. A `transfer` is all that one process does in a call. `describe` says what that is, `reduce`
//! where it reduces, and `across` which operands two ranks show each other; `pattern`, who writes to whom, as far as
//! caches care. `run` runs a description to its end; `pending` begins one, and keeps the queue of those that are under
//! way.
//!
//! What is not a transfer: a barrier after which one process goes on first (`wake_order`), and the fast path of small
//! blocking calls (`fast`, with `fold_short`) and of those that begin (`begin_fast`).
//!
//! A process at which an operation fails says so on the segment, since its streams may have stopped within a message:
//! whoever waits at that segment fails with the same class, says so as well, and so do all later calls that would use
//! it.

mod across;
mod begin_fast;
mod describe;
mod exposed;
mod fast;
mod fold;
mod fold_short;
mod member;
mod message;
mod open;
mod operand;
mod pattern;
mod pending;
mod reduce;
mod run;
mod task;
mod transfer;
mod wake_order;
mod work;

pub(crate) use fold::Scratch;
pub(super) use message::copy;
pub(crate) use pending::Pending;
pub(super) use work::polls;
