//! The test programs in C, C++ and Fortran: which there are, how each is compiled and run, and what counts as good.
//!
//! Enters: the sources in `testsuite/programs`, whose first line says on how many ranks each runs, and the
//! list of those that run now, `manifest.toml`. Leaves: a verdict for each program and number of
//! ranks. A program is good when it ends with status 0, its output is the line `ok`, and it wrote
//! no error.

use crate::prefix::Prefix;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The endings of sources.
const ENDINGS: [&str; 4] = ["c", "cc", "f90", "f"];

/// Seconds after which a program counts as hanging.
const PATIENCE: u32 = 120;

/// One test program.
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name, without the ending.
    pub name: String,
    /// The source file.
    pub source: PathBuf,
    /// The numbers of ranks it runs on.
    pub ranks: Vec<u32>,
}

/// The list of programs.
#[derive(Deserialize)]
struct Manifest {
    /// Those that run.
    run: Vec<String>,
    /// Those that wait for a part of the library, and for which.
    #[serde(default)]
    waiting: BTreeMap<String, String>,
}

/// The folder with the sources.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

/// The programs that run now.
///
/// # Errors
/// When the manifest does not fit the folder: a listed program is not there, or one that is there
/// is not listed.
pub fn listed() -> Result<Vec<Program>> {
    let file = folder().join("manifest.toml");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {file:?}"))?;
    let manifest: Manifest = toml::from_str(&text).with_context(|| format!("in {file:?}"))?;
    for source in sources()? {
        let name = stem(&source);
        if !manifest.run.contains(&name) && !manifest.waiting.contains_key(&name) {
            bail!("{name} is in neither list of {}", file.display());
        }
    }
    let programs: Vec<Program> =
        manifest.run.iter().map(|name| Program::named(name)).collect::<Result<_>>()?;
    for name in manifest.waiting.keys() {
        Program::named(name)?;
    }
    Ok(programs)
}

/// The programs of these names, of those that run now.
///
/// # Errors
/// As [`listed`], or when one of them is not among them.
pub fn chosen(names: &[&str]) -> Result<Vec<Program>> {
    let mut chosen = listed()?;
    chosen.retain(|program| names.contains(&program.name.as_str()));
    match names.iter().find(|name| chosen.iter().all(|program| program.name != **name)) {
        Some(name) => bail!("{name} is no program that runs now"),
        None => Ok(chosen),
    }
}

fn sources() -> Result<Vec<PathBuf>> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(folder())? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known)) {
            sources.push(path);
        }
    }
    Ok(sources)
}

