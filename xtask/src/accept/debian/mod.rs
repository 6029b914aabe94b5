//! `cargo xtask accept debian`: programs as Debian ships them, built for its Open MPI, on our library.
//!
//! Enters: `testsuite/debian/list.toml`, and the packages that it names, which are installed first.
//! Leaves: for each case and number of ranks whether the program prints with ours the numbers that it
//! prints with Debian's Open MPI. What the runs left is kept in `target/accept/debian`.

mod list;
mod numbers;
mod play;

use super::Options;
use crate::{install, place, run, setup};
use anyhow::{Result, bail};
use list::Case;
use play::Library;
use std::io::{self, Write};
use std::path::PathBuf;

/// Numbers of ranks without `--np`.
pub(super) const RANKS: [u32; 2] = [2, 4];

/// How the cases went.
#[derive(Default)]
struct Tally {
    same: usize,
    failed: usize,
    skipped: usize,
}

/// Runs the cases and tells; whether ours did all that Debian's Open MPI does.
pub(super) fn accept(options: &Options) -> Result<bool> {
    refuse(options)?;
    let cases = chosen(options)?;
    let lacks = missing(&cases);
    if !lacks.is_empty() && !options.no_install {
        println!("this machine lacks the packages {}", lacks.join(" "));
        setup::install(&lacks, false)?;
    }
    let ours = Library::Ours(prefix(options)?);
    let np = options.np();
    let total = cases.len() * np.len();
    let mut tally = Tally::default();
    for (at, case) in cases.iter().enumerate() {
        let lacks = missing(std::slice::from_ref(case));
        for (turn, ranks) in np.iter().enumerate() {
            print!("{} of {total}: {} on {ranks} ranks: ", at * np.len() + turn + 1, case.name);
            io::stdout().flush()?;
            if lacks.is_empty() {
                compare(case, *ranks, &ours, options.patience, &mut tally);
            } else {
                tally.skipped += 1;
                println!("skipped: no package {}", lacks.join(", "));
            }
        }
    }
    let Tally { same, failed, skipped } = tally;
    println!("ours beside Debian's Open MPI: {same} the same, {failed} failed, {skipped} skipped");
    Ok(failed == 0)
}

/// Names what belongs to suites whose programs somebody built.
fn refuse(options: &Options) -> Result<()> {
    let foreign = [
        ("a folder", options.folder.is_some()),
        ("--peer", !options.peer.is_empty()),
        ("--programs", !options.programs.is_empty()),
        ("--rounds", options.rounds != 1),
        ("--append", options.append),
        ("--table", options.table.is_some()),
        ("--show", options.show),
        ("--publish", options.publish),
        ("words for the programs", !options.words.is_empty()),
    ];
    let given: Vec<&str> =
        foreign.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    if given.is_empty() {
        return Ok(());
    }
    bail!(
        "the suite debian takes its programs from packages and measures no times: leave out {}",
        given.join(", ")
    );
}

/// The cases that were asked for.
fn chosen(options: &Options) -> Result<Vec<Case>> {
    let mut cases = list::read()?;
    if !options.only.is_empty() {
        cases.retain(|case| options.only.iter().any(|part| case.name.contains(part.as_str())));
    } else if !options.all {
        cases.retain(|case| case.quick);
    }
    if cases.is_empty() {
        bail!("no case of {} has such a name", place::shown(&list::file()));
    }
    Ok(cases)
}

/// Packages that the cases need and that are not installed: first that of Open MPI.
fn missing(cases: &[Case]) -> Vec<&str> {
    let mut missing = Vec::new();
    let needed = cases.iter().flat_map(|case| &case.packages).map(String::as_str);
    for name in [play::PACKAGE].into_iter().chain(needed) {
        if !missing.contains(&name) && !installed(name) {
            missing.push(name);
        }
    }
    missing
}

fn installed(package: &str) -> bool {
    let words = ["--show", "--showformat", "${db:Status-Status}", package];
    run::output(run::command("dpkg-query").args(words)).is_some_and(|status| status == "installed")
}

/// Where our library is.
fn prefix(options: &Options) -> Result<PathBuf> {
    if let Some(dir) = &options.prefix {
        return Ok(std::path::absolute(dir)?);
    }
    install::install(&place::prefix())?;
    Ok(place::prefix())
}

/// One case on both libraries.
fn compare(case: &Case, ranks: u32, ours: &Library, patience: u64, tally: &mut Tally) {
    let both = play::play(case, ranks, &Library::Debian, patience)
        .and_then(|theirs| Ok((theirs, play::play(case, ranks, ours, patience)?)));
    let found = both.map(|(theirs, ours)| numbers::differences(&case.numbers, &theirs, &ours));
    match found {
        Ok(Ok(count)) => {
            tally.same += 1;
            println!("{count} numbers the same");
        }
        Ok(Err(differences)) => {
            tally.failed += 1;
            println!("FAILED");
            differences.iter().for_each(|difference| println!("    {difference}"));
        }
        Err(error) => {
            tally.failed += 1;
            println!("FAILED: {error:#}");
        }
    }
}
