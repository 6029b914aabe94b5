//! Bounds of settings that the transports have in common.

use std::fmt::Display;
use std::ops::RangeInclusive;

/// Whether the value of a setting is within its bounds.
///
/// # Errors
/// It is not, in a sentence.
pub(crate) fn within<T: PartialOrd + Display>(
    name: &str,
    value: T,
    bounds: RangeInclusive<T>,
) -> Result<(), String> {
    let (least, most) = (bounds.start(), bounds.end());
    let refused = || format!("{name} is {value} and has to be from {least} to {most}");
    if bounds.contains(&value) { Ok(()) } else { Err(refused()) }
}
