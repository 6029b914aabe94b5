//! The names of calls: functions, files and lines, from what compilers write into programs and
//! libraries for debuggers, or from their tables of symbols, by the crate `addr2line`.

use super::Call;
use addr2line::{Loader, demangle_auto};
use object::read::{Object, ObjectSegment, ReadCache};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Lines that are printed at most: functions that the compiler has put into others have their own.
const LINES_MAX: usize = 100;

/// What is known of calls.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// A line each, those of a recursion together.
    pub(super) lines: String,
    /// The procedure of MPI in which they end, if they do.
    pub(super) procedure: Option<String>,
}

/// The files that have been looked into.
#[derive(Default)]
pub(super) struct Symbols {
    files: HashMap<PathBuf, Option<Binary>>,
}

/// A program or a library.
struct Binary {
    loader: Loader,
    /// For each part that is loaded its place in the file, its length and its address.
    parts: Vec<(u64, u64, u64)>,
}

impl Binary {
    fn open(path: &Path) -> Option<Binary> {
        let file = ReadCache::new(File::open(path).ok()?);
        let object = object::File::parse(&file).ok()?;
        let part = |segment: object::Segment<'_, '_, _>| {
            let (offset, length) = segment.file_range();
            (offset, length, segment.address())
        };
        let parts = object.segments().map(part).collect();
        Some(Binary { loader: Loader::new(path).ok()?, parts })
    }

    /// The address that the debugger's tables have for a place in the file.
    fn address(&self, place: u64) -> Option<u64> {
        let part = self.parts.iter().find(|(offset, length, _)| {
            place.checked_sub(*offset).is_some_and(|behind| behind < *length)
        });
        part.map(|(offset, _, address)| place - offset + address)
    }
}

/// A function, and where in its source.
struct Function {
    name: String,
    place: Option<String>,
}

impl Symbols {
    /// Names calls, of which so many are left out behind some of them.
    pub(super) fn name(&mut self, calls: &[Call], (cut_at, cut): (u32, u32)) -> Named {
        let (mut lines, mut procedure) = (Lines::default(), None);
        for (number, call) in calls.iter().enumerate() {
            if cut > 0 && number == cut_at as usize {
                lines.push(format!("… {cut} calls are left out"), 1);
            }
            // Of a caller the address behind the call is known, which may be that of the next line.
            let back = u64::from(number > 0);
            let functions = match call {
                Call::At(path, place) => self.functions(path, place.saturating_sub(back)),
                Call::Nowhere(_) => Vec::new(),
            };
            let outermost = functions.last().map(|function| &*function.name);
            procedure =
                outermost.filter(|name| is_procedure(call, name)).map(str::to_string).or(procedure);
            if functions.is_empty() {
                lines.push(place_of(call), 1);
            }
            for Function { name, place } in functions {
                let place = place.unwrap_or_else(|| place_of(call));
                lines.push(format!("{name} {place}"), 1);
            }
        }
        Named { lines: lines.finish(), procedure }
    }

    /// The function at a place of a file, and before it those that were put into it.
    fn functions(&mut self, path: &Path, place: u64) -> Vec<Function> {
        let binary = self.files.entry(path.to_path_buf()).or_insert_with(|| Binary::open(path));
        let Some((binary, address)) =
            binary.as_ref().and_then(|binary| Some((binary, binary.address(place)?)))
        else {
            return Vec::new();
        };
        let mut functions = Vec::new();
        if let Ok(mut frames) = binary.loader.find_frames(address) {
            while let Ok(Some(frame)) = frames.next() {
                let Some(function) = frame.function else { continue };
                let Ok(name) = function.demangle() else { continue };
                let place = frame.location.and_then(|location| {
                    let (file, line) = (location.file?, location.line?);
                    Some(format!("at {file}:{line}"))
                });
                functions.push(Function { name: readable(&name), place });
            }
        }
        if functions.is_empty()
            && let Some(name) = binary.loader.find_symbol(address)
        {
            functions
                .push(Function { name: readable(&demangle_auto(name.into(), None)), place: None });
        }
        functions
    }
}

/// The place of a call that has no line.
fn place_of(call: &Call) -> String {
    match call {
        Call::At(path, place) => {
            let name = path.file_name().unwrap_or(path.as_os_str());
            format!("({}, at {place:#x} of the file)", name.to_string_lossy())
        }
        Call::Nowhere(address) => format!("({address:#x}, where no code is)"),
    }
}

/// A procedure of a module as its source has it, which gfortran calls `__heat_MOD_step`.
fn readable(name: &str) -> String {
    match name.strip_prefix("__").and_then(|rest| rest.split_once("_MOD_")) {
        Some((module, procedure)) => format!("{module}::{procedure}"),
        None => name.to_string(),
    }
}

/// Whether a function is one by which programs call MPI.
fn is_procedure(call: &Call, name: &str) -> bool {
    let Call::At(path, _) = call else { return false };
    let library = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libmpi"));
    let name = name.to_ascii_lowercase();
    library && name.strip_prefix('p').unwrap_or(&name).starts_with("mpi_") && !name.contains(':')
}

/// Numbered lines, of which equal neighbours are counted.
#[derive(Default)]
struct Lines {
    lines: Vec<(String, usize)>,
}

impl Lines {
    fn push(&mut self, line: String, times: usize) {
        match self.lines.last_mut() {
            Some((last, count)) if *last == line => *count += times,
            _ => self.lines.push((line, times)),
        }
    }

    fn finish(self) -> String {
        let (mut text, mut number) = (String::new(), 0);
        for (line, times) in self.lines.into_iter().take(LINES_MAX) {
            if line.starts_with('…') {
                text += &format!("{line}\n");
                continue;
            }
            let repeated = if times > 1 { format!(" ({times} times)") } else { String::new() };
            text += &format!("#{number} {line}{repeated}\n");
            number += times;
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Where a function of this test lies in the file of the test.
    fn place_in_file(address: usize) -> Call {
        let maps = fs::read("/proc/self/maps").unwrap();
        let trail = launch_wire::control::dying::Trail {
            calls: vec![address as u64],
            maps,
            ..Default::default()
        };
        super::super::calls_of(&trail).remove(0)
    }

    #[test]
    fn a_function_is_found_with_its_file_and_line() {
        let here = place_in_file(a_function_is_found_with_its_file_and_line as *const () as usize);
        let named = Symbols::default().name(&[here], (0, 0));
        assert!(
            named.lines.starts_with("#0 launcher::dying::symbols::tests::a_function"),
            "{}",
            named.lines
        );
        assert!(named.lines.contains("symbols.rs:"), "{}", named.lines);
        assert_eq!(named.procedure, None);
    }

    #[test]
    fn recursions_are_counted_and_what_is_left_out_is_said() {
        let calls = [1, 2, 2, 2, 3].map(Call::Nowhere);
        let named = Symbols::default().name(&calls, (4, 7));
        let lines: Vec<&str> = named.lines.lines().collect();
        let expected = [
            "#0 (0x1, where no code is)",
            "#1 (0x2, where no code is) (3 times)",
            "… 7 calls are left out",
            "#4 (0x3, where no code is)",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(readable("__heat_MOD_step"), "heat::step");
        assert_eq!(readable("__libc_start_main"), "__libc_start_main");
        let library = Call::At("/opt/lib/libmpi_abi.so.1".into(), 0);
        assert!(is_procedure(&library, "MPI_Send") && is_procedure(&library, "pmpi_send_"));
        assert!(!is_procedure(&library, "mpi_abi::entry::enter"));
        assert!(!is_procedure(&Call::At("/home/wave".into(), 0), "MPI_Send"));
    }
}
