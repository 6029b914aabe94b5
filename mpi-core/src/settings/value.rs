//! What the text of a setting may look like, by its type: `64KiB`, `5ms`, `on`, a name.

use std::time::Duration;

/// A type that settings have.
pub(super) trait Value: Sized {
    /// What the type is called in tables.
    const TYPE: &'static str;
    /// What may be written, where that is a few words.
    const CHOICES: &'static [&'static str] = &[];
    /// Reads text that a person wrote; the error ends the sentence "… is "x", …".
    fn parse(text: &str) -> Result<Self, String>;
    /// Text that [`Value::parse`] reads as this value.
    fn show(&self) -> String;
}

/// Digits, perhaps with a fraction, then a unit.
fn split_number(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    (number.trim(), unit.trim())
}

const BYTE_UNITS: &[(&str, u64)] = &[
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("G", 1 << 30),
    ("M", 1 << 20),
    ("K", 1 << 10),
    ("B", 1),
    ("", 1),
];

/// A number of bytes.
impl Value for u64 {
    const TYPE: &'static str = "bytes";

    fn parse(text: &str) -> Result<u64, String> {
        let (number, unit) = split_number(text);
        let factor = BYTE_UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
        let number = number.replace('_', "").parse::<u64>().ok();
        let product = number.zip(factor).and_then(|(n, (_, factor))| n.checked_mul(*factor));
        product.ok_or_else(|| "which is no number of bytes such as 65536 or 64KiB".to_owned())
    }

    fn show(&self) -> String {
        let binary =
            BYTE_UNITS[..3].iter().find(|(_, factor)| *self > 0 && self.is_multiple_of(*factor));
        binary.map_or_else(|| self.to_string(), |(unit, factor)| format!("{}{unit}", self / factor))
    }
}

/// A count.
impl Value for u32 {
    const TYPE: &'static str = "number";

    fn parse(text: &str) -> Result<u32, String> {
        text.parse().map_err(|_| "which is no whole number from 0 to 4294967295".to_owned())
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

const TIME_UNITS: &[(&str, u64)] =
    &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// A time.
impl Value for Duration {
    const TYPE: &'static str = "time";

    fn parse(text: &str) -> Result<Duration, String> {
        let (number, unit) = split_number(text);
        let factor = TIME_UNITS.iter().find(|(name, _)| *name == unit.replace('µ', "u"));
        let number = number.parse::<f64>().ok();
        let nanos = number.zip(factor).map(|(n, (_, factor))| (n * *factor as f64).round());
        nanos
            .filter(|n| *n < 1e18)
            .map(|n| Duration::from_nanos(n as u64))
            .ok_or_else(|| "which is no time with a unit such as 5ms, 200us or 1.5s".to_owned())
    }

    fn show(&self) -> String {
        let nanos = self.as_nanos() as u64;
        let exact = TIME_UNITS.iter().find(|(_, factor)| nanos.is_multiple_of(*factor));
        exact.map_or_else(String::new, |(unit, factor)| format!("{}{unit}", nanos / factor))
    }
}

/// A switch.
impl Value for bool {
    const TYPE: &'static str = "switch";

    fn parse(text: &str) -> Result<bool, String> {
        match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "on" | "yes" => Ok(true),
            "0" | "false" | "off" | "no" => Ok(false),
            _ => Err("which is neither on nor off".to_owned()),
        }
    }

    fn show(&self) -> String {
        if *self { "on" } else { "off" }.to_owned()
    }
}

/// Any text.
impl Value for String {
    const TYPE: &'static str = "text";

    fn parse(text: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }

    fn show(&self) -> String {
        self.clone()
    }
}

/// An enumeration whose values have names.
macro_rules! choices {
    ($(#[$doc:meta])* $type:ident { $($(#[$of:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $type { $($(#[$of])* $variant,)* }

        impl $crate::settings::value::Value for $type {
            const TYPE: &'static str = "choice";
            const CHOICES: &'static [&'static str] = &[$($name),*];

            fn parse(text: &str) -> std::result::Result<$type, String> {
                $(if text.eq_ignore_ascii_case($name) { return Ok($type::$variant); })*
                Err(format!("which is none of {}", [$($name),*].join(", ")))
            }

            fn show(&self) -> String {
                match self { $($type::$variant => $name,)* }.to_owned()
            }
        }
    };
}
pub(super) use choices;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn people_write_units() {
        assert_eq!(u64::parse("64KiB"), Ok(65536));
        assert_eq!(u64::parse("64 kib"), Ok(65536));
        assert_eq!(u64::parse("1_000"), Ok(1000));
        assert_eq!(u64::parse("2kB"), Ok(2000));
        assert!(u64::parse("99999999999GiB").is_err());
        assert!(
            u64::parse("-1").is_err()
                && u64::parse("").is_err()
                && u64::parse("4 bananas").is_err()
        );
        assert_eq!(Duration::parse("5ms"), Ok(Duration::from_millis(5)));
        assert_eq!(Duration::parse("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(Duration::parse("7 µs"), Ok(Duration::from_micros(7)));
        assert!(Duration::parse("5").is_err() && Duration::parse("1e9s").is_err());
        assert_eq!(bool::parse("On"), Ok(true));
        assert!(bool::parse("maybe").is_err());
        assert_eq!(u64::show(&(3 << 20)), "3MiB");
        assert_eq!(Duration::from_micros(1500).show(), "1500us");
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(bytes: u64, nanos in 0..1u64 << 53, flag: bool, count: u32) {
            prop_assert_eq!(u64::parse(&bytes.show()), Ok(bytes));
            prop_assert_eq!(u64::parse(&(bytes & !0xf_ffff).show()), Ok(bytes & !0xf_ffff));
            let time = Duration::from_nanos(nanos);
            prop_assert_eq!(Duration::parse(&time.show()), Ok(time));
            prop_assert_eq!(bool::parse(&flag.show()), Ok(flag));
            prop_assert_eq!(u32::parse(&count.show()), Ok(count));
        }

        #[test]
        fn any_text_is_read_without_panic(text in ".{0,12}") {
            let _ = (u64::parse(&text), Duration::parse(&text), bool::parse(&text), u32::parse(&text));
        }
    }
}
