//! What the wrapper makes of command lines, without a compiler.

use crate::answer::answer;
use crate::language::Language;
use crate::place::Prefix;
use crate::request::{Question, Request};
use std::ffi::OsStr;
use std::path::Path;

fn read(line: &str) -> Request {
    read_with(line, &[]).expect("a good command line")
}

fn read_with(line: &str, environment: &[(&str, &str)]) -> Result<Request, String> {
    let words = line.split(' ').filter(|word| !word.is_empty()).map(Into::into).collect();
    let variable = |name: &str| {
        environment.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
    };
    Request::read(Language::C, words, &variable)
}

/// The line that would be run, at the prefix `/p`.
fn line(request: &Request) -> String {
    answer(&Question::Everything, request, &Prefix::at(Path::new("/p")))
}

fn answered(line: &str) -> String {
    let request = read(line);
    let question = request.question.expect("a question");
    answer(&question, &request, &Prefix::at(Path::new("/p")))
}

/// What a link gets at the prefix `/p`.
const LINK: &str = "-L/p/lib -Wl,-rpath,/p/lib -Wl,--enable-new-dtags -lmpi_abi";

#[test]
fn a_link_gets_what_finds_the_library_and_nothing_else() {
    assert_eq!(line(&read("-O2 a.c -o a -lm")), format!("cc -I/p/include -O2 a.c -o a -lm {LINK}"));
}

#[test]
fn no_link_flags_when_the_compiler_stops_earlier() {
    for stop in ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"] {
        assert_eq!(line(&read(&format!("{stop} a.c"))), format!("cc -I/p/include {stop} a.c"));
    }
}

#[test]
fn no_link_flags_without_an_input() {
    for words in ["--version", "-v", "-dumpmachine", "-I dir -v", "-Xlinker x --version"] {
        assert_eq!(line(&read(words)), format!("cc -I/p/include {words}"));
    }
    assert!(line(&read("-x c -")).ends_with("-lmpi_abi"), "standard input is an input");
    assert!(line(&read("@objects")).ends_with("-lmpi_abi"), "a file of words is an input");
}

#[test]
fn the_run_path_unless_it_is_not_wanted() {
    let without = "cc -I/p/include a.c -L/p/lib -lmpi_abi";
    for words in ["-no-rpath a.c", "a.c -norpath"] {
        assert_eq!(line(&read(words)), without);
    }
    let off = [("MPICC_RPATH", "0")];
    assert_eq!(line(&read_with("a.c", &off).unwrap()), without);
    let wanted = format!("cc -I/p/include a.c {LINK}");
    assert_eq!(line(&read_with("-rpath a.c", &off).unwrap()), wanted);
    assert_eq!(line(&read_with("a.c", &[("MPICC_RPATH", "1")]).unwrap()), wanted);
}

#[test]
fn an_option_s_value_is_none_of_the_wrapper_s_options() {
    let words = "a.c -Xlinker -rpath -Xlinker /x -o -show";
    assert_eq!(line(&read(words)), format!("cc -I/p/include {words} {LINK}"));
}

#[test]
fn the_compiler_is_the_one_named_last_and_nearest() {
    let both = [("OMPI_CC", "clang"), ("MPICC_CC", "ccache gcc")];
    assert!(line(&read_with("a.c", &both).unwrap()).starts_with("ccache gcc -I"));
    assert!(line(&read_with("a.c", &both[..1]).unwrap()).starts_with("clang -I"));
    assert!(line(&read_with("-cc=tcc a.c", &both).unwrap()).starts_with("tcc -I"));
    assert!(line(&read_with("a.c", &[("MPICC_CC", " ")]).unwrap()).starts_with("cc -I"));
    assert!(read_with("-cc= a.c", &[]).unwrap_err().contains("needs a compiler's name"));
}

#[test]
fn both_families_questions_are_answered() {
    assert_eq!(answered("-show"), format!("cc -I/p/include {LINK}"));
    assert_eq!(answered("-show -c a.c"), "cc -I/p/include -c a.c");
    assert_eq!(answered("-compile_info"), "cc -I/p/include");
    assert_eq!(answered("-link_info"), format!("cc {LINK}"));
    assert_eq!(answered("--showme:compile"), "-I/p/include");
    assert_eq!(answered("-showme:link"), LINK);
    assert_eq!(answered("--showme:incdirs"), "/p/include");
    assert_eq!(answered("--showme:libdirs"), "/p/lib");
    assert_eq!(answered("--showme:libs"), "mpi_abi");
    assert_eq!(answered("--showme:command"), "cc");
    assert!(answered("--showme:version").starts_with("Ferrite MPI "));
    let unknown = read_with("--showme:colour", &[]).unwrap_err();
    assert!(unknown.contains("incdirs"), "the message lists what there is: {unknown}");
}

#[test]
fn printed_lines_survive_the_shell() {
    let request = read("a.c");
    let odd = Prefix::at(Path::new("/my prefix/it's"));
    let text = answer(&Question::LinkFlags, &request, &odd);
    let told = r"'-L/my prefix/it'\''s/lib' '-Wl,-rpath,/my prefix/it'\''s/lib' ";
    assert_eq!(text, format!("{told}-Wl,--enable-new-dtags -lmpi_abi"));
}

#[test]
fn the_name_says_the_language() {
    for name in ["mpicxx", "/usr/bin/mpic++", "mpiCC"] {
        assert_eq!(Language::of(OsStr::new(name)), Language::Cxx);
    }
    assert_eq!(Language::of(OsStr::new("/opt/bin/mpicc")), Language::C);
}

#[test]
fn a_wrapper_outside_a_prefix_says_what_to_do() {
    let problem = Prefix::at(Path::new("/nowhere")).check().unwrap_err();
    assert!(problem.contains("/nowhere/include/mpi.h"), "{problem}");
    assert!(problem.contains("cargo xtask install"), "{problem}");
}
