//! `-configfile FILE` (MPI-5.0 §11.5): the command line is in a file, one program with its options
//! on each line. A line that begins with `#` is a comment, one that ends with `\` goes on in the
//! next. Words are separated by blanks; quotes and backslashes keep blanks together as in a shell.

use super::spelling::{self, CONFIGFILE, Spelled};
use clap::Command;
use clap::error::ErrorKind;
use std::ffi::{OsStr, OsString};

/// The command line `typed`, which names `file`, with the programs of the file. Options that were
/// typed hold for all of these, where the file does not say otherwise.
pub(super) fn open(
    command: &mut Command,
    typed: Spelled,
    file: &OsStr,
) -> Result<Spelled, clap::Error> {
    let shown = file.display();
    let mut refusal =
        |why: String| command.error(ErrorKind::Io, format!("-configfile: {shown} {why}"));
    if let Some(extra) = typed.segments.iter().find(|segment| !segment.program.is_empty()) {
        let extra = extra.program.display();
        return Err(refusal(format!(
            "names all programs of the job, so that “{extra}” cannot be run beside them: add a \
             line for it to the file, or leave out -configfile"
        )));
    }
    let text = match machine::read_text(file) {
        Ok(text) => text,
        Err(error) => return Err(refusal(format!("cannot be read: {error}"))),
    };
    let Some(words) = words(&text) else {
        return Err(refusal("has a quote without end".to_string()));
    };
    if words.is_empty() {
        return Err(refusal("names no program".to_string()));
    }
    let mut read = spelling::split(command, words)?;
    if read.global.iter().any(|word| word == CONFIGFILE) {
        let why = format!("-configfile: {shown} names a further file, which it cannot");
        return Err(command.error(ErrorKind::Io, why));
    }
    let mut global = typed.global;
    global.append(&mut read.global);
    let of_all: Vec<OsString> = typed.segments.into_iter().flat_map(|s| s.options).collect();
    for segment in &mut read.segments {
        segment.options.splice(0..0, of_all.iter().cloned());
    }
    Ok(Spelled { global, segments: read.segments })
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
