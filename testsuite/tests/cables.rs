//! Two hosts with two cables, of which each is cut and mended in turn while a job runs, or both are cut
//! for a while: the data that comes is right, the job ends, and it goes on where its patience allows.
//!
//! Where namespaces or firewalls cannot be made the tests are counted as skipped.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;
use testsuite::hosts::{Hosts, LAUNCHER};
use testsuite::networks::NETWORKS;
use testsuite::peers;
use testsuite::prefix::{Prefix, clean};
use testsuite::traffic;

const CABLES: u8 = 2;

/// A job counts as hung after what it was meant to last and this.
const HUNG: Duration = Duration::from_secs(20);

/// How a cable is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cut {
    /// Its plug is pulled, which the hosts see.
    Unplugged,
    /// What goes in on one side does not come out on the other.
    Silent,
}

impl Cut {
    const ALL: [Cut; 2] = [Cut::Unplugged, Cut::Silent];

    /// Cuts a cable.
    fn cut(self, hosts: &Hosts, cable: u8) {
        match self {
            Cut::Unplugged => hosts.plug(1, cable, false),
            Cut::Silent => {
                [(0, 1), (1, 0)].iter().try_for_each(|&(from, to)| hosts.block(from, to, cable))
            }
        }
        .expect("a cable to cut");
    }

    /// Mends all that are cut.
    fn mend(self, hosts: &Hosts) {
        match self {
            Cut::Unplugged => (0..CABLES).try_for_each(|cable| hosts.plug(1, cable, true)),
            Cut::Silent => (0..2).try_for_each(|host| hosts.open_all(host)),
        }
        .expect("a cable to mend");
    }
}

/// Hosts, programs and settings of a test.
struct Scene {
    hosts: Hosts,
    prefix: Prefix,
    soak: PathBuf,
    _folder: tempfile::TempDir,
}

/// A job that has begun.
struct Job {
    child: Child,
    out: BufReader<ChildStdout>,
    errors: NamedTempFile,
}

/// What a job has said and how it has ended.
struct End {
    status: ExitStatus,
    out: String,
    errors: String,
}

impl End {
    /// It has ended well, with nothing to complain of.
    fn assert_good(&self, what: &str) {
        assert!(self.status.success(), "{what}: {}\n{}{}", self.status, self.out, self.errors);
        assert_eq!(self.errors, "", "{what}");
    }
}

impl Scene {
    /// None where this cannot be played.
    fn set(test: &str) -> Option<Scene> {
        let hosts = Hosts::make(test, 2, CABLES).expect("hosts")?;
        if !hosts.can_filter(test).expect("a note") {
            return None;
        }
        let prefix = Prefix::find().expect("a prefix");
        let folder = tempfile::tempdir().expect("a folder");
        let soak = traffic::compile(&prefix, folder.path()).expect("a program");
        Some(Scene { hosts, prefix, soak, _folder: folder })
    }

    /// Starts a rank on each host.
    fn start(&self, transport: &str, patience: Duration, limit: Duration, words: &[&str]) -> Job {
        let mut command = clean(Path::new("timeout"));
        command.args(["--kill-after=5", &(limit + HUNG).as_secs().to_string()]);
        command.arg(self.prefix.bin("mpirun"));
        command.args(["--launcher", LAUNCHER, "-H", &self.hosts.list(1), "-n", "2"]).args(words);
        command.env("FERRITE_TRANSPORT", transport);
        command.env("FERRITE_TCP_PATIENCE", format!("{}ms", patience.as_millis()));
        let errors = NamedTempFile::new().expect("a file");
        command.stdout(Stdio::piped()).stderr(errors.reopen().expect("a file"));
        let mut child = command.spawn().expect("mpirun runs");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        // What a rank tells the others of its addresses is told by now.
        out.read_line(&mut String::new()).expect("a line");
        Job { child, out, errors }
    }

    /// Random traffic for about so long, every word of it checked.
    fn soak(&self, transport: &str, patience: Duration, lasts: Duration) -> Job {
        let seconds = lasts.as_secs_f64().to_string();
        let program = self.soak.to_string_lossy();
        let words = [&*program, "--seed", "1", "--begun", "1", "--seconds", &seconds];
        // A kernel before 6.15 may find a mended cable only after once more the time that it was cut.
        self.start(transport, patience, 2 * lasts, &words)
    }

    /// Intel's benchmarks, which without cuts take about so long.
    fn benchmarks(&self, transport: &str, patience: Duration, lasts: Duration) -> Job {
        let program = peers::environment("impi").expect("the peer").join("bin/IMB-MPI1");
        let (program, calls) = (program.to_string_lossy(), lasts.as_millis().to_string());
        // It is the number of calls that counts, and not the time that it finds them to take.
        let by_number = ["-iter", &calls, "-iter_policy", "off", "-time", "1000"];
        let what = ["-npmin", "2", "-msglog", "8:16", "Exchange", "Allreduce", "Alltoall"];
        let words = [&[&*program], &by_number[..], &what[..]].concat();
        self.start(transport, patience, 40 * lasts, &words)
    }
}

fn end(mut job: Job) -> End {
    let mut out = String::new();
    job.out.read_to_string(&mut out).expect("text");
    let status = job.child.wait().expect("an end");
    let errors = fs::read_to_string(job.errors.path()).expect("text");
    assert_ne!(status.code(), Some(124), "it hangs: {out}{errors}");
    End { status, out, errors }
}

