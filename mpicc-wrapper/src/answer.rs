//! Answers to the questions that build systems ask a compiler wrapper.

use crate::language::Language;
use crate::place::{LIBRARY, Prefix};
use crate::request::{Question, Request};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The text to print.
pub(crate) fn answer(question: &Question, request: &Request, prefix: &Prefix) -> String {
    let compiler = request.compiler_words();
    let compile = request.compile_flags(prefix);
    let link = request.link_flags(prefix);
    match question {
        Question::Everything => line(&[&request.command_line(prefix)]),
        Question::Compilation => line(&[&compiler, &compile]),
        Question::Linking => line(&[&compiler, &link]),
        Question::Command => line(&[&compiler]),
        Question::CompileFlags => line(&[&compile]),
        Question::LinkFlags => line(&[&link]),
        Question::IncludeDirs => line(&[&dirs(prefix.include(), request)]),
        Question::LibraryDirs => line(&[&dirs(prefix.lib(), request)]),
        Question::Libraries if request.modules.is_some() => {
            format!("{} {LIBRARY}", crate::modules::ARCHIVE)
        }
        Question::Libraries => LIBRARY.to_string(),
        Question::Version => format!("Ferrite MPI {}", env!("CARGO_PKG_VERSION")),
        Question::Help => help(request.language),
    }
}

/// A folder of the prefix, and the one with Fortran modules.
fn dirs(dir: PathBuf, request: &Request) -> Vec<OsString> {
    [Some(dir), request.modules.clone()]
        .into_iter()
        .flatten()
        .map(PathBuf::into_os_string)
        .collect()
}

/// Words as one line that a shell reads back as the same words.
fn line(parts: &[&[OsString]]) -> String {
    let words: Vec<String> = parts.concat().iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%^".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn help(language: Language) -> String {
    let (own, others) = language.variables().split_first().unwrap_or((&"", &[]));
    let option = language.option();
    format!(
        "Everything is passed to the compiler, with -I before and -L, -l after it, except\n\
         \x20 -{option}=NAME             use this compiler; also by {own}\n\
         \x20                       ({})\n\
         \x20 -no-rpath             do not let the program remember where the library is; also\n\
         \x20                       MPICC_RPATH=0\n\
         \x20 -show, --showme       print the command line instead of running it\n\
         \x20 -compile_info, -link_info\n\
         \x20 --showme:command, compile, link, incdirs, libdirs, libs, version, help",
        others.join(", ")
    )
}
