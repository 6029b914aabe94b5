//! The lines of PMI version 1: `cmd=put kvsname=kvs_0 key=card-3 value=…` and a line end.
//!
//! In: bytes from a socket, in whatever pieces they come. Out: checked lines, or an error that
//! says what was wrong with them. Printing refuses what could not be parsed again.

use super::{LINE_MAX, WORDS_MAX};
use std::fmt;

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireError {
    /// No line end within the limit.
    TooLong,
    /// More words than any command has.
    TooManyWords,
    /// Bytes that are not UTF-8, or control characters.
    NotText,
    /// A message without `cmd=` in front.
    NoCommand(String),
    /// A word that is missing or not of the form that the command needs.
    BadWord(&'static str),
    /// A key or value that a line cannot carry: empty key, blank, line end or control character.
    Unprintable(String),
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireError::TooLong => write!(f, "a PMI line has no end within {LINE_MAX} bytes"),
            WireError::TooManyWords => write!(f, "a PMI line has more than {WORDS_MAX} words"),
            WireError::NotText => write!(f, "a PMI line holds bytes that are not text"),
            WireError::NoCommand(line) => {
                write!(f, "a PMI line does not begin with cmd=: “{}”", line.escape_debug())
            }
            WireError::BadWord(word) => write!(f, "a PMI line has no usable word “{word}=”"),
            WireError::Unprintable(word) => {
                write!(f, "a PMI line cannot carry “{}”", word.escape_debug())
            }
        }
    }
}

impl std::error::Error for WireError {}

/// One message, cut into words. Borrowed from the bytes that it was parsed from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<'a> {
    command: &'a str,
    words: Vec<(&'a str, &'a str)>,
}

impl<'a> Line<'a> {
    /// Parses one line without its line end. The command is the value of the first word, whose key
    /// is `cmd` or, for the opening line of a block, `mcmd`; a word without `=` has an empty value.
    pub fn parse(bytes: &'a [u8]) -> Result<Line<'a>, WireError> {
        if bytes.len() > LINE_MAX {
            return Err(WireError::TooLong);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| WireError::NotText)?;
        if text.chars().any(|c| c.is_control() && c != '\r') {
            return Err(WireError::NotText);
        }
        let mut words = Vec::new();
        for word in text.split([' ', '\r']).filter(|word| !word.is_empty()) {
            if words.len() == WORDS_MAX {
                return Err(WireError::TooManyWords);
            }
            words.push(word.split_once('=').unwrap_or((word, "")));
        }
        match words.first() {
            Some(&("cmd" | "mcmd", command)) if !command.is_empty() => {
                Ok(Line { command, words: words.split_off(1) })
            }
            _ => Err(WireError::NoCommand(text.chars().take(80).collect())),
        }
    }

    /// The command.
    pub fn command(&self) -> &'a str {
        self.command
    }

    /// The value of `key`, the first one where it is given twice.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.words.iter().find(|(k, _)| *k == key).map(|&(_, v)| v)
    }

    /// The value of `key`, which the command cannot do without.
    pub fn need(&self, key: &'static str) -> Result<&'a str, WireError> {
        self.get(key).ok_or(WireError::BadWord(key))
    }

    /// The value of `key` as a number, which the command cannot do without.
    pub fn number(&self, key: &'static str) -> Result<i64, WireError> {
        self.need(key)?.parse().map_err(|_| WireError::BadWord(key))
    }
}

/// Prints a message, line end included, or says why a line cannot carry it.
pub fn compose(command: &str, words: &[(&str, &str)]) -> Result<String, WireError> {
    let mut line = String::from("cmd=");
    carryable(command, command)?;
    line.push_str(command);
    for (key, value) in words {
        carryable(key, key)?;
        carryable(value, "x")?;
        if key.contains('=') {
            return Err(WireError::Unprintable(key.to_string()));
        }
        line.push(' ');
        line.push_str(key);
        line.push('=');
        line.push_str(value);
    }
    line.push('\n');
    if line.len() > LINE_MAX { Err(WireError::TooLong) } else { Ok(line) }
}

