//! What ranks read and write.

mod common;

use common::{finish, mpirun, read_until};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;

#[test]
fn lines_are_never_mixed() {
    let script = "i=0; while [ $i -lt 300 ]; do printf 'rank %s ' $PMI_RANK; \
                  printf 'line %s end\\n' $i; i=$((i+1)); done; printf 'rank %s last' $PMI_RANK";
    let ended = mpirun(&["-l", "-n", "4", "sh", "-c", script]).end();
    let mut next = [0; 4];
    for line in ended.out.lines() {
        let rank: usize = line[1..2].parse().unwrap();
        let expected = match next[rank] {
            300 => format!("[{rank}] rank {rank} last"),
            i => format!("[{rank}] rank {rank} line {i} end"),
        };
        assert_eq!(line, expected);
        next[rank] += 1;
    }
    assert_eq!(next, [301; 4]);
}

#[test]
fn bytes_arrive_as_they_were_written() {
    let script = "[ $PMI_RANK = 0 ] || exit 0; head -c 3000000 /dev/zero | tr '\\0' 'x'; \
                  printf '\\n\\377\\000\\nno end'";
    for ranks in ["1", "3"] {
        let mut child = mpirun(&["-n", ranks, "sh", "-c", script]).start();
        let mut bytes = Vec::new();
        child.0.stdout.take().unwrap().read_to_end(&mut bytes).unwrap();
        assert_eq!(finish(child.0, &child.1).status, 0);
        let (text, end) = bytes.split_at(3_000_000);
        assert!(text.iter().all(|&b| b == b'x'));
        assert_eq!(end, b"\n\xff\x00\nno end");
    }
}

#[test]
fn an_unfinished_line_does_not_wait_for_its_end() {
    let script = "[ $PMI_RANK = 0 ] || exit 0; printf .; read x; printf .; read x; echo done";
    for (options, shown) in [
        (&["-n", "1"][..], [".", ".", "done\n"]),
        (&["-n", "3"][..], [".", ".", "done\n"]),
        (&["-l", "-n", "2"][..], ["[0] .", ".", "done\n"]),
    ] {
        let run = mpirun(&[options, &["sh", "-c", script]].concat());
        let (mut child, mark) = run.with(|c| c.stdin(Stdio::piped())).start();
        let (mut out, mut stdin) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        for part in shown {
            assert_eq!(read_until(&mut out, part), part);
            // The last line is answered by nobody.
            let _ = stdin.write_all(b"\n");
        }
        assert_eq!(finish(child, &mark).status, 0);
    }
}

#[test]
fn a_slow_reader_gets_everything() {
    let script = "seq 1 200000";
    let (mut child, mark) = mpirun(&["-n", "2", "sh", "-c", script]).start();
    let mut out = child.stdout.take().unwrap();
    let (mut total, mut chunk) = (0, vec![0; 100_000]);
    loop {
        match out.read(&mut chunk).unwrap() {
            0 => break,
            n => total += chunk[..n].iter().filter(|&&b| b == b'\n').count(),
        }
        std::thread::yield_now();
    }
    assert_eq!(finish(child, &mark).status, 0);
    assert_eq!(total, 400_000);
}

#[test]
fn tags() {
    let script = "echo out; echo err >&2";
    let ended = mpirun(&["--tag-output", "-n", "1", "sh", "-c", script]).end();
    assert_eq!(
        (ended.out.as_str(), ended.err.as_str()),
        ("[1,0]<stdout>:out\n", "[1,0]<stderr>:err\n")
    );
    let ended = mpirun(&["-prepend-rank", "--merge-stderr", "-n", "1", "sh", "-c", script]).end();
    assert_eq!(ended.err, "");
    assert_eq!(ended.out.lines().count(), 2);
}

