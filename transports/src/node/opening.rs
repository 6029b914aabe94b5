//! Opening networks: what each kind needs to know, out of who this process is and of the settings.

use std::net::IpAddr;

use mpi_core::settings::Settings;

use super::LocalPort;
use super::network::Network;
use crate::ofi::OfiConfig;
use crate::rdma::RdmaConfig;
use crate::shm::Secret;
use crate::tcp::TcpConfig;
use crate::udp::UdpConfig;
use crate::verbs::{UcConfig, UdConfig, VerbsConfig};

/// Who this process is, as far as networks need to know.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The job, by the identity that its launcher gave it.
    pub job: String,
    /// Rank of this process in the job.
    pub rank: u32,
    /// What all processes of the job know and nobody else.
    pub secret: Secret,
    /// The ABI through which the program calls.
    pub face: u32,
    /// The address by which the launcher has reached this host, if that is known.
    pub route: Option<IpAddr>,
    /// Whether all ranks of the job are known to be on one host.
    pub one_host: bool,
}

/// How a network is to be opened.
#[derive(Clone, Debug)]
pub enum NetworkConfig {
    /// Reliable queue pairs of verbs.
    Rc(RdmaConfig, VerbsConfig),
    /// libfabric.
    Ofi(RdmaConfig, OfiConfig),
    /// TCP.
    Tcp(TcpConfig),
    /// UDP.
    Udp(UdpConfig),
    /// Unreliable connections of verbs.
    Uc(UcConfig),
    /// Datagrams of verbs.
    Ud(UdConfig),
}

impl NetworkConfig {
    /// What a network of this kind is to be like.
    pub fn new(network: Network, identity: &Identity, settings: &Settings) -> NetworkConfig {
        let Identity { rank, secret, face, route, one_host, .. } = *identity;
        let job = || identity.job.clone();
        let rdma = || RdmaConfig { job: job(), rank, settings: settings.into() };
        match network {
            Network::Rc => NetworkConfig::Rc(
                rdma(),
                VerbsConfig { job: job(), rank, secret, settings: settings.into() },
            ),
            Network::Ofi => NetworkConfig::Ofi(
                rdma(),
                OfiConfig { job: job(), rank, secret, settings: settings.into() },
            ),
            Network::Tcp => NetworkConfig::Tcp(TcpConfig {
                job: job(),
                rank,
                secret,
                face,
                interfaces: settings.tcp_interfaces.clone(),
                route,
                one_host,
                tcp: settings.into(),
            }),
            Network::Udp => NetworkConfig::Udp(UdpConfig {
                job: job(),
                rank,
                secret,
                interfaces: settings.udp_interfaces.clone(),
                route,
                one_host,
                udp: settings.into(),
            }),
            Network::Uc => {
                NetworkConfig::Uc(UcConfig { job: job(), rank, secret, settings: settings.into() })
            }
            Network::Ud => {
                NetworkConfig::Ud(UdConfig { job: job(), rank, secret, settings: settings.into() })
            }
        }
    }

    /// The kind.
    pub fn network(&self) -> Network {
        match self {
            NetworkConfig::Rc(..) => Network::Rc,
            NetworkConfig::Ofi(..) => Network::Ofi,
            NetworkConfig::Tcp(_) => Network::Tcp,
            NetworkConfig::Udp(_) => Network::Udp,
            NetworkConfig::Uc(_) => Network::Uc,
            NetworkConfig::Ud(_) => Network::Ud,
        }
    }
}

impl LocalPort {
    /// Opens one more network: before the cards are published.
    ///
    /// # Errors
    /// There is no such device, socket or interface; in a sentence.
    pub fn open_network(&mut self, config: NetworkConfig) -> Result<(), String> {
        let network = config.network();
        let mut nets = self.nets.take().unwrap_or_default();
        let opened = nets.open(config);
        match &opened {
            Ok(()) => {
                if let Some(net) = nets.get_mut(network) {
                    net.set_share(self.shm.share());
                }
            }
            Err(why) => self.unopened.push((network, why.clone())),
        }
        self.nets = Some(nets).filter(|nets| nets.kinds().next().is_some());
        opened
    }

    /// Whether a network is open.
    pub fn has(&self, network: Network) -> bool {
        self.nets.as_ref().is_some_and(|nets| nets.get(network).is_some())
    }

    /// Takes settings on which all ranks agree: before anything is sent.
    ///
    /// # Errors
    /// One of them is out of bounds, or cannot be had; in a sentence.
    pub fn set_settings(&mut self, settings: &Settings) -> Result<(), String> {
        match &mut self.nets {
            Some(nets) => nets.set_settings(settings),
            None => Ok(()),
        }
    }
}
