//! The launcher's own route: the address by which a host was reached to start ranks on it.
//!
//! Where that way was open, the ranks of other hosts most likely find it open too, whatever else
//! the host has: they try it first. Enters: how the host was named, and what ssh told the agent
//! there of its connection. Leaves: an address, if one is known.

use std::net::IpAddr;

/// The variable by which a rank hears it.
pub(crate) const VARIABLE: &str = "_FERRITE_ROUTE";
/// The variable by which ssh tells of its connection: address and port of both ends, the far one
/// first.
pub(crate) const SSH: &str = "SSH_CONNECTION";

/// The route to host number `node`, which was asked for by `name`; `ssh` is the content of
/// [`SSH`] on that host. On mpirun's own host that tells of somebody's log-in and not of the job.
pub(crate) fn of(node: usize, name: &str, ssh: Option<&str>) -> Option<IpAddr> {
    let told = ssh.filter(|_| node != 0).and_then(|words| words.split_whitespace().nth(2));
    told.and_then(address).or_else(|| address(name))
}

/// An address as ssh and users write it, with or without a zone.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.split('%').next().unwrap_or(text);
    let parsed: IpAddr = bare.parse().ok()?;
    let address = parsed.to_canonical();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ssh_knows_better_than_the_name() {
        let told = |node, name, ssh| of(node, name, ssh).map(|address| address.to_string());
        let ssh = Some("10.1.0.1 53210 10.1.0.7 22");
        assert_eq!(told(1, "node7", ssh).as_deref(), Some("10.1.0.7"));
        assert_eq!(told(1, "10.9.9.9", ssh).as_deref(), Some("10.1.0.7"));
        assert_eq!(told(0, "node1", ssh), None, "somebody's log-in");
        assert_eq!(told(1, "10.9.9.9", None).as_deref(), Some("10.9.9.9"));
        assert_eq!(told(0, "10.9.9.9", None).as_deref(), Some("10.9.9.9"));
        assert_eq!(told(1, "node7", None), None);
        let zone = Some("fe80::1%eth0 5 fe80::7%eth0 22");
        assert_eq!(told(1, "node7", zone).as_deref(), Some("fe80::7"));
        assert_eq!(told(1, "localhost", Some("127.0.0.1 5 127.0.0.1 22")), None);
        assert_eq!(told(1, "x", Some("::1 5 ::ffff:10.0.0.2 22")).as_deref(), Some("10.0.0.2"));
    }

    proptest! {
        #[test]
        fn noise_is_no_route(node: usize, name: String, ssh: Option<String>) {
            let _ = of(node, &name, ssh.as_deref());
        }
    }
}
