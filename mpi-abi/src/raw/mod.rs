//! Bodies that keep the C parameters: arrays of handles and statuses, and odd shapes.

pub mod addresses;
pub mod alltoallw;
mod arrays;
pub mod completion;
pub mod datatypes;
pub mod get_status;
pub mod info;
pub mod init;
pub mod statuses;
