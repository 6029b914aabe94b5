//! What messages go over, and what was measured there.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Microseconds by size.
pub(super) type Row = BTreeMap<u64, f64>;

/// What messages go over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Way {
    /// The memory of one node.
    Memory,
    /// TCP between all.
    Tcp,
    /// TCP between groups of so many ranks, each of which shares memory.
    Nodes(u32),
    /// The same between two groups, one of all ranks' first half.
    TwoNodes,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Memory => f.write_str("memory"),
            Way::Tcp => f.write_str("tcp"),
            Way::Nodes(ranks) => write!(f, "nodes:{ranks}"),
            Way::TwoNodes => f.write_str("two-nodes"),
        }
    }
}

impl FromStr for Way {
    type Err = String;

    fn from_str(text: &str) -> Result<Way, String> {
        let ranks = text.strip_prefix("nodes:").and_then(|ranks| ranks.parse().ok());
        match (text, ranks) {
            ("memory", _) => Ok(Way::Memory),
            ("tcp", _) => Ok(Way::Tcp),
            ("two-nodes", _) => Ok(Way::TwoNodes),
            (_, Some(ranks)) if ranks > 0 => Ok(Way::Nodes(ranks)),
            _ => Err(format!("\"{text}\" is none of memory, tcp, two-nodes and nodes:K")),
        }
    }
}
