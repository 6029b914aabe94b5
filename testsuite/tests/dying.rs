//! Programs that a fatal signal ends: what the user is told, and that everything else is as without us.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use testsuite::prefix::{Prefix, clean};

/// A compiled program.
struct Built {
    prefix: Prefix,
    folder: tempfile::TempDir,
}

impl Built {
    fn new() -> Built {
        let built = Built { prefix: Prefix::find().unwrap(), folder: tempfile::tempdir().unwrap() };
        let mut mpicc = built.prefix.command("mpicc");
        mpicc.args(["-g", "-O1", "-pthread", "-o"]).arg(built.program()).arg(source("dies.c"));
        assert!(mpicc.status().unwrap().success());
        built
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("dies")
    }

    fn mpirun(&self, words: &[&str]) -> Command {
        let mut mpirun = self.prefix.command("mpirun");
        mpirun.args(["--timeout", "60"]).args(words).current_dir(self.folder.path());
        mpirun
    }

    /// What mpirun says and its status when the program dies on the last of so many ranks.
    fn dies(&self, ranks: u32, how: &str) -> (String, Option<i32>) {
        let (number, last) = (ranks.to_string(), (ranks - 1).to_string());
        said(&self.mpirun(&["-n", &number, "./dies", how, &last]).output().unwrap())
    }
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("faults").join(name)
}

fn said(ended: &Output) -> (String, Option<i32>) {
    let text = [&ended.stdout[..], &ended.stderr[..]].concat();
    (String::from_utf8_lossy(&text).into_owned(), ended.status.code())
}

/// The line of the source that writes where nothing is.
fn bad_line() -> String {
    let text = fs::read_to_string(source("dies.c")).unwrap();
    let line = text.lines().position(|line| line.contains("the line that a test looks for"));
    format!("dies.c:{}", line.unwrap() + 1)
}

#[track_caller]
fn holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no \u{201c}{part}\u{201d} in {text}");
    }
}

#[test]
fn functions_files_and_lines_are_named() {
    let built = Built::new();
    let bad_line = bad_line();
    for ranks in [1, 2, 4] {
        let (text, status) = built.dies(ranks, "segv");
        assert_eq!(status, Some(139), "{text}");
        let who = format!("mpirun: rank {} on ", ranks - 1);
        holds(
            &text,
            &[&who, "(./dies, pid ", "SIGSEGV: it wrote to address 0x0 (address not mapped)\n"],
        );
        holds(&text, &["  #0 update_halo at ", &bad_line, "  #1 time_step at ", "  #3 main at "]);
        holds(&text, &["was killed by signal 11 (SIGSEGV)"]);
        assert!(!text.contains("libc.so") && !text.contains("in MPI_"), "{text}");
    }
}

#[test]
fn every_signal_is_told_in_its_own_words() {
    let built = Built::new();
    let expected: [(&str, i32, &[&str]); 7] = [
        (
            "null_call",
            139,
            &["SIGSEGV: it jumped to address 0x0", "#0 (0x0, where no code is)\n", "#1 die at "],
        ),
        (
            "divide",
            136,
            &["SIGFPE: integer division by zero, by the instruction at 0x", "#0 die at "],
        ),
        ("abort", 134, &["SIGABRT: the program called abort()", "#0 die at "]),
        ("killed", 135, &["SIGBUS: the program sent it to itself", " kill (", " die at "]),
        (
            "deep",
            139,
            &[
                "the stack overflowed",
                "#0 descend at ",
                " times)",
                " calls are left out",
                " main at ",
            ],
        ),
        (
            "smash",
            139,
            &["#0 smash at ", "… the calls before it are not known: the stack is damaged"],
        ),
        ("thread", 139, &["#0 update_halo at ", "#2 in_a_thread at "]),
    ];
    for (how, status, parts) in expected {
        let (text, got) = built.dies(2, how);
        assert_eq!(got, Some(status), "{how}: {text}");
        holds(&text, parts);
        holds(&text, &["mpirun: rank 1 on "]);
    }
    let (text, _) = built.dies(2, "abort");
    let place = |part| text.find(part).unwrap_or(usize::MAX);
    assert!(place("the mesh is torn\n") < place("mpirun: rank 1"), "{text}");
}

/// Messages of the length of an eager one, and one that the library copies later.
#[test]
fn the_procedure_of_mpi_is_named() {
    let built = Built::new();
    let (text, status) = built.dies(2, "in_mpi");
    assert_eq!(status, Some(139), "{text}");
    holds(
        &text,
        &[
            "SIGSEGV: it read address 0x",
            "(address not mapped), in MPI_Send\n",
            " MPI_Send in libmpi_abi.so.1\n",
        ],
    );
    holds(&text, &[" die at ", " main at "]);
    assert!(!text.contains("rustc"), "{text}");
}

