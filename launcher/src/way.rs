//! How hosts are reached, and the command line that starts an agent on one.

use crate::pack::paths;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The word on mpirun's command line that makes it an agent.
pub(crate) const AGENT: &str = "--ferrite-agent";

/// How many hosts one host starts at most, where nothing else is asked for.
pub(crate) const FANOUT: usize = 16;

/// How hosts are reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Way {
    /// The command that runs another one on a host.
    pub(crate) words: Vec<OsString>,
    /// mpirun there.
    #[serde(with = "paths")]
    pub(crate) program: PathBuf,
    /// How many hosts one host starts.
    pub(crate) fanout: usize,
}

/// What ssh is told besides: no window system, no terminal, no question that nobody hears, and no
/// waiting for minutes where a host is switched off.
const SSH: [&str; 7] = ["ssh", "-x", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20"];

impl Way {
    /// The command line that starts the agent on `host`.
    pub(crate) fn command(&self, host: &str) -> Vec<OsString> {
        let agent = [self.program.clone().into_os_string(), AGENT.into()];
        if self.words == ["fork"] {
            return agent.into();
        }
        let words: Vec<OsString> = match self.words == ["ssh"] {
            true => SSH.map(OsString::from).into(),
            false => self.words.clone(),
        };
        let program = quoted(self.program.as_os_str());
        words.into_iter().chain([host.into(), program, AGENT.into()]).collect()
    }
}

/// A word as the shell at the other end must see it, who splits what ssh hands it.
fn quoted(word: &OsStr) -> OsString {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"/._-+,:@%".contains(b);
    if word.as_bytes().iter().all(plain) {
        return word.to_os_string();
    }
    format!("'{}'", word.to_string_lossy().replace('\'', "'\\''")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(launcher: &[&str], program: &str) -> Vec<String> {
        let words = launcher.iter().map(OsString::from).collect();
        let way = Way { words, program: program.into(), fanout: 4 };
        way.command("n7").into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn commands() {
        assert_eq!(command(&["fork"], "/p/bin/mpirun"), ["/p/bin/mpirun", AGENT]);
        let ssh = command(&["ssh"], "/my p/it's/mpirun");
        assert_eq!(ssh[7..], ["n7", "'/my p/it'\\''s/mpirun'", AGENT]);
        let own = command(&["ssh", "-p", "22"], "/p/mpirun");
        assert_eq!(own, ["ssh", "-p", "22", "n7", "/p/mpirun", AGENT]);
    }
}
