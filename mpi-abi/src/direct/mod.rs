//! Bodies of procedures that raise no error: timers, address arithmetic, conversions, the interface
//! for tools.

pub mod convert;
pub mod misc;
pub mod tools;
