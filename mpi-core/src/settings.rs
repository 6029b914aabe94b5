//! Every setting once: name, type, default, help, and whether all ranks must agree on it.
//!
//! A setting `shm_lanes` is `FERRITE_SHM_LANES` in the environment and `lanes` in the section
//! `[shm]` of a TOML file (decision 30). This file lists the settings; `load` finds their values
//! and `value` reads them.

mod load;
mod ports;
mod value;

pub use load::{ConfigFile, ConfigPath, config_paths};
pub use ports::Ports;
use value::{Value, choices};

use std::time::Duration;

use crate::coll::menu::Collective;
use crate::error::{Error, ErrorClass, Result};

choices! {
    /// How the bytes of a large message go between processes of one node.
    BulkProtocol {
        /// Whichever costs least by what was measured of this machine.
        Auto = "auto",
        /// The receiver copies out of the sender's memory, if the kernel lets it.
        CrossMemory = "cross_memory",
        /// Both copy, through buffers of the sender.
        Pipeline = "pipeline",
    }
}

choices! {
    /// How processes reach each other.
    TransportPreference {
        /// Through shared memory on one node, over TCP otherwise.
        Auto = "auto",
        /// Through shared memory only.
        SharedMemory = "shm",
        /// Over TCP, also on one node.
        Tcp = "tcp",
        /// By datagrams, also on one node.
        Udp = "udp",
        /// By reliable connected queue pairs of verbs, also on one node.
        Rc = "rc",
        /// By unreliable connected queue pairs of verbs, also on one node.
        Uc = "uc",
        /// By unreliable datagram queue pairs of verbs, also on one node.
        Ud = "ud",
        /// Through libfabric, also on one node.
        Ofi = "ofi",
    }
}

choices! {
    /// Who moves the bytes of a large message over registered memory.
    RdmaRendezvous {
        /// Whichever has fewer steps on the network.
        Auto = "auto",
        /// The sender writes them where they are wanted.
        Write = "write",
        /// The receiver reads them where they lie.
        Read = "read",
    }
}

choices! {
    /// What keeps messages from being changed or read on their way through a network.
    TcpSecurity {
        /// Nothing but the network itself.
        Off = "off",
        /// A tag that only ranks of the job can make.
        Tag = "tag",
        /// Encryption, and such tags.
        Encrypt = "encrypt",
    }
}

choices! {
    /// Whether the bytes of a write by RDMA can be relied on to become visible in order.
    DataOrder {
        /// Where the device says so.
        Auto = "auto",
        /// Yes, whatever the device says.
        InOrder = "in_order",
        /// No.
        Any = "any",
    }
}

choices! {
    /// How blocking collectives of one node go where its processes have several last-level caches.
    CollShape {
        /// Whichever costs least by the shape of the node.
        Auto = "auto",
        /// Everyone reads everyone.
        Flat = "flat",
        /// Within each cache, then from cache to cache.
        Tree = "tree",
    }
}

choices! {
    /// When connections of networks are made.
    ConnectMode {
        /// When something is first sent.
        OnDemand = "on_demand",
        /// All in `MPI_Init`, in the order of a ring.
        Ring = "ring",
        /// All in `MPI_Init`, with a thread that accepts.
        Threads = "threads",
    }
}

choices! {
    /// Whether memory that was registered with a network's device stays so after its transfer.
    PinCachePreference {
        /// Yes, where the kernel or the device says when it goes away.
        Auto = "auto",
        /// No.
        Off = "off",
    }
}

choices! {
    /// Who goes on with operations between calls of MPI.
    ProgressMode {
        /// Nobody.
        Calls = "calls",
        /// A thread of the library.
        Thread = "thread",
    }
}

choices! {
    /// When what a rank prints leaves its buffers.
    OutputMode {
        /// With each line, as on a terminal.
        Lines = "lines",
        /// When a buffer is full, as in a pipe.
        Full = "full",
    }
}

/// What is known of a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Described {
    /// Its name: area and name, in small letters.
    pub name: &'static str,
    /// Kind of its values.
    pub kind: &'static str,
    /// What it does.
    pub help: &'static str,
    /// What may be written, where that is a few words.
    choices: &'static [&'static str],
    /// All ranks use rank 0's value.
    pub uniform: bool,
}

