//! Where the values of settings come from: the environment before files, files in order.
//!
//! The core reads no file: the caller finds the paths by [`config_paths`], reads what is there
//! and hands over the text.

use std::io::ErrorKind;

use toml::{Table, Value};

use super::Settings;
use crate::error::{Error, ErrorClass, Result};

/// A TOML file of settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigFile {
    /// Where it lies, for messages.
    pub path: String,
    /// What stands in it.
    pub text: String,
}

/// Where a file of settings may lie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigPath {
    /// The path.
    pub path: String,
    /// The user named it: it is an error when it cannot be read.
    pub required: bool,
}

impl ConfigPath {
    /// Whether this file may be passed over, which cannot be read for that reason: nobody asked for it, and it is not
    /// there, or it is not for this user, as in a container with another user's home.
    pub fn may_lack(&self, why: ErrorKind) -> bool {
        use ErrorKind::{NotADirectory, NotFound, PermissionDenied};
        !self.required && matches!(why, NotFound | NotADirectory | PermissionDenied)
    }
}

/// The variable that names a file of settings.
const CONFIG: &str = "FERRITE_CONFIG";
/// Variables that begin like this belong to our own tests.
const TEST: &str = "FERRITE_TEST_";
const PREFIX: &str = "FERRITE_";

/// The files to read, the strongest first: the one that `FERRITE_CONFIG` names, the user's, and
/// the one installed under `prefix`.
pub fn config_paths(
    lookup: impl Fn(&str) -> Option<String>,
    prefix: Option<&str>,
) -> Vec<ConfigPath> {
    let given = |name| lookup(name).filter(|text| !text.is_empty());
    let named = given(CONFIG).map(|path| ConfigPath { path, required: true });
    let home = given("XDG_CONFIG_HOME").or_else(|| Some(given("HOME")? + "/.config"));
    let own = home.map(|home| home + "/ferrite/config.toml");
    let installed = prefix.map(|prefix| format!("{prefix}/etc/ferrite.toml"));
    let others = own.into_iter().chain(installed);
    let others = others.map(|path| ConfigPath { path, required: false });
    named.into_iter().chain(others).collect()
}

impl Settings {
    /// The settings by `FERRITE_*` of the environment, then by `files`, the first that names a
    /// setting winning. An empty variable counts as not given.
    ///
    /// # Errors
    /// As [`Settings::set`]; also for a file that is no TOML.
    pub fn load(
        environment: impl IntoIterator<Item = (String, String)>,
        files: &[ConfigFile],
    ) -> Result<Settings> {
        let mut settings = Settings::default();
        for file in files.iter().rev() {
            let table = file.text.parse::<Table>().map_err(|error| {
                let reason = error.message().to_owned();
                let line = error.span().map_or(1, |span| {
                    let before = file.text.get(..span.start).unwrap_or("");
                    before.matches('\n').count() + 1
                });
                let path = &file.path;
                Error::new(ErrorClass::OTHER, format!("{path}, line {line}: {reason}"))
            })?;
            settings.take_table("", &table, &file.path)?;
        }
        let mut variables: Vec<(String, String)> = environment.into_iter().collect();
        variables.sort();
        for (variable, text) in variables {
            let Some(name) = variable.strip_prefix(PREFIX) else { continue };
            if variable == CONFIG || variable.starts_with(TEST) || text.is_empty() {
                continue;
            }
            settings.set(&name.to_ascii_lowercase(), &text, "the environment")?;
        }
        Ok(settings)
    }

    fn take_table(&mut self, area: &str, table: &Table, path: &str) -> Result<()> {
        for (key, value) in table {
            let name = if area.is_empty() { key.clone() } else { format!("{area}_{key}") };
            match value {
                Value::Table(inner) => self.take_table(&name, inner, path)?,
                Value::String(text) => self.set(&name, text, path)?,
                Value::Integer(_) | Value::Boolean(_) => {
                    self.set(&name, &value.to_string(), path)?
                }
                _ => {
                    let what = format!(
                        "{path}: {name} is {value}, but settings are numbers, \
                         switches or text in quotes"
                    );
                    return Err(Error::new(ErrorClass::OTHER, what));
                }
            }
        }
        Ok(())
    }
}