#[test]
fn what_the_program_does_about_signals_counts() {
    let built = Built::new();
    for how in ["before", "after"] {
        let (text, status) = built.dies(2, how);
        assert_eq!(status, Some(9), "{text}");
        holds(&text, &["own handler\n"]);
        assert!(!text.contains("SIGSEGV"), "{text}");
    }
    let (text, status) = built.dies(2, "handed_on");
    assert_eq!((status, text.matches("own handler\n").count()), (Some(139), 1), "{text}");
    holds(&text, &["SIGSEGV: it wrote to address 0x0", "#0 update_halo at "]);
    let (text, status) = built.dies(2, "ignored");
    assert_eq!((&*text, status), ("", Some(0)));
    // Neither a child nor what comes after MPI_Finalize is told.
    let (text, status) = built.dies(2, "fork");
    assert_eq!((&*text, status), ("child: signal 11\n", Some(0)));
    let (text, status) = built.dies(2, "finalized");
    assert_eq!(status, Some(139), "{text}");
    assert!(!text.contains("update_halo"), "{text}");
}

#[test]
fn ranks_that_die_alike_are_told_once() {
    let built = Built::new();
    let (text, status) = said(&built.mpirun(&["-n", "4", "./dies", "segv"]).output().unwrap());
    assert_eq!(status, Some(139), "{text}");
    assert_eq!(text.matches("update_halo").count(), 1, "{text}");
}

#[test]
fn the_setting_turns_it_off() {
    let built = Built::new();
    let mut mpirun = built.mpirun(&["-n", "2", "./dies", "segv"]);
    let (text, status) = said(&mpirun.env("FERRITE_BACKTRACE", "0").output().unwrap());
    assert_eq!(status, Some(139), "{text}");
    assert!(text.contains("signal 11 (SIGSEGV)") && !text.contains("update_halo"), "{text}");
    let settings = built.prefix.command("mpirun").arg("--settings").output().unwrap();
    holds(&said(&settings).0, &["FERRITE_BACKTRACE"]);
}

/// By the helper, and where that cannot be run, by numbers; a core file as without us.
#[test]
fn a_process_without_mpirun_tells_too() {
    let built = Built::new();
    let mut alone = clean(Path::new("bash"));
    alone.args(["-c", "ulimit -c unlimited; exec ./dies segv"]).current_dir(built.folder.path());
    alone.env("LD_LIBRARY_PATH", built.prefix.dir().join("lib"));
    let ended = alone.output().unwrap();
    let (text, _) = said(&ended);
    assert_eq!(ended.status.signal(), Some(libc::SIGSEGV), "{text}");
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    assert!(ended.status.core_dumped() || pattern.starts_with('|'), "{text}");
    holds(&text, &["ferrite: rank 0 on ", "SIGSEGV: it wrote to address 0x0"]);
    holds(&text, &["ferrite:   #0 update_halo at ", &bad_line(), "ferrite:   #3 main at "]);

    let elsewhere = built.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let library = fs::canonicalize(built.prefix.lib("libmpi_abi.so.1")).unwrap();
    fs::copy(library, elsewhere.join("libmpi_abi.so.1")).unwrap();
    let mut alone = clean(&built.program());
    let ended = alone.arg("segv").env("LD_LIBRARY_PATH", elsewhere).output().unwrap();
    let (text, _) = said(&ended);
    assert_eq!(ended.status.signal(), Some(libc::SIGSEGV), "{text}");
    holds(
        &text,
        &["SIGSEGV: it wrote to address 0x0", "ferrite:   #0 0x", "/dies, at 0x", " of the file\n"],
    );
}

#[test]
fn fortran_is_named_as_it_is_written() {
    let built = Built::new();
    let program = built.folder.path().join("heat");
    let mut mpifort = built.prefix.command("mpifort");
    // Without it the program has a handler of its own.
    mpifort.args(["-g", "-O1", "-fno-backtrace", "-o"]).arg(program).arg(source("heat.f90"));
    assert!(mpifort.current_dir(built.folder.path()).status().unwrap().success());
    let (text, status) = said(&built.mpirun(&["-n", "2", "./heat"]).output().unwrap());
    assert_eq!(status, Some(139), "{text}");
    holds(&text, &["  #0 heat::step at ", "heat.f90:", " main at "]);
}

/// Python's own handler comes first and then hands the signal on.
#[test]
fn pythons_faulthandler_keeps_working() {
    let built = Built::new();
    let library = built.prefix.lib("libmpi_abi.so.1");
    let enabled = "faulthandler.enable()";
    for (before, after) in [(enabled, ""), ("", enabled), ("", "")] {
        let script = format!(
            "import ctypes, faulthandler\n{before}\nctypes.CDLL('{}').MPI_Init(None, None)\n{after}\n\
             def lost(): ctypes.string_at(16)\nlost()",
            library.display()
        );
        let mut mpirun = built.mpirun(&["-n", "1", "python3", "-c", &script]);
        let (text, status) = said(&mpirun.output().unwrap());
        assert_eq!(status, Some(139), "{text}");
        let pythons = format!("{before}{after}").contains(enabled);
        assert_eq!(text.contains("in lost\n"), pythons, "{text}");
        assert_eq!(text.contains("mpirun:   #0 "), before.is_empty(), "{text}");
    }
}
