//! Options of other launchers that mpirun lacks. In: a name that it does not know. Out: what to use
//! instead, for those whose purpose is served by another option or by the shell.

/// Counting by the socket.
pub(super) const BY_SOCKET: &str = "Use -ppn N with the N ranks of a whole host, and --map-by socket to deal \
                         them out to its sockets in turn.";

/// What is printed about the job.
const REPORT: &str = "Use --report, which prints which rank ran where.";

/// How many cores a rank gets.
const CORES: &str = "Use --map-by slot:PE=N or --bind-to core:N for N cores a rank.";

/// Names without dashes, and what to use instead.
const INSTEAD: [(&str, &str); 13] = [
    (
        "rank-by",
        "Ranks are numbered in the order in which --map-by deals them out: use --map-by slot for \
         neighbours on one host, --map-by node for neighbours on different hosts.",
    ),
    ("display", REPORT),
    ("display-allocation", REPORT),
    ("display-devel-map", REPORT),
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
