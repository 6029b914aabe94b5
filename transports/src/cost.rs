//! What a way of moving bytes has cost lately, for those who find out which of two is cheaper.

/// Nanoseconds for 64 KiB, smoothed.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Cost(Option<u64>);

impl Cost {
    /// So many bytes have taken so long.
    pub(crate) fn learn(&mut self, nanos: u64, bytes: usize) {
        let now = (nanos << 16) / bytes as u64;
        self.0 = Some(match self.0 {
            // What is far off is an interrupt's time, of which nothing makes less.
            Some(before) if now > before => (3 * before + now.min(4 * before + 1000)) / 4,
            _ => now,
        });
    }

    /// Whether nothing has been learnt.
    pub(crate) fn is_unknown(self) -> bool {
        self.0.is_none()
    }

    /// Whether it is less than the other by enough to be no chance.
    pub(crate) fn is_well_below(self, other: Cost) -> bool {
        match (self.0, other.0) {
            (Some(this), Some(other)) => this + this / 8 < other,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_well_below_another_if_it_is_so_by_an_eighth() {
        let (mut one, mut other) = (Cost::default(), Cost::default());
        assert!(one.is_unknown() && !one.is_well_below(other));
        one.learn(2000, 32 << 10);
        assert!(!one.is_unknown() && !one.is_well_below(other));
        other.learn(950, 16 << 10);
        assert!(!other.is_well_below(one));
        other.learn(800, 16 << 10);
        assert!(other.is_well_below(one) && !one.is_well_below(other));
        other.learn(1 << 40, 16 << 10);
        assert!(!other.is_well_below(one));
    }
}
