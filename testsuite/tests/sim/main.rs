//! Programs in simulated worlds: ranks are fibers of one thread, and the network is a model that a seed drives, so that
//! what fails once fails again. They are one binary, since each binary has the whole library to compile.

mod calls;

mod caches;
mod coll;
mod gathers;
mod hostile;
mod leftovers;
mod nodes;
mod nonblocking;
mod p2p;
mod partitioned;
mod persistent;
mod severed;
mod thousand;
mod windows;
mod world;
