//! The time where the user lives.

use std::ffi::CStr;
use std::mem::zeroed;
use std::ptr;

/// The time as clocks in log files show it: `Sun Nov 29 12:00:00 2026`; empty if the system knows none.
pub(crate) fn time_of_day() -> String {
    let mut text = [0u8; 64];
    // SAFETY: a tm is plain numbers and a pointer that nobody follows while it is null. The calls read `now` and
    // write `day`; strftime writes at most the size that it is given, with a zero at the end.
    let written = unsafe {
        let now = libc::time(ptr::null_mut());
        let mut day: libc::tm = zeroed();
        if libc::localtime_r(&now, &mut day).is_null() {
            return String::new();
        }
        libc::strftime(text.as_mut_ptr().cast(), text.len(), c"%a %b %e %H:%M:%S %Y".as_ptr(), &day)
    };
    let told = CStr::from_bytes_until_nul(&text).ok().filter(|_| written > 0);
    told.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::time_of_day;

    #[test]
    fn five_words() {
        let time = time_of_day();
        let words: Vec<&str> = time.split_whitespace().collect();
        assert_eq!(words.len(), 5, "{time}");
        assert!(words[3].split(':').all(|part| part.len() == 2), "{time}");
    }
}
