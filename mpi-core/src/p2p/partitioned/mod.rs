//! What there is of a partitioned operation (MPI-5.0 chapter 4): one message whose parts are sent as they become ready.
//!
//! [`plan`] is what is kept of one and of its rounds, [`chunks`] how its partitions are divided into messages, and
//! [`channel`] what its sender tells its receiver of both. The calls are
//! [`messages::partitioned`](crate::messages::partitioned).

mod channel;
mod chunks;
mod plan;

pub(crate) use channel::{Channel, PARTS, meeting};
pub(crate) use chunks::Chunks;
pub(crate) use plan::{End, Plan, Round};
