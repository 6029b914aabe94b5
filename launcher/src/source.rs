//! What the event loop waits for, and the numbers under which epoll knows it. Ranks are counted here
//! as their host counts them, from 0.

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
    /// The standard input of a rank that is fed.
    Feed(usize),
    /// Our own standard output (0) or error (1).
    Ours(usize),
    /// Our own standard input.
    Stdin,
    /// What an agent says.
    BranchIn(usize),
    /// Room for what an agent is told.
    BranchOut(usize),
    /// What the command that started an agent writes to standard error.
    BranchWords(usize),
    /// What an agent hears from its parent.
    ParentIn,
    /// Room for what an agent tells its parent.
    ParentOut,
    /// This host's address, where ranks call that have lost their sockets.
    Callers,
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
            Source::BranchIn(index) => (7, index),
            Source::BranchOut(index) => (8, index),
            Source::BranchWords(index) => (9, index),
            Source::ParentIn => (10, 0),
            Source::ParentOut => (11, 0),
            Source::Callers => (12, 0),
        };
        (index as u64) << 4 | kind
    }

    /// The source behind a number.
    pub(crate) fn from_token(token: u64) -> Source {
        let index = usize::try_from(token >> 4).unwrap_or(usize::MAX);
        match token & 15 {
            1 => Source::Pmi(index),
            2 => Source::Control(index),
            3 => Source::Output(index),
            4 => Source::Ours(index),
            5 => Source::Stdin,
            6 => Source::Feed(index),
            7 => Source::BranchIn(index),
            8 => Source::BranchOut(index),
            9 => Source::BranchWords(index),
            10 => Source::ParentIn,
            11 => Source::ParentOut,
            12 => Source::Callers,
            _ => Source::Signals,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Source::{self, *};

    #[test]
    fn tokens_come_back() {
        let ranks = [Pmi(3), Control(9), Output(17), Feed(70_000)];
        let ours = [Signals, Ours(1), Stdin, ParentIn, ParentOut, Callers];
        let branches = [BranchIn(4), BranchOut(0), BranchWords(900)];
        for source in ranks.into_iter().chain(ours).chain(branches) {
            assert_eq!(Source::from_token(source.token()), source);
        }
    }
}
