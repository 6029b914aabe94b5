//! The second socket between our launcher and a rank (`_FERRITE_CONTROL`): what PMI has no words
//! for. It is a packet socket, so that the frames of several processes in one rank's place (a
//! script that starts two programs) never mix; each packet is one [`Frame`].

mod client;
pub mod dying;
mod field;
mod frame;
pub mod mapping;

pub use client::Client;
pub use field::{FRAME_MAX, FrameError, VERSION};
pub use frame::{Face, Frame};

/// The environment variable that names the inherited descriptor.
pub const VARIABLE: &str = "_FERRITE_CONTROL";
