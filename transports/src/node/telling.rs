//! What a process tells of its networks, for `mpirun --report`.
//!
//! In: counters. Out: sentences.

use mpi_core::port::PeerId;

use super::LocalPort;
use super::net::Net;
use super::nets::Route;
use super::network::Network;
use super::routes::Preference;
use crate::datagrams::{Carrier, Datagrams};
use crate::rdma::Rdma;
use crate::rdma::fabric::Fabric;
use crate::tcp::Tcp;

impl LocalPort {
    /// A sentence for each network that is open, in a job of `size` ranks, and for each that could not be opened.
    pub fn tell_networks(&self, size: u32) -> Vec<String> {
        let open = self.nets.iter().flat_map(|nets| nets.each());
        let open = open.map(|net| match net {
            Net::Rc(rc) => format!("{} ({})", rdma(rc), rc.fabric().tell()),
            Net::Ofi(ofi) => format!("{} ({})", rdma(ofi), ofi.fabric().tell()),
            Net::Tcp(net) => tcp(net, size),
            Net::Udp(udp) => datagrams(udp),
            Net::Uc(uc) => datagrams(uc),
            Net::Ud(ud) => datagrams(ud),
        });
        let unopened = self.unopened.iter();
        let unopened = unopened.map(|(network, why)| format!("{} is off: {why}", network.name()));
        open.chain(unopened).collect()
    }

    /// Which ways lead to how many peers, and why these; nothing where no network is open.
    pub fn tell_routes(&self) -> Option<String> {
        let nets = self.nets.as_ref()?;
        let count = |wanted| nets.routes.iter().filter(|(route, _)| *route == wanted).count();
        let why = match self.choice.preference {
            Preference::Network(_) => "as FERRITE_TRANSPORT asks".to_owned(),
            Preference::Auto | Preference::SharedMemory => {
                let open: Vec<&str> = nets.kinds().map(Network::name).collect();
                format!("the first of {} that both ends have", open.join(", "))
            }
        };
        let far = nets.kinds().map(|network| (count(Route::Network(network)), network));
        let far = far.filter(|(count, _)| *count > 0);
        let far = far.map(|(count, network)| format!("{count} by {} ({why})", network.name()));
        let near = Some(count(Route::SharedMemory)).filter(|count| *count > 0);
        let near = near.map(|count| format!("{count} by shared memory (one node)"));
        let all: Vec<String> = near.into_iter().chain(far).collect();
        let closed = match &nets.closed[..] {
            [] => String::new(),
            [one] => format!("; this rank {}", nets.tell_closed(one)),
            [one, rest @ ..] => {
                let one = nets.tell_closed(one);
                format!("; this rank {one}; and {} more like this", rest.len())
            }
        };
        (!all.is_empty()).then(|| format!("peers that it talked to: {}{closed}", all.join(", ")))
    }
}

fn tcp(tcp: &Tcp, size: u32) -> String {
    let connected = (0..size).filter(|&peer| tcp.peers().is_connected(PeerId(peer))).count();
    let counters = tcp.counters();
    format!(
        "TCP to {connected} peers by {} connections, {} of them made again; {} bytes read into \
         place, {} by way of a buffer; {} times data that was changed on its way; {} strangers \
         refused",
        counters.connections,
        counters.repairs,
        counters.bytes_in_place,
        counters.bytes_buffered,
        counters.altered,
        counters.strangers
    )
}

fn datagrams<C: Carrier>(net: &Datagrams<C>) -> String {
    let counters = net.counters();
    format!(
        "{} to {} peers: {} datagrams sent by {} posts, {} of them again; {} received; {} refused \
         (strangers', or changed on their way), {} repeated; {}",
        C::NAME,
        counters.peers,
        counters.sent,
        counters.writes,
        counters.again,
        counters.received,
        counters.refused,
        counters.repeated,
        net.routes_taken()
    )
}

fn rdma<F: Fabric>(net: &Rdma<F>) -> String {
    let (counters, pins) = (net.counters(), net.pins());
    format!(
        "{} to {} peers: small messages {} sent and {} into rings, {} received and {} out of rings; large messages {} \
         written, {} read, {} in fragments; {} notes; memory of the program registered {} times for {} transfers, \
         refused for {}; {}",
        F::NAME,
        counters.peers,
        counters.messages_out,
        counters.ring_frames_out,
        counters.messages_in,
        counters.ring_frames_in,
        counters.written,
        counters.read,
        counters.pieced,
        counters.notes_out,
        pins.registrations,
        pins.registrations + pins.hits,
        counters.refused,
        net.pins_told()
    )
}
