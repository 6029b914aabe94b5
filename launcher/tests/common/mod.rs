//! Running the real mpirun, with a bound on time that only a hang reaches, and looking for what it
//! left behind.

#![allow(dead_code, reason = "each test program uses its own part of this")]

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// No run takes this long unless it hangs.
pub(crate) const HANG: Duration = Duration::from_secs(60);

/// The program under test.
pub(crate) const MPIRUN: &str = env!("CARGO_BIN_EXE_mpirun");

/// One run of mpirun, marked so that its processes can be found.
pub(crate) struct Run {
    /// The variable and value in the environment of everything it starts.
    pub(crate) mark: String,
    command: Command,
}

/// What a run came to.
pub(crate) struct Ended {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// mpirun with these arguments.
pub(crate) fn mpirun<S: AsRef<str>>(arguments: &[S]) -> Run {
    Run::of(MPIRUN, arguments)
}

/// The example program that speaks to the launcher as the library does.
pub(crate) fn rank_program() -> String {
    static FILE: OnceLock<String> = OnceLock::new();
    // Of the whole workspace, as the tests are: for one package crates have other features.
    let file = || built("build", &["--workspace", "--example", "rank"], "examples/rank");
    FILE.get_or_init(file).clone()
}

/// Has cargo build something beside mpirun (nothing to do after a plain `cargo test`), and tells
/// where it is.
pub(crate) fn built(command: &str, what: &[&str], file: &str) -> String {
    let place = Path::new(MPIRUN).parent().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([command, "--quiet"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.arg("--target-dir").arg(place.parent().unwrap());
    // The profile that the tests themselves are built with, so that little is built twice; cargo
    // would make `rustc --profile test` a test program.
    let debug = if command == "rustc" { "dev" } else { "test" };
    cargo.args(["--profile", if place.ends_with("release") { "release" } else { debug }]);
    cargo.args(what);
    good(&cargo.output().unwrap());
    place.join(file).to_str().unwrap().to_string()
}

impl Run {
    pub(crate) fn of<S: AsRef<str>>(program: &str, arguments: &[S]) -> Run {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let value = format!("{}-{number}", std::process::id());
        // Who started the tests may ignore signals, as a shell does for what runs in its background;
        // that is inherited, and here every program shall see the signals that it waits for.
        let mut command = Command::new("env");
        command.arg("--default-signal").arg(program);
        command.args(arguments.iter().map(AsRef::as_ref));
        command.env("FERRITE_TEST_MARK", &value).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Run { mark: format!("FERRITE_TEST_MARK={value}"), command }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Command) -> &mut Command) -> Run {
        change(&mut self.command);
        self
    }

    /// Starts it and hands out the process; the caller looks after it.
    pub(crate) fn start(mut self) -> (Child, String) {
        (self.command.spawn().unwrap(), self.mark)
    }

    /// Runs it to its end and checks that nothing is left behind.
    pub(crate) fn end(self) -> Ended {
        let (child, mark) = self.start();
        finish(child, &mark)
    }

    /// Runs a launcher of others to its end; its helpers may end after it.
    pub(crate) fn end_with_helpers(self) -> Ended {
        let (child, mark) = self.start();
        outcome(child, || wait_until("its helpers have ended", || marked(&mark).is_empty()))
    }
}

/// Waits for a started run, and checks that nothing is left behind.
pub(crate) fn finish(child: Child, mark: &str) -> Ended {
    outcome(child, || nothing_left(mark))
}

/// Waits for the end of a run, and for `after` before it takes the rest of its output.
fn outcome(mut child: Child, after: impl FnOnce()) -> Ended {
    use std::os::unix::process::ExitStatusExt;
    let readers = (child.stdout.take().map(reader), child.stderr.take().map(reader));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > HANG {
            let _ = child.kill();
            panic!("mpirun hangs");
        }
        sleep(Duration::from_millis(1));
    };
    let text = |reader: Option<std::thread::JoinHandle<String>>| {
        reader.map(|r| r.join().unwrap()).unwrap_or_default()
    };
    after();
    let status = status.code().unwrap_or_else(|| 1000 + status.signal().unwrap_or(0));
    Ended { status, out: text(readers.0), err: text(readers.1) }
}

fn reader(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The processes that have `mark` in their environment.
pub(crate) fn marked(mark: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&b| b == 0).any(|entry| entry == mark.as_bytes())
    })
    .collect()
}

/// Nothing that mpirun started outlives it.
pub(crate) fn nothing_left(mark: &str) {
    let left = marked(mark);
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// Waits until `done`, and fails when that takes as long as only a hang does.
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < HANG, "never happened: {what}");
        sleep(Duration::from_millis(2));
    }
}

/// Runs three ranks of `rank exit`, of which the first fails after it has left MPI, and asks the
/// others again and again whether they live. mpirun may think about a failure for as long as
/// complaints are held back; a signal that it passes on after that time has gone out behind any
/// that would end the ranks, once it has passed on another in between.
pub(crate) fn with_a_late_failure(run: Run) -> Ended {
    const HELD_BACK: Duration = Duration::from_millis(200);
    let (mut child, mark) = run.start();
    let mut out = child.stdout.take().unwrap();
    let mut said: String = (0..3).map(|_| read_until(&mut out, "\n")).collect();
    let first = said.lines().find_map(|line| line.parse::<i32>().ok()).unwrap();
    let place = format!("/proc/{first}");
    wait_until("the first rank is reaped", || !Path::new(&place).exists());
    for turn in 1..=3 {
        signal(i32::try_from(child.id()).unwrap(), 10);
        let heard: String = (0..2).map(|_| read_until(&mut out, "\n")).collect();
        assert_eq!(heard.matches(&format!("heard {turn}\n")).count(), 2, "{heard}");
        said += &heard;
        if turn == 1 {
            sleep(HELD_BACK);
        }
    }
    child.stdout = Some(out);
    let ended = finish(child, &mark);
    Ended { out: said + &ended.out, ..ended }
}

/// Reads from `from` until `text` has come; fails when that takes for ever.
pub(crate) fn read_until(from: &mut impl AsFd, text: &str) -> String {
    let mut file = File::from(from.as_fd().try_clone_to_owned().unwrap());
    let wanted = text.to_string();
    let (tell, hear) = channel();
    // A thread of its own, since a pipe knows no bound on time.
    spawn(move || {
        let (mut got, mut byte) = (String::new(), [0; 1]);
        while !got.contains(&wanted) {
            let more = file.read(&mut byte).unwrap();
            assert_eq!(more, 1, "ended before “{wanted}”: {got}");
            got.push(char::from(byte[0]));
        }
        tell.send(got).unwrap();
    });
    hear.recv_timeout(HANG).unwrap_or_else(|why| panic!("waiting for “{text}”: {why}"))
}

/// Sends a signal to one process.
pub(crate) fn signal(pid: i32, signal: i32) {
    let status = Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status();
    assert!(status.unwrap().success());
}

/// Checks an output for success first, to show why it failed.
pub(crate) fn good(output: &Output) -> String {
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
