//! The description: every C procedure of MPI once, as `api/procedures/*.toml` state it.
//!
//! An entry describes the first of its `forms`, from which the others follow; where their sentences
//! do not, `does` has one for each. A parameter is one string:
//! `[out |inout ]name: [const ]kind[lengths] flags…`. A body that is one call stands here as `core`,
//! one that another procedure has too as `same_as`; `fast` are collectives with a fast path (`fast.rs` of the core).
//! Enters: the files. Leaves: [`Procedure`]s in the
//! order of their names.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::forms::Form;
use crate::kind::Kind;

/// Which way a value goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the program.
    In,
    /// To the program.
    Out,
    /// Both.
    InOut,
}

/// When a procedure may be called.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// Between initialisation and finalisation.
    #[default]
    Running,
    /// Before, too: it is what begins.
    Start,
    /// At any time, by any thread, whatever others do (MPI-5.0 §11.4.1).
    Any,
}

/// One parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The standard's name.
    pub name: String,
    /// Which way it goes.
    pub direction: Direction,
    /// What it is.
    pub kind: Kind,
    /// Whether the C prototype says `const`.
    pub constant: bool,
    /// Lengths of its dimensions if it is an array: names of parameters, numbers, or `*` for a
    /// length that no parameter states.
    pub lengths: Vec<String>,
    /// Only the `_c` form has it.
    pub large_only: bool,
    /// A result that the program may refuse with a null pointer.
    pub nullable: bool,
    /// A result that becomes `MPI_UNDEFINED` when it does not fit an `int`.
    pub or_undefined: bool,
    /// A result that is not touched unless the parameter `flag` is true.
    pub if_flag: bool,
}

/// One procedure.
#[derive(Clone, Debug)]
pub struct Procedure {
    /// The C name without `MPI_`.
    pub name: String,
    /// What it does, in a sentence.
    pub does: String,
    /// Whether there is a `_c` twin.
    pub large: bool,
    /// When it may be called.
    pub when: When,
    /// What it returns, when that is not an error code.
    pub returns: Option<Kind>,
    /// Faces that do not export it.
    pub absent: Vec<String>,
    /// Deprecated or removed by the standard.
    pub old: bool,
    /// Whether it was removed before the standard ABI began; not in `mpi.h`.
    pub removed: bool,
    /// Whether further arguments may follow.
    pub variadic: bool,
    /// The Fortran interfaces that have it: `mpif`, `mpi`, `mpi_f08`.
    pub fortran: Vec<String>,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Its body, where that is one call: an expression of `cx` and the parameters that enter, whose
    /// value is that of those that leave.
    pub core: Option<String>,
    /// The procedure whose body it has as well.
    pub same_as: Option<String>,
    /// Whether the core has a fast path for it, a collective that runs to its end or begins: `fast_` and the name of
    /// the form that runs to its end.
    pub fast: bool,
}

/// What an entry says that its forms do.
#[derive(Deserialize)]
#[serde(untagged)]
enum Does {
    /// The first of them, from which the rest follows.
    First(String),
    /// Each of them.
    Each(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(default = "only_the_first")]
    forms: Vec<Form>,
    does: Does,
    #[serde(default)]
    large: bool,
    #[serde(default)]
    when: When,
    returns: Option<String>,
    #[serde(default)]
    absent: Vec<String>,
    #[serde(default)]
    deprecated: bool,
    #[serde(default)]
    removed: bool,
    #[serde(default)]
    variadic: bool,
    fortran: Option<Vec<String>>,
    parameters: Vec<String>,
    core: Option<String>,
    same_as: Option<String>,
    #[serde(default)]
    fast: bool,
}

fn only_the_first() -> Vec<Form> {
    vec![Form::Blocking]
}

/// Reads the files of the folder `procedures`.
pub fn read(procedures: &Path) -> Result<Vec<Procedure>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(procedures).with_context(|| procedures.display().to_string())? {
        let path = entry?.path();
        let text = fs::read_to_string(&path)?;
        let entries: BTreeMap<String, Entry> =
            toml::from_str(&text).with_context(|| path.display().to_string())?;
        for (name, entry) in entries {
            let procedures = procedures_of(&name, &entry)
                .with_context(|| format!("{name} in {}", path.display()))?;
            for procedure in procedures {
                if let Some(twice) = all.insert(procedure.name.clone(), procedure) {
                    bail!("MPI_{} is described twice", twice.name);
                }
            }
        }
    }
    Ok(all.into_values().collect())
}

