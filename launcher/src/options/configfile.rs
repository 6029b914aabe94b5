//! `-configfile FILE` (MPI-5.0 §11.5): the command line is in a file, one program with its options
//! on each line. A line that begins with `#` is a comment, one that ends with `\` goes on in the
//! next. Words are separated by blanks; quotes and backslashes keep blanks together as in a shell.

use std::ffi::{OsStr, OsString};
use std::fs;

/// Names of the option, without dashes.
const NAMES: [&str; 3] = ["configfile", "app", "appfile"];

/// The command line, with the file's contents in place of the option if it is there.
pub(super) fn expand(arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let (Some(option), file) = (arguments.first(), arguments.get(1)) else { return Ok(arguments) };
    let name = option.to_str().unwrap_or_default();
    let name = name.strip_prefix("--").or_else(|| name.strip_prefix('-')).unwrap_or_default();
    if !NAMES.contains(&name) {
        return Ok(arguments);
    }
    let file = match (file, arguments.len()) {
        (Some(file), 2) => file,
        _ => return Err(format!("-{name} FILE stands alone: all other options are in the file")),
    };
    let text = fs::read_to_string(file)
        .map_err(|e| format!("-{name}: {} cannot be read: {e}", OsStr::display(file)))?;
    words(&text).ok_or_else(|| format!("-{name}: {} has a quote without end", file.display()))
}

/// The words of all lines, with `:` between lines; `None` if a quote has no end.
fn words(text: &str) -> Option<Vec<OsString>> {
    let mut all: Vec<OsString> = Vec::new();
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    for line in joined.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if !all.is_empty() {
            all.push(":".into());
        }
        all.extend(split(line)?.into_iter().map(OsString::from));
    }
    Some(all)
}

/// One line's words, with quotes and backslashes as in a shell; `None` if a quote has no end.
pub(crate) fn split(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(end), _) if letter == end => quote = None,
            (None, '\'' | '"') => {
                word.get_or_insert_default();
                quote = Some(letter);
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().push(letters.next()?),
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    if quote.is_some() { None } else { Some(words) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_programs() {
        let text = "# two programs\n-n 1 ./ocean 'a b' \"c \\\" d\"\n\n -n 2 \\\n ./ice x\\ y ''\n";
        let expected = ["-n", "1", "./ocean", "a b", "c \" d", ":", "-n", "2", "./ice", "x y", ""];
        assert_eq!(words(text).unwrap(), expected);
        assert_eq!(words("a 'b"), None);
    }

    #[test]
    fn the_option_stands_alone() {
        let line = |words: &[&str]| expand(words.iter().map(OsString::from).collect());
        assert_eq!(line(&["-n", "2", "a"]).unwrap().len(), 3);
        assert!(line(&["-configfile"]).unwrap_err().contains("stands alone"));
        assert!(line(&["--app", "/no/such/file"]).unwrap_err().contains("/no/such/file"));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[ -~\n]{0,60}") {
            let _ = words(&text);
        }

        #[test]
        fn quoted_words_come_back(list in proptest::collection::vec("[^'\n\r\\\\#][^'\n\r\\\\]{0,8}", 1..5)) {
            let line: Vec<String> = list.iter().map(|word| format!("'{word}'")).collect();
            prop_assert_eq!(split(&line.join(" ")), Some(list));
        }
    }
}
