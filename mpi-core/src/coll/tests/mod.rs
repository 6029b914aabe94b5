//! Every algorithm against the definition of its collective, run by a simulated executor.

mod between;
mod candidates;
mod choice;
mod cost;
mod data;
mod events;
mod map;
mod movement;
mod neighbors;
mod nodes;
mod parts;
mod proptests;
mod reductions;
mod selection;
mod sim;
mod sweep;
