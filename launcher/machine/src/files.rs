//! Files that a user names and that are read whole: no longer than such a file can sensibly be, so that a name that
//! leads to a device or to data ends in an error and not in all of the memory.

use std::fs::File;
use std::io::{self, Error, ErrorKind, Read};
use std::path::Path;

/// Bytes of the longest file that is read: settings, tables and lists of hosts are a thousand times shorter.
const BYTES_MAX: u64 = 16 << 20;

/// The text in a file.
///
/// # Errors
/// The kernel's, text that is not UTF-8, and more than 16 MiB of it.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(BYTES_MAX + 1).read_to_string(&mut text);
    if read? as u64 > BYTES_MAX {
        let why = "it is longer than 16 MiB, which no such file is";
        return Err(Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused() {
        assert_eq!(read_text("/dev/zero").unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_text("/no/such/file").unwrap_err().kind(), ErrorKind::NotFound);
        assert!(read_text("/proc/self/status").unwrap().contains("Name:"));
    }
}