/// Runs with `input` on mpirun's standard input.
fn fed(arguments: &[&str], input: &str) -> Vec<String> {
    let run = mpirun(arguments).with(|c| c.stdin(Stdio::piped()));
    let (mut child, mark) = run.start();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_string();
    // A rank that does not read lets the pipe break: not the writer's business here.
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let ended = finish(child, &mark);
    writer.join().unwrap();
    assert_eq!((ended.status, ended.err.as_str()), (0, ""), "{arguments:?}");
    let mut lines: Vec<String> = ended.out.lines().map(str::to_string).collect();
    lines.sort();
    lines
}

#[test]
fn standard_input_goes_where_it_should() {
    let count = ["sh", "-c", "echo $PMI_RANK $(wc -c)"];
    let run =
        |options: &[&str], input: &str| fed(&[options, &["-n", "3"], &count[..]].concat(), input);
    assert_eq!(run(&[], "abcd"), ["0 4", "1 0", "2 0"]);
    assert_eq!(run(&["--stdin", "2"], "abcd"), ["0 0", "1 0", "2 4"]);
    assert_eq!(run(&["--stdin", "none"], "abcd"), ["0 0", "1 0", "2 0"]);
    assert_eq!(run(&["-s", "all"], "abcd"), ["0 4", "1 4", "2 4"]);
    let long = "x".repeat(1_000_000);
    assert_eq!(run(&["-s", "all"], &long), ["0 1000000", "1 1000000", "2 1000000"]);
}

#[test]
fn ranks_that_do_not_read_are_no_obstacle() {
    let script = "if [ $PMI_RANK = 1 ]; then echo 1 $(wc -c); fi";
    let long = "x".repeat(1_000_000);
    assert_eq!(fed(&["-s", "all", "-n", "3", "sh", "-c", script], &long), ["1 1000000"]);
}

#[test]
fn a_file_as_standard_input_is_read_no_further_than_the_program_does() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("input");
    std::fs::write(&file, "first\nsecond\nthird\n").unwrap();
    let script = format!(
        "exec < {}; {} -n 2 sh -c '[ $PMI_RANK = 0 ] && read x; echo rank $x'; \
                          read y; echo shell $y",
        file.display(),
        common::MPIRUN
    );
    let shell = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    let out = common::good(&shell);
    assert!(out.contains("rank first\n") && out.ends_with("shell second\n"), "{out}");
    let all = std::fs::File::open(&file).unwrap();
    let run = mpirun(&["-s", "all", "-n", "2", "wc", "-l"]);
    assert_eq!(run.with(|c| c.stdin(all)).end().out, "3\n3\n");
}

/// A device that is always full.
fn full() -> std::fs::File {
    std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap()
}

#[test]
fn output_that_cannot_be_written_is_no_success() {
    let complaint = |text: &str, stream: &str| {
        let expected = format!("mpirun: {stream} cannot be written: No space left on device");
        assert!(text.starts_with(&expected) && text.lines().count() == 1, "{text}");
    };
    // The first line is lost at once, the one without an end when all have ended.
    for script in ["echo a line", "printf 'no end'", "echo a line; sleep 3600"] {
        let run = mpirun(&["-n", "4", "sh", "-c", script]);
        let ended = run.with(|c| c.stdout(full())).end();
        assert_eq!(ended.status, 1, "{script}: {}", ended.err);
        complaint(&ended.err, "standard output");
    }
    // Ranks that go on writing are ended by the system, and that is not the news.
    let ended = mpirun(&["-n", "2", "yes"]).with(|c| c.stdout(full())).end();
    assert_eq!(ended.status, 1, "{}", ended.err);
    complaint(&ended.err, "standard output");
    let run = mpirun(&["-n", "2", "sh", "-c", "echo a line >&2"]);
    let ended = run.with(|c| c.stderr(full())).end();
    assert_eq!(ended.status, 1);
    complaint(&ended.out, "standard error");
    let ended = mpirun(&["-n", "2", "true"]).with(|c| c.stdout(full())).end();
    assert_eq!((ended.status, ended.err.as_str()), (0, ""));
}

