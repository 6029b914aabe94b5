//! `cargo xtask demo`: from nothing to four parallel programs running, with one command.
//!
//! Leaves the prefix `target/ferrite` and the compiled examples in `target/demo`.

use crate::{install, place, run, setup};
use anyhow::{Context, Result};
use std::fs;

/// The examples, in the order of reading, and the words that each gets.
const EXAMPLES: &[&str] = &["hello", "ring", "pi", "heat"];

const RANKS: &str = "4";

/// What it takes where nothing is built yet: measured on two processors with crates at hand, and rounded up.
const TAKES: &str = "This takes about 3 minutes on two processors, and some seconds when it has run \
                     before; it needs 1 GB";

/// Sets up, installs, compiles the examples with our mpicc and runs them with our mpirun.
pub(crate) fn demo() -> Result<()> {
    println!("{TAKES} in {}, besides what is to be installed.", place::shown(&place::target()));
    setup::setup(false)?;
    let prefix = place::prefix();
    install::install(&prefix)?;
    let bin = prefix.join("bin");
    let into = place::target().join("demo");
    fs::create_dir_all(&into).with_context(|| format!("cannot make {}", into.display()))?;
    for name in EXAMPLES {
        println!();
        let source = format!("examples/{name}.c");
        let program = into.join(name);
        let mut mpicc = run::command(&bin.join("mpicc").to_string_lossy());
        run::must(mpicc.arg("-O2").arg("-o").arg(&program).arg(source).arg("-lm"))?;
        let mut mpirun = run::command(&bin.join("mpirun").to_string_lossy());
        run::must(mpirun.args(["-n", RANKS]).arg(&program))?;
    }
    println!(
        "\nThat was Ferrite MPI. To go on:\n\
         \x20 export PATH=\"{}:$PATH\"\n\
         \x20                             mpicc, mpicxx and mpirun by name\n\
         \x20 mpirun -n 4 ./a-program     also one built with MPICH, Intel MPI or Open MPI\n\
         \x20 mpirun --report -n 2 {}/ring\n\
         \x20                             what is used between the ranks, and why\n\
         \x20 examples/heat.c             read it, change it, run it again\n\
         \x20 cargo xtask install --prefix DIR\n\
         \x20                             put the library where you want it\n\
         \x20 cargo xtask test            every test",
        bin.display(),
        place::shown(&into)
    );
    Ok(())
}
