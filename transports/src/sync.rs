//! The one façade of atomics: those of std, or loom's, which try every order of events
//! (decision 26). Shared memory is touched through these and raw copies alone.

#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence, fence};

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Keeps the compiler from moving memory accesses across; loom's atomics are never moved.
#[cfg(loom)]
pub fn compiler_fence(_: Ordering) {}
