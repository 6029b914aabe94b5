//! Collectives of a communicator whose processes come in groups, of which each is near itself: within each
//! group, and between one process of each, so that what a group has crosses the network once.
//!
//! `groups` is the partition, a value; [`level`] gives a communicator one, with communicators for its
//! group and for the leaders. `stages` describes each collective once, as collectives of these two, every one of which
//! takes its algorithm from the table. A call that blocks makes them one after the other (`blocking`), over shared
//! memory where there is some; one that begins or is kept cannot wait from stage to stage, and has one `schedule`.

mod blocking;
pub(crate) mod groups;
pub(crate) mod level;
mod schedule;
pub(super) mod stages;

pub(super) use schedule::plan;
