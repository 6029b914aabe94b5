//! The values that the MPICH and the Open MPI ABI give to constants and predefined handles.
//!
//! In comes `constants.toml`, out go the tables of `constants_*.rs`, with which
//! the two faces convert (MPI-5.0 chapter 20 for the standard's own values).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The text of `constants.toml`.
const TABLE: &str = include_str!("../constants.toml");

/// Groups of constants that a face converts, with the variant of `ConstantGroup`.
const GROUPS: [(&str, &str); 22] = [
    ("thread_level", "ThreadLevel"),
    ("comparison", "Comparison"),
    ("topology", "Topology"),
    ("split_type", "SplitType"),
    ("combiner", "Combiner"),
    ("order", "Order"),
    ("distribution", "Distribution"),
    ("type_class", "TypeClass"),
    ("lock_type", "LockType"),
    ("win_flavor", "WinFlavor"),
    ("win_model", "WinModel"),
    ("rma_assert", "RmaAssert"),
    ("file_mode", "FileMode"),
    ("seek", "Seek"),
    ("keyval", "Keyval"),
    ("tool_verbosity", "ToolVerbosity"),
    ("tool_bind", "ToolBind"),
    ("tool_scope", "ToolScope"),
    ("tool_pvar_class", "ToolPvarClass"),
    ("tool_ordering", "ToolOrdering"),
    ("tool_safety", "ToolSafety"),
    ("error_class", ""),
];

/// Groups of handles, each with the number of its kind in the core.
pub const HANDLE_KINDS: [(&str, u32); 11] = [
    ("comm", 1),
    ("group", 2),
    ("datatype", 3),
    ("op", 4),
    ("request", 5),
    ("errhandler", 6),
    ("info", 7),
    ("win", 8),
    ("file", 9),
    ("session", 10),
    ("message", 11),
];

/// One name's values.
#[derive(Deserialize, Debug, Clone)]
#[serde(deny_unknown_fields)]
pub struct Values {
    std: Option<i64>,
    core: Option<i64>,
    /// In the MPICH ABI.
    pub mpich: Option<i64>,
    /// In the Open MPI ABI: a number, or the name of the object.
    pub openmpi: Option<OpenMpi>,
    /// INTEGER of the handle in Open MPI's Fortran.
    pub fint: Option<i32>,
}

/// What Open MPI has for a name.
#[derive(Deserialize, Debug, Clone)]
#[serde(untagged)]
pub enum OpenMpi {
    /// The value of a constant.
    Number(i64),
    /// The object whose address is the handle.
    Object(String),
}

impl Values {
    /// The value in the core.
    pub fn core(&self) -> i64 {
        self.std.or(self.core).unwrap_or_default()
    }

    /// The value in the standard ABI.
    pub fn standard(&self) -> Option<i64> {
        self.std
    }

    /// The value of a plain constant in the Open MPI ABI.
    pub fn openmpi_number(&self) -> Option<i64> {
        match self.openmpi {
            Some(OpenMpi::Number(number)) => Some(number),
            _ => None,
        }
    }
}

/// The whole table.
#[derive(Debug)]
pub struct Constants {
    groups: BTreeMap<String, Vec<(String, Values)>>,
    object_sizes: BTreeMap<String, usize>,
}

impl Constants {
    /// Reads and checks the table.
    pub fn load() -> Result<Constants> {
        let mut table: toml::Table = TABLE.parse().context("constants.toml")?;
        let sizes = table.remove("openmpi_size").context("constants.toml: no [openmpi_size]")?;
        let mut groups = BTreeMap::new();
        for (group, names) in table {
            let names: BTreeMap<String, Values> =
                names.try_into().with_context(|| format!("constants.toml: [{group}]"))?;
            for (name, values) in &names {
                ensure!(
                    values.std.is_some() != values.core.is_some(),
                    "constants.toml: {name} needs one of `std` and `core`"
                );
            }
            let mut names: Vec<(String, Values)> = names.into_iter().collect();
            names.sort_by_key(|(_, values)| values.core());
            groups.insert(group, names);
        }
        Ok(Constants { groups, object_sizes: sizes.try_into()? })
    }

