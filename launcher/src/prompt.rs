//! What ranks print shows with each line, as on a terminal, though they write into a pipe of ours.
//!
//! C programs: the library sets the mode of C's standard output when it is loaded (`mpi-abi/src/c_streams.rs`), where
//! that is the very pipe which is named here; what a rank sends elsewhere is buffered as usual. Run-time systems
//! with buffers of their own are told by their variables.

use crate::env::Environment;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

/// The variables by which gfortran's and Python's programs are told not to buffer what they print.
const RUNTIMES: [(&str, &str); 2] =
    [("GFORTRAN_UNBUFFERED_PRECONNECTED", "y"), ("PYTHONUNBUFFERED", "1")];

/// Tells run-time systems; what the user tells them stays.
pub(crate) fn tell_runtimes(variables: &mut Environment) {
    for (name, value) in RUNTIMES {
        variables.entry(OsString::from(name)).or_insert_with(|| value.into());
    }
}

/// What the library is told of the pipe `output`.
pub(crate) fn name(output: &OwnedFd) -> io::Result<String> {
    let meta = File::from(output.try_clone()?).metadata()?;
    Ok(format!("{}:{}", meta.dev(), meta.ino()))
}
