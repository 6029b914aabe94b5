//! Lists of hosts as two families of launchers write them.
//!
//! ```text
//! -host a,b:2     -hosts a,b     -H a:4,[fe80::7]:2        on the command line
//! a               a:2            a:2 binding=…             a line of hydra's host file
//! a slots=2 max_slots=4          a slots = 2               a line of Open MPI's
//! ```
//!
//! In a file `#` begins a comment. A host that is named twice has the slots of both.

use crate::refuse::Refusal;
use std::collections::HashMap;
use std::ffi::OsString;

/// A host and how many ranks it is to get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Host {
    /// Its name or address.
    pub(crate) name: String,
    /// How many ranks fit there, where somebody said so.
    pub(crate) slots: Option<usize>,
    /// How many ranks it may get at most.
    pub(crate) most: Option<usize>,
}

/// Most slots that one entry may have.
const SLOTS_MAX: usize = 1 << 16;

/// The hosts of the options: those of lists first, then those of files.
pub(crate) fn of_options(lists: &[String], files: &[OsString]) -> Result<Vec<Host>, Refusal> {
    let mut hosts = Hosts::default();
    for entry in lists.iter().flat_map(|list| list.split(',')).filter(|e| !e.trim().is_empty()) {
        let host = self::entry(entry.trim());
        hosts.add(host.map_err(|why| Refusal::new(format!("-host: {why}")))?);
    }
    for file in files {
        let shown = file.to_string_lossy();
        let text = machine::read_text(file)
            .map_err(|e| Refusal::new(format!("the host file {shown} cannot be read: {e}")))?;
        let found = in_file(&text).map_err(|(line, why)| {
            Refusal::new(format!("the host file {shown}, line {line}: {why}"))
        })?;
        if found.is_empty() {
            return Err(Refusal::new(format!("the host file {shown} names no host")));
        }
        for host in found {
            hosts.add(host);
        }
    }
    Ok(hosts.list)
}

/// Hosts in the order in which they were first named.
#[derive(Default)]
struct Hosts {
    list: Vec<Host>,
    /// Where each stands, by its name in small letters.
    places: HashMap<String, usize>,
}

impl Hosts {
    /// Adds a host, or its slots to those that it has.
    fn add(&mut self, host: Host) {
        let end = self.list.len();
        let place = *self.places.entry(host.name.to_ascii_lowercase()).or_insert(end);
        match self.list.get_mut(place) {
            // Naming a host once more is asking for one more slot.
            Some(known) => {
                let more = host.slots.unwrap_or(1);
                known.slots = Some(known.slots.unwrap_or(1).saturating_add(more));
                known.most = known.most.max(host.most);
            }
            None => self.list.push(host),
        }
    }
}

/// The hosts of a file, or the number of the line that is wrong, and what is wrong with it.
fn in_file(text: &str) -> Result<Vec<Host>, (usize, String)> {
    let mut hosts = Hosts::default();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            hosts.add(in_line(line).map_err(|why| (number, why))?);
        }
    }
    Ok(hosts.list)
}

fn in_line(line: &str) -> Result<Host, String> {
    // Blanks around an equals sign bind nothing.
    let joined = line.split('=').map(str::trim).collect::<Vec<_>>().join("=");
    let mut words = joined.split_whitespace();
    let mut host = entry(words.next().unwrap_or_default())?;
    for word in words {
        let Some((name, value)) = word.split_once('=') else {
            return Err(format!("“{word}” is neither slots=N nor max_slots=N"));
        };
        match name.to_ascii_lowercase().replace('-', "_").as_str() {
            "slots" | "cpus" | "count" => host.slots = Some(count(value)?),
            "max_slots" | "slots_max" => host.most = Some(count(value)?),
            // What else the two families allow there is about ports and bindings on that host.
            "port" | "ifhn" | "binding" | "map" | "user" | "maxprocs" | "topo" => {}
            _ => return Err(format!("“{name}” is not known; known are slots and max_slots")),
        }
    }
    Ok(host)
}

/// `NAME`, `NAME:SLOTS`, `[ADDRESS]:SLOTS`.
pub(crate) fn entry(entry: &str) -> Result<Host, String> {
    let (name, slots) = match (entry.strip_prefix('['), entry.rsplit_once(':')) {
        (Some(rest), _) => {
            let (address, behind) = rest.split_once(']').ok_or("“[” without “]”")?;
            (address, behind.strip_prefix(':'))
        }
        // Several colons without brackets are an address of IPv6.
        (None, Some((name, slots))) if !name.contains(':') => (name, Some(slots)),
        (None, _) => (entry, None),
    };
    if slots == Some("*") {
        return all_of(name);
    }
    // A name that begins with a dash would be an option of the command that reaches the host.
    let wrong = |c: char| c.is_whitespace() || c.is_control() || "\"'`$;&|<>()\\*?=".contains(c);
    if name.is_empty() || name.starts_with('-') || name.contains(wrong) {
        return Err(format!("“{entry}” is not the name of a host"));
    }
    Ok(Host { name: name.to_string(), slots: slots.map(count).transpose()?, most: None })
}

