//! Endpoints of the network, and which of them are on one node.

/// An endpoint, by the order of joining.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EndpointId(pub u32);

/// How the processes, in the order in which they joined, are divided among nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nodes {
    /// All on one.
    One,
    /// So many after each other on each.
    Blocks(u32),
    /// In turn on so many.
    Turns(u32),
}

impl Nodes {
    /// The number of an endpoint's node.
    pub(super) fn of(self, endpoint: EndpointId) -> u32 {
        match self {
            Nodes::One => 0,
            Nodes::Blocks(ranks) => endpoint.0 / ranks,
            Nodes::Turns(nodes) => endpoint.0 % nodes,
        }
    }
}
