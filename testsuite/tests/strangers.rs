//! Strangers at the doors of a running job: a scanner, noise, other people's words and another
//! user at every port and every socket that its ranks have open, and recordings of what its own
//! ranks said. They are refused, the job's data stays right, and each rank logs at most one line a
//! second about them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use testsuite::hosts::skipped;
use testsuite::open_sockets::sockets_of;
use testsuite::prefix::Prefix;

const RANKS: usize = 3;

/// The doors of a job: ports that it listens at, and on how many addresses that are not the loopback's;
/// and names of its datagram sockets.
#[derive(Debug, Default)]
struct Doors {
    ports: Vec<u16>,
    outside: usize,
    names: Vec<Vec<u8>>,
}

fn doors(program: &Path) -> Doors {
    const LISTENS: &str = "0A";
    const LOOPBACK: &str = "0100007F:";
    let sockets = sockets_of(program);
    let mut doors = Doors::default();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for line in fs::read_to_string(table).unwrap_or_default().lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words[3] == LISTENS && sockets.iter().any(|number| number == words[9]) {
                let port =
                    words[1].rsplit(':').next().and_then(|p| u16::from_str_radix(p, 16).ok());
                doors.ports.extend(port);
                doors.outside += usize::from(!words[1].starts_with(LOOPBACK));
            }
        }
    }
    // Their names are random bytes, of which the table cannot show all: most doors are found.
    for line in fs::read("/proc/net/unix").unwrap_or_default().split(|byte| *byte == b'\n') {
        let mut words = line.splitn(8, |byte| *byte == b' ').skip(6);
        let (number, rest) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let is_own = sockets.iter().any(|own| own.as_bytes() == number);
        doors.names.extend(rest.strip_prefix(b"@").filter(|_| is_own).map(<[u8]>::to_vec));
    }
    doors
}

/// Bytes that follow no rule, from a seed.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x as u8
    };
    (0..len).map(|_| next()).collect()
}

/// One round of everything that strangers do at a port; how many connections that was.
fn pester(port: u16, round: u64) -> u32 {
    let at = SocketAddr::from(([127, 0, 0, 1], port));
    let mut count = 0;
    let mut visit = |words: &dyn Fn(&[u8]) -> Vec<u8>| {
        let Ok(mut stream) = TcpStream::connect(at) else { return };
        count += 1;
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
        let mut challenge = [0; 28];
        if stream.read_exact(&mut challenge).is_ok() {
            let _ = stream.write_all(&words(&challenge));
        }
    };
    // A scanner says nothing.
    drop(TcpStream::connect(at));
    visit(&|_| noise(round, 1 + (round as usize * 37) % 700));
    // What the process itself said, and other protocols.
    visit(&|challenge| challenge.repeat(10));
    visit(&|_| b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(5));
    // A hello by form, whose signature nobody could make.
    visit(&|challenge| [b"FerrTcpH", &challenge[8..12], &noise(round, 132)[..]].concat());
    count
}

/// The same by a process of another user, where this one may start such.
fn pester_as_another(doors: &Doors) -> Option<Child> {
    const NOBODY: u32 = 65534;
    let ports: Vec<String> = doors.ports.iter().map(ToString::to_string).collect();
    let script = "for i in 1 2 3 4 5; do for port in $0; do \
                  exec 3<>/dev/tcp/127.0.0.1/$port; head -c 300 /dev/urandom >&3; exec 3>&-; \
                  done; done";
    let mut bash = Command::new("bash");
    bash.args(["-c", script, &ports.join(" ")]).stderr(Stdio::null()).uid(NOBODY).gid(NOBODY);
    bash.spawn().ok()
}

/// `faults/NAME.c`, compiled by `compiler` for one test alone, whose processes are known by it.
fn compiled(name: &str, mut compiler: Command, test: &str) -> PathBuf {
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("strangers").join(test);
    fs::create_dir_all(&into).expect("a folder");
    let program = into.join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("faults/{name}.c"));
    let status = compiler.arg("-o").arg(&program).arg(source).status();
    assert!(status.expect("a compiler").success(), "{name} cannot be compiled");
    program.canonicalize().expect("the program")
}

/// A job under load that says when it has begun, and what it has said at its end.
struct Job {
    child: Child,
    out: BufReader<ChildStdout>,
    errors: thread::JoinHandle<String>,
    doors: Doors,
}

