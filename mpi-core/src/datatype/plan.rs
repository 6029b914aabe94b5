//! A type map as a compact program of strided copies.
//!
//! A plan lists the bytes of one element in the order of the type map, as nested loops around
//! copies of contiguous bytes. Neighbouring bytes are coalesced and regular patterns become
//! strides when it is built, so a plan is never larger than the arguments of the constructors
//! that made the type. `copy.rs` runs it; the idea of such descriptions is that of "dataloops"
//! (Ross, Miller, Gropp: Implementing fast and reusable datatype processing, 2003).

use std::sync::Arc;

/// Irregular lists of at most so many runs are flattened to one list, which is copied fastest.
const FLATTEN_MAX: u64 = 64;

/// Displacements are in bytes, relative to the address of the element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Plan {
    /// `len` bytes at `disp`; also the empty plan.
    Run { disp: i64, len: u64 },
    /// `count` blocks of `len` bytes, `stride` apart.
    Strided { disp: i64, len: u64, count: u64, stride: i64 },
    /// Blocks of `len` bytes each.
    Indexed { len: u64, disps: Box<[i64]> },
    /// Blocks of any lengths; `starts[i]` is where block `i` begins in the packed bytes, and
    /// there is one more at the end.
    Blocks { disps: Box<[i64]>, starts: Box<[u64]> },
    /// `count` times `body`, `stride` apart. `size` is that of all.
    Loop { disp: i64, count: u64, stride: i64, size: u64, body: Arc<Plan> },
    /// One after the other; `starts` as for blocks.
    List { parts: Box<[Arc<Plan>]>, starts: Box<[u64]> },
}

impl Plan {
    /// The plan that copies nothing.
    pub(super) const EMPTY: Plan = Plan::Run { disp: 0, len: 0 };

    /// Bytes that the plan copies.
    pub(super) fn size(&self) -> u64 {
        match self {
            Plan::Run { len, .. } => *len,
            Plan::Strided { len, count, .. } => len * count,
            Plan::Indexed { len, disps } => len * disps.len() as u64,
            Plan::Blocks { starts, .. } | Plan::List { starts, .. } => {
                starts.last().copied().unwrap_or(0)
            }
            Plan::Loop { size, .. } => *size,
        }
    }

    /// A plan for these runs, given as displacement and length, in this order.
    pub(super) fn from_runs(runs: impl IntoIterator<Item = (i64, u64)>) -> Plan {
        let runs: Vec<(i64, u64)> = runs.into_iter().filter(|(_, len)| *len > 0).collect();
        let mut merged: Vec<(i64, u64)> = Vec::with_capacity(runs.len());
        for &(disp, len) in &runs {
            match merged.last_mut() {
                Some((last, last_len)) if last.wrapping_add_unsigned(*last_len) == disp => {
                    *last_len += len;
                }
                _ => merged.push((disp, len)),
            }
        }
        let Some(&(disp, len)) = merged.first() else { return Plan::EMPTY };
        if merged.len() == 1 {
            return Plan::Run { disp, len };
        }
        if merged.iter().any(|(_, other)| *other != len) {
            // Blocks of one length, of which a few touch, are copied fastest as they are.
            let each = runs[0].1;
            if 4 * merged.len() >= 3 * runs.len() && runs.iter().all(|(_, len)| *len == each) {
                let disps = runs.iter().map(|(disp, _)| *disp).collect();
                return Plan::Indexed { len: each, disps };
            }
            return Plan::Blocks {
                disps: merged.iter().map(|(disp, _)| *disp).collect(),
                starts: starts(merged.iter().map(|(_, len)| *len)),
            };
        }
        let stride = merged[1].0.wrapping_sub(disp);
        if merged.windows(2).all(|pair| pair[1].0.wrapping_sub(pair[0].0) == stride) {
            return Plan::Strided { disp, len, count: merged.len() as u64, stride };
        }
        Plan::Indexed { len, disps: merged.iter().map(|(disp, _)| *disp).collect() }
    }

    /// `count` copies, `stride` bytes apart.
    pub(super) fn repeated(self: &Arc<Plan>, count: u64, stride: i64) -> Arc<Plan> {
        if count == 0 || self.size() == 0 {
            return Arc::new(Plan::EMPTY);
        }
        if count == 1 {
            return Arc::clone(self);
        }
        let continues = |n: u64, s: i64| i128::from(stride) == i128::from(n) * i128::from(s);
        Arc::new(match **self {
            Plan::Run { disp, len } if continues(len, 1) => Plan::Run { disp, len: len * count },
            Plan::Run { disp, len } => Plan::Strided { disp, len, count, stride },
            Plan::Strided { disp, len, count: n, stride: s } if continues(n, s) => {
                Plan::Strided { disp, len, count: n * count, stride: s }
            }
            Plan::Loop { disp, count: n, stride: s, size, ref body } if continues(n, s) => {
                let (count, size) = (n * count, size * count);
                Plan::Loop { disp, count, stride: s, size, body: Arc::clone(body) }
            }
            _ => {
                let size = self.size() * count;
                Plan::Loop { disp: 0, count, stride, size, body: Arc::clone(self) }
            }
        })
    }

