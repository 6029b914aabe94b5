//! Collectives of a communicator whose processes come in groups, of which each is near itself: within each
//! group, and between one process of each, so that what a group has crosses the network once.
//!
//! `groups` is the partition, a value. `stages` describes each collective once, as collectives within this process's
//! group and of the leaders, every one of which takes its algorithm from the table. A call that blocks makes them one
//! after the other, over shared memory where there is some; one that begins or is kept cannot wait from stage to stage,
//! and has one `schedule`.

pub(crate) mod groups;
mod schedule;
pub(crate) mod stages;

pub(crate) use schedule::plan;
