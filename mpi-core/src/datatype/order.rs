//! In which order the runs of a type map lie, told from its plan: a loop says it of all its turns at once, however
//! many they are.

use super::Datatype;
use super::plan::Plan;

/// The runs of a type map that has bytes. Wider than displacements, so that no sum wraps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// Where the first run begins.
    pub first: i128,
    /// Where the last run begins.
    pub last: i128,
    /// Where the last run ends.
    end: i128,
    /// No run begins before the one that precedes it.
    pub forward: bool,
    /// Some run begins before the end of the one that precedes it.
    pub overlaps: bool,
}

impl Datatype {
    /// The order of its runs; `None` without any.
    pub fn order(&self) -> Option<Order> {
        of(&self.layout.plan)
    }
}

impl Order {
    fn run(disp: i64, len: u64) -> Order {
        let first = i128::from(disp);
        let end = first + i128::from(len);
        Order { first, last: first, end, forward: true, overlaps: false }
    }

    fn shifted(self, by: i128) -> Order {
        Order { first: self.first + by, last: self.last + by, end: self.end + by, ..self }
    }

    fn then(self, next: Order) -> Order {
        Order {
            first: self.first,
            last: next.last,
            end: next.end,
            forward: self.forward && next.forward && next.first >= self.last,
            overlaps: self.overlaps || next.overlaps || next.first < self.end,
        }
    }

    /// So many turns; what holds between the first two holds between any two.
    fn repeated(self, count: u64, stride: i64) -> Order {
        let stride = i128::from(stride);
        if count < 2 {
            return self;
        }
        let last = self.shifted(stride * i128::from(count - 1));
        let two = self.then(self.shifted(stride));
        Order { last: last.last, end: last.end, ..two }
    }
}

fn of(plan: &Plan) -> Option<Order> {
    if plan.size() == 0 {
        return None;
    }
    match plan {
        Plan::Run { disp, len } => Some(Order::run(*disp, *len)),
        Plan::Strided { disp, len, count, stride } => {
            Some(Order::run(*disp, *len).repeated(*count, *stride))
        }
        Plan::Indexed { len, disps } => {
            disps.iter().map(|disp| Order::run(*disp, *len)).reduce(Order::then)
        }
        Plan::Blocks { disps, starts } => {
            let lens = starts.windows(2).map(|pair| pair[1] - pair[0]);
            disps.iter().zip(lens).map(|(disp, len)| Order::run(*disp, len)).reduce(Order::then)
        }
        Plan::Loop { disp, count, stride, body, .. } => {
            Some(of(body)?.shifted(i128::from(*disp)).repeated(*count, *stride))
        }
        Plan::List { parts, .. } => parts.iter().filter_map(|part| of(part)).reduce(Order::then),
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::trees;
    use super::super::{Form, Packer, predefined};
    use super::*;
    use crate::buffer::UserBuffer;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// The order by walking all runs.
    fn walked(datatype: &Arc<Datatype>) -> Option<Order> {
        let mut cursor = Packer::new(UserBuffer::BOTTOM, 1, datatype);
        let runs = std::iter::from_fn(|| cursor.next_run(usize::MAX));
        runs.map(|(at, len)| Order::run(at.addr() as i64, len as u64)).reduce(Order::then)
    }

    proptest! {
        #![proptest_config(ProptestConfig { max_global_rejects: 100_000, ..ProptestConfig::default() })]

        #[test]
        fn the_plan_tells_what_walking_it_finds(tree in trees()) {
            let datatype = tree.build(Form::Int);
            prop_assert_eq!(datatype.order(), walked(&datatype));
        }
    }

    #[test]
    fn more_runs_than_anybody_counts_are_told_at_once() {
        let short = predefined(0x208).expect("MPI_SHORT");
        for (stride, forward, overlaps) in [(3, true, false), (1, true, true), (-3, false, true)] {
            let many = Datatype::hvector(1 << 58, 1, stride, short, Form::Int).expect("valid");
            let order = many.order().expect("bytes");
            assert_eq!((order.forward, order.overlaps), (forward, overlaps), "{stride}");
            assert_eq!(order.last, i128::from(stride) * ((1 << 58) - 1));
        }
    }
}
