//! Reading the command line: what the wrapper itself understands, and what goes to the compiler.

use crate::language::Language;
use crate::modules;
use crate::place::{LIBRARY, Prefix};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// What the user wants.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) language: Language,
    /// The compiler, possibly with words of its own (`ccache gcc`).
    pub(crate) compiler: String,
    /// Where its name comes from, for messages.
    pub(crate) compiler_from: String,
    /// What to print instead of compiling.
    pub(crate) question: Option<Question>,
    /// Whether the program remembers the library's folder.
    pub(crate) rpath: bool,
    /// The folder with the Fortran modules, once it is known.
    pub(crate) modules: Option<PathBuf>,
    /// What goes to the compiler.
    pub(crate) words: Vec<OsString>,
}

/// Something to print instead of compiling. The options of both families lead here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// The whole command line.
    Everything,
    /// The command line of a compilation without linking.
    Compilation,
    /// The command line of a link.
    Linking,
    /// The compiler's name.
    Command,
    /// The flags for compiling, alone.
    CompileFlags,
    /// The flags for linking, alone.
    LinkFlags,
    /// The folders with headers.
    IncludeDirs,
    /// The folders with libraries.
    LibraryDirs,
    /// The libraries' names.
    Libraries,
    /// Name and version.
    Version,
    /// The options of this wrapper.
    Help,
}

/// Options of compilers whose value is the next word, which is therefore no input file.
const TAKES_NEXT: &[&str] = &[
    "-o",
    "-I",
    "-L",
    "-D",
    "-U",
    "-x",
    "-include",
    "-imacros",
    "-isystem",
    "-idirafter",
    "-iquote",
    "-iprefix",
    "-isysroot",
    "-MF",
    "-MT",
    "-MQ",
    "-Xlinker",
    "-Xpreprocessor",
    "-Xassembler",
    "-T",
    "-u",
    "-e",
    "-z",
    "-G",
    "-B",
    "-A",
    "-aux-info",
    "--param",
    "-target",
    "-arch",
    "-wrapper",
];

/// Options of Fortran compilers that make INTEGER another type than the library's.
const WIDE_INTEGERS: &[&str] = &["-fdefault-integer-8", "-i8", "-integer-size=64"];

/// Options after which the compiler does not link.
const NO_LINK: &[&str] = &["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"];