impl Job {
    /// `faults/NAME.c` with these arguments, each rank of which may have so many descriptors.
    fn start(test: &str, name: &str, arguments: &[&str], descriptors: u32) -> Job {
        let prefix = Prefix::find().expect("a prefix");
        let program = compiled(name, prefix.command("mpicc"), test);
        let mut command = prefix.command("mpirun");
        let limited = format!("ulimit -n {descriptors} && exec \"$@\"");
        command.args(["-n", &RANKS.to_string(), "bash", "-c", &limited, "bash"]);
        command.arg(&program).args(arguments);
        command.envs([("FERRITE_TRANSPORT", "tcp"), ("FERRITE_LOG", "warn")]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("mpirun runs");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut errors = child.stderr.take().expect("a pipe");
        let errors = thread::spawn(move || {
            let mut text = String::new();
            errors.read_to_string(&mut text).expect("text");
            text
        });
        let mut said = String::new();
        out.read_line(&mut said).expect("a line");
        assert_eq!(said, "begun\n");
        let doors = doors(&program);
        assert_eq!(doors.ports.len(), RANKS, "{doors:?}");
        assert_eq!(doors.outside, 0, "all ranks are here, and doors are open to others: {doors:?}");
        Job { child, out, errors, doors }
    }

    /// What it wrote to standard error, once it has ended well.
    fn end(mut self) -> String {
        let mut said = String::new();
        self.out.read_to_string(&mut said).expect("text");
        let status = self.child.wait().expect("an end");
        let errors = self.errors.join().expect("the text of errors");
        assert!(status.success() && said == "ok\n", "{status}: {said}{errors}");
        errors
    }
}

#[test]
fn strangers_at_every_door_are_refused_and_do_no_harm() {
    let job = Job::start("at_every_door", "load", &["3"], 1024);
    let another = pester_as_another(&job.doors);
    let mut visits = 0;
    for round in 0..20 {
        visits += job.doors.ports.iter().map(|port| pester(*port, round)).sum::<u32>();
        let stranger = UnixDatagram::unbound().expect("a socket");
        for name in &job.doors.names {
            let to = std::os::unix::net::SocketAddr::from_abstract_name(name).expect("a name");
            let _ = stranger.send_to_addr(&noise(round, 2 + round as usize * 40), &to);
        }
    }
    let errors = job.end();
    another.map(|mut another| another.wait());
    assert!(visits > 100, "only {visits} visits came about");
    assert!(errors.contains("refused a stranger's connection"), "{errors}");
    // Each rank complains about its port and about its shared memory apart, once a second.
    for rank in 0..RANKS {
        let of_rank = format!("rank={rank} ");
        for what in ["connection", "shared-memory socket"] {
            let is_it = |line: &&str| line.contains(&of_rank) && line.contains(what);
            let times: Vec<f64> = errors.lines().filter(is_it).map(second_of_day).collect();
            let is_calm = |pair: &[f64]| pair[1] - pair[0] > 0.99 || pair[1] < pair[0];
            assert!(times.windows(2).all(is_calm), "{of_rank}, {what}: {times:?}\n{errors}");
        }
    }
    assert!(errors.lines().all(|line| line.contains("rank=")), "{errors}");
}

/// Lets this process hold more connections than it may at first.
fn raise_own_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one rlimit and reads one, which are ours.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit), 0);
        limit.rlim_cur = limit.rlim_max;
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
    }
}

/// As many connections as a process may have descriptors, and nothing is said on any.
#[test]
fn strangers_who_hold_connections_leave_descriptors_and_ways_to_the_job() {
    const HELD: u32 = 1024;
    const FILES: u32 = HELD * 5 / 8;
    let test = "strangers_who_hold_connections";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("strangers").join(test);
    let go = folder.join("go");
    let _ = fs::remove_file(&go);
    raise_own_limit();
    let files = FILES.to_string();
    let job = Job::start(test, "meets_late", &[go.to_str().expect("a path"), &files], HELD);
    let connect = |port: &u16| TcpStream::connect(("127.0.0.1", *port)).expect("a connection");
    let ports = job.doors.ports.iter().flat_map(|port| std::iter::repeat_n(port, HELD as usize));
    let held: Vec<TcpStream> = ports.map(connect).collect();
    fs::write(&go, "").expect("a file");
    job.end();
    drop(held);
}

/// When a line was logged: it begins with the time, as in `2026-11-21T20:47:03.708824Z`.
fn second_of_day(line: &str) -> f64 {
    let time = line.split(['T', 'Z']).nth(1).expect("a time of day");
    time.split(':').fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().expect("a number"))
}

/// Hears, on the wire, what a rank says first to another one of the job: the port and the words.
fn overheard(lines: &mut impl BufRead, ports: &[u16]) -> (u16, Vec<u8>) {
    loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).expect("a line") > 0, "the eavesdropper has ended");
        let (port, words) = line.trim().split_once(' ').expect("a port and words");
        let port = port.parse().expect("a port");
        if ports.contains(&port) {
            let byte = |at| u8::from_str_radix(&words[at..at + 2], 16).expect("digits");
            return (port, (0..words.len()).step_by(2).map(byte).collect());
        }
    }
}

#[test]
fn a_recorded_hello_is_refused_in_a_running_job() {
    let test = "a_recorded_hello_is_refused_in_a_running_job";
    let spy = compiled("eavesdrop", Command::new("cc"), test);
    let spy = Command::new(spy).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut spy = spy.expect("the eavesdropper runs");
    let mut heard = BufReader::new(spy.stdout.take().expect("a pipe"));
    let mut first = String::new();
    if heard.read_line(&mut first).expect("a line") == 0 {
        spy.wait().expect("an end");
        return skipped(test, "packet sockets are not allowed here").expect("it is counted");
    }
    let job = Job::start(test, "load", &["2"], 1024);
    let (port, hello) = overheard(&mut heard, &job.doors.ports);
    spy.kill().and_then(|()| spy.wait()).expect("an end");
    // To the very process that it was meant for, and to the others.
    let others = job.doors.ports.iter().filter(|other| **other != port);
    for door in [port].iter().chain(others) {
        let mut stream = TcpStream::connect(("127.0.0.1", *door)).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        let mut challenge = [0; 28];
        stream.read_exact(&mut challenge).expect("a challenge");
        stream.write_all(&hello).expect("room for a hello");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an end");
        assert_eq!(answer, [], "a recording was welcomed");
    }
    let errors = job.end();
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines.len(), RANKS, "one line for each refusal:\n{errors}");
    let is_told = |line: &&str| line.contains("refused a stranger's connection");
    assert!(lines.iter().all(is_told) && errors.contains("the secret of this job"), "{errors}");
}
