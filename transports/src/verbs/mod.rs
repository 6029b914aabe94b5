//! Message passing by verbs: InfiniBand and RoCE, through libibverbs.
//!
//! [`Rc`] is a fabric of reliable connections, [`Uc`] and [`Ud`] carry datagrams for [`crate::datagrams`].
//! `library` finds the functions, `choice` the devices; `objects` and `queue_pair` own what devices give, [`service`]
//! says what queue pairs can do; `meet` connects.

mod address;
mod address_handles;
mod bell;
mod choice;
mod completions;
mod connection;
mod core;
mod device;
mod events;
mod greeter;
mod hello;
mod library;
#[cfg(test)]
mod made_up;
mod meet;
mod objects;
mod pool;
mod port;
mod queue_pair;
mod rc;
mod regions;
pub mod service;
mod settings;
mod speaker;
mod table;
mod trouble;
mod uc;
mod ud;

pub use rc::{Rc, VerbsConfig};
pub use regions::Region;
pub use settings::{DEVICES_MAX, RAILS_MAX, VerbsSettings};
pub use uc::{Uc, UcAddress, UcConfig, UcSettings};
pub use ud::{SEND_QUEUE_PAIRS_MAX, Ud, UdAddress, UdConfig, UdSettings};