/// As many slots as there are processors, which mpirun knows of its own host.
fn all_of(name: &str) -> Result<Host, String> {
    if !super::is_this(name, &super::this()) {
        return Err(format!(
            "“{name}:*” means the processors of {name}, which are known on that host alone: write \
             their number instead of *"
        ));
    }
    let slots = Some(machine::Machine::here().usable());
    Ok(Host { name: name.to_string(), slots, most: None })
}

fn count(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(n) if n <= SLOTS_MAX => Ok(n),
        _ => Err(format!("“{text}” is not a number of slots (0 to {SLOTS_MAX})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn host(name: &str, slots: Option<usize>, most: Option<usize>) -> Host {
        Host { name: name.to_string(), slots, most }
    }

    #[test]
    fn lists() {
        let of = |lists: &[&str]| {
            let lists: Vec<String> = lists.iter().map(|l| l.to_string()).collect();
            of_options(&lists, &[])
        };
        let hosts = of(&["a,b:2", "c:1,a"]).unwrap();
        let expected =
            [host("a", Some(2), None), host("b", Some(2), None), host("c", Some(1), None)];
        assert_eq!(hosts, expected);
        let hosts = of(&["fe80::7,[fe80::8]:3,10.0.0.1:2"]).unwrap();
        let expected = [
            host("fe80::7", None, None),
            host("fe80::8", Some(3), None),
            host("10.0.0.1", Some(2), None),
        ];
        assert_eq!(hosts, expected);
        assert!(of(&["localhost:*"]).unwrap()[0].slots > Some(0));
        assert!(of(&["n17:*"]).unwrap_err().text.contains("their number"));
        for wrong in ["a:many", "-oProxyCommand=x", "a b", "[fe80::1", "a:99999999", "a;b"] {
            let refused = of(&[wrong]).unwrap_err();
            assert!(refused.text.starts_with("-host: "), "{refused}");
            assert_eq!(refused.status, 2);
        }
    }

    #[test]
    fn files() {
        let text =
            "# all of them\nn7 slots=4  max-slots = 8\n\n  n8:2 # spare\nn9 binding=rr\nn8\n";
        let expected =
            [host("n7", Some(4), Some(8)), host("n8", Some(3), None), host("n9", None, None)];
        assert_eq!(in_file(text).unwrap(), expected);
        for (text, line, part) in [
            ("a\nb slots=x\n", 2, "“x”"),
            ("a\n\n# c\nb slot=2\n", 4, "“slot”"),
            ("a 4", 1, "“4”"),
            ("a:b", 1, "“b”"),
        ] {
            let (number, why) = in_file(text).unwrap_err();
            assert_eq!(number, line, "{text:?}");
            assert!(why.contains(part), "{why}");
        }
        // In time that grows with the text alone: a line of blanks, and many hosts.
        let blanks = format!("n7 slots{}= 3", " ".repeat(1 << 20));
        assert_eq!(in_file(&blanks).unwrap(), [host("n7", Some(3), None)]);
        let many: String = (0..100_000).map(|n| format!("n{n}\n")).collect();
        assert_eq!(in_file(&many).unwrap().len(), 100_000);
        let endless = of_options(&[], &["/dev/zero".into()]).unwrap_err();
        assert!(endless.text.contains("16 MiB"), "{endless}");
        let gone = of_options(&[], &["/no/such/file".into()]).unwrap_err();
        assert!(gone.text.contains("/no/such/file"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(list in "\\PC{0,40}", text in "[ -~\n]{0,80}") {
            let _ = of_options(&[list], &[]);
            if let Ok(hosts) = in_file(&text) {
                prop_assert!(hosts.iter().all(|h| !h.name.is_empty() && !h.name.starts_with('-')));
            }
        }

        #[test]
        fn what_was_written_is_read(
            hosts in proptest::collection::btree_map("[a-z][a-z0-9.-]{0,8}", 0usize..100, 1..6),
            ours in proptest::bool::ANY,
        ) {
            let line = |(name, n): (&String, &usize)| match ours {
                true => format!("\t{name}:{n}\r\n"),
                false => format!("{name} slots={n} # {n}\n"),
            };
            let text: String = hosts.iter().map(line).collect();
            let read = in_file(&text).unwrap();
            let expected: Vec<Host> =
                hosts.iter().map(|(name, n)| host(name, Some(*n), None)).collect();
            prop_assert_eq!(read, expected);
        }
    }
}
