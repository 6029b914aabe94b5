//! What devices say by themselves, and what becomes of a port that fails.
//!
//! A port that is down for too long ends its connections, but not itself: it may come back, and its queue of buffers
//! has those that it was given. One whose queues have failed is lost: no queue pair is left on it nor made any more,
//! so that its buffers are this process's again. One whose device is gone is looked at no more.

use std::sync::Arc;
use std::time::Duration;

use rdma_sys::ibv_event_type;

use super::core::Core;
use super::objects::{Event, Subject};
use super::port::Health;

/// Time for which a port may be down.
const PORT_DOWN: Duration = Duration::from_secs(10);

impl Core {
    /// Asks to be told of the next completion; false if that could not be asked for.
    pub(super) fn arm(&mut self) -> bool {
        for port in 0..self.ports.len() {
            if !self.ports[port].is_gone()
                && let Err(error) = self.ports[port].channel.quiet()
            {
                self.lose_device(port, &error.to_string());
            }
        }
        self.ports.iter().filter(|port| port.is_well()).all(|port| port.cq.arm())
    }

    /// Ends all connections on a port; which they were.
    fn fail_all(&mut self, port: usize, why: &str) -> Vec<usize> {
        let device = self.ports[port].chosen.device.clone();
        let is_there = |place: &usize| {
            let mut rails = self.connections[*place].rails.iter();
            rails.any(|rail| rail.port == port)
        };
        let places: Vec<usize> = (0..self.connections.len()).filter(is_there).collect();
        for &place in &places {
            let rank = self.connections[place].rank;
            let why = format!(
                "{device}, the way to rank {rank}, has failed: {why}; look at the kernel log (dmesg) of this host"
            );
            self.fail(place, why);
        }
        places
    }

    /// A port is of no use any more, and so are all connections on it.
    pub(super) fn lose_port(&mut self, port: usize, why: &str) {
        if !self.ports[port].is_well() {
            return;
        }
        let lost = &mut self.ports[port];
        (lost.health, lost.buffers, lost.down_since) = (Health::Lost, 0, None);
        tracing::warn!("{} has failed: {why}", lost.tell());
        for place in self.fail_all(port, why) {
            self.cut(place);
        }
        if port == 0 {
            self.give_back();
        }
    }

    /// The device of a port is gone, and with it all of its ports. Its descriptors are readable for ever.
    fn lose_device(&mut self, port: usize, why: &str) {
        let context = Arc::clone(&self.ports[port].context);
        self.bell.forget(context.async_fd());
        for other in 0..self.ports.len() {
            if Arc::ptr_eq(&self.ports[other].context, &context) {
                self.lose_port(other, why);
                self.ports[other].health = Health::Gone;
                self.bell.forget(self.ports[other].channel.fd());
            }
        }
    }

    /// Takes what the devices say by themselves.
    pub(super) fn events(&mut self) {
        for port in 0..self.ports.len() {
            while !self.ports[port].is_gone() {
                match self.ports[port].context.event() {
                    Ok(Some(event)) => self.event_of_device(port, event),
                    Ok(None) => break,
                    Err(error) => self.lose_device(port, &error.to_string()),
                }
            }
        }
    }

    /// Ports of one device share what it says.
    fn event_of_device(&mut self, port: usize, event: Event) {
        for other in 0..self.ports.len() {
            if Arc::ptr_eq(&self.ports[other].context, &self.ports[port].context) {
                self.event(other, event);
            }
        }
    }

    fn event(&mut self, port: usize, event: Event) {
        const CQ_ERR: u32 = ibv_event_type::IBV_EVENT_CQ_ERR as u32;
        const QP_FATAL: u32 = ibv_event_type::IBV_EVENT_QP_FATAL as u32;
        const QP_REQ_ERR: u32 = ibv_event_type::IBV_EVENT_QP_REQ_ERR as u32;
        const QP_ACCESS_ERR: u32 = ibv_event_type::IBV_EVENT_QP_ACCESS_ERR as u32;
        const DEVICE_FATAL: u32 = ibv_event_type::IBV_EVENT_DEVICE_FATAL as u32;
        const PORT_ACTIVE: u32 = ibv_event_type::IBV_EVENT_PORT_ACTIVE as u32;
        const PORT_ERR: u32 = ibv_event_type::IBV_EVENT_PORT_ERR as u32;
        const SRQ_ERR: u32 = ibv_event_type::IBV_EVENT_SRQ_ERR as u32;
        let now = self.now();
        let ours = Subject::Port(self.ports[port].chosen.port);
        let device = self.ports[port].chosen.device.clone();
        tracing::debug!(device, kind = event.kind, "a device speaks");
        match (event.kind, event.subject) {
            (CQ_ERR, _) => self.lose_port(port, "its completion queue has overflowed"),
            (SRQ_ERR, _) => self.lose_port(port, "its queue of buffers has failed"),
            (DEVICE_FATAL, _) => self.lose_device(port, "it was removed or has stopped working"),
            (PORT_ERR, subject) if subject == ours => self.ports[port].down_since = Some(now),
            (PORT_ACTIVE, subject) if subject == ours => self.ports[port].down_since = None,
            (QP_FATAL | QP_REQ_ERR | QP_ACCESS_ERR, Subject::QueuePair(number)) => {
                let Some(place) = self.of_queue_pair[port].get(number) else { return };
                let rank = self.connections[place as usize].rank;
                let what = match event.kind {
                    QP_ACCESS_ERR => "wanted memory that this process does not share, or not so",
                    QP_REQ_ERR => "asked for something that cannot be",
                    _ => "is connected by a queue pair that has failed",
                };
                let why = format!(
                    "rank {rank} {what} ({device}); was memory freed that a transfer or window still used?"
                );
                self.fail(place as usize, why);
            }
            _ => {}
        }
    }

    /// Ends the connections of ports that have been down for too long; when to look again.
    pub(super) fn look_at_ports(&mut self, now: Duration) -> Option<Duration> {
        let mut next = None;
        for port in 0..self.ports.len() {
            match self.ports[port].down_since {
                Some(since) if now >= since + PORT_DOWN => {
                    self.ports[port].down_since = None;
                    let why = format!("its port {} is down", self.ports[port].chosen.port);
                    self.fail_all(port, &why);
                }
                Some(since) => next = Some(since + PORT_DOWN),
                None => {}
            }
        }
        next
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
