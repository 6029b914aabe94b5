//! What messages between hosts can go over.

/// Every value of `FERRITE_TRANSPORT` that names a network: a test of networks in general holds messages to each of
/// them, with the same body.
pub const NETWORKS: [&str; 2] = ["tcp", "udp"];
