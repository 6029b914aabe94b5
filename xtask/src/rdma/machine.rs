//! The emulated host: QEMU with the kernel of `kernel`, this machine's files to read, and one folder to
//! write results to.
//!
//! Enters: steps, each a line for bash with a time limit. Leaves: how each ended and what it said. The
//! host says on its console where it is; when it says nothing for longer than it may, it is ended.

use super::kernel::Kernel;
use super::plan::Step;
use crate::{place, run};
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// How long the host may take from its start to its first step: ten seconds, on a loaded machine many more.
const BOOT: Duration = Duration::from_secs(120);
/// How long it may take beyond a step's own limit, which is kept inside.
const SLACK: Duration = Duration::from_secs(30);
/// The status of a step that did not end, and of one that was not begun: no status of a program.
const NEVER: i32 = -1;
const UNBEGUN: i32 = -2;
/// How much of the console is told when the host fails.
const LAST_WORDS: usize = 15;

/// How a step ended.
pub(super) struct Outcome {
    /// The exit status of its line; 124 when it took too long, and below 0 if the host ended before.
    pub(super) status: i32,
    /// What it printed.
    pub(super) said: String,
    /// The number of the host that ran it: after one that fails comes another.
    pub(super) host: usize,
}

impl Outcome {
    /// Whether there was no time left for it.
    pub(super) fn is_unbegun(&self) -> bool {
        self.status == UNBEGUN
    }
}

/// What the host needs to know of this machine.
pub(super) struct Machine<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) wires: u32,
    /// One host with wires between its devices, or two with one wire between them.
    pub(super) hosts: u32,
    /// Our installation.
    pub(super) prefix: &'a Path,
    /// Where the programs are that were compiled for the steps.
    pub(super) programs: &'a Path,
}

/// What the host says on its console.
#[derive(Debug, PartialEq, Eq)]
enum Word {
    Ready,
    Began(usize),
    Ended(usize, i32),
    /// Something is missing in the host.
    Lacks(String),
}

impl Word {
    fn read(line: &str) -> Option<Word> {
        let words = line.trim().strip_prefix("rdma: ")?;
        let number = |word: &str| word.parse().ok();
        Some(match words.split(' ').collect::<Vec<_>>()[..] {
            ["ready"] => Word::Ready,
            ["began", step] => Word::Began(number(step)?),
            ["ended", step, status] => Word::Ended(number(step)?, status.parse().ok()?),
            _ => Word::Lacks(words.to_owned()),
        })
    }
}