fn stem(source: &Path) -> String {
    source.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

impl Program {
    /// Reads the program of this name.
    fn named(name: &str) -> Result<Program> {
        let source = ENDINGS
            .map(|ending| folder().join(format!("{name}.{ending}")))
            .into_iter()
            .find(|file| file.is_file())
            .with_context(|| format!("there is no program {name} in {}", folder().display()))?;
        let text = fs::read_to_string(&source)?;
        let ranks = ranks(&text).with_context(|| {
            format!("{name}: the first line must be like `// ranks: 1 2 4`, with ! in Fortran")
        })?;
        Ok(Program { name: name.to_string(), source, ranks })
    }

    /// Compiles it with our wrapper, warnings being errors; returns the executable.
    ///
    /// # Errors
    /// When the compiler refuses it.
    pub fn compile(&self, prefix: &Prefix, into: &Path) -> Result<PathBuf> {
        let executable = into.join(&self.name);
        let ending = self.source.extension().unwrap_or_default();
        let mut command = match ending.to_str() {
            Some("c") => prefix.command("mpicc"),
            Some("cc") => prefix.command("mpicxx"),
            _ => return self.compile_fortran(prefix, "gfortran", into),
        };
        command.arg(if ending == "cc" { "-std=c++17" } else { "-std=c11" });
        command.args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-o"]);
        command.arg(&executable).arg(&self.source).args(["-lm", "-pthread"]);
        finish(command, executable)
    }

    /// Whether it is written in Fortran.
    pub fn is_fortran(&self) -> bool {
        self.source.extension().is_some_and(|ending| ending == "f90" || ending == "f")
    }

    /// Compiles a program in Fortran with our wrapper around `compiler`.
    ///
    /// # Errors
    /// When the compiler refuses it.
    pub fn compile_fortran(&self, prefix: &Prefix, compiler: &str, into: &Path) -> Result<PathBuf> {
        let executable = into.join(format!("{}-{compiler}", self.name));
        let mut command = prefix.command("mpifort");
        command.arg(format!("-fc={compiler}")).args(["-O1", "-g", "-o"]).arg(&executable);
        // Modules of the program itself land where the compiler runs.
        let work = into.join(format!("{}-{compiler}.modules", self.name));
        fs::create_dir_all(&work)?;
        command.arg(&self.source).current_dir(work);
        finish(command, executable)
    }
}

/// Compiles by `command`, whose result is `executable`.
fn finish(mut command: Command, executable: PathBuf) -> Result<PathBuf> {
    let output = command.output().context("cannot start the compiler wrapper")?;
    if !output.status.success() {
        bail!("does not compile:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(executable)
}

/// The numbers behind `// ranks:` in the first line.
fn ranks(text: &str) -> Option<Vec<u32>> {
    let first = text.lines().next()?;
    let words = first.strip_prefix("// ranks:").or_else(|| first.strip_prefix("! ranks:"))?;
    let ranks: Option<Vec<u32>> = words.split_whitespace().map(|word| word.parse().ok()).collect();
    ranks.filter(|ranks| !ranks.is_empty())
}

/// Runs an executable with our mpirun.
///
/// # Errors
/// When it does not end well; the text is what a person needs to see.
pub fn run(prefix: &Prefix, executable: &Path, ranks: u32) -> Result<()> {
    run_under(with(&[]), prefix, executable, ranks)
}

/// A command that runs the words added to it with these settings: names and values of variables.
pub fn with(settings: &[(&str, &str)]) -> Command {
    let mut plain = crate::prefix::clean(Path::new("env"));
    plain.envs(settings.iter().copied());
    plain
}

/// Programs that a test runs in its own surroundings: compiled once, run in each of them.
pub struct Batch {
    prefix: Prefix,
    programs: Vec<(Program, PathBuf)>,
    failures: Vec<String>,
}

impl Batch {
    /// Compiles the programs of these names into a folder.
    ///
    /// # Errors
    /// As [`chosen`], and when one of them does not compile.
    pub fn compile(into: &Path, names: &[&str]) -> Result<Batch> {
        fs::create_dir_all(into)?;
        let prefix = Prefix::find()?;
        let compiled = chosen(names)?.into_iter().map(|program| {
            let executable = program.compile(&prefix, into)?;
            Ok((program, executable))
        });
        let programs = compiled.collect::<Result<_>>()?;
        Ok(Batch { prefix, programs, failures: Vec::new() })
    }

    /// Runs each of them by `surroundings`, of which `label` tells, on those `ranks` that it gets there.
    pub fn run(
        &mut self,
        label: &str,
        surroundings: &dyn Fn() -> Command,
        ranks: &dyn Fn(&Program) -> Vec<u32>,
    ) {
        for (program, executable) in &self.programs {
            for ranks in ranks(program) {
                if let Err(error) = run_under(surroundings(), &self.prefix, executable, ranks) {
                    let name = &program.name;
                    self.failures.push(format!("{name} on {ranks}, {label}: {error:#}"));
                }
            }
        }
    }

    /// The verdict on all runs.
    ///
    /// # Errors
    /// With what went wrong in each of those that did not end well.
    pub fn verdict(self) -> Result<()> {
        match self.failures.is_empty() {
            true => Ok(()),
            false => bail!("{}", self.failures.join("\n")),
        }
    }
}

/// The same by a command that runs the words added to it, in whatever surroundings.
///
/// # Errors
/// As [`run`].
pub fn run_under(
    mut surroundings: Command,
    prefix: &Prefix,
    executable: &Path,
    ranks: u32,
) -> Result<()> {
    // timeout(1) gives mpirun the chance to end its ranks; only if it does not, kills it.
    surroundings.args(["timeout", "--kill-after=10"]).arg(PATIENCE.to_string());
    surroundings.arg(prefix.bin("mpirun")).arg("-n").arg(ranks.to_string()).arg(executable);
    judge(&surroundings.output().context("cannot start mpirun")?)
}

/// Whether a run went well.
fn judge(output: &Output) -> Result<()> {
    let told = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(124) {
        bail!("hangs: not at its end after {PATIENCE} s\n{told}{errors}");
    }
    if !output.status.success() {
        bail!("{}\n{told}{errors}", output.status);
    }
    if told != "ok\n" || !errors.is_empty() {
        bail!("ended well, but printed something else than \"ok\":\n{told}{errors}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(script: &str) -> Result<()> {
        judge(&Command::new("sh").args(["-c", script]).output()?)
    }

    #[test]
    fn only_a_clean_ok_is_good() {
        judged("echo ok").expect("a good run");
        for bad in ["true", "echo ok; exit 3", "echo ok; echo oops >&2", "echo ok; echo ok"] {
            judged(bad).expect_err(bad);
        }
        let hanging = judged("exit 124").expect_err("timeout's status").to_string();
        assert!(hanging.starts_with("hangs"), "{hanging}");
    }

    #[test]
    fn the_first_line_says_the_ranks() {
        assert_eq!(ranks("// ranks: 1 2 4\n#include"), Some(vec![1, 2, 4]));
        assert_eq!(ranks("! ranks: 3\nprogram"), Some(vec![3]));
        assert_eq!(ranks("#include <mpi.h>\n// ranks: 1"), None);
        assert_eq!(ranks("// ranks:\n"), None);
        assert_eq!(ranks("// ranks: two\n"), None);
    }

    #[test]
    fn every_program_is_in_the_manifest() {
        listed().expect("the manifest fits the folder");
    }
}
