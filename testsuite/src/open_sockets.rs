//! The sockets of processes that run a program, and the ports at which datagrams reach them.

use std::fs;
use std::path::Path;

/// Numbers of the sockets that processes running `program` have open.
pub fn sockets_of(program: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let at = process.path();
        if fs::read_link(at.join("exe")).is_ok_and(|exe| exe == program) {
            for fd in fs::read_dir(at.join("fd")).into_iter().flatten().flatten() {
                let target = fs::read_link(fd.path()).unwrap_or_default();
                let target = target.to_string_lossy();
                let number = target.strip_prefix("socket:[").and_then(|t| t.strip_suffix(']'));
                found.extend(number.map(str::to_owned));
            }
        }
    }
    found
}

/// The UDP ports of processes running `program`, in this namespace.
pub fn datagram_ports(program: &Path) -> Vec<u16> {
    let sockets = sockets_of(program);
    let mut ports = Vec::new();
    for table in ["/proc/net/udp", "/proc/net/udp6"] {
        for line in fs::read_to_string(table).unwrap_or_default().lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.get(9).is_some_and(|number| sockets.iter().any(|own| own == number)) {
                let port = words[1].rsplit(':').next();
                ports.extend(port.and_then(|port| u16::from_str_radix(port, 16).ok()));
            }
        }
    }
    ports
}