    /// The names of one group, by their value in the core.
    pub fn group(&self, group: &str) -> &[(String, Values)] {
        self.groups.get(group).map_or(&[], Vec::as_slice)
    }

    /// All groups.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &[(String, Values)])> {
        self.groups.iter().map(|(group, names)| (group.as_str(), names.as_slice()))
    }

    /// The handle kind of a predefined handle that `alias` lists, from the standard's ranges.
    pub(crate) fn kind_of_alias(&self, values: &Values) -> (&'static str, u32) {
        match values.core() {
            0x140..0x180 => HANDLE_KINDS[5],
            0x200..0x400 => HANDLE_KINDS[2],
            _ => HANDLE_KINDS[3],
        }
    }

    /// Bytes of Open MPI's objects of a kind.
    pub fn object_size(&self, kind: &str) -> Result<usize> {
        self.object_sizes.get(kind).copied().with_context(|| format!("no size of {kind} objects"))
    }

    /// `pairs(group)` and `ERRORS`: core value and the face's, for each name that the face has.
    pub(crate) fn pairs(&self, face: impl Fn(&Values) -> Option<i64>) -> String {
        let mut text = String::from(
            "\n/// Core value and this ABI's, for each constant of a group.\n\
             pub(crate) fn pairs(group: ConstantGroup) -> &'static [(i32, i32)] {\n    \
             match group {\n",
        );
        let list = |group: &str, indent: &str| {
            let mut rows = String::new();
            for (name, values) in self.group(group) {
                if let Some(value) = face(values) {
                    let core = values.core();
                    let _ = writeln!(rows, "{indent}    ({core}, {value}), // {name}");
                }
            }
            format!("&[\n{rows}{indent}]")
        };
        for (group, variant) in GROUPS.iter().filter(|(_, variant)| !variant.is_empty()) {
            let rows = list(group, "        ");
            let _ = writeln!(text, "        ConstantGroup::{variant} => {rows},");
        }
        text.push_str("    }\n}\n");
        let _ = writeln!(
            text,
            "\n/// Core value and this ABI's of each error class.\n\
             pub(crate) const ERRORS: &[(i32, i32)] = {};",
            list("error_class", "")
        );
        text
    }

    /// One `const` for each name of the groups that hold single numbers.
    pub(crate) fn numbers(&self, face: impl Fn(&Values) -> Option<i64>) -> String {
        let mut text = String::new();
        for group in ["rank", "tag", "limit", "number", "address"] {
            for (name, values) in self.group(group) {
                if let Some(value) = face(values) {
                    let short = name.trim_start_matches("MPI_");
                    let _ = writeln!(text, "/// `{name}`.");
                    let _ = writeln!(text, "pub(crate) const {short}: i64 = {value};");
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_names_of_a_group_share_a_value_in_one_abi() {
        let constants = Constants::load().unwrap();
        for (group, _) in GROUPS {
            let names = constants.group(group);
            assert!(!names.is_empty(), "{group}");
            for face in [|v: &Values| v.mpich, |v: &Values| v.openmpi_number()] {
                let mut values: Vec<i64> = names.iter().filter_map(|(_, v)| face(v)).collect();
                let all = values.len();
                values.sort_unstable();
                values.dedup();
                assert_eq!(values.len(), all, "{group}");
            }
        }
    }

    #[test]
    fn every_group_is_used() {
        let known = |group: &str| {
            GROUPS.iter().any(|(name, _)| *name == group)
                || HANDLE_KINDS.iter().any(|(name, _)| *name == group)
                || ["rank", "tag", "limit", "number", "address", "alias"].contains(&group)
        };
        for (group, _) in Constants::load().unwrap().groups() {
            assert!(known(group), "{group}");
        }
    }
}
