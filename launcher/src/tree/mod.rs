//! Several hosts: mpirun starts an agent on each, which starts the ranks there and further agents.
//!
//! An agent is mpirun itself (`mpirun --ferrite-agent`), run by ssh or by whatever `--launcher` names.
//! The stream of frames goes through that command's own standard input and output: no port is open
//! that a stranger could connect to, what ssh protects stays protected, and nothing secret is on a
//! command line. A connection that ends is noticed at once; one that falls silent, after a bound.
//!
//! `frame` is what is said, `orders` the plan of a job, both written down by `crate::pack`, `link` one stream,
//! `branch` an agent seen from its parent, `shape` who starts whom. An agent's own loop is `crate::agent`.

pub(crate) mod branch;
pub(crate) mod frame;
pub(crate) mod link;
pub(crate) mod orders;
pub(crate) mod shape;

use std::time::{Duration, Instant};

/// How often both ends of a stream say that they are there.
pub(crate) const BEAT: Duration = Duration::from_secs(1);

/// How long an agent may be silent, while one listens, before its host counts as lost.
pub(crate) const SILENCE: Duration = Duration::from_secs(10);

/// How long an agent bears the silence of its parent. Longer, since a parent may have been stopped by
/// hand for some minutes; of whoever suspends mpirun at a terminal the agents are told, and have no limit.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// How long an agent may take to report for duty.
pub(crate) const ARRIVAL: Duration = Duration::from_secs(60);

/// When it is time again to say that one is there, and to look who else is.
#[derive(Debug)]
pub(crate) struct Beat {
    /// The next time.
    pub(crate) next: Instant,
}

impl Beat {
    /// The first is due at once.
    pub(crate) fn new() -> Beat {
        Beat { next: Instant::now() }
    }

    /// Whether it is time, and how late that was noticed. What is late was not listening: a machine
    /// that stood still, as a suspended one does, may not blame the others for their silence.
    pub(crate) fn due(&mut self) -> Option<Duration> {
        let now = Instant::now();
        let late = now.checked_duration_since(self.next)?;
        self.next = now + BEAT;
        Some(late)
    }
}
