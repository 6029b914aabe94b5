//! Finding the program and looking at it before any rank is started, so that N ranks do not fail N
//! times: missing, a directory, not executable, for another machine.
//!
//! In: the name as typed, the search path, the working directory. Out: the file to execute and, for a
//! script without `#!`, the shell that takes it; or a refusal.

use crate::refuse::Refusal;
use object::elf::{self, FileHeader32, FileHeader64, Machine};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What is handed to the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// The file to execute.
    pub(crate) file: PathBuf,
    /// Words in front of the user's arguments, the program's own name first.
    pub(crate) words: Vec<OsString>,
}

/// Enough of a file's beginning to know what it is and which interpreter it names.
const HEAD: u64 = 64 * 1024;

/// Finds and checks `name`. `path` is the search path, `directory` where the rank will run.
pub(crate) fn find(name: &OsStr, path: &[PathBuf], directory: &Path) -> Result<Program, Refusal> {
    if name.is_empty() {
        return Err(Refusal::not_found("the program's name is empty"));
    }
    let file = if name.as_bytes().contains(&b'/') {
        directory.join(name)
    } else {
        match search(name, path, directory) {
            Some(file) => file,
            None => return Err(missing(name)),
        }
    };
    let shell = check(&file, name)?;
    let mut words = vec![name.to_os_string()];
    if shell {
        words = vec!["sh".into(), file.clone().into_os_string()];
        return Ok(Program { file: PathBuf::from("/bin/sh"), words });
    }
    Ok(Program { file, words })
}

/// The first executable file of that name; failing that, the first file, to say what is wrong. A
/// program that is in no place of the search path is looked for in the working directory, as Open
/// MPI does.
fn search(name: &OsStr, path: &[PathBuf], directory: &Path) -> Option<PathBuf> {
    let candidates = || {
        let places = path.iter().map(|place| directory.join(place));
        places.chain([directory.to_path_buf()]).map(|place| place.join(name))
    };
    let executable = |file: &PathBuf| {
        fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    candidates().find(executable).or_else(|| candidates().find(|file| file.is_file()))
}

fn missing(name: &OsStr) -> Refusal {
    let shown = name.to_string_lossy();
    Refusal::not_found(format!(
        "there is no program “{shown}” on the search path (PATH) nor in the working directory"
    ))
}

/// Whether the file is text for `/bin/sh`; a refusal if it cannot be executed at all.
fn check(file: &Path, name: &OsStr) -> Result<bool, Refusal> {
    let shown = name.to_string_lossy();
    let meta = match fs::metadata(file) {
        Ok(meta) => meta,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(Refusal::not_found(format!("there is no program {}", file.display())));
        }
        Err(e) => {
            return Err(Refusal::cannot_execute(format!("{} cannot be read: {e}", file.display())));
        }
    };
    if meta.is_dir() {
        return Err(Refusal::cannot_execute(format!("“{shown}” is a directory, not a program")));
    }
    if meta.permissions().mode() & 0o111 == 0 {
        return Err(Refusal::cannot_execute(format!(
            "“{shown}” is not executable{}",
            hint_for(file)
        )));
    }
    let mut head = Vec::new();
    match File::open(file) {
        // An executable that may not be read is the kernel's to judge.
        Err(_) => return Ok(false),
        Ok(open) => open.take(HEAD).read_to_end(&mut head).map(drop).unwrap_or(()),
    }
    match judge(&head, std::env::consts::ARCH) {
        Verdict::Native => Ok(false),
        Verdict::Interpreted(interpreter) if !directory_has(&interpreter) => {
            Err(Refusal::cannot_execute(format!(
                "“{shown}” asks for the interpreter {}, which is not on this machine",
                interpreter.display()
            )))
        }
        Verdict::Interpreted(_) => Ok(false),
        Verdict::Text => Ok(true),
        Verdict::Foreign(_) if kernel_takes_foreign() => Ok(false),
        Verdict::Foreign(what) => Err(Refusal::cannot_execute(format!(
            "“{shown}” is {what}; this machine is {}",
            std::env::consts::ARCH
        ))),
        Verdict::NoProgram(what) => {
            Err(Refusal::cannot_execute(format!("“{shown}” is {what}, not a program")))
        }
    }
}

fn directory_has(interpreter: &Path) -> bool {
    !interpreter.is_absolute() || interpreter.exists()
}

