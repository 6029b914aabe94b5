//! From the spellings of three launchers to one: `-np 4`, `--np 4`, `-genv NAME VALUE`,
//! `-genv NAME=VALUE`, `-bind-to core`. Which options there are, and how many values each takes, is
//! asked of clap's description; nothing is listed a second time here.

use super::elsewhere;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The option that names a file of programs, as [`split`] writes it.
pub(super) const CONFIGFILE: &str = "--configfile";

/// The option that gives a number of ranks.
const RANKS: &str = "--np";

/// The pieces of a command line, options in the form that clap reads.
#[derive(Debug, Default)]
pub(super) struct Spelled {
    /// Options of the whole job, from whichever segment.
    pub(super) global: Vec<OsString>,
    /// The programs.
    pub(super) segments: Vec<SpelledSegment>,
}

/// One program with the options in front of it.
#[derive(Debug, Default)]
pub(super) struct SpelledSegment {
    pub(super) options: Vec<OsString>,
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
}

/// Cuts the command line at `:` and each part into options, program and arguments.
pub(super) fn split(command: &Command, arguments: Vec<OsString>) -> Result<Spelled, clap::Error> {
    let mut command = command.clone();
    command.build();
    let mut spelled = Spelled::default();
    for part in arguments.split(|word| word == ":") {
        let segment = one_program(&mut command, part, &mut spelled.global)?;
        spelled.segments.push(segment);
    }
    Ok(spelled)
}

fn one_program(
    command: &mut Command,
    words: &[OsString],
    global: &mut Vec<OsString>,
) -> Result<SpelledSegment, clap::Error> {
    let mut segment = SpelledSegment::default();
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if word == "--" {
            break;
        }
        if !word.as_bytes().starts_with(b"-") || word.len() == 1 {
            rest = &words[words.len() - rest.len() - 1..];
            break;
        }
        let option = Found::find(command, word)?;
        if matches!(option.word.to_str(), Some("--help" | "--version")) {
            return Err(answer(command, option.word));
        }
        let (values, after) = option.values(command, word, rest)?;
        rest = after;
        if option.word == RANKS {
            refuse_two_numbers(command, &segment.options, word, &values)?;
        }
        let target = if option.local { &mut segment.options } else { &mut *global };
        target.push(option.word);
        target.extend(values);
    }
    let Some((program, arguments)) = rest.split_first() else {
        if global.iter().any(|word| word == "--settings" || word == CONFIGFILE) {
            return Ok(segment);
        }
        let what = "there is no program to run: mpirun -n N PROGRAM [ARGUMENTS]";
        return Err(command.error(ErrorKind::MissingRequiredArgument, what));
    };
    segment.program = program.clone();
    segment.arguments = arguments.to_vec();
    Ok(segment)
}

/// Two options of one program that give different numbers of ranks: one of them is meant otherwise,
/// most likely as srun's -c.
fn refuse_two_numbers(
    command: &mut Command,
    options: &[OsString],
    word: &OsStr,
    values: &[OsString],
) -> Result<(), clap::Error> {
    let before = options.windows(2).find(|pair| pair[0] == RANKS).map(|pair| &pair[1]);
    match before.zip(values.first()).filter(|(before, now)| before != now) {
        None => Ok(()),
        Some((before, now)) => {
            let (word, before, now) = (word.display(), before.display(), now.display());
            let what = format!(
                "{word} {now} gives a number of ranks, as with Open MPI, but {before} were asked for \
                 before: leave one of them out (for {now} cores a rank: --map-by slot:PE={now})"
            );
            Err(command.error(ErrorKind::ArgumentConflict, what))
        }
    }
}

/// What clap has to say to `--help` and `--version`, which it returns as errors.
fn answer(command: &mut Command, word: OsString) -> clap::Error {
    let nothing = "there is nothing to tell";
    match command.try_get_matches_from_mut([word]) {
        Err(answer) => answer,
        Ok(_) => command.error(ErrorKind::InvalidValue, nothing),
    }
}

/// One option as it was found in the description.
struct Found {
    /// Its canonical word.
    word: OsString,
    /// How many values follow.
    arity: usize,
    /// The value that was attached by `=` or, after a one-letter option, by nothing.
    attached: Option<OsString>,
    /// Whether it belongs to one program.
    local: bool,
}

/// Options of `Local`, by clap's identifiers.
pub(super) const LOCAL: [&str; 10] = [
    "ranks",
    "host",
    "hostfile",
    "directory",
    "path",
    "export",
    "env",
    "envlist",
    "envnone",
    "envall",
];

