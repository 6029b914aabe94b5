//! A port of an open device, with the queues that all connections on it share.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::choice::{Chosen, Link};
use super::device::{Limits, cure};
use super::objects::{Channel, Context, Cq, Pd, Srq, unblocked};
use super::queue_pair::{ALL_ACCESS, Plan, QueuePair, Rc};
use super::settings::VerbsSettings;

/// Buffers that can be posted, and work of all connections that can be under way, if the device allows it.
const BUFFERS: usize = 4096;
const WORK: usize = 28_000;

/// Bytes that are copied in the call, if the device allows it.
const INLINE: u32 = 256;

/// What a port is good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Health {
    Well,
    /// It makes no connections and takes no buffers any more. Handshakes still come and go.
    Lost,
    /// Its device is gone.
    Gone,
}

/// An open port. What is made from something goes before it.
pub(super) struct Port {
    pub(super) srq: Arc<Srq>,
    pub(super) cq: Arc<Cq>,
    pub(super) channel: Arc<Channel>,
    pub(super) pd: Arc<Pd>,
    pub(super) context: Arc<Context>,
    pub(super) chosen: Chosen,
    pub(super) limits: Limits,
    /// Bytes that are copied in the call.
    pub(super) inline: u32,
    /// Work that a queue pair holds.
    pub(super) depth: usize,
    /// Buffers that can be posted.
    pub(super) buffers: usize,
    /// Work that still may be begun: each piece may come back as a completion, for which there must be room.
    pub(super) credits: usize,
    pub(super) credits_max: usize,
    /// Whether the device says that written bytes become visible in order.
    pub(super) is_in_order: bool,
    pub(super) health: Health,
    /// Since when the port is down, if it is.
    pub(super) down_since: Option<Duration>,
}

impl Port {
    pub(super) fn open(
        context: &Arc<Context>,
        chosen: Chosen,
        settings: &VerbsSettings,
    ) -> Result<Port, String> {
        let name = chosen.device.clone();
        Port::try_open(context, chosen, settings)
            .map_err(|error| format!("{name} cannot be used: {}", cure(&error)))
    }

    fn try_open(
        context: &Arc<Context>,
        chosen: Chosen,
        settings: &VerbsSettings,
    ) -> io::Result<Port> {
        unblocked(context.async_fd())?;
        let pd = Arc::new(Pd::new(context)?);
        let limits = Limits::of(&pd, chosen.port, settings.on_demand_paging)?;
        let channel = Arc::new(Channel::new(context)?);
        let buffers = BUFFERS.min(limits.buffers).min(limits.completions / 2);
        let completions = limits.completions.min(buffers + WORK);
        let mut port = Port {
            srq: Arc::new(Srq::new(&pd, buffers)?),
            cq: Arc::new(Cq::new(&channel, completions)?),
            channel,
            pd,
            context: Arc::clone(context),
            chosen,
            limits,
            inline: INLINE,
            depth: settings.depth.min(limits.depth) as usize,
            buffers,
            credits: completions - buffers,
            credits_max: completions - buffers,
            is_in_order: false,
            health: Health::Well,
            down_since: None,
        };
        port.try_queue_pair()?;
        Ok(port)
    }

    /// Finds out by one queue pair how many bytes the device copies in the call, and whether what is written becomes
    /// visible in order.
    fn try_queue_pair(&mut self) -> io::Result<()> {
        loop {
            match self.queue_pair() {
                Ok(trial) => {
                    self.inline = trial.inline().min(INLINE as usize) as u32;
                    self.is_in_order = trial.is_in_order();
                    return Ok(());
                }
                Err(_) if self.inline > 0 => self.inline = (self.inline / 2) & !7,
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn is_well(&self) -> bool {
        self.health == Health::Well
    }

    pub(super) fn is_gone(&self) -> bool {
        self.health == Health::Gone
    }

    /// A queue pair of this port that waits for being connected.
    pub(super) fn queue_pair(&self) -> io::Result<QueuePair<Rc>> {
        let (depth, inline) = (self.depth as u32, self.inline);
        let plan = Plan { pd: &self.pd, cq: &self.cq, srq: Some(&self.srq), depth, inline };
        let queue_pair = QueuePair::new(&plan)?;
        let mut access = ALL_ACCESS;
        if !self.limits.atomics {
            access &= !rdma_sys::ibv_access_flags::IBV_ACCESS_REMOTE_ATOMIC.0;
        }
        queue_pair.init(self.chosen.port, self.chosen.pkey_index, 0, access)?;
        Ok(queue_pair)
    }

    /// What there is to say of it in a report.
    pub(super) fn tell(&self) -> String {
        let Chosen { device, port, gid_index, mtu, .. } = &self.chosen;
        let gid = std::net::Ipv6Addr::from(self.chosen.gid);
        let link = match self.chosen.link {
            Link::InfiniBand => "InfiniBand",
            Link::Ethernet => "RoCE",
        };
        format!("{device} port {port} ({link}, GID {gid_index} {gid}, MTU {mtu})")
    }
}
