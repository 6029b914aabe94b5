//! Bodies of procedures that return no error code: timers, address arithmetic, conversions.

pub mod convert;
pub mod misc;
