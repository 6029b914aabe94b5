//! How the fibers of a simulated process let others go on, and where they sleep.

use std::cell::Cell;
use std::rc::Rc;

use mpi_core::rest::Bed;

use super::endpoint::EndpointId;
use super::network::{Network, SharedNetwork};

/// Why a process gives others their turn.
#[derive(Clone)]
pub enum Pause {
    /// It could go on at any time.
    Yield,
    /// It cannot go on before something arrives.
    Wait,
    /// It can go on whenever this is so, which it may be for a moment only.
    Until(Rc<dyn Fn() -> bool>),
}

/// How often a poll hears a bell.
const HEARS: f64 = 0.3;

impl Network {
    /// A poll may hear a bell: it is dear to listen.
    pub(super) fn hear(&mut self, me: EndpointId) {
        if self.parked(me).rings && self.chance(HEARS) {
            self.parked(me).hear();
        }
    }
}

/// Where a fiber sleeps.
#[derive(Clone)]
pub struct SimBed {
    pub(super) network: SharedNetwork,
    pub(super) me: EndpointId,
    pub(super) pause: Option<Rc<dyn Fn(Pause)>>,
    /// By which other fibers of the process wake this one, if there are several.
    pub(super) bell: Option<Rc<Cell<bool>>>,
    /// Whether what arrives wakes it too.
    pub(super) listens: bool,
}

impl Bed for SimBed {
    fn sleep(&self) {
        let Some(pause) = &self.pause else {
            self.network.borrow_mut().advance();
            return;
        };
        let Some(bell) = &self.bell else { return pause(Pause::Wait) };
        let (SimBed { network, me, listens, .. }, rung) = (self.clone(), Rc::clone(bell));
        let wakes = move || rung.get() || listens && network.borrow_mut().parked(me).rings;
        pause(Pause::Until(Rc::new(wakes)));
        bell.set(false);
    }

    fn wake(&self) {
        if let Some(bell) = &self.bell {
            bell.set(true);
        }
    }
}