/// A word must hold no blank, line end or control character, and what must be there, something.
fn carryable(word: &str, nonempty: &str) -> Result<(), WireError> {
    if nonempty.is_empty() || word.chars().any(|c| c == ' ' || c.is_control()) {
        return Err(WireError::Unprintable(word.chars().take(80).collect()));
    }
    Ok(())
}

/// Collects bytes until a line is complete. Holds at most one line over [`LINE_MAX`] bytes.
#[derive(Debug, Default)]
pub struct LineBuffer {
    bytes: Vec<u8>,
    taken: usize,
}

impl LineBuffer {
    /// Adds bytes as they were read.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next complete line without its line end, if there is one. A line that grows beyond the
    /// limit is an error, after which the stream is of no further use.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, WireError> {
        let rest = &self.bytes[self.taken..];
        match rest.iter().position(|&b| b == b'\n') {
            Some(end) if end > LINE_MAX => Err(WireError::TooLong),
            None if rest.len() > LINE_MAX => Err(WireError::TooLong),
            None => Ok(None),
            Some(end) => {
                let start = self.taken;
                self.taken += end + 1;
                Ok(Some(&self.bytes[start..start + end]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_of_a_put() {
        let line = Line::parse(b"cmd=put kvsname=kvs_1 key=a=b  value=x=y=z\r").unwrap();
        assert_eq!(line.command(), "put");
        assert_eq!(line.get("kvsname"), Some("kvs_1"));
        assert_eq!(line.get("key"), Some("a=b"));
        assert_eq!(line.get("value"), Some("x=y=z"));
        assert_eq!(line.get("rc"), None);
        assert_eq!(line.number("value"), Err(WireError::BadWord("value")));
    }

    #[test]
    fn what_is_not_a_command_is_refused() {
        assert!(matches!(Line::parse(b""), Err(WireError::NoCommand(_))));
        assert!(matches!(Line::parse(b"key=1"), Err(WireError::NoCommand(_))));
        assert!(matches!(Line::parse(b"cmd="), Err(WireError::NoCommand(_))));
        assert_eq!(Line::parse(b"cmd=a\x01"), Err(WireError::NotText));
        assert_eq!(Line::parse(b"cmd=\xff"), Err(WireError::NotText));
        assert!(compose("put", &[("value", "two words")]).is_err());
        assert!(compose("put", &[("value", "two\nlines")]).is_err());
        assert!(compose("put", &[("", "x")]).is_err());
        assert!(compose("put", &[("value", "")]).is_ok());
    }

    #[test]
    fn endless_lines_end() {
        let mut buffer = LineBuffer::default();
        buffer.push(&vec![b'x'; LINE_MAX + 1]);
        assert_eq!(buffer.next_line(), Err(WireError::TooLong));
    }

    proptest! {
        #[test]
        fn any_bytes_parse_or_fail(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Line::parse(&bytes);
        }

        #[test]
        fn words_of_any_text(text in "(cmd=)?[ -~\n=]{0,200}") {
            let _ = Line::parse(text.as_bytes());
        }

        #[test]
        fn composed_lines_parse_again(
            command in "[a-z_]{1,12}",
            words in proptest::collection::vec(("[a-zA-Z_]{1,8}", "[!-~]{0,40}"), 0..8),
        ) {
            let pairs: Vec<(&str, &str)> =
                words.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
            let text = compose(&command, &pairs).unwrap();
            let line = Line::parse(text.trim_end().as_bytes()).unwrap();
            prop_assert_eq!(line.command(), command);
            for (key, _) in &pairs {
                let first = pairs.iter().find(|(k, _)| k == key).unwrap().1;
                prop_assert_eq!(line.get(key), Some(first));
            }
        }

        #[test]
        fn lines_do_not_depend_on_how_they_are_cut(
            lines in proptest::collection::vec("[ -~]{0,30}", 0..10), piece in 1usize..20,
        ) {
            let whole: String = lines.iter().map(|l| format!("{l}\n")).collect();
            let (mut buffer, mut got) = (LineBuffer::default(), Vec::new());
            for part in whole.as_bytes().chunks(piece) {
                buffer.push(part);
                while let Some(line) = buffer.next_line().unwrap() {
                    got.push(String::from_utf8(line.to_vec()).unwrap());
                }
            }
            prop_assert_eq!(got, lines);
        }
    }
}
