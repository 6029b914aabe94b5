//! Host lists: for now every name in them must be this machine.

use crate::refuse::Refusal;
use std::ffi::OsString;
use std::fs;

/// Checks the hosts of `-host` and of host files. `this` is this machine's name.
pub(crate) fn check(lists: &[String], files: &[OsString], this: &str) -> Result<(), Refusal> {
    let listed = lists.iter().flat_map(|list| list.split(',')).map(str::to_string);
    let mut names: Vec<String> = listed.collect();
    for file in files {
        let shown = file.to_string_lossy();
        let text = fs::read_to_string(file)
            .map_err(|e| Refusal::new(format!("the host file {shown} cannot be read: {e}")))?;
        names.extend(in_file(&text));
    }
    match names.iter().map(|name| host(name)).find(|name| !is_this(name, this)) {
        None => Ok(()),
        Some(other) => Err(Refusal::new(format!(
            "“{other}” is not this machine ({this}), and this version of mpirun starts ranks on \
             its own machine only; leave the host out, or write localhost"
        ))),
    }
}

/// The names in a host file: the first word of each line, comments aside.
fn in_file(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines.filter_map(|line| line.split_whitespace().next().map(str::to_string)).collect()
}

/// The name without the number of ranks behind it.
fn host(entry: &str) -> &str {
    let entry = entry.trim();
    match entry.rsplit_once(':') {
        Some((name, slots)) if slots.parse::<usize>().is_ok() && !name.contains(':') => name,
        _ => entry,
    }
}

fn is_this(name: &str, this: &str) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_lowercase();
    let loopback = name.starts_with("127.") || matches!(name, "" | "::1" | "[::1]");
    loopback || short(name) == "localhost" || short(name) == short(this)
}

/// This machine's name.
pub(crate) fn this() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_string() } else { name.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn this_machine_by_its_names() {
        for list in ["localhost", "localhost:4,127.0.0.1", "n7", "n7.cluster.org:2", "N7", "::1"] {
            assert_eq!(check(&[list.to_string()], &[], "n7.cluster.org"), Ok(()), "{list}");
        }
        let other = check(&["localhost,n8:2".to_string()], &[], "n7").unwrap_err();
        assert!(other.text.starts_with("“n8” is not this machine"), "{other}");
        assert_eq!(other.status, 2);
    }

    #[test]
    fn host_files() {
        assert_eq!(in_file("# all\nn7 slots=4\n\n  n8:2 # spare\n"), ["n7", "n8:2"]);
        let gone = check(&[], &["/no/such/file".into()], "n7").unwrap_err();
        assert!(gone.text.contains("/no/such/file"));
    }

    proptest! {
        #[test]
        fn any_list_is_judged(list in "\\PC{0,40}", text in "[ -~\n]{0,80}") {
            let _ = check(&[list], &[], "n7");
            let _ = in_file(&text);
        }
    }
}
