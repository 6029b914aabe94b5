//! Hosts: which are there to run on, and which of them each rank gets.
//!
//! `list` reads `-host` and host files in the spellings of hydra and of Open MPI, `place` deals out
//! the ranks. Host 0 is always the machine that mpirun runs on, with or without ranks of its own.

mod list;
mod place;

pub(crate) use list::{Host, entry, of_options};
pub(crate) use place::{Placement, Rule};

use std::fs;
use std::net::IpAddr;

/// Whether a name in a list means this machine, whose own name is `this`.
pub(crate) fn is_this(name: &str, this: &str) -> bool {
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<IpAddr>() {
        return address.is_loopback() || machine::interfaces::is_own(address);
    }
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_lowercase();
    let full = name.eq_ignore_ascii_case(this);
    // Two full names may begin alike and still be two machines.
    let one_is_short = !name.contains('.') || !this.contains('.');
    full || short(name) == "localhost" || (one_is_short && short(name) == short(this))
}

/// This machine's name.
pub(crate) fn this() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_string() } else { name.to_string() }
}

#[cfg(test)]
mod tests {
    use super::is_this;

    #[test]
    fn this_machine_by_its_names() {
        for name in ["localhost", "127.0.0.1", "n7", "n7.cluster.org", "N7", "::1", "[::1]"] {
            assert!(is_this(name, "n7.cluster.org"), "{name}");
        }
        for name in ["n8", "n7.other.org", "192.0.2.1", "0.0.0.0", "n"] {
            assert!(!is_this(name, "n7.cluster.org"), "{name}");
        }
        assert!(is_this("n7.cluster.org", "n7"));
    }
}
