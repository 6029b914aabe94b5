//! Refusals: why mpirun does not start the job, and the exit status that says so.

use std::fmt;

/// Exit status of a request that mpirun refuses.
pub(crate) const REFUSED: u8 = 2;
/// Exit status for a program that is there and cannot be executed, as shells have it.
pub(crate) const CANNOT_EXECUTE: u8 = 126;
/// Exit status for a program that is not there, as shells have it.
pub(crate) const NOT_FOUND: u8 = 127;

/// One sentence or two, and a status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// What was wrong, where, and what to do.
    pub(crate) text: String,
    /// mpirun's exit status.
    pub(crate) status: u8,
}

impl Refusal {
    /// A refusal of the request itself.
    pub(crate) fn new(text: impl Into<String>) -> Refusal {
        Refusal { text: text.into(), status: REFUSED }
    }

    /// A program that cannot be executed.
    pub(crate) fn cannot_execute(text: impl Into<String>) -> Refusal {
        Refusal { text: text.into(), status: CANNOT_EXECUTE }
    }

    /// A program that is not there.
    pub(crate) fn not_found(text: impl Into<String>) -> Refusal {
        Refusal { text: text.into(), status: NOT_FOUND }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Refusal {
        let remedy = remedy(&error);
        Refusal::new(format!(
            "the system refused a call that starting a job needs: {error}{remedy}"
        ))
    }
}

/// What to do about a limit of the system that stops a job from starting; nothing where it is
/// something else.
pub(crate) fn remedy(error: &std::io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE) => {
            ": raise the limit of open files (ulimit -n); mpirun needs five for each rank of a \
             host, and twenty more"
        }
        Some(libc::ENFILE) => ": all files that the machine may have open are in use",
        Some(libc::EAGAIN) => ": raise the limit of processes (ulimit -u)",
        _ => "",
    }
}
