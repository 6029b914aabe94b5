//! Restraint in what is logged about strangers, of whom there may be many: one line a second.

use std::time::{Duration, Instant};

/// Lines are written no more often.
const GAP: Duration = Duration::from_secs(1);

/// When the last line was written.
#[derive(Debug, Default)]
pub(crate) struct Restraint {
    last: Option<Instant>,
}

impl Restraint {
    /// Whether a line may be written at `now`; if so, it is taken as written.
    pub(crate) fn may_speak(&mut self, now: Instant) -> bool {
        let may = self.last.is_none_or(|last| now.duration_since(last) >= GAP);
        if may {
            self.last = Some(now);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speaks_once_a_second() {
        let (mut restraint, start) = (Restraint::default(), Instant::now());
        let at = [0, 1, 999, 1000, 1001, 1999, 2500, 3499, 3500];
        let spoken = at.map(|millis| restraint.may_speak(start + Duration::from_millis(millis)));
        assert_eq!(spoken, [true, false, false, true, false, false, true, false, true]);
    }
}
