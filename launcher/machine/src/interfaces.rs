//! The network interfaces of this host that are up, and their addresses (getifaddrs(3)).

use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One address of an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Name of the interface.
    pub name: String,
    /// The address.
    pub address: IpAddr,
    /// Length of the network's part of it, in bits.
    pub prefix: u32,
}

impl Interface {
    /// Whether `other` lies in the same network.
    pub fn reaches(&self, other: IpAddr) -> bool {
        match (self.address, other) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                let differ = u32::from(a) ^ u32::from(b);
                differ.leading_zeros() >= self.prefix
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                let differ = u128::from(a) ^ u128::from(b);
                differ.leading_zeros() >= self.prefix
            }
            _ => false,
        }
    }
}

/// All addresses of interfaces that are up and have a carrier; where that leaves nothing but the
/// loopback, also of those without, since the kernel is slow to say that there is one. Link-local
/// addresses of IPv6 are left out: they mean something only together with an interface of the
/// other host.
///
/// # Errors
/// The kernel's.
pub fn all() -> io::Result<Vec<Interface>> {
    let mut found = list()?;
    found.retain(|(found, _)| !is_link_local(found.address));
    let leads_out = |(found, runs): &(Interface, bool)| *runs && !found.address.is_loopback();
    let some_run = found.iter().any(leads_out);
    Ok(found.into_iter().filter(|(_, runs)| *runs || !some_run).map(|(found, _)| found).collect())
}

/// Whether an address is one of this host's. (That it can be bound says nothing where the system lets any be bound,
/// and packets to a second address of a network have the first one as their source.)
pub fn is_own(address: IpAddr) -> bool {
    list().is_ok_and(|found| found.iter().any(|(found, _)| found.address == address))
}

/// All addresses of interfaces that are up, and whether these have a carrier.
fn list() -> io::Result<Vec<(Interface, bool)>> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the list is written to a place of ours and given back below.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut at = first;
    while !at.is_null() {
        // SAFETY: an entry of the list, which is alive until `freeifaddrs`.
        let entry = unsafe { &*at };
        let is = |flag: libc::c_int| entry.ifa_flags & flag as u32 != 0;
        if is(libc::IFF_UP) {
            // SAFETY: the name is a C string of the list.
            let name = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
            // SAFETY: addresses of the list are null or of the form that their family says.
            let pair = unsafe { (ip(entry.ifa_addr), ip(entry.ifa_netmask)) };
            if let (Some(address), mask) = pair {
                let interface = Interface { name, address, prefix: mask.map_or(0, bits) };
                found.push((interface, is(libc::IFF_RUNNING)));
            }
        }
        at = entry.ifa_next;
    }
    // SAFETY: the list that `getifaddrs` made; nothing refers to it any more.
    unsafe { libc::freeifaddrs(first) };
    Ok(found)
}

fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
}

fn bits(mask: IpAddr) -> u32 {
    match mask {
        IpAddr::V4(mask) => u32::from(mask).leading_ones(),
        IpAddr::V6(mask) => u128::from(mask).leading_ones(),
    }
}

/// # Safety
/// `at` is null or an address of the form that its family says.
unsafe fn ip(at: *const libc::sockaddr) -> Option<IpAddr> {
    if at.is_null() {
        return None;
    }
    // SAFETY: by the caller's promise, all three.
    unsafe {
        match i32::from((*at).sa_family) {
            libc::AF_INET => {
                let v4 = at.cast::<libc::sockaddr_in>().read_unaligned();
                Some(Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes()).into())
            }
            libc::AF_INET6 => {
                let v6 = at.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(Ipv6Addr::from(v6.sin6_addr.s6_addr).into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_has_a_loopback() {
        let loopback = IpAddr::from([127, 0, 0, 1]);
        let found = all().unwrap().into_iter().find(|one| one.address == loopback);
        let found = found.expect("a loopback interface that is up");
        assert!(found.reaches(IpAddr::from([127, 9, 9, 9])));
        assert!(!found.reaches(IpAddr::from([10, 0, 0, 1])));
        assert!(is_own(loopback) && !is_own(IpAddr::from([192, 0, 2, 1])));
    }

    #[test]
    fn networks_are_told_apart_by_their_prefix() {
        let v6 = |text: &str| IpAddr::V6(text.parse().unwrap());
        let one = Interface { name: "e".into(), address: v6("fd00:1::1"), prefix: 32 };
        assert!(one.reaches(v6("fd00:1:2::9")) && !one.reaches(v6("fd00:2::1")));
        assert!(!one.reaches(IpAddr::from([10, 0, 0, 1])));
    }
}
