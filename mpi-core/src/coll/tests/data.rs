//! Units that tell where they come from, so that a wrong one is recognised wherever it ends up.

/// One unit of a simulated buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value {
    /// Nobody has written it: reading it is a fault.
    Unwritten,
    /// Some step is just writing it: reading it is a fault.
    InFlux,
    /// Unit `offset` of what `from` has for `to`.
    Token { from: u32, to: u32, offset: u32 },
    /// The ordered reduction of ranks `first` up to `end`; `tree` tells how it was bracketed.
    Run { first: u32, end: u32, element: u32, tree: u64 },
    /// The reduction of a set of ranks in any order.
    Set { ranks: [u64; 4], element: u32, tree: u64 },
}

use Value::{Run, Set};

impl Value {
    /// The contribution of `rank` to `element` of a reduction.
    pub(super) fn contribution(rank: usize, element: usize, commutative: bool) -> Value {
        let (rank, element) = (rank as u32, element as u32);
        let tree = mix(u64::from(rank), u64::from(element));
        if commutative {
            let mut ranks = [0; 4];
            ranks[rank as usize / 64] = 1 << (rank % 64);
            Set { ranks, element, tree }
        } else {
            Run { first: rank, end: rank + 1, element, tree }
        }
    }

    /// `self ∘ right`, if they fit: consecutive runs, or disjoint sets, of the same element.
    pub(super) fn combine(self, right: Value) -> Result<Value, String> {
        match (self, right) {
            (Run { first, end, element, tree }, Run { first: f, end: e, element: x, tree: t })
                if end == f && element == x =>
            {
                Ok(Run { first, end: e, element, tree: mix(tree, t) })
            }
            (Set { ranks, element, tree }, Set { ranks: r, element: x, tree: t })
                if element == x && ranks.iter().zip(&r).all(|(a, b)| a & b == 0) =>
            {
                let ranks = std::array::from_fn(|word| ranks[word] | r[word]);
                Ok(Set { ranks, element, tree: mix(tree, t) })
            }
            _ => Err(format!("{self:?} is combined with {right:?}")),
        }
    }

    /// Whether this is the reduction of `element` over exactly the ranks `first..end`.
    pub(super) fn is_reduction(self, first: usize, end: usize, element: usize) -> bool {
        match self {
            Run { first: f, end: e, element: x, .. } => {
                (f as usize, e as usize, x as usize) == (first, end, element)
            }
            Set { ranks, element: x, .. } => {
                let member = |rank: usize| ranks[rank / 64] >> (rank % 64) & 1 == 1;
                x as usize == element
                    && (0..256).all(|rank| member(rank) == (first..end).contains(&rank))
            }
            _ => false,
        }
    }
}

/// A hash of an ordered pair.
pub(super) fn mix(a: u64, b: u64) -> u64 {
    let x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31) ^ b;
    (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (x >> 32)
}
