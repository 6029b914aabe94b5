//! Message passing by verbs: InfiniBand and RoCE, through libibverbs.

mod address;
mod choice;
mod device;
mod hello;
mod library;
mod meet;
mod objects;
pub mod queue_pair;
mod settings;

pub use settings::{DEVICES_MAX, RAILS_MAX, VerbsSettings};
