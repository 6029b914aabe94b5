//! Barriers (MPI-5.0 §6.3): empty messages only.

use super::section::section;
use crate::coll::builder::Builder;

/// Dissemination with k ports: in round i everyone signals the k ranks at the distances
/// j·(k+1)^i ahead and hears from as many behind (Hensgen 1988; k-port form as in Bruck 1997).
///
/// Cost: ⌈log_{k+1} p⌉ α.
pub fn dissemination(b: &mut Builder, ports: usize) {
    let p = b.size();
    let mut distance = 1;
    while distance < p {
        let hops = || (1..=ports).map(|j| j * distance).take_while(|&hop| hop < p);
        // Others wait for the signals; ours can be awaited later.
        hops().for_each(|hop| b.signal(b.ahead(hop)));
        hops().for_each(|hop| b.await_signal(b.behind(hop)));
        b.fence();
        distance *= ports + 1;
    }
}

/// Up the k-port binomial tree to rank 0 and down again: 2(p−1) messages instead of p log p, for
/// many processes on few cores.
///
/// Cost: 2 ⌈log_{k+1} p⌉ α.
pub fn tree(b: &mut Builder, ports: usize) {
    arrive(b, ports);
    leave(b, ports);
}

/// The first half: rank 0 goes on when all have come.
pub fn arrive(b: &mut Builder, ports: usize) {
    let limb = section(b.rank(), b.size(), 0, ports);
    for (child, _) in limb.children.iter().rev() {
        b.await_signal(*child);
    }
    b.fence();
    if let Some(parent) = limb.parent {
        b.signal(parent);
    }
}

/// The second half: all go on when rank 0 does.
pub fn leave(b: &mut Builder, ports: usize) {
    let limb = section(b.rank(), b.size(), 0, ports);
    if let Some(parent) = limb.parent {
        b.await_signal(parent);
        b.fence();
    }
    for (child, _) in &limb.children {
        b.signal(*child);
    }
}