/// All files below a folder, with what is in them.
fn below(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_str().unwrap();
        match entry.is_dir() {
            true => found
                .extend(below(&entry).into_iter().map(|(n, text)| (format!("{name}/{n}"), text))),
            false => found.push((name.to_string(), fs::read_to_string(&entry).unwrap())),
        }
    }
    found.sort();
    found
}

#[test]
fn each_rank_may_have_files_of_its_own() {
    let script = ["sh", "-c", "echo out $PMI_RANK; echo err $PMI_RANK >&2"];
    let run = |options: &[&str]| {
        let place = tempfile::tempdir().unwrap();
        let words: Vec<&str> = ["-n", "2"].iter().chain(options).chain(&script).copied().collect();
        let ended = mpirun(&words).with(|c| c.current_dir(place.path())).end();
        assert_eq!(ended.status, 0, "{}", ended.err);
        (below(place.path()), ended.out.lines().count() + ended.err.lines().count())
    };
    let expected = |names: [&str; 4]| -> Vec<(String, String)> {
        let texts = ["err 0\n", "out 0\n", "err 1\n", "out 1\n"];
        names.iter().zip(texts).map(|(name, text)| (name.to_string(), text.to_string())).collect()
    };
    let names =
        ["d/1/rank.0/stderr", "d/1/rank.0/stdout", "d/1/rank.1/stderr", "d/1/rank.1/stdout"];
    assert_eq!(run(&["--output-filename", "d"]), (expected(names), 4));
    assert_eq!(run(&["--output", "dir=d:nocopy"]), (expected(names), 0));
    let files = ["log.0.err", "log.0.out", "log.1.err", "log.1.out"];
    assert_eq!(run(&["--output", "file=log"]), (expected(files), 4));
    let merged = run(&["--output-filename", "d:nojobid,nocopy", "--merge-stderr"]).0;
    assert_eq!(merged[1], ("d/rank.0/stdout".to_string(), "out 0\nerr 0\n".to_string()));
    let (files, shown) = run(&["-outfile-pattern", "o.%r"]);
    assert_eq!((files.len(), &*files[1].0, &*files[1].1, shown), (2, "o.1", "out 1\n", 2));
}

#[test]
fn files_that_cannot_be_written_end_the_job() {
    let words = ["-n", "2", "-outfile-pattern", "/dev/full", "sh", "-c", "echo x; sleep 3600"];
    let ended = mpirun(&words).end();
    assert_eq!(ended.status, 1);
    assert!(ended.err.contains("/dev/full cannot be written"), "{}", ended.err);
    let ended = mpirun(&["--output-filename", "/dev/null/x", "true"]).end();
    assert_eq!(ended.status, 2);
    assert!(ended.err.contains("/dev/null/x/1/rank.0/stdout"), "{}", ended.err);
}

#[test]
fn lines_may_tell_their_time() {
    let ended = mpirun(&["-n", "1", "--timestamp-output", "echo", "x"]).end();
    assert!(
        ended.out.ends_with("<stdout>:x\n") && ended.out.matches(':').count() == 3,
        "{}",
        ended.out
    );
    let ended = mpirun(&["-n", "1", "--output", "timestamp,tag", "echo", "x"]).end();
    assert!(ended.out.ends_with("[1,0]<stdout>:x\n"), "{}", ended.out);
}

#[test]
fn run_time_systems_are_told_to_show_lines() {
    let script = "echo $GFORTRAN_UNBUFFERED_PRECONNECTED-$PYTHONUNBUFFERED-${_FERRITE_LINES%%:*}";
    let seen = |setting: &str, own: &str| {
        let run = mpirun(&["-n", "1", "sh", "-c", script]).with(|c| {
            c.env("FERRITE_OUTPUT", setting).env("_FERRITE_LINES", "outer:job");
            c.env_remove("GFORTRAN_UNBUFFERED_PRECONNECTED").env("PYTHONUNBUFFERED", own)
        });
        run.end().out
    };
    let lines = seen("lines", "0");
    assert!(lines.starts_with("y-0-") && !lines.contains("outer"), "{lines}");
    assert_eq!(seen("full", "7"), "-7-\n");
}
