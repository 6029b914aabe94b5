//! The forms of one operation, which share a description: how the others' names, parameters and
//! sentences follow from those of the first.

use serde::Deserialize;

const STATUS: &str = "out status: status";
const REQUEST: &str = "out request: request";

/// A form of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Form {
    /// What the entry describes: done when the call returns or, in a window, when the epoch ends.
    #[serde(alias = "epoch")]
    Blocking,
    /// `MPI_Isend`: a request instead of a status.
    Nonblocking,
    /// `MPI_Rput`: an operation in a window that has a request besides (MPI-5.0 §12.3.5).
    Request,
    /// `MPI_Send_init`: a request to start; that of a collective operation has hints (MPI-5.0 §6.13).
    Persistent,
    /// `MPI_File_read_all_begin`: the status is left to [`Form::End`] (MPI-5.0 §14.4.5).
    Begin,
    /// `MPI_File_read_all_end`.
    End,
}

impl Form {
    /// The C name of the form of `name`.
    pub(crate) fn name(self, name: &str) -> String {
        let (class, operation) = parts(name);
        match self {
            Form::Blocking => name.to_owned(),
            Form::Nonblocking if class == "MPI_" => format!("MPI_I{}", operation.to_lowercase()),
            Form::Nonblocking => format!("{class}i{operation}"),
            Form::Request => format!("MPI_R{}", operation.to_lowercase()),
            Form::Persistent => format!("{name}_init"),
            Form::Begin => format!("{name}_begin"),
            Form::End => format!("{name}_end"),
        }
    }

    /// What this form of `name` does when the first one does what `does` says.
    pub(crate) fn sentence(self, name: &str, does: &str) -> String {
        // `Reads all.` as `read all.`
        let infinitive = || {
            let (verb, rest) = does.split_once("s ").unwrap_or((does, ""));
            format!("{} {rest}", verb.to_lowercase())
        };
        match self {
            Form::Blocking => does.to_owned(),
            Form::Nonblocking if parts(name).0 != "MPI_" => format!("Starts to {}", infinitive()),
            Form::Nonblocking | Form::Request => {
                format!("{}; returns a request.", does.trim_end_matches('.'))
            }
            Form::Persistent => format!("Prepares a persistent {name}."),
            Form::Begin => format!("Begins to {}", infinitive()),
            Form::End => format!("Ends what {name}_begin began."),
        }
    }

    /// Its parameters.
    pub(crate) fn parameters(self, first: &[String]) -> Vec<String> {
        let mut all = first.to_vec();
        if self != Form::Blocking {
            all.retain(|parameter| parameter != STATUS);
        }
        let further: &[&str] = match self {
            Form::Blocking | Form::Begin => &[],
            Form::Persistent if !all.iter().any(|parameter| parameter.ends_with(": tag")) => {
                &["info: info", REQUEST]
            }
            Form::Nonblocking | Form::Request | Form::Persistent => &[REQUEST],
            Form::End => {
                all.retain(|parameter| {
                    parameter.ends_with(": file") || parameter.ends_with("buffer")
                });
                &[STATUS]
            }
        };
        all.extend(further.iter().map(|&parameter| parameter.to_owned()));
        all
    }
}

/// The class of objects that a procedure's name begins with, if an `i` may come behind it, and the operation.
fn parts(name: &str) -> (&str, &str) {
    let of = |class| name.strip_prefix(class).map(|operation| (class, operation));
    ["MPI_File_", "MPI_Comm_", "MPI_Buffer_", "MPI_"].into_iter().find_map(of).unwrap_or(("", name))
}
