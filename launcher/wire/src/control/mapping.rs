//! The lines of `/proc/self/maps`, which say what lies where in a process. A signal handler reads
//! them too: nothing here allocates.

/// One line of `/proc/self/maps`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping<'a> {
    /// Its first address.
    pub start: u64,
    /// The first behind it.
    pub end: u64,
    /// Whether it may be written.
    pub writes: bool,
    /// Whether it may be read, written or executed at all.
    pub is_open: bool,
    /// Whether it holds code.
    pub executes: bool,
    /// Whether what this process writes there is its own, and not that of the file or of others.
    pub is_private: bool,
    /// Where in its file it begins.
    pub offset: u64,
    /// The file, or a name in brackets, or nothing.
    pub path: &'a [u8],
}

impl<'a> Mapping<'a> {
    /// Reads a line, without its end.
    pub fn read(line: &'a [u8]) -> Option<Mapping<'a>> {
        let (addresses, rest) = split(line, b' ')?;
        let (start, end) = split(addresses, b'-')?;
        let (rights, rest) = split(rest, b' ')?;
        let (offset, rest) = split(rest, b' ')?;
        let (_device, rest) = split(rest, b' ')?;
        let inode = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        let &[reads, writes, executes, whose] = rights else { return None };
        Some(Mapping {
            start: hex(start)?,
            end: hex(end)?,
            writes: writes == b'w',
            is_open: [reads, writes, executes] != *b"---",
            executes: executes == b'x',
            is_private: whose == b'p',
            offset: hex(offset)?,
            path: rest[inode..].trim_ascii_start(),
        })
    }

    /// Whether an address lies in it.
    pub fn holds(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = text.iter().position(|byte| *byte == at)?;
    Some((&text[..place], &text[place + 1..]))
}

fn hex(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 16 {
        return None;
    }
    let digit =
        |value: u64, byte: &u8| Some(value << 4 | u64::from(char::from(*byte).to_digit(16)?));
    text.iter().try_fold(0, digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_mapping_is_read() {
        let line = b"7f00-7f80 r-xp 00001000 fe:00 1234                       /lib/a b.so";
        let mapping = Mapping::read(line).unwrap();
        assert_eq!((mapping.start, mapping.end, mapping.offset), (0x7f00, 0x7f80, 0x1000));
        assert!(mapping.executes && !mapping.writes && mapping.is_open && mapping.is_private);
        assert!(!Mapping::read(b"10-20 rw-s 00000000 00:01 7 /memfd:a").unwrap().is_private);
        assert_eq!(mapping.path, b"/lib/a b.so");
        let guard = Mapping::read(b"10-20 ---p 00000000 00:00 0 ").unwrap();
        assert!(!guard.is_open && guard.path.is_empty() && guard.holds(0x1f) && !guard.holds(0x20));
    }

    proptest! {
        #[test]
        fn any_line_is_a_mapping_or_not(line in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = Mapping::read(&line);
        }
    }
}
