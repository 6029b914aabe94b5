//! Ferrite's settings as the ranks will read them: checked before anything is started, so that a
//! misspelt name is one refusal and not one for each rank; and the table of `--settings`.

use crate::env::Environment;
use crate::redirect;
use crate::refuse::Refusal;
use mpi_core::error::sentence;
use mpi_core::settings::{ConfigFile, Settings, config_paths};
use std::ffi::OsStr;

/// The settings that a program with these variables gets, or the first that is wrong.
pub(crate) fn load(environment: &Environment) -> Result<Settings, Refusal> {
    let lookup = |name: &str| {
        environment.get(OsStr::new(name)).map(|value| value.to_string_lossy().into_owned())
    };
    let prefix = redirect::library_folder();
    let prefix = prefix.as_deref().and_then(|lib| lib.parent()?.to_str());
    let mut files = Vec::new();
    for place in config_paths(lookup, prefix) {
        match machine::read_text(&place.path) {
            Ok(text) => files.push(ConfigFile { path: place.path, text }),
            Err(e) if place.may_lack(e.kind()) => {}
            Err(e) => {
                let text = format!("the settings in {} cannot be read: {e}", place.path);
                return Err(Refusal::new(text));
            }
        }
    }
    let text = |word: &OsStr| word.to_string_lossy().into_owned();
    let variables = environment.iter().map(|(name, value)| (text(name), text(value)));
    Settings::load(variables, &files).map_err(|error| {
        let (what, advice) = (error.what().trim_end_matches('.'), error.advice());
        Refusal::new(match advice.is_empty() {
            true => what.to_owned(),
            false => format!("{} {advice}", sentence(what)),
        })
    })
}
