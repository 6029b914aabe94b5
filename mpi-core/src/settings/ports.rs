//! A range of ports, as `50000-50100`.

use super::value::Value;

/// The ports from the first to the last; none if the kernel chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ports(pub Option<(u16, u16)>);

impl Value for Ports {
    const TYPE: &'static str = "ports";

    fn parse(text: &str) -> Result<Ports, String> {
        if text.is_empty() {
            return Ok(Ports(None));
        }
        // MPICH and Intel MPI write a colon.
        let (first, last) = text.split_once(['-', ':']).unwrap_or((text, text));
        let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
        let range = port(first).zip(port(last)).filter(|(first, last)| first <= last);
        let why = "which is no range of ports from 1 to 65535 such as 50000-50100";
        range.map(|range| Ports(Some(range))).ok_or_else(|| why.to_owned())
    }

    fn show(&self) -> String {
        self.0.map_or_else(String::new, |(first, last)| format!("{first}-{last}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        for (text, range) in [
            ("50000-50100", Some((50000, 50100))),
            ("7:9", Some((7, 9))),
            ("1 - 65535", Some((1, 65535))),
            ("80", Some((80, 80))),
            ("", None),
        ] {
            let ports = Ports::parse(text).unwrap();
            assert_eq!(ports, Ports(range), "{text}");
            assert_eq!(Ports::parse(&ports.show()), Ok(ports));
        }
        for wrong in ["0", "9-7", "70000", "a-b", "1-2-3", "-5"] {
            assert!(Ports::parse(wrong).unwrap_err().contains("50000-50100"), "{wrong}");
        }
    }
}
