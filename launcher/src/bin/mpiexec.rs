//! `mpiexec`: starts the ranks of a parallel program, here or on several hosts. All of it is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    launcher::main()
}
