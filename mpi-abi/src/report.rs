//! What a rank tells `mpirun --report`: which ways its messages have gone, and what happened there.
//!
//! In: the counters of the transports. Out: this rank's lines.

use mpi_core::error::listed;
use mpi_core::port::PeerId;
use transports::node::LocalPort;
use transports::shm::protocol;

/// This rank's lines, of `size` ranks.
pub(crate) fn lines(local: &mut LocalPort, size: u32) -> String {
    let networks = local.tell_networks(size);
    let ways = local.tell_routes();
    // Alike on all of a host.
    let bids = if local.shm().is_first() && size > 1 { protocol::bids() } else { Vec::new() };
    let lines = ways.into_iter().chain([shared_memory(local, size)]).chain(bids).chain(networks);
    listed(&lines.collect::<Vec<_>>())
}

fn shared_memory(local: &mut LocalPort, size: u32) -> String {
    let shm = local.shm();
    let connected = (0..size).filter(|&peer| shm.is_connected(PeerId(peer))).count();
    let counters = shm.counters();
    format!(
        "shared memory to {connected} of {} peers; {} bytes of eager messages through rings and exchange buffers; \
         large messages: {} bytes read in place, {} copied across processes, {} pipelined; {} sleeps",
        size.saturating_sub(1),
        counters.bytes_eager,
        counters.bytes_in_place,
        counters.bytes_cross_memory,
        counters.bytes_pipelined,
        counters.sleeps
    )
}