    /// The same moved by `by` bytes.
    pub(super) fn shifted(self: &Arc<Plan>, by: i64) -> Arc<Plan> {
        if by == 0 {
            return Arc::clone(self);
        }
        let at = |disp: i64| disp.wrapping_add(by);
        Arc::new(match **self {
            Plan::Run { disp, len } => Plan::Run { disp: at(disp), len },
            Plan::Strided { disp, len, count, stride } => {
                Plan::Strided { disp: at(disp), len, count, stride }
            }
            Plan::Loop { disp, count, stride, size, ref body } => {
                Plan::Loop { disp: at(disp), count, stride, size, body: Arc::clone(body) }
            }
            _ => {
                let (size, body) = (self.size(), Arc::clone(self));
                Plan::Loop { disp: by, count: 1, stride: 0, size, body }
            }
        })
    }

    /// Plans one after the other.
    pub(super) fn concat(parts: Vec<Arc<Plan>>) -> Arc<Plan> {
        let mut parts: Vec<Arc<Plan>> = parts.into_iter().filter(|part| part.size() > 0).collect();
        if parts.len() == 1 {
            return parts.swap_remove(0);
        }
        let runs = parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.runs()));
        if runs <= FLATTEN_MAX {
            let mut flat = Vec::with_capacity(runs as usize);
            parts.iter().for_each(|part| part.flatten(0, &mut flat));
            return Arc::new(Plan::from_runs(flat));
        }
        let mut merged: Vec<Arc<Plan>> = Vec::with_capacity(parts.len());
        for part in parts {
            match (merged.last().map(|last| &**last), &*part) {
                (Some(&Plan::Run { disp, len }), &Plan::Run { disp: next, len: more })
                    if disp.wrapping_add_unsigned(len) == next =>
                {
                    merged.pop();
                    merged.push(Arc::new(Plan::Run { disp, len: len + more }));
                }
                _ => merged.push(part),
            }
        }
        let starts = starts(merged.iter().map(|part| part.size()));
        Arc::new(Plan::List { parts: merged.into_boxed_slice(), starts })
    }

    /// The number of contiguous runs, at most `u64::MAX`.
    fn runs(&self) -> u64 {
        match self {
            Plan::Run { .. } => 1,
            Plan::Strided { count, .. } => *count,
            Plan::Indexed { disps, .. } | Plan::Blocks { disps, .. } => disps.len() as u64,
            Plan::Loop { count, body, .. } => count.saturating_mul(body.runs()),
            Plan::List { parts, .. } => {
                parts.iter().fold(0, |sum, part| sum.saturating_add(part.runs()))
            }
        }
    }

    /// Appends all runs, moved by `by`.
    fn flatten(&self, by: i64, runs: &mut Vec<(i64, u64)>) {
        let nth = |disp: i64, stride: i64, index: u64| {
            by.wrapping_add(disp).wrapping_add(stride.wrapping_mul(index as i64))
        };
        match self {
            Plan::Run { disp, len } => runs.push((by.wrapping_add(*disp), *len)),
            Plan::Strided { disp, len, count, stride } => {
                runs.extend((0..*count).map(|index| (nth(*disp, *stride, index), *len)));
            }
            Plan::Indexed { len, disps } => {
                runs.extend(disps.iter().map(|disp| (by.wrapping_add(*disp), *len)));
            }
            Plan::Blocks { disps, starts } => {
                let lens = starts.windows(2).map(|pair| pair[1] - pair[0]);
                runs.extend(disps.iter().map(|disp| by.wrapping_add(*disp)).zip(lens));
            }
            Plan::Loop { disp, count, stride, body, .. } => {
                (0..*count).for_each(|index| body.flatten(nth(*disp, *stride, index), runs));
            }
            Plan::List { parts, .. } => parts.iter().for_each(|part| part.flatten(by, runs)),
        }
    }

    /// Where packed byte `from` lies, as a displacement, and how many bytes follow it in one run.
    /// `from` is less than the plan's size.
    pub(super) fn run_at(&self, mut from: u64) -> (i64, u64) {
        let mut plan = self;
        let mut base = 0i64;
        loop {
            let nth = |disp: i64, stride: i64, index: u64| {
                base.wrapping_add(disp).wrapping_add(stride.wrapping_mul(index as i64))
            };
            let (disp, len) = match plan {
                Plan::Run { disp, len } => (base.wrapping_add(*disp), *len),
                Plan::Strided { disp, len, stride, .. } => {
                    let index = from / len;
                    from %= len;
                    (nth(*disp, *stride, index), *len)
                }
                Plan::Indexed { len, disps } => {
                    let index = from / len;
                    from %= len;
                    (base.wrapping_add(disps[index as usize]), *len)
                }
                Plan::Blocks { disps, starts } => {
                    let index = part_of(starts, from);
                    from -= starts[index];
                    (base.wrapping_add(disps[index]), starts[index + 1] - starts[index])
                }
                Plan::Loop { disp, stride, body, .. } => {
                    base = nth(*disp, *stride, from / body.size());
                    from %= body.size();
                    plan = body;
                    continue;
                }
                Plan::List { parts, starts } => {
                    let index = part_of(starts, from);
                    from -= starts[index];
                    plan = &parts[index];
                    continue;
                }
            };
            return (disp.wrapping_add_unsigned(from), len - from);
        }
    }
}

/// The part that holds packed byte `at`, which lies before the last of `starts`.
pub(super) fn part_of(starts: &[u64], at: u64) -> usize {
    starts.partition_point(|start| *start <= at) - 1
}

/// Where parts of these sizes begin, and where the last one ends.
fn starts(sizes: impl Iterator<Item = u64>) -> Box<[u64]> {
    let mut end = 0;
    let ends = sizes.map(|size| {
        end += size;
        end
    });
    std::iter::once(0).chain(ends).collect()
}
