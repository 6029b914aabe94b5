//! What a rank tells `mpirun --report`: which ways its messages have gone, and what happened there.
//!
//! In: the counters of the transports. Out: this rank's lines.

use mpi_core::port::PeerId;
use transports::node::{LocalPort, Network};

use crate::node::NodePort;

/// This rank's lines, of `size` ranks; none once it has left the others.
pub(crate) fn lines(port: &mut NodePort, size: u32) -> String {
    let Some(local) = port.local() else { return String::new() };
    let networks = Network::ALL.map(|network| match network {
        Network::Tcp => tcp(local, size),
        Network::Udp => udp(local),
    });
    let networks = networks.into_iter().flatten();
    let ways = local.tell_ways();
    let lines = ways.into_iter().chain([shared_memory(local, size)]).chain(networks);
    lines.collect::<Vec<_>>().join("; ")
}

fn shared_memory(local: &mut LocalPort, size: u32) -> String {
    let shm = local.shm();
    let connected = (0..size).filter(|&peer| shm.is_connected(PeerId(peer))).count();
    let counters = shm.counters();
    format!(
        "shared memory to {connected} of {} peers; {} bytes of eager messages through the ring; \
         large messages: {} bytes read in place, {} copied across processes, {} pipelined; {} sleeps",
        size.saturating_sub(1),
        counters.bytes_eager,
        counters.bytes_in_place,
        counters.bytes_cross_memory,
        counters.bytes_pipelined,
        counters.sleeps
    )
}

fn tcp(local: &mut LocalPort, size: u32) -> Option<String> {
    let tcp = local.tcp()?;
    let connected = (0..size).filter(|&peer| tcp.is_connected(PeerId(peer))).count();
    let counters = tcp.counters();
    Some(format!(
        "TCP to {connected} peers by {} connections, {} of them made again; {} bytes read into \
         place, {} by way of a buffer; {} times data that was changed on its way; {} strangers \
         refused",
        counters.connections,
        counters.repairs,
        counters.bytes_in_place,
        counters.bytes_buffered,
        counters.altered,
        counters.strangers
    ))
}

fn udp(local: &mut LocalPort) -> Option<String> {
    let udp = local.udp()?;
    let counters = udp.counters();
    Some(format!(
        "UDP to {} peers: {} datagrams sent by {} calls of the kernel, {} of them again; {} received; {} refused \
         (strangers', or changed on their way), {} repeated; {}",
        counters.peers,
        counters.sent,
        counters.writes,
        counters.again,
        counters.received,
        counters.refused,
        counters.repeated,
        udp.ways_taken()
    ))
}
