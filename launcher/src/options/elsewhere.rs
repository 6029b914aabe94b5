//! Options of other launchers that mpirun lacks. In: a name that it does not know. Out: what to use
//! instead, for those whose purpose is served by another option or by the shell.

/// Counting by the socket.
pub(super) const BY_SOCKET: &str = "Use -ppn N with the N ranks of a whole host, and --map-by socket to deal \
                         them out to its sockets in turn.";

/// What is printed about the job.
const REPORT: &str = "Use --report-bindings, which prints at the start where each rank runs, or \
                      --report, which at the end also prints how they communicated.";

/// A place for each rank one by one.
const RANKFILE: &str = "Ranks are placed by rule: -H n1:2,n2:4 or a --hostfile says how many follow \
                        one another on each host, --map-by and --bind-to how they share its cores. \
                        Several programs in one job (PROGRAM : PROGRAM) have hosts of their own.";

/// Certain CPUs.
const CPUS: &str =
    "Use taskset -c LIST mpirun …: mpirun shares the CPUs that it may use out to the ranks.";

/// How many cores a rank gets.
const CORES: &str = "Use --map-by slot:PE=N or --bind-to core:N for N cores a rank.";

/// Names without dashes, and what to use instead.
const INSTEAD: [(&str, &str); 16] = [
    ("rankfile", RANKFILE),
    ("rf", RANKFILE),
    ("cpu-set", CPUS),
    ("cpu-list", CPUS),
    ("slot-list", CPUS),
    ("host-list", "Use -H HOST:SLOTS,…."),
    ("display", REPORT),
    ("npersocket", BY_SOCKET),
    ("cpus-per-proc", CORES),
    ("cpus-per-rank", CORES),
    ("bind-to-core", "Use --bind-to core."),
    ("bind-to-socket", "Use --bind-to socket."),
    ("bind-to-none", "Use --bind-to none."),
    ("byslot", "Use --map-by slot."),
    ("bysocket", "Use --map-by socket."),
    ("nolocal", "Name the hosts to run on with -H or --hostfile, and leave this one out."),
];

/// What to use instead of option `name`.
pub(super) fn instead_of(name: &str) -> Option<&'static str> {
    INSTEAD.iter().find(|(known, _)| *known == name).map(|(_, instead)| *instead)
}
