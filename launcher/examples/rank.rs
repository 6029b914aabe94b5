//! A rank without MPI, for trying the launcher: `rank exchange` puts and gets cards, the other words
//! do what an MPI library does when something goes wrong. Runs under any PMI-1 launcher.

use launch_wire::control::{Face, Frame};
use launch_wire::{Bootstrap, BootstrapError, Leaving};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, exit};
use std::time::Duration;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |i: usize| words.get(i).map_or("", String::as_str);
    let code = |i: usize| word(i).parse().unwrap_or(1);
    let me = match Bootstrap::from_env() {
        Ok(me) => me,
        Err(error) => {
            eprintln!("ferrite: {error}");
            exit(2);
        }
    };
    let result = match word(0) {
        "abort" => abort(me, code(1), word(2)),
        "all-abort" => all_abort(me, code(1), word(2)),
        "die" => die(me, code(1), word(2)),
        "secondary" => secondary(me, code(1), word(2)),
        "left" => left(me, code(1)),
        "report" => report(me),
        "exit" => leave(me, code(1)),
        "linger" => linger(me, word(1), Leaving::BeforeExit),
        "linger-at-exit" => linger(me, word(1), Leaving::AtExit),
        "desert" => desert(me),
        "hang" => hang(me),
        "start" => start(me, &words[1..]),
        _ => exchange(me),
    };
    if let Err(error) = result {
        eprintln!("ferrite: {error}");
        exit(1);
    }
}

/// All ranks put cards, too long for one key, and get those of all others.
fn exchange(mut me: Bootstrap) -> Result<(), BootstrapError> {
    let (rank, size) = (me.rank(), me.size());
    let card = |rank: usize| format!("{rank}:").repeat(800);
    me.put(&format!("card-{rank}"), &card(rank))?;
    me.put_bytes(&format!("raw-{rank}"), &[0, 32, 10, 255])?;
    me.fence()?;
    for other in 0..size {
        assert_eq!(me.get(&format!("card-{other}"))?, Some(card(other)));
        assert_eq!(me.get_bytes(&format!("raw-{other}"))?, Some(vec![0, 32, 10, 255]));
    }
    assert_eq!(me.get("nobody-put-this")?, None);
    let (app, universe, local) = (me.appnum()?, me.universe_size()?, me.local_rank());
    me.fence()?;
    println!("rank {rank} of {size} app {app:?} universe {universe:?} local {local:?}");
    me.finalize(Leaving::BeforeExit)
}

/// All ranks meet the same error at the same moment.
fn all_abort(mut me: Bootstrap, code: i32, text: &str) -> Result<(), BootstrapError> {
    me.fence()?;
    me.abort(code, text);
    exit(code);
}

/// Rank 1 asks for the end of the job, the others wait.
fn abort(mut me: Bootstrap, code: i32, text: &str) -> Result<(), BootstrapError> {
    if me.rank() == 1 {
        me.abort(code, text);
        exit(code);
    }
    me.fence()
}

/// Rank 1 ends with an error of its own, the others wait.
fn die(mut me: Bootstrap, code: i32, text: &str) -> Result<(), BootstrapError> {
    if me.rank() == 1 {
        let frame = Frame::AbortRequest { code, text: text.to_string() };
        assert!(me.control().is_some_and(|control| control.send(&frame)));
        exit(code);
    }
    me.fence()
}

/// All ranks but 1 know of a failure at rank 1, which tells its reason last if it has one.
fn secondary(mut me: Bootstrap, code: i32, reason: &str) -> Result<(), BootstrapError> {
    if me.rank() != 1 {
        let said = format!("rank {}: failed at rank 1", me.rank());
        let frame = Frame::SecondaryError { code: 16, text: said };
        assert!(me.control().is_some_and(|control| control.send(&frame)));
    }
    me.fence()?;
    if me.rank() == 1 && !reason.is_empty() {
        me.abort(code, reason);
        exit(code);
    }
    loop {
        std::thread::park();
    }
}

