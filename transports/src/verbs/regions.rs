//! Registered memory, on all ports at once.
//!
//! A key that peers are told has the keys of two devices, the first one's in its lower half.

use std::io;

use rdma_sys::ibv_access_flags as flags;

use super::device::cure;
use super::objects::Mr;
use super::port::Port;
use super::settings::DEVICES_MAX;
use crate::rdma::fabric::{Access, Refusal, Remote};

/// Names a registration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region(u32);

/// A registration of one range.
#[derive(Debug)]
struct Registered {
    remote: Remote,
    local_keys: [u32; DEVICES_MAX],
    _registrations: Vec<Mr>,
}

/// All registrations.
#[derive(Debug, Default)]
pub(super) struct Regions {
    all: Vec<Option<Registered>>,
    free: Vec<u32>,
}

impl Regions {
    /// Registers a range with all devices.
    ///
    /// # Safety
    /// As `Memory::register`.
    pub(super) unsafe fn register(
        &mut self,
        ports: &[Port],
        (address, len): (*mut u8, usize),
        access: Access,
    ) -> Result<Region, Refusal> {
        if len == 0 {
            return Err(Refusal::Never("a range of no bytes cannot be registered".to_owned()));
        }
        let mut local_keys = [0; DEVICES_MAX];
        let (mut key, mut registrations) = (0, Vec::with_capacity(ports.len()));
        for (i, port) in ports.iter().enumerate() {
            // SAFETY: the caller's promise.
            let made = unsafe { on_port(port, (address, len), access) };
            let mr = made.map_err(|error| refusal(&error, len, &port.chosen.device))?;
            local_keys[i] = mr.local_key();
            key |= u64::from(mr.remote_key()) << (32 * i);
            registrations.push(mr);
        }
        let remote = Remote { base: address as u64, key };
        let registered = Some(Registered { remote, local_keys, _registrations: registrations });
        let place = self.free.pop().unwrap_or_else(|| {
            self.all.push(None);
            self.all.len() as u32 - 1
        });
        self.all[place as usize] = registered;
        Ok(Region(place))
    }

    pub(super) fn deregister(&mut self, region: Region) {
        if self.all.get_mut(region.0 as usize).and_then(Option::take).is_some() {
            self.free.push(region.0);
        }
    }

    pub(super) fn remote(&self, region: Region) -> Remote {
        let registered = self.all.get(region.0 as usize).and_then(Option::as_ref);
        registered.map_or(Remote { base: 0, key: 0 }, |registered| registered.remote)
    }

    /// The key by which a port's own work uses it; 0 for what is not registered.
    #[inline]
    pub(super) fn local_key(&self, region: Region, port: usize) -> u32 {
        let registered = self.all.get(region.0 as usize).and_then(Option::as_ref);
        registered.map_or(0, |registered| registered.local_keys[port])
    }
}

/// Registers a range with one device. Memory that this process itself may not write can be sent from and read.
///
/// # Safety
/// As `Memory::register`.
unsafe fn on_port(port: &Port, (address, len): (*mut u8, usize), access: Access) -> io::Result<Mr> {
    let write = flags::IBV_ACCESS_LOCAL_WRITE.0;
    let others = match access {
        Access::Local => 0,
        Access::Read => flags::IBV_ACCESS_REMOTE_READ.0,
        Access::Write => flags::IBV_ACCESS_REMOTE_WRITE.0,
        Access::All => {
            let atomic = match port.limits.atomics {
                true => flags::IBV_ACCESS_REMOTE_ATOMIC.0,
                false => 0,
            };
            flags::IBV_ACCESS_REMOTE_READ.0 | flags::IBV_ACCESS_REMOTE_WRITE.0 | atomic
        }
    };
    let follow = match port.limits.on_demand {
        true => flags::IBV_ACCESS_ON_DEMAND.0,
        false => 0,
    };
    // SAFETY: the caller's promise.
    let made = unsafe { Mr::new(&port.pd, address, len, write | others | follow) };
    match made {
        Err(error)
            if error.raw_os_error() == Some(libc::EFAULT)
                && matches!(access, Access::Local | Access::Read) =>
        {
            // SAFETY: the caller's promise.
            unsafe { Mr::new(&port.pd, address, len, others | follow) }
        }
        made => made,
    }
}

fn refusal(error: &io::Error, len: usize, device: &str) -> Refusal {
    let why = format!("{device} cannot register {len} bytes: {}", cure(error));
    match error.raw_os_error() {
        Some(libc::ENOMEM | libc::EAGAIN | libc::ENOSPC) => Refusal::Limit(why),
        _ => Refusal::Never(why),
    }
}
