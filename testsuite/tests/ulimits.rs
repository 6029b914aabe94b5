//! Programs under the limits that batch systems set (`ulimit`), for memory that is shared counts as
//! addresses and as a file; and in sandboxes that refuse the kernel's usual way to share it.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use testsuite::prefix::clean;
use testsuite::programs::Batch;

/// Programs that share memory in all its forms: messages, segments, windows, allocated memory.
const PROGRAMS: [&str; 6] = ["alltoall", "bcast", "hello", "large", "memory", "windows"];

/// Limits, with the most ranks that are to run under them.
const LIMITS: [(&str, u32); 6] = [
    ("-v 400000", 4),
    ("-v 700000", 8),
    ("-f 2000000", 4),
    ("-f 65536", 4),
    ("-f 12288", 4),
    ("-n 40", 4),
];

/// A command that runs further words under a limit.
fn limited(limit: &str) -> Command {
    let mut command = clean(Path::new("bash"));
    command.args(["-c", &format!("ulimit {limit} && exec \"$@\""), "bash"]);
    command
}

/// A command that runs further words where the kernel knows no `memfd_create`.
fn without_memfds() -> Command {
    let mut command = clean(Path::new("env"));
    // SAFETY: the closure only makes system calls.
    unsafe { command.pre_exec(refuse_memfds) };
    command
}

/// Lets the kernel answer `memfd_create` with `ENOSYS`, in this process and in all that it starts.
fn refuse_memfds() -> io::Result<()> {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let number = libc::SYS_memfd_create as u32;
    let compare = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let mut filter = [
        // The first word that a filter sees is the number of the call.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter { code: compare as u16, jt: 0, jf: 1, k: number },
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: integers, and a filter that the kernel copies.
    let codes = unsafe {
        [
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program),
        ]
    };
    if codes == [0, 0] { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[test]
fn programs_run_under_limits() {
    run_all("limits", &LIMITS, limited);
}

#[test]
fn programs_run_where_memfds_are_refused() {
    run_all("memfds", &[("memfd_create refused", 4)], |_| without_memfds());
}

/// Runs all programs on as many ranks as they may and as each of the surroundings allows.
fn run_all(folder: &str, all: &[(&str, u32)], surroundings: impl Fn(&str) -> Command) {
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ulimits").join(folder);
    let mut batch = Batch::compile(&into, &PROGRAMS).expect("programs that compile");
    for (name, most) in all {
        batch.run(name, &|| surroundings(name), &|program| {
            program.ranks.iter().copied().filter(|ranks| ranks <= most).max().into_iter().collect()
        });
    }
    batch.verdict().unwrap();
}