impl Described {
    /// The name of the environment variable.
    pub fn variable(&self) -> String {
        format!("FERRITE_{}", self.name.to_ascii_uppercase())
    }

    /// The words that may be written, where these are few: those of a choice, or a collective's algorithms.
    pub fn values(&self) -> Vec<&'static str> {
        let collective = self.name.strip_prefix("coll_").and_then(|name| name.parse().ok());
        let menu = collective.map(Collective::menu).unwrap_or_default();
        let algorithms = menu.iter().map(|(algorithm, _)| algorithm.name());
        self.choices.iter().copied().chain(algorithms).collect()
    }
}

macro_rules! settings {
    ($($name:ident: $type:ty = $default:expr, $uniform:literal, $help:literal;)*) => {
        /// The value of every setting, and where it comes from.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct Settings {
            $(#[doc = concat!($help, ".")] pub $name: $type,)*
            origins: Vec<Option<String>>,
        }

        impl Default for Settings {
            fn default() -> Settings {
                Settings { $($name: $default,)* origins: vec![None; Settings::ALL.len()] }
            }
        }

        impl Settings {
            /// Every setting.
            pub const ALL: &'static [Described] = &[$(Described {
                name: stringify!($name),
                kind: <$type as Value>::TYPE,
                help: $help,
                choices: <$type as Value>::CHOICES,
                uniform: $uniform,
            }),*];

            fn assign(&mut self, name: &str, text: &str) -> std::result::Result<(), String> {
                match name {
                    $(stringify!($name) => self.$name = Value::parse(text)?,)*
                    _ => unreachable!("names come from Settings::ALL"),
                }
                Ok(())
            }

            /// The value of the setting called `name`, as it would be written.
            pub fn show(&self, name: &str) -> Option<String> {
                match name {
                    $(stringify!($name) => Some(self.$name.show()),)*
                    _ => None,
                }
            }
        }
    };
}

