//! Programs in simulated worlds: ranks are fibers of one thread, and the network is a model that a seed drives, so that
//! what fails once fails again. They are one binary, since each binary has the whole library to compile.

mod calls;

mod caches;
mod coll;
mod gathers;
mod hostile;
mod leftovers;
mod mixed;
mod nodes;
mod nonblocking;
mod p2p;
mod partitioned;
mod persistent;
mod ready;
mod severed;
mod thousand;
mod threads;
mod turns;
mod windows;
mod world;

/// How many seeds a test tries: so many, unless `FERRITE_TEST_SEEDS` asks for more.
fn seeds(usual: u64) -> u64 {
    let more = std::env::var("FERRITE_TEST_SEEDS").ok().and_then(|text| text.parse().ok());
    more.unwrap_or(usual)
}