/// Rank 1 leaves MPI and fails then; the others know only that it has left.
fn left(mut me: Bootstrap, code: i32) -> Result<(), BootstrapError> {
    let rank = me.rank();
    if let Some(control) = me.control() {
        control.send(&Frame::InitSeen);
        if rank != 1 {
            control.send(&Frame::SecondaryError { code: 16, text: "rank 1 has left".to_string() });
        }
    }
    me.fence()?;
    if me.rank() == 1 {
        me.finalize(Leaving::BeforeExit)?;
        exit(code);
    }
    loop {
        std::thread::park();
    }
}

/// Sends what the library sends for `mpirun --report`.
fn report(me: Bootstrap) -> Result<(), BootstrapError> {
    if let Some(control) = me.control() {
        let face = if me.rank() == 0 { Face::Mpich } else { Face::Standard };
        control.hello(u32::try_from(me.rank()).unwrap_or(0), face);
        control.send(&Frame::InitSeen);
        if std::env::var_os("_FERRITE_REPORT").is_some() {
            let text = "shared memory: eager up to 8192 bytes".to_string();
            control.send(&Frame::ReportTable { text });
        }
    }
    me.finalize(Leaving::BeforeExit)
}

/// Leaves MPI in good order; rank 0 then fails. The others say what they hear of three signals,
/// which only a rank does that nobody has ended before.
fn leave(me: Bootstrap, code: i32) -> Result<(), BootstrapError> {
    let rank = me.rank();
    me.finalize(Leaving::BeforeExit)?;
    if rank == 0 {
        println!("{}", std::process::id());
        exit(code);
    }
    let script = "heard=0; trap 'heard=$((heard+1)); echo $1 heard $heard' USR1; echo $1 is ready; \
                  while [ $heard -lt 3 ]; do sleep 0.01; done; exit 0";
    let error = Command::new("sh").args(["-c", script, "sh", &rank.to_string()]).exec();
    eprintln!("sh: {error}");
    exit(1)
}

/// Rank 0 works on while the others want to leave, and until they have left where they can at their
/// exit; who leaves or has left adds a line to a file.
fn linger(mut me: Bootstrap, file: &str, moment: Leaving) -> Result<(), BootstrapError> {
    let (rank, size) = (me.rank(), me.size());
    let note = |text: String| {
        let file = OpenOptions::new().append(true).create(true).open(file);
        file.and_then(|mut file| file.write_all(text.as_bytes())).expect("the file takes a line");
    };
    let lines = || fs::read_to_string(file).unwrap_or_default().lines().count();
    me.fence()?;
    if rank == 0 {
        std::thread::sleep(Duration::from_millis(100));
        while moment == Leaving::AtExit && lines() + 1 < size {
            std::thread::sleep(Duration::from_millis(5));
        }
        note("0 leaves\n".to_string());
    }
    me.finalize(moment)?;
    if rank > 0 {
        note(format!("{rank} has left\n"));
    }
    Ok(())
}

/// Rank 1 leaves without a word, the others wait.
fn desert(mut me: Bootstrap) -> Result<(), BootstrapError> {
    if me.rank() == 1 {
        exit(0);
    }
    me.fence()
}

/// Starts another program while it uses MPI itself.
fn start(me: Bootstrap, words: &[String]) -> Result<(), BootstrapError> {
    let status = Command::new(&words[0]).args(&words[1..]).status();
    println!("it ended with {:?}", status.ok().and_then(|status| status.code()));
    me.finalize(Leaving::BeforeExit)
}

/// Hangs, and tells so when asked.
fn hang(me: Bootstrap) -> Result<(), BootstrapError> {
    let Some(control) = me.control() else { return Ok(()) };
    control.hello(u32::try_from(me.rank()).unwrap_or(0), Face::Standard);
    control.send(&Frame::InitSeen);
    println!("rank {} hangs", me.rank());
    loop {
        if control.is_asked() {
            let awaited = Some(1 - u32::try_from(me.rank()).unwrap_or(0).min(1));
            let text = "in MPI_Recv from rank 1, tag 7".to_string();
            control.send(&Frame::RollCall { moved: 5, awaited, balance: Some(0), text });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