settings! {
    transport: TransportPreference = TransportPreference::Auto, true,
        "How processes reach each other; between hosts auto takes rc, then ofi, then tcp";
    node_ranks: u32 = 0, true,
        "Ranks that take themselves for one node, to play several on one machine; 0 for all";
    connect: ConnectMode = ConnectMode::OnDemand, true,
        "When connections to other nodes are made: when needed, or all at the start";
    tcp_interfaces: String = String::new(), false,
        "Network interfaces for TCP: names or beginnings of names with commas; all when empty";
    tcp_ports: Ports = Ports(None), false,
        "Ports that a process listens at for others over TCP, as 50000-50100; any when empty";
    tcp_streams: u32 = 1, true,
        "TCP connections to each process: the first for small messages, all for large ones";
    tcp_eager_bytes: u64 = 256 << 10, true,
        "Largest message that TCP carries without asking the receiver first";
    tcp_window_bytes: u64 = 1 << 20, true,
        "Bytes of small messages to one process that may be on their way over TCP";
    tcp_fragment_bytes: u64 = 1 << 20, true,
        "Bytes of a large message that TCP sends before other messages get their turn";
    tcp_stripe_bytes: u64 = 1 << 20, true,
        "Length from which a message goes over all TCP connections to a process at once";
    tcp_socket_bytes: u64 = 0, true,
        "Bytes of the kernel's buffers for a TCP connection; 0 leaves them to the kernel";
    tcp_security: TcpSecurity = TcpSecurity::Tag, true,
        "What protects messages over TCP: a tag that shows every change, encryption, or nothing";
    tcp_patience: Duration = Duration::from_secs(10), true,
        "Time that a process may be out of reach over TCP before it counts as lost";
    udp_interfaces: String = String::new(), false,
        "Network interfaces for UDP: names or beginnings of names with commas; all when empty";
    udp_ports: Ports = Ports(None), false,
        "Ports that a process hears others at over UDP, as 50000-50100; any when empty";
    udp_sockets: u32 = 4, true,
        "Sockets by which a process sends over UDP, in turn";
    udp_eager_bytes: u64 = 64 << 10, true,
        "Largest message that UDP carries without asking the receiver first";
    udp_window_bytes: u64 = 1 << 20, true,
        "Bytes of small messages to one process that may be on their way over UDP";
    udp_receive_bytes: u64 = 4 << 20, true,
        "Bytes of the kernel's buffer for what has come over UDP, from all processes together";
    udp_datagram_bytes: u64 = 0, true,
        "Length of datagrams at most; 0 for what the way to each process carries";
    verbs_devices: String = String::new(), false,
        "Devices for verbs, name or name:port with commas, at most two, datagrams by the first; fastest if empty";
    verbs_port: u32 = 0, false,
        "Port of such a device; 0 for the fastest";
    verbs_gid_index: String = String::new(), false,
        "Number of the address (GID) that such a port uses; the best when empty";
    verbs_pkey: String = String::new(), false,
        "Partition that queue pairs belong to, as 0x8001; the port's first when empty";
    verbs_service_level: u32 = 0, true,
        "Service level of InfiniBand or priority of Ethernet for verbs, 0 to 15";
    verbs_traffic_class: u32 = 0, true,
        "Traffic class of packets for verbs, 0 to 255";
    verbs_mtu: u32 = 0, false,
        "Bytes of a packet of verbs at most, 256 to 4096; 0 for what both ends can do";
    verbs_queue_pairs: u32 = 1, true,
        "Queue pairs to each process on each device, 1 to 8";
    verbs_depth: u32 = 128, true,
        "Work requests that a queue pair holds, 16 to 4096";
    verbs_timeout: Duration = Duration::from_millis(250), true,
        "Time after which verbs send again what was not acknowledged: above the network's round trip";
    verbs_retries: u32 = 6, true,
        "How often they send it again before the process counts as lost, up to 6";
    verbs_patience: Duration = Duration::from_secs(60), true,
        "Time in which a process has to answer over verbs, before another network is used for it if there is one";
    verbs_on_demand_paging: bool = true, false,
        "Let devices follow changes of memory, where they can, instead of pinning it";
    verbs_data_order: DataOrder = DataOrder::Auto, true,
        "Whether what verbs write becomes visible in order: as the device says, or as is said here";
    rdma_eager_bytes: u64 = 8 << 10, true,
        "Largest message that RDMA networks carry without asking the receiver first";
    rdma_credits: u32 = 4, true,
        "Messages that a process has room for from each other one over RDMA, until more are asked for";
    rdma_ring_slots: u32 = 32, true,
        "Messages that fit into a ring which another process writes by RDMA; 0 for no rings";
    rdma_ring_peers: u32 = 16, true,
        "Processes for which a process has such a ring at most: those that send it most";
    rdma_rendezvous: RdmaRendezvous = RdmaRendezvous::Auto, true,
        "Who moves large messages over RDMA: the sender by writing or the receiver by reading";
    rdma_fragment_bytes: u64 = 1 << 20, true,
        "Bytes of a large message that one work request of an RDMA network moves at most";
    rdma_pool_bytes: u64 = 64 << 20, true,
        "Registered memory of a process for messages on their way over RDMA at most";
    verbs_ud_receive_buffers: u32 = 1024, false,
        "Buffers of a packet each for datagrams of verbs that have come, from all processes, at most, 16 to 65536";
    verbs_ud_send_queue_pairs: u32 = 4, false,
        "Queue pairs by which a process sends datagrams of verbs, in turn, 1 to 64";
    verbs_ud_eager_bytes: u64 = 64 << 10, true,
        "Largest message that datagrams of verbs carry without asking the receiver first";
    verbs_ud_window_bytes: u64 = 1 << 20, true,
        "Bytes of small messages to one process that may be on their way as datagrams of verbs";
    verbs_uc_datagram_bytes: u64 = 16 << 10, true,
        "Length of datagrams over unreliable connections of verbs at most, 512 to 65507";
    verbs_uc_receive_buffers: u32 = 64, false,
        "Buffers of a datagram each for what has come over such a connection, from each process, 16 to 4096";
    verbs_uc_eager_bytes: u64 = 16 << 10, true,
        "Largest message that unreliable connections of verbs carry without asking the receiver first";
    verbs_uc_window_bytes: u64 = 1 << 20, true,
        "Bytes of small messages to one process that may be on their way over such a connection";
    ofi_library: String = "libfabric.so.1".to_owned(), false,
        "The library libfabric: a path, or a name that the loader finds";
    ofi_provider: String = String::new(), true,
        "Provider of libfabric, as tcp, efa, cxi or verbs;ofi_rxm; the best that is offered when empty";
    ofi_domain: String = String::new(), false,
        "Device or interface of libfabric's provider; the first that is offered when empty";
    rdma_pin_cache: PinCachePreference = PinCachePreference::Auto, false,
        "Whether memory stays registered with an RDMA device after a transfer, for the next one";
    rdma_pin_regions: u32 = 0, false,
        "Ranges of memory that may be registered for transfers at a time; 0 for as many as are good";
    rdma_pin_bytes: u64 = 0, false,
        "Bytes of memory that may be registered for transfers at a time; 0 for what the system allows";
    shm_eager_bytes: u64 = 64 << 10, true,
        "Largest message through the ring without asking the receiver; through the exchange buffer four times as much";
    shm_lane_cells: u32 = 64, true,
        "Cells of 64 bytes in each lane between two processes, a power of two";
    shm_lanes: u32 = 1, true,
        "Processes that can write to one process through shared memory; at least all of the job";
    shm_slots: u32 = 256, true,
        "Buffers of a process for short eager messages beyond one cell";
    shm_slot_bytes: u64 = 2 << 10, true,
        "Bytes of one of them; longer messages go through the ring";
    shm_ring_bytes: u64 = 8 << 20, true,
        "Buffer of a process that long eager messages and pipelined copies go through";
    shm_exchange_bytes: u64 = 1 << 20, true,
        "Buffer that two processes share, through which answers go back; 0 for none";
    shm_chunk_bytes: u64 = 128 << 10, true,
        "Bytes that one end of a pipelined copy moves while the other moves those before";
    shm_chunks_per_peer: u32 = 32, true,
        "Such fragments that are under way to one process at most";
    shm_alloc_bytes: u64 = 4 << 30, true,
        "Memory of a process for MPI_Alloc_mem and collectives at most, mapped as it is used";
    shm_bulk: BulkProtocol = BulkProtocol::Auto, true,
        "How large messages go between processes of one node";
    progress: ProgressMode = ProgressMode::Calls, false,
        "Who goes on with operations between calls of MPI: nobody, or a thread";
    wait_spin_polls: u32 = 10_000, false,
        "Polls that find nothing before a wait yields the processor";
    wait_yield: Duration = Duration::from_millis(8), false,
        "Time of yielding before a wait sleeps";
    coll_check: bool = false, true,
        "Compare collective calls between their processes first, and name who disagrees";
    coll_shape: CollShape = CollShape::Auto, true,
        "How collectives go over the last-level caches of a node: flat, as a tree, or by what costs least";
    coll_cache_ranks: u32 = 0, true,
        "Ranks that take themselves for one last-level cache, two to a socket, to play several; 0 for the machine's";
    coll_table: String = String::new(), true,
        "File with the rules by which algorithms of collectives are chosen";
    coll_barrier: String = String::new(), true, "Algorithm of MPI_Barrier";
    coll_bcast: String = String::new(), true, "Algorithm of MPI_Bcast";
    coll_gather: String = String::new(), true, "Algorithm of MPI_Gather";
    coll_gatherv: String = String::new(), true, "Algorithm of MPI_Gatherv";
    coll_scatter: String = String::new(), true, "Algorithm of MPI_Scatter";
    coll_scatterv: String = String::new(), true, "Algorithm of MPI_Scatterv";
    coll_allgather: String = String::new(), true, "Algorithm of MPI_Allgather";
    coll_allgatherv: String = String::new(), true, "Algorithm of MPI_Allgatherv";
    coll_alltoall: String = String::new(), true, "Algorithm of MPI_Alltoall";
    coll_alltoallv: String = String::new(), true, "Algorithm of MPI_Alltoallv";
    coll_alltoallw: String = String::new(), true, "Algorithm of MPI_Alltoallw";
    coll_reduce: String = String::new(), true, "Algorithm of MPI_Reduce";
    coll_allreduce: String = String::new(), true, "Algorithm of MPI_Allreduce";
    coll_reduce_scatter: String = String::new(), true, "Algorithm of MPI_Reduce_scatter";
    coll_reduce_scatter_block: String = String::new(), true,
        "Algorithm of MPI_Reduce_scatter_block";
    coll_scan: String = String::new(), true, "Algorithm of MPI_Scan";
    coll_exscan: String = String::new(), true, "Algorithm of MPI_Exscan";
    output: OutputMode = OutputMode::Lines, false,
        "When what ranks print through mpirun leaves their buffers: with each line, or when one is full";
    log: String = String::new(), false,
        "What to log to standard error: error, warn, info, debug or trace, or of a part as transports=debug";
    backtrace: bool = true, false,
        "Tell of a fatal signal what it is about and which calls led there, if the program has no handler for it";
    singleton: bool = false, false,
        "Start alone even where a launcher's variables say that there are more ranks";
}

