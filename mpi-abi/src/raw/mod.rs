//! Bodies that keep the C parameters: arrays of handles and statuses, and odd shapes.

pub mod completion;
pub mod datatypes;
pub mod init;
