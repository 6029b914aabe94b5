//! The tables of the MPICH ABI, whose handles are 32-bit codes.

use std::fmt::Write as _;

use anyhow::Result;

use crate::abi_values::{Constants, HANDLE_KINDS};

/// The text of `constants_mpich.rs`.
pub(crate) fn file() -> Result<String> {
    let constants = Constants::load()?;
    let mut text = constants.numbers(|values| values.mpich);
    text.push_str(&constants.pairs(|values| values.mpich));
    text.push_str(
        "\n/// Kind number, core handle and this ABI's code of each predefined handle; of two with\n\
         /// one core handle the first is the one that the library returns.\n\
         pub(crate) const HANDLES: &[(u32, u32, u32)] = &[\n",
    );
    let mut row = |kind: u32, core: i64, code: Option<i64>, name: &str| {
        if let Some(code) = code {
            let _ = writeln!(text, "    ({kind}, {core:#05x}, {code:#010x}), // {name}");
        }
    };
    for (group, kind) in HANDLE_KINDS {
        let mut last = None;
        for (name, values) in constants.group(group) {
            if last != Some(values.core()) {
                row(kind, values.core(), values.mpich, name);
            }
            last = Some(values.core());
        }
    }
    for (name, values) in constants.group("alias") {
        row(constants.kind_of_alias(values).1, values.core(), values.mpich, name);
    }
    text.push_str("];\n");
    Ok(text)
}