/// QEMU, ended when this is dropped.
struct Emulator(Child);

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Machine<'_> {
    /// Starts a host, lets it run the steps in their order, and ends it. If it fails that is told, and another one goes
    /// on with the next step. Each outcome is handed over when it is there. After `end` nothing is begun.
    pub(super) fn perform(
        &self,
        steps: &[&Step],
        end: Option<Instant>,
        mut take: impl FnMut(usize, Outcome) -> Result<()>,
    ) -> Result<()> {
        let (began, mut first) = (Instant::now(), 0);
        for host in 0.. {
            let rest = &steps[first..];
            let shared = self.describe(rest)?;
            let (mut emulators, mut consoles) = (Vec::new(), Vec::new());
            for node in 0..self.hosts {
                let mut emulator = Emulator(self.start(&shared[node as usize], node)?);
                consoles.push(listen(&mut emulator.0)?);
                emulators.push(emulator);
            }
            let console = &consoles[0];
            let numbers = Numbers { first, all: steps.len() };
            let mut ended = 0;
            let followed = follow(console, rest, numbers, end, |number| {
                ended = number + 1;
                take(first + number, outcome_of_all(&shared, number, host))
            });
            let why = match followed {
                Ok(Followed::Whole) => break,
                Ok(Followed::Late) => {
                    println!("the time is over: {} steps are left out", rest.len() - ended);
                    for number in ended..rest.len() {
                        take(
                            first + number,
                            Outcome { status: UNBEGUN, said: String::new(), host },
                        )?;
                    }
                    break;
                }
                Err(why) => why,
            };
            println!("\n{why:#}");
            take(first + ended, outcome_of_all(&shared, ended, host))?;
            // A host that runs nothing never will.
            let is_last = first + ended + 1 == steps.len();
            if ended == 0 || is_last {
                for number in first + ended + 1..steps.len() {
                    take(number, Outcome { status: NEVER, said: format!("{why:#}\n"), host })?;
                }
                break;
            }
            first += ended + 1;
        }
        println!("the emulated host ran {} s", began.elapsed().as_secs());
        Ok(())
    }

    /// Writes down for each host what it shall do; the folder of each.
    fn describe(&self, steps: &[&Step]) -> Result<Vec<PathBuf>> {
        anew(&between())?;
        let describe = |node| {
            let shared = place::target().join(format!("rdma/shared-{node}"));
            self.describe_to(&shared, node, steps).map(|()| shared)
        };
        (0..self.hosts).map(describe).collect()
    }

    fn describe_to(&self, shared: &Path, node: u32, steps: &[&Step]) -> Result<()> {
        anew(shared)?;
        let wires = if self.hosts > 1 { 0 } else { self.wires };
        let mut environment = format!("WIRES={wires}\nHOSTS={}\nNODE={node}\n", self.hosts);
        let target = place::target();
        let paths = [
            ("ROOT", place::root()),
            ("TARGET", &target),
            ("PREFIX", self.prefix),
            ("PROGRAMS", self.programs),
        ];
        for (name, path) in paths {
            let path = path.to_string_lossy().replace('\'', r"'\''");
            environment += &format!("{name}='{path}'\n");
        }
        fs::write(shared.join("environment"), environment)?;
        for (number, step) in steps.iter().enumerate() {
            let folder = folder(shared, number);
            fs::create_dir(&folder)?;
            fs::write(folder.join("run"), format!("{}\n", step.run))?;
            fs::write(folder.join("netem"), &step.netem)?;
            fs::write(folder.join("seconds"), step.seconds.to_string())?;
        }
        Ok(())
    }

    /// What a host's card is connected to: nothing, or the other host's.
    fn wire(&self, node: u32) -> Vec<String> {
        if self.hosts == 1 {
            return Vec::new();
        }
        // Sockets have short names.
        let end = |node| {
            let name = format!("ferrite-rdma-{}-{node}", std::process::id());
            std::env::temp_dir().join(name).to_string_lossy().into_owned()
        };
        let (own, other) = (end(node), end(1 - node));
        let _ = fs::remove_file(&own);
        let wire = format!(
            "dgram,id=wire,local.type=unix,local.path={own},remote.type=unix,remote.path={other}"
        );
        let card = format!("virtio-net-pci,netdev=wire,mac=52:54:00:00:00:0{node},host_mtu=4200");
        ["-netdev", &wire, "-device", &card].map(String::from).to_vec()
    }

    fn start(&self, shared: &Path, node: u32) -> Result<Child> {
        let share = |path: &Path, tag: &str| {
            // A comma in a path is written twice.
            let path = path.to_string_lossy().replace(',', ",,");
            format!("local,path={path},mount_tag={tag},security_model=none,multidevs=remap")
        };
        // The kernel ends it when we end, however that comes.
        let mut qemu = Command::new("setpriv");
        qemu.args(["--pdeathsig", "KILL", "qemu-system-x86_64"])
            .args(["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "2048"])
            .args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"])
            .args(["-serial", "stdio"])
            .arg("-kernel")
            .arg(self.kernel.image())
            .arg("-initrd")
            .arg(self.kernel.pack()?)
            .args(["-append", "console=ttyS0 quiet panic=-1 net.ifnames=0"])
            .args(["-virtfs", &(share(Path::new("/"), "machine") + ",readonly=on")])
            .args(["-virtfs", &share(shared, "results")])
            .args(["-virtfs", &share(&between(), "between")])
            .args(self.wire(node))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        qemu.spawn().with_context(|| format!("cannot start {}", run::spelled(&qemu)))
    }
}

/// Lines of the console and QEMU's own complaints, as they come.
fn listen(child: &mut Child) -> Result<Receiver<String>> {
    let (lines, console) = mpsc::channel();
    let complaints = child.stderr.take().context("its errors are a pipe")?;
    let output = child.stdout.take().context("its output is a pipe")?;
    let forward = |stream: Box<dyn std::io::Read + Send>| {
        let lines = lines.clone();
        thread::spawn(move || {
            for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
                // Nobody listens any more when the host is being ended.
                let _ = lines.send(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
        });
    };
    forward(Box::new(output));
    forward(Box::new(complaints));
    Ok(console)
}

/// How it ended, where the host did not fail.
#[derive(Debug, PartialEq, Eq)]
enum Followed {
    /// All steps have ended.
    Whole,
    /// The time was over.
    Late,
}

/// Which steps these are among all.
#[derive(Clone, Copy)]
struct Numbers {
    first: usize,
    all: usize,
}

/// Waits until the last step has ended or the time is over, shows the progress, and tells of each that has ended.
fn follow(
    console: &Receiver<String>,
    steps: &[&Step],
    numbers: Numbers,
    end: Option<Instant>,
    mut take: impl FnMut(usize) -> Result<()>,
) -> Result<Followed> {
    let mut patience = BOOT;
    let mut doing = "booting".to_owned();
    let mut began = Instant::now();
    let mut said = Vec::new();
    let mut ended = 0;
    while ended < steps.len() {
        let left = patience.saturating_sub(began.elapsed());
        let Ok(line) = console.recv_timeout(left) else { return Err(silent(&doing, began, &said)) };
        match Word::read(&line) {
            Some(Word::Ready) => println!("booted in {:.1} s", began.elapsed().as_secs_f64()),
            Some(Word::Began(number)) => {
                if ended > 0 && end.is_some_and(|end| Instant::now() >= end) {
                    return Ok(Followed::Late);
                }
                let step =
                    steps.get(number).context("the host speaks of a step it was not given")?;
                patience = Duration::from_secs(step.seconds) + SLACK;
                began = Instant::now();
                doing = format!("running \"{}\"", step.name);
                print!("[{:>3}/{}] {} … ", numbers.first + number + 1, numbers.all, step.title());
                std::io::stdout().flush()?;
            }
            Some(Word::Ended(_, status)) => {
                let how = match status {
                    0 => "ok".to_owned(),
                    124 | 137 => "took too long".to_owned(),
                    status => format!("status {status}"),
                };
                println!("{how}, {:.1} s", began.elapsed().as_secs_f64());
                take(ended)?;
                ended += 1;
            }
            Some(Word::Lacks(what)) => bail!(
                "the emulated host {what}; this kernel may lack it: remove {} to fetch another one",
                place::shown(&place::target().join("rdma/kernel"))
            ),
            None => said.push(line),
        }
    }
    Ok(Followed::Whole)
}

/// What to say of a host that says nothing any more.
fn silent(doing: &str, since: Instant, said: &[String]) -> anyhow::Error {
    let last = &said[said.len().saturating_sub(LAST_WORDS)..];
    anyhow::anyhow!(
        "the emulated host was {doing} and said nothing for {} s, or ended; its last words were:\n{}\nIf this \
         machine is only slow, run it again when it is idle; remove {} to fetch the kernel anew.",
        since.elapsed().as_secs(),
        last.join("\n"),
        place::shown(&place::target().join("rdma/kernel"))
    )
}

/// The folder that several hosts share.
fn between() -> PathBuf {
    place::target().join("rdma/between")
}

/// Makes an empty folder.
fn anew(folder: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", place::shown(folder)))
}

fn folder(shared: &Path, number: usize) -> PathBuf {
    shared.join(format!("step-{number:04}"))
}

/// How a step ended in the first host, which says so, and in others, which may need a moment more.
fn outcome_of_all(shared: &[PathBuf], number: usize, host: usize) -> Outcome {
    let mut all = outcome(&shared[0], number, host);
    for other in &shared[1..] {
        let patience = Instant::now() + SLACK;
        let mut one = outcome(other, number, host);
        while one.status == NEVER && all.status == 0 && Instant::now() < patience {
            thread::sleep(Duration::from_millis(100));
            one = outcome(other, number, host);
        }
        all.said += &format!("The other host:\n{}", one.said);
        all.status = if all.status == 0 { one.status } else { all.status };
    }
    all
}

/// How a step ended, as the host wrote it down; it may have ended before.
fn outcome(shared: &Path, number: usize, host: usize) -> Outcome {
    let folder = folder(shared, number);
    let read = |name: &str| fs::read(folder.join(name)).unwrap_or_default();
    let text = |name: &str| String::from_utf8_lossy(&read(name)).into_owned();
    let Ok(status) = text("status").trim().parse() else {
        let said = text("output") + "The emulated host ended before this step did.\n";
        return Outcome { status: NEVER, said, host };
    };
    Outcome { status, said: text("output"), host }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_console_tells_where_the_host_is() {
        assert_eq!(Word::read("rdma: ready\r"), Some(Word::Ready));
        assert_eq!(Word::read("rdma: began 0007"), Some(Word::Began(7)));
        assert_eq!(Word::read("rdma: ended 0012 124"), Some(Word::Ended(12, 124)));
        assert_eq!(Word::read("[ 0.1] usb: ready"), None);
        let lacks = Word::Lacks("cannot load 9p.ko".into());
        assert_eq!(Word::read("rdma: cannot load 9p.ko"), Some(lacks));
    }

    /// What follows from a host that says these lines and ends.
    fn followed(lines: &[&str], end: Option<Instant>) -> Result<Followed> {
        let (console, heard) = mpsc::channel();
        lines.iter().for_each(|line| console.send((*line).to_owned()).expect("heard"));
        drop(console);
        let step = Step::plain("true", "", 1);
        let numbers = Numbers { first: 0, all: 2 };
        follow(&heard, &[&step, &step], numbers, end, |_| Ok(()))
    }

    #[test]
    fn a_host_is_followed_to_its_last_step() {
        let told = ["rdma: ready", "rdma: began 0", "rdma: ended 0 0", "noise", "rdma: began 1"];
        let mut all = told.to_vec();
        all.push("rdma: ended 1 124");
        assert_eq!(followed(&all, None).expect("all steps ended"), Followed::Whole);
        let now = Some(Instant::now());
        assert_eq!(followed(&all, now).expect("one step ended"), Followed::Late);
        let early = format!("{:#}", followed(&told, None).expect_err("it ended early"));
        assert!(early.contains("running \"true\"") && early.contains("\nnoise\n"), "{early}");
        let booting =
            format!("{:#}", followed(&["Kernel panic"], None).expect_err("it did not boot"));
        assert!(booting.contains("booting") && booting.contains("Kernel panic"), "{booting}");
        let lacks = followed(&["rdma: cannot mount"], None).expect_err("it lacks something");
        assert!(format!("{lacks:#}").contains("host cannot mount; "), "{lacks:#}");
    }

    #[test]
    fn a_step_that_has_not_ended_has_no_status_of_its_own() {
        let shared = tempfile::tempdir().expect("a folder");
        for (number, status) in [(0, "3\n"), (1, "")] {
            let folder = folder(shared.path(), number);
            fs::create_dir(&folder).expect("made");
            fs::write(folder.join("output"), "said\n").expect("written");
            fs::write(folder.join("status"), status).expect("written");
        }
        let [ended, cut, never] = [0, 1, 2].map(|number| outcome(shared.path(), number, 0));
        assert_eq!((ended.status, &*ended.said), (3, "said\n"));
        assert!(cut.status == NEVER && cut.said.starts_with("said\nThe emulated host ended"));
        assert_eq!(never.status, NEVER);
    }
}
