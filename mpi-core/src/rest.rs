//! What a thread does between two looks that found nothing, and where it sleeps.

/// What to do between two polls that found nothing, once a wait has left its spin phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest {
    /// Look again at once.
    Look,
    /// Let others have the processor for a moment.
    GiveWay,
    /// Sleep until news may have come.
    Sleep,
}

/// Where a thread sleeps. It is made with the process at hand, and slept in without.
pub trait Bed: Clone + 'static {
    /// Sleeps until news may have come, [`Bed::wake`] was called, or it has been long enough.
    fn sleep(&self);

    /// Ends the sleep in this bed, or the next one. Not for the only thread of a process.
    fn wake(&self);
}