fn procedures_of(name: &str, entry: &Entry) -> Result<Vec<Procedure>> {
    if let Does::Each(sentences) = &entry.does {
        ensure!(sentences.len() == entry.forms.len(), "not as many sentences as forms");
    }
    if let Some(core) = &entry.core {
        ensure!(entry.forms.len() == 1, "`core` is the body of one form");
        // What the glue stores also after a failure would be skipped.
        ensure!(!core.contains('?'), "`core` is more than one call");
    }
    let forms = entry.forms.iter().enumerate();
    forms
        .map(|(at, form)| {
            let does = match &entry.does {
                Does::First(first) => form.sentence(name, first),
                Does::Each(sentences) => sentences[at].clone(),
            };
            procedure(&form.name(name), does, *form, entry)
        })
        .collect()
}

fn procedure(name: &str, does: String, form: Form, entry: &Entry) -> Result<Procedure> {
    let all_of_fortran = || ["mpif", "mpi", "mpi_f08"].map(str::to_owned).to_vec();
    let parameters = form.parameters(&entry.parameters);
    Ok(Procedure {
        name: name.strip_prefix("MPI_").context("the name does not begin with MPI_")?.to_owned(),
        does,
        // What ends an access has no count.
        large: entry.large && form != Form::End,
        when: entry.when,
        returns: entry.returns.as_deref().map(Kind::parse).transpose()?,
        absent: entry.absent.clone(),
        old: entry.deprecated || entry.removed,
        removed: entry.removed,
        variadic: entry.variadic,
        fortran: entry.fortran.clone().unwrap_or_else(all_of_fortran),
        parameters: parameters.iter().map(|text| parameter(text)).collect::<Result<_>>()?,
        core: entry.core.clone(),
        same_as: entry.same_as.as_ref().map(|name| name.trim_start_matches("MPI_").to_owned()),
        fast: entry.fast && form != Form::Persistent,
    })
}

fn parameter(text: &str) -> Result<Parameter> {
    let (head, tail) = text.split_once(": ").with_context(|| format!("no colon in {text:?}"))?;
    let (direction, name) = match head.split_once(' ') {
        None => (Direction::In, head),
        Some(("out", name)) => (Direction::Out, name),
        Some(("inout", name)) => (Direction::InOut, name),
        Some((word, _)) => bail!("{word:?} is not a direction"),
    };
    let mut parameter = Parameter {
        name: name.to_owned(),
        direction,
        kind: Kind::Int,
        constant: false,
        lengths: Vec::new(),
        large_only: false,
        nullable: false,
        or_undefined: false,
        if_flag: false,
    };
    let mut tail = tail;
    if let Some(rest) = tail.strip_prefix("const ") {
        parameter.constant = true;
        tail = rest;
    }
    for (flag, set) in [
        (" large-only", &mut parameter.large_only),
        (" nullable", &mut parameter.nullable),
        (" or-undefined", &mut parameter.or_undefined),
        (" if-flag", &mut parameter.if_flag),
    ] {
        if let Some(rest) = tail.strip_suffix(flag) {
            *set = true;
            tail = rest;
        }
    }
    let (kind, lengths) = match tail.split_once('[') {
        Some((kind, lengths)) if kind != "string" => (kind, lengths),
        _ => (tail, ""),
    };
    parameter.kind = Kind::parse(kind)?;
    parameter.lengths = lengths
        .trim_end_matches(']')
        .split("][")
        .filter(|length| !length.is_empty())
        .map(str::to_owned)
        .collect();
    Ok(parameter)
}

impl Parameter {
    /// Whether it is an array.
    pub fn is_array(&self) -> bool {
        !self.lengths.is_empty()
    }

    /// The name as a Rust identifier.
    pub fn ident(&self) -> String {
        match self.name.as_str() {
            "type" | "in" | "ref" | "box" | "fn" | "mod" | "use" => format!("r#{}", self.name),
            name => name.to_owned(),
        }
    }
}

impl Procedure {
    /// The name of its body and glue: lower case, as in `comm_split`.
    pub fn snake(&self) -> String {
        self.name.to_lowercase()
    }

    /// Its variant of the enumeration `Procedure`, as in `CommSplit`.
    pub fn variant(&self) -> String {
        camel(&self.name)
    }

    /// Whether it is about no open file: its errors go to the handler of `MPI_FILE_NULL` (MPI-5.0 §14.7).
    pub fn is_of_a_closed_file(&self) -> bool {
        ["File_open", "File_delete", "Register_datarep"].contains(&self.name.as_str())
    }

