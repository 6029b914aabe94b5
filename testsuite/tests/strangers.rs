//! Strangers at the doors of a running job: a scanner, noise, other people's words and another
//! user at every port and every socket that its ranks have open. They are refused, the job's
//! data stays right, and each rank logs at most one line a second about them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use testsuite::prefix::Prefix;

const RANKS: usize = 3;

/// The doors of a job: ports that it listens at, and names of its datagram sockets.
#[derive(Debug, Default)]
struct Doors {
    ports: Vec<u16>,
    names: Vec<Vec<u8>>,
}

/// Numbers of the sockets that processes running `program` have open.
fn sockets_of(program: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").expect("processes").flatten() {
        let at = process.path();
        if fs::read_link(at.join("exe")).is_ok_and(|exe| exe == program) {
            for fd in fs::read_dir(at.join("fd")).into_iter().flatten().flatten() {
                let target = fs::read_link(fd.path()).unwrap_or_default();
                let target = target.to_string_lossy();
                let number = target.strip_prefix("socket:[").and_then(|t| t.strip_suffix(']'));
                found.extend(number.map(str::to_owned));
            }
        }
    }
    found
}

fn doors(program: &Path) -> Doors {
    const LISTENS: &str = "0A";
    let sockets = sockets_of(program);
    let mut doors = Doors::default();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for line in fs::read_to_string(table).unwrap_or_default().lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words[3] == LISTENS && sockets.iter().any(|number| number == words[9]) {
                let port =
                    words[1].rsplit(':').next().and_then(|p| u16::from_str_radix(p, 16).ok());
                doors.ports.extend(port);
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

fn load(prefix: &Prefix) -> PathBuf {
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("strangers");
    fs::create_dir_all(&into).expect("a folder");
    let program = into.join("load");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults/load.c");
    let status = prefix.command("mpicc").arg("-o").arg(&program).arg(source).status();
    assert!(status.expect("mpicc runs").success(), "mpicc failed");
    program.canonicalize().expect("the program")
}

#[test]
fn strangers_at_every_door_are_refused_and_do_no_harm() {
    let prefix = Prefix::find().expect("a prefix");
    let program = load(&prefix);
    let mut command = prefix.command("mpirun");
    command.args(["-n", &RANKS.to_string()]).arg(&program).arg("3");
    command.envs([("FERRITE_TRANSPORT", "tcp"), ("FERRITE_LOG", "warn")]);
    let begin = Instant::now();
    let job = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut job = job.expect("mpirun runs");
    let mut out = BufReader::new(job.stdout.take().expect("a pipe"));
    let mut errors = job.stderr.take().expect("a pipe");
    let errors = thread::spawn(move || {
        let mut text = String::new();
        errors.read_to_string(&mut text).expect("text");
        text
    });
    let mut said = String::new();
    out.read_line(&mut said).expect("a line");
    let doors = doors(&program);
    assert_eq!(doors.ports.len(), RANKS, "{doors:?}");
    let another = pester_as_another(&doors);
    let mut visits = 0;
    for round in 0..20 {
        visits += doors.ports.iter().map(|port| pester(*port, round)).sum::<u32>();
        let stranger = UnixDatagram::unbound().expect("a socket");
        for name in &doors.names {
            let to = std::os::unix::net::SocketAddr::from_abstract_name(name).expect("a name");
            let _ = stranger.send_to_addr(&noise(round, 2 + round as usize * 40), &to);
        }
    }
    out.read_to_string(&mut said).expect("text");
    let status = job.wait().expect("an end");
    let errors = errors.join().expect("the text of errors");
    let seconds = begin.elapsed().as_secs() as usize + 1;
    another.map(|mut another| another.wait());
    assert!(status.success() && said == "begun\nok\n", "{said}{errors}");
    assert!(visits > 100, "only {visits} visits came about");
    let lines = errors.lines().count();
    // Each rank complains about its port and about its shared memory apart.
    let most = 2 * RANKS * (seconds + 1);
    assert!((1..=most).contains(&lines), "{lines} lines in {seconds} s:\n{errors}");
    assert!(errors.contains("refused a stranger's connection"), "{errors}");
}
