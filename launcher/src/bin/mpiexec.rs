//! `mpiexec`: starts the ranks of a parallel program on this machine. All of it is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    launcher::main()
}
