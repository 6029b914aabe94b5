//! UDP: the kernel's datagrams as a carrier of MPI ([`crate::datagrams`]). One socket hears everybody and several
//! send (`sockets`); batches are cut by the kernel or the card and put together where they arrive.

mod net;
mod settings;
mod sockets;

pub use settings::{SOCKETS_MAX, UdpSettings};
pub use sockets::Sockets;

use std::io;
use std::net::IpAddr;

use crate::datagrams::{Datagrams, Identity};
use crate::tcp::Secret;

/// Who this process is, as far as UDP needs to know.
#[derive(Clone, Debug)]
pub struct UdpConfig {
    /// The job, by the identity that its launcher gave it.
    pub job: String,
    /// Rank of this process in the job.
    pub rank: u32,
    /// What all processes of the job know and nobody else.
    pub secret: Secret,
    /// The interfaces to advertise: names or beginnings of names, separated by commas; all but
    /// loopback when empty.
    pub interfaces: String,
    /// The address by which the launcher has reached this host, if that is known.
    pub route: Option<IpAddr>,
    /// Whether all ranks of the job are known to be on one host.
    pub one_host: bool,
    /// The settings.
    pub udp: UdpSettings,
}

/// The UDP transport of one process.
pub type Udp = Datagrams<Sockets>;

impl Udp {
    /// The transport of a process, which talks to nobody yet.
    ///
    /// # Errors
    /// A setting is out of its bounds, the kernel gives no socket, or none of the wanted interfaces is up.
    pub fn new(config: UdpConfig) -> io::Result<Udp> {
        config.udp.check().map_err(io::Error::other)?;
        let sockets = Sockets::open(&config)?;
        let UdpConfig { job, rank, secret, udp, .. } = config;
        Ok(Datagrams::over(sockets, Identity { job, rank, secret }, udp.limits()))
    }

    /// Takes settings on which all ranks agree: before anything is sent.
    ///
    /// # Errors
    /// One is out of its bounds, in a sentence.
    pub fn set_settings(&mut self, settings: &UdpSettings) -> Result<(), String> {
        settings.check()?;
        self.set_limits(settings.limits());
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod sim_net;
#[cfg(test)]
mod sim_sockets;
#[cfg(test)]
pub(crate) use sim_sockets::Socket;
