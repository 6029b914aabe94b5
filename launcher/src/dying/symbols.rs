//! The names of calls: functions, files and lines, from what compilers write into programs and
//! libraries for debuggers, or from their tables of symbols, by the crate `addr2line`.

use super::Call;
use addr2line::{Loader, demangle_auto};
use launch_wire::control::dying::UNKNOWN;
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
        // Of a caller the address behind the call is known, which may be that of the next line.
        let back = |number| u64::from(number > 0);
        let mut functions = |(number, call): (usize, &Call)| match call {
            Call::At(path, place) => self.functions(path, place.saturating_sub(back(number))),
            Call::Nowhere(_) => Vec::new(),
        };
        let named: Vec<Vec<Function>> = calls.iter().enumerate().map(&mut functions).collect();
        let begins = |(call, functions): (&Call, &Vec<Function>)| !is_beginning(call, functions);
        let told = calls.iter().zip(&named).rposition(begins).map_or(0, |last| last + 1);
        let raised = behind_abort(calls, &named).min(told.saturating_sub(1));
        let (mut lines, mut procedure) = (Lines::default(), None);
        let all = calls.iter().zip(&named).take(told).enumerate();
        for (number, (call, functions)) in all.skip(raised) {
            if cut > 0 && number == cut_at as usize {
                lines.skip(cut as usize);
            }
            if functions.is_empty() {
                lines.push(place_of(call));
            }
            for Function { name, place } in functions {
                if is_library(call) && name.starts_with("MPI_") {
                    procedure = Some(name.clone());
                }
                lines.push(format!("{name} {}", place.clone().unwrap_or_else(|| place_of(call))));
            }
        }
        if cut == UNKNOWN {
            lines.end_line();
            lines.text += "… the calls before it are not known: the stack is damaged, or the rank was ended too soon\n";
        }
        Named { lines: lines.finish(), procedure }
    }

    /// The function at a place of a file, and before it those that the compiler has put into it. Of this
    /// library only the function is of use to anybody.
    fn functions(&mut self, path: &Path, place: u64) -> Vec<Function> {
        let binary = self.files.entry(path.to_path_buf()).or_insert_with(|| Binary::open(path));
        let Some(binary) = binary else { return Vec::new() };
        let Some(address) = binary.address(place) else { return Vec::new() };
        let symbol =
            binary.loader.find_symbol(address).map(|name| demangle_auto(name.into(), None));
        let mut functions = debugged(&binary.loader, address, symbol.as_deref());
        if is_library(&Call::At(path.to_path_buf(), place)) {
            if let Some(name) = symbol.as_deref().and_then(procedure) {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                return vec![Function { name, place: Some(format!("in {file}")) }];
            }
            functions.drain(..functions.len().saturating_sub(1));
        }
        if let (true, Some(name)) = (functions.is_empty(), symbol) {
            functions.push(Function { name: readable(&name), place: None });
        }
        functions
    }
}

