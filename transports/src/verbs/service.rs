//! Services of queue pairs as types: what a service cannot do does not compile.
//!
//! A service says by its capabilities which work its queue pairs take, and by [`Service::TRANSITIONS`] what each
//! change of state sets. Reliable connections can do everything, unreliable ones cannot read:
//!
//! ```compile_fail,E0277
//! use transports::verbs::service::{Reads, Uc};
//! fn reads<S: Reads>() {}
//! reads::<Uc>();
//! ```
//!
//! and datagrams cannot write:
//!
//! ```compile_fail,E0277
//! use transports::verbs::service::{Ud, Writes};
//! fn writes<S: Writes>() {}
//! writes::<Ud>();
//! ```
//!
//! while these are right:
//!
//! ```
//! use transports::verbs::service::{Rc, Reads, Uc, Writes};
//! fn reads<S: Reads>() {}
//! fn writes<S: Writes>() {}
//! reads::<Rc>();
//! writes::<Uc>();
//! ```

use rdma_sys::{ibv_qp_attr_mask as Bit, ibv_qp_type};

/// A reliable connection.
#[derive(Clone, Copy, Debug)]
pub enum Rc {}
/// An unreliable connection.
#[derive(Clone, Copy, Debug)]
pub enum Uc {}
/// Unreliable datagrams.
#[derive(Clone, Copy, Debug)]
pub enum Ud {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Rc {}
    impl Sealed for super::Uc {}
    impl Sealed for super::Ud {}
}

/// What each change of state sets, beside the state: to INIT, to ready to receive, to ready to send.
#[derive(Clone, Copy, Debug)]
pub struct Transitions {
    pub(super) init: u32,
    pub(super) ready_to_receive: u32,
    pub(super) ready_to_send: u32,
}

/// A transport service of queue pairs.
pub trait Service: sealed::Sealed {
    /// The type, as the library counts.
    const TYPE: u32;
    /// What changes of state set.
    const TRANSITIONS: Transitions;
}

/// Bits of several attributes together.
const fn all<const N: usize>(masks: [Bit; N]) -> u32 {
    let (mut bits, mut i) = (0, 0);
    while i < N {
        bits |= masks[i].0;
        i += 1;
    }
    bits
}

/// What a connection sets to be ready to receive.
const CONNECTED: u32 =
    all([Bit::IBV_QP_AV, Bit::IBV_QP_PATH_MTU, Bit::IBV_QP_DEST_QPN, Bit::IBV_QP_RQ_PSN]);

/// What one that may be written to sets at first.
const OPENED: u32 = all([Bit::IBV_QP_PKEY_INDEX, Bit::IBV_QP_PORT, Bit::IBV_QP_ACCESS_FLAGS]);

impl Service for Rc {
    const TYPE: u32 = ibv_qp_type::IBV_QPT_RC;
    const TRANSITIONS: Transitions = Transitions {
        init: OPENED,
        ready_to_receive: CONNECTED
            | all([Bit::IBV_QP_MAX_DEST_RD_ATOMIC, Bit::IBV_QP_MIN_RNR_TIMER]),
        ready_to_send: all([
            Bit::IBV_QP_SQ_PSN,
            Bit::IBV_QP_TIMEOUT,
            Bit::IBV_QP_RETRY_CNT,
            Bit::IBV_QP_RNR_RETRY,
            Bit::IBV_QP_MAX_QP_RD_ATOMIC,
        ]),
    };
}

impl Service for Uc {
    const TYPE: u32 = ibv_qp_type::IBV_QPT_UC;
    const TRANSITIONS: Transitions = Transitions {
        init: OPENED,
        ready_to_receive: CONNECTED,
        ready_to_send: Bit::IBV_QP_SQ_PSN.0,
    };
}

impl Service for Ud {
    const TYPE: u32 = ibv_qp_type::IBV_QPT_UD;
    const TRANSITIONS: Transitions = Transitions {
        init: all([Bit::IBV_QP_PKEY_INDEX, Bit::IBV_QP_PORT, Bit::IBV_QP_QKEY]),
        ready_to_receive: 0,
        ready_to_send: Bit::IBV_QP_SQ_PSN.0,
    };
}

/// Is connected to one other.
pub trait Connects: Service {}
impl Connects for Rc {}
impl Connects for Uc {}

/// Writes to the other's memory.
pub trait Writes: Connects {}
impl Writes for Rc {}
impl Writes for Uc {}

/// Reads the other's memory.
pub trait Reads: Connects {}
impl Reads for Rc {}

/// Changes 8 bytes of the other's memory at once.
pub trait Atomics: Connects {}
impl Atomics for Rc {}

/// Sends to whom each work request says.
pub trait Datagrams: Service {}
impl Datagrams for Ud {}

#[cfg(test)]
mod tests {
    use super::*;

    /// The masks as the library's manual lists them (ibv_modify_qp(3)), in its numbers.
    #[test]
    fn transitions_set_what_the_manual_asks_for() {
        let of = |t: Transitions| [t.init, t.ready_to_receive, t.ready_to_send];
        let bits = |shifts: &[u32]| shifts.iter().map(|shift| 1 << shift).sum::<u32>();
        let rc = [bits(&[3, 4, 5]), bits(&[7, 8, 12, 15, 17, 20]), bits(&[9, 10, 11, 13, 16])];
        let uc = [bits(&[3, 4, 5]), bits(&[7, 8, 12, 20]), bits(&[16])];
        let ud = [bits(&[4, 5, 6]), 0, bits(&[16])];
        assert_eq!(of(Rc::TRANSITIONS), rc);
        assert_eq!(of(Uc::TRANSITIONS), uc);
        assert_eq!(of(Ud::TRANSITIONS), ud);
    }
}