impl Request {
    /// Reads the words after the program's name; `variable` looks up the environment.
    pub(crate) fn read(
        language: Language,
        words: Vec<OsString>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Request, String> {
        let named = language.variables().iter().find_map(|name| {
            Some((name, variable(name).filter(|value| !value.trim().is_empty())?))
        });
        let (compiler, compiler_from) = match named {
            Some((name, value)) => (value, format!("from {name}")),
            None => (language.compiler().to_string(), "the default".to_string()),
        };
        let rpath = variable("MPICC_RPATH").is_none_or(|value| value != "0");
        let mut request = Request {
            language,
            compiler,
            compiler_from,
            question: None,
            rpath,
            modules: None,
            words: Vec::new(),
        };
        let mut is_value = false;
        for word in words {
            if is_value {
                is_value = false;
                request.words.push(word);
            } else {
                is_value = takes_next(&word);
                request.take(word)?;
            }
        }
        Ok(request)
    }

    /// Takes one word of the command line.
    fn take(&mut self, word: OsString) -> Result<(), String> {
        let text = word.to_string_lossy();
        let option = format!("-{}=", self.language.option());
        if let Some(compiler) = text.strip_prefix(&option) {
            if compiler.trim().is_empty() {
                return Err(format!("{option} needs a compiler's name behind the ="));
            }
            self.compiler = compiler.to_string();
            self.compiler_from = format!("from {option}");
        } else if let Some(question) = question(&text)? {
            self.question = Some(question);
        } else if let Some(wanted) = run_path(&text) {
            self.rpath = wanted;
        } else if self.language == Language::Fortran && WIDE_INTEGERS.contains(&&*text) {
            return Err(format!(
                "{text} makes INTEGER 8 bytes long, but MPI's have 4 here, as in other MPI \
                 libraries; declare the program's own large integers as INTEGER(8) instead"
            ));
        } else {
            self.words.push(word);
        }
        Ok(())
    }

    /// Whether the compiler will need the Fortran modules, as far as can be told.
    pub(crate) fn needs_modules(&self) -> bool {
        self.language == Language::Fortran && (self.question.is_some() || self.has_input())
    }

    /// The compiler and its own words.
    pub(crate) fn compiler_words(&self) -> Vec<OsString> {
        self.compiler.split_whitespace().map(OsString::from).collect()
    }

    /// The flags that tell the compiler where mpi.h is.
    pub(crate) fn compile_flags(&self, prefix: &Prefix) -> Vec<OsString> {
        let mut flag = OsString::from("-I");
        flag.push(prefix.include());
        let mut flags = vec![flag];
        flags.extend(self.modules.iter().map(|dir| with_path("-I", dir)));
        flags
    }

    /// The flags that tell the linker where the library is.
    pub(crate) fn link_flags(&self, prefix: &Prefix) -> Vec<OsString> {
        let lib = prefix.lib();
        let mut folder = OsString::from("-L");
        folder.push(&lib);
        let mut flags = vec![folder];
        if self.rpath {
            flags.push(with_path("-Wl,-rpath,", &lib));
            // As DT_RUNPATH, which LD_LIBRARY_PATH precedes: the library can still be exchanged.
            flags.push("-Wl,--enable-new-dtags".into());
        }
        if let Some(dir) = &self.modules {
            flags.push(with_path("-L", dir));
            flags.push(format!("-l{}", modules::ARCHIVE).into());
        }
        flags.push(format!("-l{LIBRARY}").into());
        flags
    }

    /// The whole command line.
    pub(crate) fn command_line(&self, prefix: &Prefix) -> Vec<OsString> {
        let mut line = self.compiler_words();
        line.extend(self.compile_flags(prefix));
        line.extend(self.words.iter().cloned());
        if self.links() {
            line.extend(self.link_flags(prefix));
        }
        line
    }

    /// Whether the compiler will link: it was not told to stop before, and there is an input (or
    /// nothing at all is given and somebody just asks what would be run).
    fn links(&self) -> bool {
        let stops = |word: &OsString| NO_LINK.iter().any(|option| word == option);
        if self.words.iter().any(stops) {
            return false;
        }
        self.has_input() || (self.question.is_some() && self.words.is_empty())
    }

    fn has_input(&self) -> bool {
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            let bytes = word.as_bytes();
            if takes_next(word) {
                words.next();
            } else if bytes == b"-" || bytes.starts_with(b"-l") || !bytes.starts_with(b"-") {
                return true;
            }
        }
        false
    }
}

fn takes_next(word: &OsString) -> bool {
    TAKES_NEXT.iter().any(|option| word == option)
}

/// What a word says of the run path; `-norpath` is how Intel's wrapper spells it.
fn run_path(word: &str) -> Option<bool> {
    match word {
        "-rpath" => Some(true),
        "-no-rpath" | "-norpath" => Some(false),
        _ => None,
    }
}

fn with_path(option: &str, dir: &std::path::Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(dir);
    word
}

/// The question that a word asks, in the spelling of either family.
fn question(word: &str) -> Result<Option<Question>, String> {
    if let Some(what) = word.strip_prefix("--showme:").or_else(|| word.strip_prefix("-showme:")) {
        return Ok(Some(match what {
            "command" => Question::Command,
            "compile" => Question::CompileFlags,
            "link" => Question::LinkFlags,
            "incdirs" => Question::IncludeDirs,
            "libdirs" => Question::LibraryDirs,
            "libs" => Question::Libraries,
            "version" => Question::Version,
            "help" => Question::Help,
            _ => {
                return Err(format!(
                    "{word} is not known; there are --showme: command, compile, link, incdirs, \
                     libdirs, libs, version and help"
                ));
            }
        }));
    }
    Ok(match word {
        "-show" | "--show" | "-showme" | "--showme" => Some(Question::Everything),
        "-compile_info" | "-compile-info" => Some(Question::Compilation),
        "-link_info" | "-link-info" => Some(Question::Linking),
        _ => None,
    })
}