/// The functions at an address, as the debugger's tables have them. Where these have lines alone it is the `symbol`'s.
fn debugged(loader: &Loader, address: u64, symbol: Option<&str>) -> Vec<Function> {
    let mut functions = Vec::new();
    let Ok(mut frames) = loader.find_frames(address) else { return functions };
    while let Ok(Some(frame)) = frames.next() {
        let told = frame.function.as_ref().and_then(|function| function.demangle().ok());
        let Some(name) = told.as_deref().or(symbol) else { continue };
        let place = frame
            .location
            .and_then(|location| Some(format!("at {}:{}", location.file?, location.line?)));
        functions.push(Function { name: readable(name), place });
    }
    functions
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

/// Whether a call lies in this library.
fn is_library(call: &Call) -> bool {
    is_file(call, &["libmpi"])
}

/// Whether a call lies in a file whose name begins so.
fn is_file(call: &Call, names: &[&str]) -> bool {
    let Call::At(path, _) = call else { return false };
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    names.iter().any(|name| file.starts_with(name))
}

/// The procedure of MPI of which a symbol of this library is: what programs call goes on to a function
/// with the procedure's name in small letters.
fn procedure(symbol: &str) -> Option<String> {
    const BODIES: &str = "mpi_abi::glue::generated::";
    let exported = symbol.strip_prefix('P').unwrap_or(symbol);
    if exported.starts_with("MPI_") {
        return Some(exported.to_string());
    }
    let name = symbol.strip_prefix(BODIES)?.split("::").next()?;
    let (first, rest) = name.split_at_checked(1)?;
    Some(format!("MPI_{}{rest}", first.to_ascii_uppercase()))
}

/// Whether a call is what a program or a thread begins with before its own code.
fn is_beginning(call: &Call, functions: &[Function]) -> bool {
    const NAMES: [&str; 3] = ["_start", "__libc_start_main", "__libc_start_call_main"];
    let is_named = functions.iter().any(|function| NAMES.contains(&&*function.name));
    is_named || is_file(call, &C_LIBRARY) || is_file(call, &["libpthread", "ld-"])
}

/// How the files of the C library are called.
const C_LIBRARY: [&str; 2] = ["libc.so", "libc-2"];

/// How many of the innermost calls are the C library's, where one of them is `abort`: how that raises its signal, and
/// what of the library has called it, as a failed assertion does, is nobody's mistake.
fn behind_abort(calls: &[Call], named: &[Vec<Function>]) -> usize {
    let is_within = |call: &&Call| is_file(call, &C_LIBRARY);
    let within = calls.iter().take_while(is_within).count();
    let mut functions = named[..within].iter().flatten();
    if functions.any(|function| function.name == "abort") { within } else { 0 }
}

/// Numbered lines, of which equal neighbours are counted.
#[derive(Default)]
struct Lines {
    text: String,
    number: usize,
    last: Option<(String, usize)>,
    lines: usize,
}

impl Lines {
    fn push(&mut self, line: String) {
        match &mut self.last {
            Some((last, times)) if *last == line => *times += 1,
            _ => {
                self.end_line();
                self.last = Some((line, 1));
            }
        }
    }

    /// So many calls are left out here.
    fn skip(&mut self, calls: usize) {
        self.end_line();
        self.text += &format!("… {calls} calls are left out\n");
        self.number += calls;
    }

    fn end_line(&mut self) {
        let Some((line, times)) = self.last.take() else { return };
        self.lines += 1;
        if self.lines <= LINES_MAX {
            let repeated = if times > 1 { format!(" ({times} times)") } else { String::new() };
            self.text += &format!("#{} {line}{repeated}\n", self.number);
        }
        self.number += times;
    }

    fn finish(mut self) -> String {
        self.end_line();
        self.text
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

    #[inline(never)]
    fn landmark() -> u32 {
        std::hint::black_box(7)
    }

    #[test]
    fn a_function_is_found_with_its_file_and_line() {
        let here = place_in_file(landmark as *const () as usize);
        let named = Symbols::default().name(&[here], (0, 0));
        assert!(named.lines.contains("landmark at ") && landmark() == 7, "{}", named.lines);
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
            "#11 (0x3, where no code is)",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn calls_begin_with_the_one_that_called_abort() {
        let call = |file: &str| Call::At(file.into(), 1);
        let libc = || call("/lib/x86_64-linux-gnu/libc.so.6");
        let calls = [libc(), libc(), libc(), call("/home/wave"), libc()];
        let named = |abort: &str| -> Vec<Vec<Function>> {
            let names = ["raise", abort, "__assert_fail", "step", "qsort"];
            names.map(|name| vec![Function { name: name.into(), place: None }]).into()
        };
        assert_eq!(behind_abort(&calls, &named("abort")), 3);
        assert_eq!(behind_abort(&calls, &named("memcpy")), 0, "it may be the program's mistake");
        assert_eq!(behind_abort(&calls[3..], &named("abort")), 0);
    }

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(readable("__heat_MOD_step"), "heat::step");
        assert_eq!(readable("__libc_start_main"), "__libc_start_main");
        assert_eq!(procedure("PMPI_Send").as_deref(), Some("MPI_Send"));
        let body = procedure("mpi_abi::glue::generated::comm_dup_with_info::h0123");
        assert_eq!(body.as_deref(), Some("MPI_Comm_dup_with_info"));
        assert_eq!(procedure("mpi_abi::entry::enter"), None);
        assert!(is_library(&Call::At("/opt/lib/libmpi_abi.so.1".into(), 0)));
        assert!(!is_library(&Call::At("/home/libmpi/wave".into(), 0)));
    }
}
