//! One job that something is done to: how it is started, which processes it has, how it ends, and
//! what is left of it.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use testsuite::hosts::{Hosts, LAUNCHER};
use testsuite::prefix::{Prefix, clean};

use super::plan::{PATIENCE, Plan, TRAFFIC};

/// The variable by which all processes of a run are known.
const MARK: &str = "SOAK_RUN";

/// How often to look whether something has come about.
const LOOK: Duration = Duration::from_millis(1);

/// A job.
pub(crate) struct Job {
    mpirun: Child,
    pub(crate) begun: Instant,
    mark: String,
    program: PathBuf,
    folder: tempfile::TempDir,
    /// Where each host's processes live: the number of its namespace.
    places: Vec<u64>,
}

/// One process of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) rank: Option<usize>,
    pub(crate) host: Option<usize>,
}

/// How a job has ended.
pub(crate) struct End {
    /// None if it did not.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) out: String,
    pub(crate) errors: String,
    pub(crate) left: Vec<String>,
}

impl Job {
    /// Starts the job of a plan.
    pub(crate) fn start(plan: &Plan, hosts: &Hosts, prefix: &Prefix, program: &Path) -> Job {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name| File::create(folder.path().join(name)).expect("a file");
        let temporary = folder.path().join("tmp");
        fs::create_dir(&temporary).expect("a folder");
        let mark = format!("{}-{}", hosts.name(0), plan.seed);
        let places = (0..super::plan::HOSTS).map(|host| {
            let name = format!("/var/run/netns/{}", hosts.name(host));
            fs::metadata(name).expect("a namespace").ino()
        });
        let places = places.collect();
        let mut command = clean(Path::new("env"));
        command.arg("--default-signal").arg(prefix.bin("mpirun"));
        command.args(["--launcher", LAUNCHER, "-H", &hosts.list(plan.each)]);
        command.args(["-n", &plan.ranks().to_string()]);
        command.env(MARK, &mark).env("TMPDIR", temporary);
        command.env("FERRITE_TCP_PATIENCE", format!("{}ms", PATIENCE.as_millis()));
        command.env("FERRITE_TCP_STREAMS", plan.streams.to_string());
        command.env("FERRITE_CONNECT", plan.connect);
        command.arg(program).args(["--seed", &plan.seed.to_string(), "--each", "1"]);
        command.args(["--seconds", &TRAFFIC.as_secs_f64().to_string()]);
        command.stdout(file("out")).stderr(file("errors"));
        let mpirun = command.spawn().expect("mpirun can be started");
        Job { mpirun, begun: Instant::now(), mark, program: program.into(), folder, places }
    }

    /// The process of mpirun itself.
    pub(crate) fn mpirun(&self) -> u32 {
        self.mpirun.id()
    }

    /// Waits until something has come about or the job is over; what it was.
    pub(crate) fn until<T>(&mut self, mut found: impl FnMut(&Job) -> Option<T>) -> Option<T> {
        loop {
            let thing = found(self);
            if thing.is_some() || self.is_over() {
                return thing;
            }
            sleep(LOOK);
        }
    }

    fn is_over(&mut self) -> bool {
        self.mpirun.try_wait().expect("a child can be waited for").is_some()
    }

    /// Whether some rank has all its data.
    pub(crate) fn is_ending(&self) -> bool {
        self.read("out").contains("all came")
    }

    fn read(&self, name: &str) -> String {
        let bytes = fs::read(self.folder.path().join(name)).expect("a file of the run");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// What runs of the job.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let entries = fs::read_dir("/proc").expect("a list").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(|pid| self.process(pid)).collect()
    }

    /// A process, if it is of the job.
    fn process(&self, pid: u32) -> Option<Process> {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let value = |name: &str| {
            environment.split(|&byte| byte == 0).find_map(|pair| {
                let pair = std::str::from_utf8(pair).ok()?;
                pair.strip_prefix(name)?.strip_prefix('=').map(str::to_owned)
            })
        };
        if value(MARK)? != self.mark {
            return None;
        }
        let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let own = words.starts_with(self.program.as_os_str().as_encoded_bytes());
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
        let place = fs::metadata(format!("/proc/{pid}/ns/net")).ok()?.ino();
        Some(Process {
            pid,
            parent,
            rank: value("PMI_RANK").filter(|_| own).and_then(|rank| rank.parse().ok()),
            host: self.places.iter().position(|known| *known == place),
        })
    }

    /// Waits for the end, at most so long, and then for everything to be gone, at most `grace`.
    pub(crate) fn end(mut self, longest: Duration, grace: Duration) -> End {
        let latest = Instant::now() + longest;
        self.until(|_| (Instant::now() > latest).then_some(()));
        let status = self.mpirun.try_wait().expect("a child can be waited for");
        if status.is_none() {
            self.ask_why();
        }
        let latest = Instant::now() + grace;
        let mut left = self.processes();
        while !left.is_empty() && status.is_some() && Instant::now() < latest {
            sleep(LOOK);
            left = self.processes();
        }
        let mut told: Vec<String> = left.iter().map(|process| format!("{process:?}")).collect();
        for Process { pid, .. } in left {
            signal("KILL", pid);
        }
        let files = fs::read_dir(self.folder.path().join("tmp")).expect("a folder").flatten();
        told.extend(files.map(|file| file.path().display().to_string()));
        End { status, out: self.read("out"), errors: self.read("errors"), left: told }
    }

    /// Has mpirun say what a job that does not end waits for, and ends it.
    fn ask_why(&mut self) {
        signal("USR2", self.mpirun());
        sleep(Duration::from_secs(1));
        signal("KILL", self.mpirun());
        self.mpirun.wait().expect("it was killed");
    }
}

/// Sends a signal, to a process that may have ended.
pub(crate) fn signal(name: &str, pid: u32) {
    let mut kill = clean(Path::new("kill"));
    let _ = kill.args(["-s", name, &pid.to_string()]).output().expect("kill can be started");
}
