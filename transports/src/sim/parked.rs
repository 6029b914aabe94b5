//! What a simulated process tells those who have news for it of its sleepers, as in shared memory (`shm/park.rs`): each
//! of them rings once for each time that somebody lay down or got up while others sleep.

use super::endpoint::EndpointId;

/// What a process tells others of its sleepers.
#[derive(Default)]
pub(super) struct Parked {
    /// Whether several fibers take turns.
    pub(super) several: bool,
    /// Whether others are to ring.
    raised: bool,
    /// Who has rung since it was raised last.
    rung: Vec<EndpointId>,
    /// Whether a bell has rung that no poll has heard: then nobody sleeps.
    pub(super) rings: bool,
    /// Whether a poll has heard one since that was last asked: then those who sleep on may miss what comes.
    heard: bool,
    /// Things of the process's own that are under way, or wait in its inbox: of these nobody rings.
    pub(super) own: u32,
}

impl Parked {
    /// Others are to ring from now on, or nobody sleeps.
    pub(super) fn raise(&mut self, raised: bool) {
        self.raised = raised;
        self.rung.clear();
    }

    /// Something has come from there.
    pub(super) fn ring(&mut self, from: EndpointId) {
        if self.raised && !self.rung.contains(&from) {
            self.rung.push(from);
            self.rings = true;
        }
    }

    /// A poll hears a bell, which then rings no more.
    pub(super) fn hear(&mut self) {
        (self.rings, self.heard) = (false, true);
    }

    /// Whether a poll has heard a bell since this was last asked.
    pub(super) fn was_rung(&mut self) -> bool {
        std::mem::take(&mut self.heard)
    }
}
