//! What the event loop waits for, and the numbers under which epoll knows it.

/// One source of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Signals to mpirun.
    Signals,
    /// The PMI socket of a rank.
    Pmi(usize),
    /// The control socket of a rank.
    Control(usize),
    /// An output pipe: twice the rank, plus one for standard error.
    Output(usize),
    /// Our own standard output (0) or error (1).
    Ours(usize),
    /// Our own standard input.
    Stdin,
    /// The standard input of a rank that is fed.
    Feed(usize),
}

impl Source {
    /// The number for epoll.
    pub(crate) fn token(self) -> u64 {
        let (kind, index) = match self {
            Source::Signals => (0, 0),
            Source::Pmi(rank) => (1, rank),
            Source::Control(rank) => (2, rank),
            Source::Output(index) => (3, index),
            Source::Ours(index) => (4, index),
            Source::Stdin => (5, 0),
            Source::Feed(rank) => (6, rank),
        };
        (index as u64) << 3 | kind
    }

    /// The source behind a number.
    pub(crate) fn from_token(token: u64) -> Source {
        let index = usize::try_from(token >> 3).unwrap_or(usize::MAX);
        match token & 7 {
            1 => Source::Pmi(index),
            2 => Source::Control(index),
            3 => Source::Output(index),
            4 => Source::Ours(index),
            5 => Source::Stdin,
            6 => Source::Feed(index),
            _ => Source::Signals,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Source::{self, *};

    #[test]
    fn tokens_come_back() {
        for source in [Signals, Pmi(3), Control(9), Output(17), Ours(1), Stdin, Feed(70_000)] {
            assert_eq!(Source::from_token(source.token()), source);
        }
    }
}