/// Cuts each cable in turn for `period` while a job runs; its end, and how often that was.
fn in_turn(hosts: &Hosts, how: Cut, period: Duration, job: Job) -> (End, usize) {
    let (over, is_over): (Sender<()>, _) = channel();
    thread::scope(|scope| {
        let cutter = scope.spawn(move || {
            let mut cuts = 0;
            loop {
                // For a moment both are whole, as when somebody mends one and goes on to the other.
                let cable = (cuts % usize::from(CABLES)) as u8;
                how.cut(hosts, cable);
                cuts += 1;
                let waited = is_over.recv_timeout(period);
                how.mend(hosts);
                if waited != Err(RecvTimeoutError::Timeout) {
                    return cuts;
                }
            }
        });
        let ended = end(job);
        drop(over);
        (ended, cutter.join().expect("a count"))
    })
}

/// The kernel notices after about 0.6 s at the earliest that it is not answered, and so TCP goes another way.
const SHORT: (Duration, Duration) = (Duration::from_millis(800), Duration::from_millis(500));

#[test]
fn each_cable_may_be_cut_in_turn_under_random_traffic() {
    let test = "each_cable_may_be_cut_in_turn_under_random_traffic";
    let Some(scene) = Scene::set(test) else { return };
    soak_while_cut_in_turn(&scene, SHORT, Duration::from_millis(2400));
}

#[test]
#[ignore = "takes minutes"]
fn each_cable_may_be_cut_in_turn_for_long() {
    let Some(scene) = Scene::set("each_cable_may_be_cut_in_turn_for_long") else { return };
    let (two, ten) = (Duration::from_secs(2), Duration::from_secs(10));
    for times in [SHORT, (two, two), (two, ten)] {
        soak_while_cut_in_turn(&scene, times, 2 * ten);
    }
    benchmarks_while_cut_in_turn(&scene, (two, two), 2 * two);
}

/// Random traffic with this period of cuts and patience.
fn soak_while_cut_in_turn(
    scene: &Scene,
    (period, patience): (Duration, Duration),
    lasts: Duration,
) {
    for (transport, how) in ways() {
        let what = format!("{transport}, {how:?}, {patience:?}");
        let job = scene.soak(transport, patience, lasts);
        let (ended, cuts) = in_turn(&scene.hosts, how, period, job);
        ended.assert_good(&what);
        assert!(ended.out.starts_with("ok: "), "{what}: {}", ended.out);
        assert!(cuts > 2, "{what}: only {cuts} cuts in {lasts:?}");
    }
}

/// The same with Intel's benchmarks.
fn benchmarks_while_cut_in_turn(
    scene: &Scene,
    (period, patience): (Duration, Duration),
    lasts: Duration,
) {
    for (transport, how) in ways() {
        let what = format!("{transport}, {how:?}, {patience:?}");
        let job = scene.benchmarks(transport, patience, lasts);
        let (ended, cuts) = in_turn(&scene.hosts, how, period, job);
        ended.assert_good(&what);
        assert!(ended.out.contains("MPI_Finalize"), "{what}: {}", ended.out);
        assert!(cuts > 1, "{what}: only {cuts} cuts");
    }
}

/// Every transport with every way to lose a cable.
fn ways() -> impl Iterator<Item = (&'static str, Cut)> {
    NETWORKS.into_iter().flat_map(|transport| Cut::ALL.map(|how| (transport, how)))
}

/// Cuts both for so long under traffic that lasts longer; the end of the job, and how long that took
/// from the cut on.
fn cut_both(scene: &Scene, transport: &str, how: Cut, patience: Duration, out: Duration) -> End {
    let before = Duration::from_millis(500);
    let job = scene.soak(transport, patience, before + out + before);
    sleep(before);
    (0..CABLES).for_each(|cable| how.cut(&scene.hosts, cable));
    sleep(out);
    how.mend(&scene.hosts);
    end(job)
}

/// Both cables are cut for `out`; a job with more patience goes on, one with less ends in a sentence.
fn both_cut(test: &str, out: Duration) {
    let Some(scene) = Scene::set(test) else { return };
    for (transport, how) in ways() {
        let what = format!("{transport}, {how:?}");
        let patient = cut_both(&scene, transport, how, 4 * out, out);
        patient.assert_good(&what);
        assert!(patient.out.starts_with("ok: "), "{what}: {}", patient.out);
        let begin = Instant::now();
        let End { status, errors, .. } = cut_both(&scene, transport, how, out / 8, out);
        assert!(!status.success(), "{what}: it ended well");
        assert!(errors.contains("cannot reach rank"), "{what}: {errors}");
        assert_eq!(errors.matches("mpirun:").count(), 1, "{what}: {errors}");
        assert!(begin.elapsed() < out + HUNG, "{what}: late");
    }
}

#[test]
fn with_both_cables_cut_patience_decides() {
    both_cut("with_both_cables_cut_patience_decides", Duration::from_secs(1));
}

#[test]
#[ignore = "takes minutes"]
fn with_both_cables_cut_for_long_patience_decides() {
    both_cut("with_both_cables_cut_for_long_patience_decides", Duration::from_secs(30));
}
