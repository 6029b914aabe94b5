//! The ways to hosts for datagrams, each made once.
//!
//! To make one over Ethernet the kernel asks the network for the host, and the call waits for up to a second where
//! nobody answers. So a host to which there was none is not asked for again for a while.

use std::collections::HashMap;
use std::net::Ipv6Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::address::PortAddress;
use super::choice::Chosen;
use super::objects::{Ah, Pd};

/// Time for which a way that could not be made is not tried again.
const PAUSE: Duration = Duration::from_secs(3);

/// Ways from one port.
#[derive(Debug)]
pub(super) struct AddressHandles {
    all: Vec<Ah>,
    of_port: HashMap<PortAddress, u32>,
    /// Where there was none: when it was tried, and why.
    missing: HashMap<PortAddress, (Instant, String)>,
    pd: Arc<Pd>,
    chosen: Chosen,
}

impl AddressHandles {
    pub(super) fn new(pd: &Arc<Pd>, chosen: &Chosen) -> AddressHandles {
        AddressHandles {
            all: Vec::new(),
            of_port: HashMap::new(),
            missing: HashMap::new(),
            pd: Arc::clone(pd),
            chosen: chosen.clone(),
        }
    }

    /// The number of the way to a port. Who wants several at once says for all the time at which that began, so that
    /// none is tried twice however long that takes.
    ///
    /// # Errors
    /// There is none, in a sentence.
    pub(super) fn to(&mut self, port: PortAddress, now: Instant) -> Result<u32, String> {
        if let Some(known) = self.of_port.get(&port) {
            return Ok(*known);
        }
        if let Some((tried, why)) = self.missing.get(&port)
            && now < *tried + PAUSE
        {
            return Err(why.clone());
        }
        match Ah::new(&self.pd, port.way(&self.chosen)?) {
            Ok(way) => {
                let number = self.all.len() as u32;
                self.all.push(way);
                self.of_port.insert(port, number);
                self.missing.remove(&port);
                Ok(number)
            }
            Err(error) => {
                let (device, there) = (&self.chosen.device, Ipv6Addr::from(port.gid));
                let why = format!(
                    "no way leads from {device} to {there} ({error}); are both on one network?"
                );
                self.missing.insert(port, (now, why.clone()));
                Err(why)
            }
        }
    }

    /// The way of a number, which stays.
    #[inline]
    pub(super) fn at(&self, number: u32) -> &Ah {
        &self.all[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{self, MadeUp};
    use super::*;

    #[test]
    fn a_way_is_made_once_and_a_missing_one_tried_again_after_a_pause() {
        let device = MadeUp::new();
        let mut address_handles = AddressHandles::new(&device.domain(), &made_up::chosen());
        let (near, far) = (made_up::port(1), made_up::port(2));
        device.state().no_way.insert(far.gid);
        let now = Instant::now();
        assert_eq!(address_handles.to(near, now), Ok(0));
        assert_eq!(address_handles.to(near, now), Ok(0));
        assert_eq!(device.state().ways_tried, 1);
        for _ in 0..3 {
            let why = address_handles.to(far, now).unwrap_err();
            assert!(why.contains("made_up0") && why.contains("one network"), "{why}");
        }
        assert_eq!(device.state().ways_tried, 2, "a host that is down is asked for at each try");
        device.state().no_way.clear();
        assert!(address_handles.to(far, now + PAUSE / 2).is_err());
        assert_eq!(address_handles.to(far, now + PAUSE), Ok(1));
    }
}
