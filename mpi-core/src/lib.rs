//! MPI itself: objects, matching, protocols, datatypes and collectives.
//!
//! The core owns no clock, no socket and no global. It is an ordinary value, `Process`, which is
//! given its [`port::Port`] (transports, time and a way to wait) from outside; that is what lets
//! a thousand ranks run inside one test. The way of a message through these modules is the first
//! page of `docs/architecture.md`.
#![deny(unsafe_code)]

pub mod always;
pub mod attached_buffer;
pub mod attributes;
pub mod buffer;
pub mod callout;
#[cfg(test)]
pub(crate) mod cases;
pub mod coll;
pub mod collectives;
pub mod comm;
pub mod communicators;
pub mod completion;
pub mod constants;
pub(crate) mod credit;
pub mod datatype;
pub mod entry;
pub mod errhandler;
pub mod error;
pub mod error_codes;
pub mod expected;
pub mod files;
pub mod group;
pub mod handle;
pub mod header;
pub(crate) mod in_turn;
pub mod info;
pub mod io;
pub mod limits;
pub mod lists;
pub(crate) mod lost;
pub mod matching;
pub mod messages;
pub mod node_memory;
pub mod objects;
pub mod one_sided;
pub mod op;
pub mod p2p;
pub(crate) mod peers;
pub mod port;
pub mod process;
pub mod request;
pub mod rest;
pub mod rma;
pub mod roll_call;
pub mod room;
pub mod session;
pub mod settings;
pub mod status;
pub mod table;
pub mod terms;
pub mod text;
pub mod threads;
pub mod tuning;
pub(crate) mod user_memory;
pub(crate) mod vci;
pub mod waiting;
pub mod window_segments;
pub mod windows;
