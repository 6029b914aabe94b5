//! The end: everything was delivered before, and peers may still want to hear that.

use super::Udp;

impl Udp {
    /// Takes leave of everybody.
    pub(super) fn leave(&mut self) {}
}
