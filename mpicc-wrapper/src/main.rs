//! mpicc, mpicxx (also mpic++, mpiCC), mpifort (also mpif90, mpif77): the compiler, told where MPI is.
//!
//! Enters: a compiler's command line. Leaves: that command line with `-I` before it and
//! `-L … -lmpi_abi` with a run path after it, run in our place. Nothing else is added: no
//! optimisation, no warning flags; and no run path if `-no-rpath` or MPICC_RPATH=0 asks for none.
//! One program serves all names; the name it was called by says which language. Questions (`-show`, `--showme:link`, …)
//! are answered in the words of both families of wrappers, so configure scripts and CMake's
//! FindMPI get what they look for.

mod answer;
mod language;
mod modules;
mod place;
mod request;

#[cfg(test)]
mod tests;

use language::Language;
use place::Prefix;
use request::Request;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::{env, io};

fn main() -> ExitCode {
    let mut words = env::args_os();
    let name = words.next().unwrap_or_else(|| "mpicc".into());
    match perform(Language::of(&name), words.collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{}: {problem}", language::base_name(&name));
            ExitCode::from(2)
        }
    }
}

fn perform(language: Language, words: Vec<OsString>) -> Result<(), String> {
    let prefix = Prefix::of_this_program()?;
    let variable = |name: &str| env::var(name).ok();
    let mut request = Request::read(language, words, &variable)?;
    if request.needs_modules() {
        prefix.check()?;
        let ready = modules::ready(&request.compiler_words(), &prefix, &variable)?;
        request.modules = Some(ready);
    }
    match &request.question {
        Some(question) => {
            println!("{}", answer::answer(question, &request, &prefix));
            Ok(())
        }
        None => run(&request, &prefix),
    }
}

/// Becomes the compiler; returns only when there is none.
fn run(request: &Request, prefix: &Prefix) -> Result<(), String> {
    prefix.check()?;
    let line = request.command_line(prefix);
    let (program, arguments) = line.split_first().ok_or("the compiler's name is empty")?;
    let error = Command::new(program).args(arguments).exec();
    let program = program.to_string_lossy();
    let from = &request.compiler_from;
    Err(match error.kind() {
        io::ErrorKind::NotFound => format!(
            "the compiler `{program}` ({from}) is not on PATH; install it, or name another one in \
             {} or with -{}=",
            request.language.variables()[0],
            request.language.option()
        ),
        _ => format!("the compiler `{program}` ({from}) cannot be started: {error}"),
    })
}
