//! How often it is looked for what has come, where each look is a call of the kernel, which costs as much as some
//! looks at shared memory or at streams.

/// Something came lately if it did within so many polls: then each of them looks.
const BUSY_POLLS: u32 = 4096;
/// Polls from one look to the next otherwise. Whoever polls bounds the time that takes
/// (`node/pace`).
const GAP: u32 = 32;

/// Polls since something came, and until the next look.
#[derive(Default)]
pub(super) struct Pace {
    busy: u32,
    until_look: u32,
}

impl Pace {
    /// Whether this poll looks.
    #[inline]
    pub(super) fn looks(&mut self) -> bool {
        if self.busy > 0 {
            self.busy -= 1;
            return true;
        }
        if self.until_look > 0 {
            self.until_look -= 1;
            return false;
        }
        self.until_look = GAP - 1;
        true
    }

    /// Something came, or an answer is to come soon.
    #[inline]
    pub(super) fn note_news(&mut self) {
        self.busy = BUSY_POLLS;
    }

    /// The next poll looks.
    pub(super) fn look_soon(&mut self) {
        self.until_look = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_much_comes_it_is_looked_each_time_and_else_seldom() {
        let mut pace = Pace::default();
        let looks = |pace: &mut Pace, polls| (0..polls).filter(|_| pace.looks()).count() as u32;
        assert_eq!(looks(&mut pace, 10 * GAP), 10);
        pace.note_news();
        assert_eq!(looks(&mut pace, BUSY_POLLS), BUSY_POLLS);
        assert!(looks(&mut pace, GAP - 1) <= 1);
        pace.look_soon();
        assert!(pace.looks());
    }
}