impl Settings {
    /// Gives the setting called `name` (in small letters) the value written as `text`; `origin`
    /// says where that stands, as in "the environment".
    ///
    /// # Errors
    /// `MPI_ERR_OTHER` with one sentence for a name that is unknown, with the nearest that is
    /// known, and for a value that cannot be read.
    pub fn set(&mut self, name: &str, text: &str, origin: &str) -> Result<()> {
        let Some(place) = Settings::ALL.iter().position(|setting| setting.name == name) else {
            return Err(unknown(name, origin));
        };
        let text = text.trim();
        self.assign(name, text).map_err(|why| {
            let variable = Settings::ALL[place].variable();
            let what = format!("the setting {variable} (from {origin}) is \"{text}\", {why}");
            Error::new(ErrorClass::OTHER, what)
        })?;
        self.origins[place] = Some(origin.to_owned());
        Ok(())
    }

    /// The algorithm that the user wants for a collective, by its name in small letters.
    pub fn coll_algorithm(&self, collective: &str) -> Option<String> {
        self.show(&format!("coll_{collective}")).filter(|text| !text.is_empty())
    }

    /// The settings on which all ranks must agree and that are not at their defaults, for rank
    /// 0 to tell the others: one `name=value` a line.
    pub fn uniform_text(&self) -> String {
        let set = Settings::ALL.iter().zip(&self.origins);
        let lines = set.filter(|(setting, origin)| setting.uniform && origin.is_some());
        let line = |(setting, _): (&Described, _)| {
            format!("{}={}\n", setting.name, self.show(setting.name).unwrap_or_default())
        };
        lines.map(line).collect()
    }

