//! Command lines as scripts for three launchers write them.

use super::*;
use crate::hosts::Rule;
use proptest::prelude::*;

fn request(line: &str) -> Result<Request, clap::Error> {
    parse(line.split_whitespace().map(OsString::from).collect())
}

fn texts(words: &[OsString]) -> Vec<&str> {
    words.iter().map(|w| w.to_str().unwrap()).collect()
}

#[test]
fn every_spelling_of_the_number_of_ranks() {
    for line in
        ["-n 4 a", "-np 4 a", "--np 4 a", "--n 4 a", "-c 4 a", "-n4 a", "--np=4 a", "-n=4 a"]
    {
        let request = request(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert_eq!(request.segments[0].options.ranks, Some(4), "{line}");
        assert_eq!(request.segments[0].program, "a");
    }
    assert_eq!(request("a").unwrap().segments[0].options.ranks, None);
}

#[test]
fn arguments_of_the_program_are_left_alone() {
    let request = request("-n 2 prog -n 5 --genv -- x -l").unwrap();
    assert_eq!(texts(&request.segments[0].arguments), ["-n", "5", "--genv", "--", "x", "-l"]);
    assert_eq!(request.segments[0].options.ranks, Some(2));
}

#[test]
fn hydra_spellings() {
    let line = "-genv A 1 -genv B=2 -genvlist C,D -bind-to core:1 -map-by socket -ppn 2 -rr -l \
                -hosts localhost -f hosts -launcher ssh -s all -n 1 -env E -5 -wdir /tmp a";
    let request = request(line).unwrap();
    assert_eq!(texts(&request.global.genv), ["A", "1", "B", "2"]);
    assert_eq!(request.global.genvlist.as_deref(), Some("C,D"));
    assert_eq!(request.global.bind_to, Some(Tie { to: BindTo::Core, count: 1 }));
    assert_eq!(request.global.map_by.map(|map| map.within), Some(MapBy::Socket));
    assert_eq!((request.global.ppn, request.global.rr), (Some(2), true));
    assert_eq!(request.segments[0].options.host, ["localhost"]);
    assert_eq!(texts(&request.segments[0].options.hostfile), ["hosts"]);
    assert_eq!(request.global.stdin, StdinTo::All);
    assert!(request.global.prepend_rank);
    assert_eq!(texts(&request.segments[0].options.env), ["E", "-5"]);
    assert_eq!(request.segments[0].options.directory.as_deref(), Some("/tmp".as_ref()));
}

#[test]
fn open_mpi_spellings() {
    let line = "--allow-run-as-root --oversubscribe --mca pml ob1 --mca btl sm,self --bind-to none \
                --map-by slot:PE=2 -H localhost:4 --hostfile h --tag-output -x A -x B=2 \
                --use-hwthread-cpus --timeout 3 -np 3 a";
    let request = request(line).unwrap();
    assert_eq!(request.global.bind_to, Some(Tie { to: BindTo::None, count: 1 }));
    assert_eq!(request.global.other.mca, ["pml", "ob1", "btl", "sm,self"]);
    assert!(super::parse(vec!["-n2".into(), "-c2".into(), "a".into()]).is_ok());
    assert_eq!(texts(&request.segments[0].options.export), ["A", "B=2"]);
    assert!(request.global.tag_output);
    assert_eq!(request.global.timeout, Some(Duration::from_secs(3)));
}

#[test]
fn several_programs() {
    let request = request("-n 1 a x : -n 3 -l b y z").unwrap();
    assert_eq!(request.segments.len(), 2);
    assert_eq!(texts(&request.segments[0].arguments), ["x"]);
    assert_eq!(request.segments[1].options.ranks, Some(3));
    assert_eq!(texts(&request.segments[1].arguments), ["y", "z"]);
    assert!(request.global.prepend_rank);
}

#[test]
fn mappings_of_both_families() {
    let rule = |line: &str| request(line).unwrap().global.map_by.unwrap().hosts;
    assert_eq!(rule("--map-by node:oversubscribe a"), Some(Rule::Node));
    assert_eq!(rule("--map-by slot:PE=2 a"), Some(Rule::Slot));
    assert_eq!(rule("--map-by ppr:3:node a"), Some(Rule::PerNode(3)));
    assert_eq!(rule("-map-by socket a"), None);
    for wrong in [
        "--map-by ppr:0:node a",
        "--map-by moon a",
        "-ppn 0 a",
        "--fanout 0 a",
        "--fanout 5000000000 a",
        "--timeout 1e19 a",
    ] {
        assert!(request(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn each_program_may_have_hosts_of_its_own() {
    let request = request("-host a,b -n 2 x : -H c:2 -hosts d -n 3 y").unwrap();
    assert_eq!(request.segments[0].options.host, ["a,b"]);
    assert_eq!(request.segments[1].options.host, ["c:2", "d"]);
}

#[test]
fn mistakes_are_named_with_the_nearest_option() {
    let said = |line: &str| request(line).unwrap_err().to_string();
    assert!(said("--tag-ouput a").contains("--tag-output"));
    assert!(said("-genvv A 1 a").contains("-genv"));
    assert!(said("-qzx a").contains("-qzx"));
    assert!(said("-n 4").contains("no program"));
    assert!(said("-n 2 a :").contains("no program"));
    assert!(said("-n").contains("-n needs 1 value"));
    assert!(said("-n two a").contains("'two'"));
    for line in ["-n two a", "-n -3 a", "-ppn 0 a", "-ppn many a"] {
        assert!(said(line).contains("a number of ranks"), "{line}: {}", said(line));
    }
    assert!(said("--timeout 0 a").contains("seconds"));
    assert!(said("--bind-to moon a").contains("core"));
    assert!(said("--report=5 a").contains("takes no value"));
}

#[test]
fn options_that_only_others_have_name_what_to_use() {
    let said = |line: &str| request(line).unwrap_err().to_string();
    for (line, part) in [
        ("--rank-by socket a", "--map-by socket"),
        ("-rank_by numa a", "--map-by socket"),
        ("--rankfile ranks a", "--hostfile"),
        ("--cpu-set 0,2 a", "taskset -c"),
        ("-n 2 -c 1 a", "--map-by slot:PE=1"),
        ("-np 2 -n 3 a", "leave one of them out"),
        ("--map-by ppr:1:core a", "-ppn N"),
        ("--output xml a", "merge-stderr-to-stdout"),
        ("--display map a", "--report"),
        ("-npersocket 2 a", "--map-by socket"),
        ("--cpus-per-rank=4 a", "PE=N"),
        ("--map-by ppr:2:socket a", "-ppn N"),
    ] {
        assert!(said(line).contains(part), "{line}: {}", said(line));
    }
    assert!(request("-pernode a").unwrap().global.pernode);
    assert_eq!(request("-npernode 3 a").unwrap().global.ppn, Some(3));
    assert!(request("--display-map a").unwrap().global.report_bindings);
    assert!(request("-print-all-exitcodes a").is_ok());
}

/// Reads a command line whose `FILE` is a file with this text.
fn with_file(line: &str, text: &str) -> Result<Request, clap::Error> {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("programs");
    std::fs::write(&file, text).unwrap();
    request(&line.replace("FILE", file.to_str().unwrap()))
}

#[test]
fn a_file_of_programs_may_stand_behind_other_options() {
    let text = "-n 1 ocean\n-n 2 -l ice x\n";
    for line in ["-configfile FILE", "--app=FILE", "-f hosts --report -n 5 -configfile FILE"] {
        let request = with_file(line, text).unwrap_or_else(|why| panic!("{line}: {why}"));
        let ranks: Vec<_> = request.segments.iter().map(|s| s.options.ranks).collect();
        assert_eq!(ranks, [Some(1), Some(2)], "{line}");
        let hosts = request.segments.iter().filter(|s| !s.options.hostfile.is_empty()).count();
        assert_eq!(hosts, if line.starts_with("-f") { 2 } else { 0 });
        assert_eq!(request.global.report, line.contains("report"));
        assert!(request.global.prepend_rank);
    }
    let shared = with_file("-n 4 -configfile FILE", "a\n-n 2 b\n").unwrap();
    let ranks: Vec<_> = shared.segments.iter().map(|s| s.options.ranks).collect();
    assert_eq!(ranks, [Some(4), Some(2)]);
    // Behind the program's name it is the program's.
    assert_eq!(request("-n 2 prog -configfile x").unwrap().segments[0].arguments.len(), 2);
    for (line, text, part) in [
        ("-configfile FILE prog", "a\n", "“prog”"),
        ("-configfile FILE", "a 'b\n", "quote"),
        ("-configfile FILE", "# nothing\n", "no program"),
        ("-configfile FILE", "-configfile x\n", "further file"),
        ("-configfile FILE", "-n 2\n", "no program"),
        ("-l -configfile /no/such/file", "", "/no/such/file"),
        ("-configfile", "", "needs 1 value"),
    ] {
        let said = with_file(line, text).unwrap_err().to_string();
        assert!(said.contains(part), "{line}, {text:?}: {said}");
    }
}

#[test]
fn local_options_are_those_of_the_struct() {
    let local = Local::augment_args(Command::new("x"));
    let ids: Vec<&str> = local.get_arguments().map(|arg| arg.get_id().as_str()).collect();
    assert_eq!(ids, super::spelling::LOCAL);
}

#[test]
fn help_and_version_are_answers() {
    for line in ["--help", "-h", "-help", "--version", "-V"] {
        let error = request(&format!("{line} a")).unwrap_err();
        assert!(!error.use_stderr(), "{line}: {error}");
    }
}

proptest! {
    #[test]
    fn any_words_are_read_or_refused(
        words in proptest::collection::vec(
            prop_oneof!["-{0,2}[a-z]{0,9}(=.{0,3})?", Just(":".to_string()), "\\PC{0,4}",
                        Just("-genv".to_string()), Just("-n".to_string())], 0..9),
    ) {
        let _ = parse(words.into_iter().map(OsString::from).collect());
    }
}

#[test]
fn the_timeout_of_the_environment_yields_to_the_command_line() {
    for (line, variable, seconds) in [
        ("a", None, None),
        ("a", Some("7"), Some(7)),
        ("a", Some("0"), None),
        ("a", Some("soon"), None),
        ("--timeout 3 a", Some("7"), Some(3)),
    ] {
        let mut request = request(line).unwrap();
        request.global.heed(variable);
        assert_eq!(request.global.timeout, seconds.map(Duration::from_secs), "{line}");
    }
}
