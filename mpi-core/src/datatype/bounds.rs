//! Bounds and extents of a type map (MPI-5.0 §5.1.6 to §5.1.8).
//!
//! The arithmetic follows the definition on the flat type map: without markers a type spans its
//! data, rounded up to its strictest alignment; markers, once set, win and are inherited.

/// The span of a type map. All arithmetic is checked: `None` means beyond 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bounds {
    /// First byte and one past the last byte of data; `None` if there is no data.
    data: Option<(i64, i64)>,
    /// Lower bound set by a marker or by `MPI_Type_create_resized`.
    lb_mark: Option<i64>,
    /// Upper bound set likewise.
    ub_mark: Option<i64>,
    align: i64,
}

impl Bounds {
    /// The span of nothing.
    pub(super) const EMPTY: Bounds = Bounds { data: None, lb_mark: None, ub_mark: None, align: 1 };

    /// The span of one basic element at displacement zero.
    pub(super) fn basic(size: i64, align: i64) -> Bounds {
        Bounds { data: Some((0, size)), align, ..Bounds::EMPTY }
    }

    /// A marker at displacement zero.
    pub(super) fn marker(upper: bool) -> Bounds {
        let (lb_mark, ub_mark) = if upper { (None, Some(0)) } else { (Some(0), None) };
        Bounds { lb_mark, ub_mark, ..Bounds::EMPTY }
    }

    pub(super) fn align(&self) -> i64 {
        self.align
    }

    pub(super) fn true_lb(&self) -> i64 {
        self.data.map_or(0, |(first, _)| first)
    }

    pub(super) fn true_extent(&self) -> Option<i64> {
        self.data.map_or(Some(0), |(first, end)| end.checked_sub(first))
    }

    pub(super) fn lb(&self) -> i64 {
        self.lb_mark.or(self.data.map(|(first, _)| first)).or(self.ub_mark).unwrap_or(0)
    }

    pub(super) fn extent(&self) -> Option<i64> {
        let lb = self.lb();
        match (self.ub_mark, self.data) {
            (Some(ub), _) => ub.checked_sub(lb),
            (None, Some((_, end))) => {
                let span = end.checked_sub(lb)?;
                span.checked_add(span.checked_neg()?.rem_euclid(self.align))
            }
            (None, None) => Some(0),
        }
    }

    /// All of it moved by `by`.
    pub(super) fn shifted(&self, by: i64) -> Option<Bounds> {
        self.stretched(by, by)
    }

    /// `count` copies, `stride` bytes apart.
    pub(super) fn repeated(&self, count: i64, stride: i64) -> Option<Bounds> {
        if count == 0 {
            return Some(Bounds::EMPTY);
        }
        let last = stride.checked_mul(count - 1)?;
        self.stretched(last.min(0), last.max(0))
    }

    /// Lower ends moved by `low`, upper ends by `high`, for copies that reach from `low` to
    /// `high`. The markers of repeated copies are the lowest lower and the highest upper one.
    fn stretched(&self, low: i64, high: i64) -> Option<Bounds> {
        let data = match self.data {
            Some((first, end)) => Some((first.checked_add(low)?, end.checked_add(high)?)),
            None => None,
        };
        Some(Bounds {
            data,
            lb_mark: match self.lb_mark {
                Some(mark) => Some(mark.checked_add(low)?),
                None => None,
            },
            ub_mark: match self.ub_mark {
                Some(mark) => Some(mark.checked_add(high)?),
                None => None,
            },
            align: self.align,
        })
    }

    /// Both one after the other.
    pub(super) fn joined(&self, other: &Bounds) -> Bounds {
        let data = match (self.data, other.data) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (a, b) => a.or(b),
        };
        let pick = |a: Option<i64>, b: Option<i64>, choose: fn(i64, i64) -> i64| match (a, b) {
            (Some(a), Some(b)) => Some(choose(a, b)),
            (a, b) => a.or(b),
        };
        Bounds {
            data,
            lb_mark: pick(self.lb_mark, other.lb_mark, i64::min),
            ub_mark: pick(self.ub_mark, other.ub_mark, i64::max),
            align: self.align.max(other.align),
        }
    }

    /// The same data between new markers.
    pub(super) fn resized(&self, lb: i64, extent: i64) -> Option<Bounds> {
        Some(Bounds { lb_mark: Some(lb), ub_mark: Some(lb.checked_add(extent)?), ..*self })
    }
}