    /// Takes rank 0's [`Settings::uniform_text`]: what it does not name is at its default.
    ///
    /// # Errors
    /// As [`Settings::set`], for text that no Ferrite of this version wrote.
    pub fn apply_uniform(&mut self, text: &str) -> Result<()> {
        let defaults = Settings::default();
        for (place, setting) in Settings::ALL.iter().enumerate().filter(|(_, s)| s.uniform) {
            let default = defaults.show(setting.name).unwrap_or_default();
            self.set(setting.name, &default, "rank 0")?;
            self.origins[place] = None;
        }
        for line in text.lines() {
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            self.set(name, value, "rank 0")?;
        }
        Ok(())
    }

    /// A table for people: variable, value, where the value comes from, help.
    pub fn table(&self) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        for (setting, origin) in Settings::ALL.iter().zip(&self.origins) {
            let value = self.show(setting.name).unwrap_or_default();
            let value = if value.is_empty() { "(none)".to_owned() } else { value };
            let origin = origin.as_deref().unwrap_or("default");
            let variable = setting.variable();
            let _ = writeln!(text, "{variable:<34} {value:<14} {:<8} {origin}", setting.kind);
            let _ = writeln!(text, "    {}.", setting.help);
            let values = setting.values();
            if !values.is_empty() {
                let _ = writeln!(text, "    One of {}.", values.join(", "));
            }
        }
        text
    }
}

fn unknown(name: &str, origin: &str) -> Error {
    let near = Settings::ALL.iter().max_by(|a, b| {
        strsim::jaro_winkler(a.name, name).total_cmp(&strsim::jaro_winkler(b.name, name))
    });
    let near = near.map(Described::variable).unwrap_or_default();
    let variable = format!("FERRITE_{}", name.to_ascii_uppercase());
    let what = format!("there is no setting {variable} (from {origin}); did you mean {near}?");
    Error::new(ErrorClass::OTHER, what).hint("mpirun --settings lists all settings.")
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
