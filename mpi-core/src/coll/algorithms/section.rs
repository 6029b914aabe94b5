//! The tree of the k-port binomial algorithms, for any number of ranks and any root.
//!
//! A process that stands for a range of ranks cuts it into k + 1 parts, keeps its own and hands
//! each of the others to the part's first rank. For p a power of k + 1 this is the k-port spanning
//! binomial tree (Johnsson 1989; Qian 2006 §5.1); otherwise it keeps its depth, ⌈log_{k+1} p⌉.
//! Every process stands for *consecutive ranks*, wherever the root is: blocks never need to be
//! rotated, and a reduction along the tree is in rank order.

use std::ops::Range;

/// A process in the tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Limb {
    /// Where it hangs; the root has none.
    pub(super) parent: Option<usize>,
    /// The ranks it stands for, itself included.
    pub(super) ranks: Range<usize>,
    /// Its children and their ranks, the largest first; in reverse, those before it and those
    /// after it are each ordered from near to far.
    pub(super) children: Vec<(usize, Range<usize>)>,
}

/// The place of `rank` in the tree of `size` processes.
pub(super) fn section(rank: usize, size: usize, root: usize, ports: usize) -> Limb {
    let mut limb = Limb { parent: None, ranks: 0..size, children: Vec::new() };
    let (mut range, mut head) = (0..size, root);
    while range.len() > 1 {
        let parts = range.len().min(ports + 1);
        let cut = |part: usize| range.start + part * range.len() / parts;
        let part = |part: usize| cut(part)..cut(part + 1);
        let Some(mine) = (0..parts).find(|&i| part(i).contains(&rank)) else { break };
        let own = part(mine);
        if head == rank {
            let others = (mine + 1..parts).rev().chain(0..mine);
            limb.children.extend(others.map(|i| (cut(i), part(i))));
        } else if !own.contains(&head) {
            if own.start == rank {
                limb.parent = Some(head);
                limb.ranks = own.clone();
            }
            head = own.start;
        }
        range = own;
    }
    limb
}