/// What to do with a file that has no x bit, told by its name.
fn hint_for(file: &Path) -> String {
    let shown = file.file_name().unwrap_or_default().to_string_lossy();
    match file.extension().and_then(OsStr::to_str) {
        Some("py") => format!("; run it with Python: mpirun … python3 {shown}"),
        Some("c") => format!("; compile it first: mpicc -o NAME {shown}"),
        Some("cc" | "cpp" | "cxx" | "C") => format!("; compile it first: mpicxx -o NAME {shown}"),
        Some("f" | "f90" | "F" | "F90") => format!("; compile it first: mpifort -o NAME {shown}"),
        _ => format!("; if it is a program: chmod +x {shown}"),
    }
}

/// What the first bytes of a file say.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// The kernel can run it.
    Native,
    /// The kernel runs this for it (ELF interpreter or `#!`).
    Interpreted(PathBuf),
    /// For the shell.
    Text,
    /// For another machine or system.
    Foreign(String),
    /// Something that is never run.
    NoProgram(&'static str),
}

fn judge(head: &[u8], machine: &str) -> Verdict {
    if let Some(rest) = head.strip_prefix(b"#!") {
        let line = rest.split(|&b| b == b'\n').next().unwrap_or_default();
        let word = line.split(|b| b" \t\r".contains(b)).find(|word| !word.is_empty());
        let interpreter = word.map(|word| PathBuf::from(OsString::from_vec(word.to_vec())));
        return interpreter.map_or(Verdict::Native, Verdict::Interpreted);
    }
    match FileKind::parse(head) {
        Ok(FileKind::Elf64) => judge_elf::<FileHeader64<Endianness>>(head, machine),
        Ok(FileKind::Elf32) => judge_elf::<FileHeader32<Endianness>>(head, machine),
        Ok(FileKind::MachO32 | FileKind::MachO64 | FileKind::MachOFat32 | FileKind::MachOFat64) => {
            Verdict::Foreign("a program for macOS".into())
        }
        Ok(FileKind::Pe32 | FileKind::Pe64) => Verdict::Foreign("a program for Windows".into()),
        Ok(FileKind::Archive) => Verdict::NoProgram("a library archive"),
        _ if head.is_empty() || is_text(head) => Verdict::Text,
        _ => Verdict::Native,
    }
}

/// As `execvp` does it: a file without zero bytes in its first line may be a shell script.
fn is_text(head: &[u8]) -> bool {
    let line = head.split(|&b| b == b'\n').next().unwrap_or_default();
    !line.contains(&0)
}

/// What the header of an ELF file says; the rest of the file is the kernel's to judge.
fn judge_elf<H: FileHeader<Endian = Endianness>>(head: &[u8], ours: &str) -> Verdict {
    let Ok(header) = H::parse(head) else { return Verdict::Native };
    let Ok(endian) = header.endian() else { return Verdict::Native };
    match header.e_type(endian) {
        elf::ET_REL => return Verdict::NoProgram("an object file that has not been linked"),
        elf::ET_CORE => return Verdict::NoProgram("a core file of a program that crashed"),
        _ => {}
    }
    let (runs, name) = runs_on(header.e_machine(endian));
    if runs != ours {
        return Verdict::Foreign(format!("a program for {name} machines"));
    }
    let segments = header.program_headers(endian, head).unwrap_or_default();
    let interpreter = segments.iter().find_map(|s| s.interpreter(endian, head).ok().flatten());
    match interpreter {
        Some(name) => Verdict::Interpreted(PathBuf::from(OsString::from_vec(name.to_vec()))),
        None => Verdict::Native,
    }
}

/// Which of Rust's architectures runs programs for `machine`, and how to call it.
fn runs_on(machine: Machine) -> (&'static str, String) {
    let known = match machine {
        elf::EM_X86_64 | elf::EM_386 => "x86_64",
        elf::EM_AARCH64 | elf::EM_ARM => "aarch64",
        elf::EM_RISCV => "riscv64",
        elf::EM_PPC64 => "powerpc64",
        elf::EM_S390 => "s390x",
        elf::EM_LOONGARCH => "loongarch64",
        other => return ("", format!("other ({other:?})")),
    };
    (known, known.to_string())
}

/// Whether the kernel was taught to run programs of other machines (binfmt_misc, as qemu does it).
fn kernel_takes_foreign() -> bool {
    let Ok(entries) = fs::read_dir("/proc/sys/fs/binfmt_misc") else { return false };
    entries.flatten().any(|entry| entry.file_name().as_bytes().starts_with(b"qemu"))
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