impl Found {
    fn find(command: &mut Command, word: &OsStr) -> Result<Found, clap::Error> {
        let bytes = word.as_bytes();
        let double = bytes.starts_with(b"--");
        let body = &bytes[if double { 2 } else { 1 }..];
        let (name, attached) = match body.iter().position(|&b| b == b'=') {
            Some(at) => (&body[..at], Some(OsString::from_vec(body[at + 1..].to_vec()))),
            None => (body, None),
        };
        let name = String::from_utf8_lossy(name).replace('_', "-");
        let found = |arg: &Arg, attached| Found {
            word: canonical(arg),
            arity: arg.get_num_args().map_or(0, |range| range.min_values()),
            attached,
            local: LOCAL.contains(&arg.get_id().as_str()),
        };
        if let Some(arg) = command.get_arguments().find(|arg| is_long(arg, &name)) {
            return Ok(found(arg, attached));
        }
        let letter = name.chars().next().filter(|_| !double);
        let short = command.get_arguments().find(|arg| letter.is_some_and(|c| is_short(arg, c)));
        if let Some(arg) = short {
            let mut option = found(arg, None);
            let value = &body[letter.map_or(0, char::len_utf8)..];
            let digits = option.arity == 1 && value.iter().all(u8::is_ascii_digit);
            if value.is_empty() {
                return Ok(option);
            } else if digits {
                option.attached = Some(OsString::from_vec(value.to_vec()));
                return Ok(option);
            }
        }
        Err(unknown(command, word, &name))
    }

    /// The values of this option: attached ones, or the words that follow.
    fn values<'a>(
        &self,
        command: &mut Command,
        word: &OsStr,
        rest: &'a [OsString],
    ) -> Result<(Vec<OsString>, &'a [OsString]), clap::Error> {
        let mut values: Vec<OsString> = self.attached.iter().cloned().collect();
        let mut rest = rest;
        while values.len() < self.arity {
            let Some((value, after)) = rest.split_first() else {
                let what = format!("{} needs {} value(s)", word.to_string_lossy(), self.arity);
                return Err(command.error(ErrorKind::WrongNumberOfValues, what));
            };
            rest = after;
            // -genv NAME=VALUE is one word for two values.
            match value.as_bytes().iter().position(|&b| b == b'=') {
                Some(at) if self.arity == 2 && values.is_empty() => {
                    values.push(OsString::from_vec(value.as_bytes()[..at].to_vec()));
                    values.push(OsString::from_vec(value.as_bytes()[at + 1..].to_vec()));
                }
                _ => values.push(value.clone()),
            }
        }
        if values.len() > self.arity {
            let what = format!("{} takes no value", word.to_string_lossy());
            return Err(command.error(ErrorKind::TooManyValues, what));
        }
        Ok((values, rest))
    }
}

fn is_long(arg: &Arg, name: &str) -> bool {
    let aliases = arg.get_all_aliases().unwrap_or_default();
    arg.get_long() == Some(name) || aliases.contains(&name)
}

fn is_short(arg: &Arg, letter: char) -> bool {
    let aliases = arg.get_all_short_aliases().unwrap_or_default();
    arg.get_short() == Some(letter) || aliases.contains(&letter)
}

fn canonical(arg: &Arg) -> OsString {
    match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => format!("--{long}").into(),
        (None, Some(short)) => format!("-{short}").into(),
        (None, None) => OsString::new(),
    }
}

/// The error for a name that nobody knows, with the nearest one that somebody does.
fn unknown(command: &mut Command, word: &OsStr, name: &str) -> clap::Error {
    let shown = word.to_string_lossy().into_owned();
    if let Some(instead) = elsewhere::instead_of(name) {
        let what = format!("{shown} is an option of other launchers. {instead}");
        return command.error(ErrorKind::UnknownArgument, what);
    }
    let names = command.get_arguments().flat_map(|arg| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        arg.get_long().into_iter().chain(aliases).map(str::to_string).collect::<Vec<_>>()
    });
    let near = names.map(|known| (distance(&known, name), known)).min();
    let mut error = clap::Error::new(ErrorKind::UnknownArgument).with_cmd(command);
    error.insert(ContextKind::InvalidArg, ContextValue::String(shown));
    if let Some((_, known)) = near.filter(|(d, _)| *d <= 1 + name.len() / 3) {
        let dashes = if word.as_bytes().starts_with(b"--") { "--" } else { "-" };
        let known = format!("{dashes}{known}");
        error.insert(ContextKind::SuggestedArg, ContextValue::String(known));
    }
    error
}

/// The number of letters to add, drop or change between two names (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let best = (diagonal + usize::from(x != *y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], best);
        }
    }
    row[b.len()]
}
