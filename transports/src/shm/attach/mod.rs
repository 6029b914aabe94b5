//! How processes find each other and map each other's arenas: by the way in (`connect`) or by setup messages (`meet`,
//! `hello`); how one gives another up (`lose`, `parting`), and how segments of windows are handed over
//! (`window_segments`).

pub(in crate::shm) mod connect;
pub(in crate::shm) mod hello;
mod lose;
pub(in crate::shm) mod meet;
mod parting;
pub(in crate::shm) mod setup_message;
pub(in crate::shm) mod window_segments;
