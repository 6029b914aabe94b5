//! Bytes of a peer copied straight from where they lie: in its arena, or by the kernel out of its address space.

mod fetch;
mod pull;
