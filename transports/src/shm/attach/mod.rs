//! How processes find each other and map each other's arenas: by the way in (`door`) or by letters (`meet`, `hello`);
//! how one gives another up (`lose`, `parting`), and how segments of windows are handed over (`segments`).

pub(in crate::shm) mod door;
pub(in crate::shm) mod hello;
pub(in crate::shm) mod letter;
mod lose;
pub(in crate::shm) mod meet;
mod parting;
pub(in crate::shm) mod segments;
