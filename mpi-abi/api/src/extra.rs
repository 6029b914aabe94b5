//! The further names that binaries of a family may import: `api/extra/*.txt`, read off the peers'
//! libraries with nm.
//!
//! A line is `form name [size or procedure]`. The forms: `unsupported`, a function that is not part of
//! MPI and raises an error whatever its parameters; `zero`, a query that answers no; `denied`, one that
//! says so where its second parameter points, of what the first one names; `alias`, that procedure of
//! MPI under another name, with the profiling name beside it; `data`, an object of that size; `own`, a
//! function; `extension`, one that raises errors as procedures do. The face itself writes the last three.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::description::camel;

/// What a further name is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Form {
    /// A function that raises an error.
    Unsupported,
    /// A function that returns 0.
    Zero,
    /// A function of a number and the place of an answer, which is 0.
    Denied,
    /// The procedure of this name.
    Alias(String),
    /// An object of this many bytes.
    Data(u64),
    /// A function that the face writes by hand.
    Own,
    /// One whose errors have its name.
    Extension,
}

/// A further name of one face.
#[derive(Clone, Debug)]
pub struct Extra {
    /// The face.
    pub face: String,
    /// The symbol.
    pub name: String,
    /// What it is.
    pub form: Form,
}

impl Extra {
    /// Whether the generated exports define it.
    pub fn is_generated(&self) -> bool {
        matches!(self.form, Form::Unsupported | Form::Zero | Form::Denied | Form::Alias(_))
    }

    /// Whether messages name it.
    pub fn is_procedure(&self) -> bool {
        matches!(self.form, Form::Unsupported | Form::Extension)
    }

    /// The name that messages use: the one without the prefix of profiling.
    pub fn public_name(&self) -> &str {
        match self.name.strip_prefix('P') {
            Some(rest) if rest.starts_with("MPI") => rest,
            _ => &self.name,
        }
    }

    /// Its variant of the enumeration `Procedure`.
    pub fn variant(&self) -> String {
        camel(self.public_name())
    }
}

/// Reads the lists of the three faces.
pub fn read(folder: &Path) -> Result<Vec<Extra>> {
    let mut all = Vec::new();
    for face in crate::FACES {
        let path = folder.join(format!("{face}.txt"));
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (form, name) = match words.as_slice() {
                ["unsupported", name] => (Form::Unsupported, name),
                ["zero", name] => (Form::Zero, name),
                ["denied", name] => (Form::Denied, name),
                ["alias", name, of] => (Form::Alias((*of).to_owned()), name),
                ["own", name] => (Form::Own, name),
                ["extension", name] => (Form::Extension, name),
                ["data", name, size] => (Form::Data(size.parse()?), name),
                _ => bail!("{}: {line:?} is not `form name`", path.display()),
            };
            all.push(Extra { face: (*face).to_owned(), name: (*name).to_owned(), form });
        }
    }
    Ok(all)
}