    /// The parameter whose error handler is used: the first one that has any.
    pub fn owner(&self) -> Option<&Parameter> {
        if self.is_of_a_closed_file() {
            return None;
        }
        self.parameters.iter().find(|parameter| {
            let has_handlers = matches!(&parameter.kind, Kind::Handle(handle)
                if ["comm", "win", "file", "session"].contains(&handle.word));
            has_handlers && parameter.direction != Direction::Out && !parameter.is_array()
        })
    }

    /// Whether the glue has a flag behind `parameter` that says which form was called: behind the
    /// last function that has two forms, or the datatype that is made, which remembers the form
    /// (MPI-5.0 §5.1.13).
    pub fn has_form_flag_after(&self, parameter: &Parameter) -> bool {
        let remembers = |other: &Parameter| match &other.kind {
            Kind::PolyFunction(_) => true,
            Kind::Handle(handle) => {
                let made = other.direction == Direction::Out && !other.is_array();
                self.large && made && handle.word == "datatype"
            }
            _ => false,
        };
        let last = self.parameters.iter().rfind(|other| remembers(other));
        last.is_some_and(|last| last.name == parameter.name)
    }

    /// [`Procedure::owner`], if it is passed by value.
    pub fn owner_value(&self) -> Option<&Parameter> {
        self.owner().filter(|owner| owner.direction == Direction::In)
    }

    /// The parameter called `limit` if there is one and it is the length of a string.
    pub fn length_of(&self, limit: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|other| other.kind == Kind::TextLength && other.name == limit)
    }

    /// Whether an argument is the core's to check. It means nothing at some processes, which may then pass
    /// anything: the count and the type of a side that is in place or not the root's, what only the root's group of
    /// two names, the communicator by which leaders meet, and the size of a buffer that the library provides
    /// (MPI-5.0 §6.2, §7.6.2, §3.6). Or all processes are to hear that one has it wrong: the size of a window's part,
    /// the count of an access in the order of ranks, the name of a file and how its view represents data.
    pub fn is_in_doubt(&self, parameter: &Parameter) -> bool {
        let has = |name: &str| self.parameters.iter().any(|other| other.name == name);
        match parameter.name.as_str() {
            "sendcount" | "recvcount" | "sendtype" | "recvtype" => !has("dest"),
            "count" if self.name.contains("_ordered") => true,
            "count" | "datatype" | "op" => has("root"),
            "size" => has("buffer") || self.name == "Win_allocate_shared",
            "filename" => self.name == "File_open",
            "datarep" => self.name == "File_set_view",
            "peer_comm" => true,
            _ => false,
        }
    }

    /// The error class with which a procedure of the tool interface that has no body answers, since
    /// what it is asked about is not there (MPI-5.0 §15.3.10).
    pub fn missing_tool(&self) -> Option<&'static str> {
        if !self.name.starts_with("T_") {
            return None;
        }
        let by_index = self.parameters.iter().any(|parameter| parameter.name.ends_with("_index"));
        Some(match self.parameters.first().map(|first| (&first.kind, first.name.as_str())) {
            Some((Kind::Text(_), _)) => "T_INVALID_NAME",
            Some((Kind::Int, _) | (_, "pe_session")) if by_index => "T_INVALID_INDEX",
            _ => "T_INVALID_HANDLE",
        })
    }

    /// Whether the face called `face` exports it.
    pub fn is_in(&self, face: &str) -> bool {
        !self.absent.iter().any(|absent| absent == face)
    }

    /// Whether its C parameters cannot be given to a body that does not know the face.
    pub fn needs_raw(&self) -> bool {
        self.parameters.iter().any(|parameter| match &parameter.kind {
            Kind::Handle(_) | Kind::Status | Kind::Tool(_) => parameter.is_array(),
            Kind::Texts | Kind::TextArrays | Kind::Argc | Kind::Argv | Kind::ErrorCodes => true,
            Kind::FortranStatus | Kind::Fortran08Status | Kind::FortranInteger => true,
            _ => false,
        })
    }
}

/// `Comm_split` as `CommSplit`.
pub(crate) fn camel(name: &str) -> String {
    name.split('_')
        .map(|word| {
            let mut letters = word.chars();
            letters.next().map_or(String::new(), |first| {
                first.to_uppercase().chain(letters).collect::<String>()
            })
        })
        .collect()
}

#[cfg(test)]
#[path = "description_tests.rs"]
mod tests;
