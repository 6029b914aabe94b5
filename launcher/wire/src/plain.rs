//! Messages for people: the system's words for an error without its number, which Rust adds and which tells a scientist
//! nothing.

use std::borrow::Cow;

const NUMBER: &str = " (os error ";

/// `text` without the numbers of the system's errors, as in `No such file or directory (os error 2)`.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(NUMBER) {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split(NUMBER);
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let behind = part.trim_start_matches(|c: char| c.is_ascii_digit());
        match behind.strip_prefix(')') {
            Some(rest) if behind.len() < part.len() => whole.push_str(rest),
            _ => whole.extend([NUMBER, part]),
        }
    }
    Cow::Owned(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_errors_are_left_out_and_nothing_else() {
        let error = std::io::Error::from_raw_os_error(2);
        assert_eq!(plain(&format!("x: {error}; y: {error}.")).matches("os error").count(), 0);
        assert_eq!(plain("gone (os error 2); or (os error 107)."), "gone; or.");
        for text in ["", "(os error 2)", "a (os error x)", "a (os error )", "a (os error 3"] {
            assert_eq!(plain(text), text);
        }
    }
}
