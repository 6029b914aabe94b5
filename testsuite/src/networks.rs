//! What messages between hosts can go over, on a machine without devices of its own.

/// Every value of `FERRITE_TRANSPORT` that names a network: a test of networks in general holds messages to each of
/// them, with the same body.
pub const NETWORKS: [&str; 2] = ["tcp", "udp"];

/// The same for what brings its own protocols and interfaces, so that tests of cables say nothing about it: libfabric,
/// whose providers here end in the kernel's sockets.
pub const FABRICS: [&str; 1] = ["ofi"];

/// All of them.
pub fn all() -> impl Iterator<Item = &'static str> {
    NETWORKS.into_iter().chain(FABRICS)
}
