//! Names for the calls of a process that no `mpirun` of ours looks after: it starts one for that
//! moment (`mpi-abi/src/dying`), with what it would have told it as standard input.

use super::calls_of;
use super::symbols::Symbols;
use launch_wire::control::Frame;
use std::io::{Read, Write};
use std::process::ExitCode;

/// The argument by which such an mpirun knows its task.
pub(crate) const NAME_CALLS: &str = "--ferrite-dying";

/// Prints the calls, at once.
pub(crate) fn name_calls() -> ExitCode {
    let mut packet = Vec::new();
    let read = std::io::stdin().read_to_end(&mut packet);
    let Ok(Frame::Dying { trail, .. }) =
        read.map_err(drop).and_then(|_| Frame::decode(&packet).map_err(drop))
    else {
        return ExitCode::FAILURE;
    };
    let named = Symbols::default().name(&calls_of(&trail), (trail.cut_at, trail.cut));
    let lines: String = named.lines.lines().map(|line| format!("ferrite:   {line}\n")).collect();
    match std::io::stderr().write_all(lines.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
