//! What shall go wrong in a run, and when: all of it follows from a seed.
//!
//! Of three runs in a row two have something killed and one has a fault of the network.

use std::fmt;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Hosts of every run, and cables between them.
pub(crate) const HOSTS: usize = 4;
pub(crate) const CABLES: u8 = 2;

/// The patience that every run is played with (FERRITE_TCP_PATIENCE).
pub(crate) const PATIENCE: Duration = Duration::from_millis(1000);

/// Faults that are healed after so long must be survived: a connection counts as broken only after half of the
/// patience.
pub(crate) const TOLERATED: Duration = PATIENCE.checked_div(2).expect("not by zero");

/// How long traffic goes on if nothing happens, and the latest moment of a mishap that has no better one.
pub(crate) const TRAFFIC: Duration = Duration::from_millis(600);
const LATEST: Duration = Duration::from_millis(900);

/// One run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// Ranks on each host.
    pub(crate) each: usize,
    /// FERRITE_TCP_STREAMS and FERRITE_CONNECT.
    pub(crate) streams: u32,
    pub(crate) connect: &'static str,
    pub(crate) when: When,
    pub(crate) mishap: Mishap,
}

/// The moment of a mishap.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    /// Before mpirun is started; what is to be killed is so as soon as it is there.
    Start,
    /// So long after mpirun was started.
    After(Duration),
    /// So long after the first rank has all its data: others are in `MPI_Finalize`.
    Ending(Duration),
}

#[derive(Clone, Debug)]
pub(crate) enum Mishap {
    Kill(Whom),
    Fault(Fault),
}

/// Who is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whom {
    Rank(usize),
    /// The launcher's process on a host.
    Agent(usize),
    /// The process that watches over that one.
    Guard(usize),
    Mpirun,
}

/// What happens to the network.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    /// Which hosts it comes between.
    pub(crate) pairs: Vec<(usize, usize)>,
    pub(crate) cables: Vec<u8>,
    /// When it is over again.
    pub(crate) heals: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Packets of both directions are dropped.
    Drop,
    /// Packets of one direction are dropped.
    OneWay,
    /// Packets of both directions are answered by resets.
    Reset,
    /// Packets of one direction are answered by resets.
    ResetOneWay,
    /// The first host of the pair loses the cable.
    Cut,
    /// The first host has forgotten its connections and does not say so.
    HalfOpen,
    /// The first host ends its connections.
    Abort,
}

impl Plan {
    pub(crate) fn draw(seed: u64) -> Plan {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let each = random.random_range(1..=2);
        let mishap = match seed % 3 {
            2 => Mishap::Fault(Fault::draw(&mut random)),
            _ => Mishap::Kill(Whom::draw(&mut random, each)),
        };
        let is_fault = matches!(mishap, Mishap::Fault(_));
        let when = match random.random_range(0..10) {
            0..=1 => When::Ending(Duration::from_micros(random.random_range(0..5_000))),
            7..=8 if is_fault => When::Start,
            9 => When::Start,
            _ => When::After(LATEST.mul_f64(random.random_range(0.0..1.0))),
        };
        let connect = ["on_demand", "on_demand", "ring", "threads"][random.random_range(0..4)];
        Plan { seed, each, streams: random.random_range(1..=2), connect, when, mishap }
    }

    pub(crate) fn ranks(&self) -> usize {
        HOSTS * self.each
    }

    /// Whether there always is a way left, or was one again in good time: a fault has `lasted` so long, if not
    /// for good.
    pub(crate) fn must_survive(&self, lasted: Option<Duration>) -> bool {
        match &self.mishap {
            Mishap::Kill(_) => false,
            Mishap::Fault(fault) => {
                // A rank tells the others once, at the start, where it listens.
                let knows_no_address = fault.kind == Kind::Cut && matches!(self.when, When::Start);
                let heals = lasted.is_some_and(|time| time <= TOLERATED);
                heals && !knows_no_address
                    || fault.cables.len() < CABLES.into()
                    || matches!(fault.kind, Kind::HalfOpen | Kind::Abort)
            }
        }
    }
}

impl Whom {
    fn draw(random: &mut ChaCha8Rng, each: usize) -> Whom {
        let host = random.random_range(0..HOSTS);
        match random.random_range(0..10) {
            0..=5 => Whom::Rank(random.random_range(0..HOSTS * each)),
            6..=7 => Whom::Agent(host),
            8 => Whom::Guard(host),
            _ => Whom::Mpirun,
        }
    }
}

impl Fault {
    fn draw(random: &mut ChaCha8Rng) -> Fault {
        use Kind::{Abort, Cut, Drop, HalfOpen, OneWay, Reset, ResetOneWay};
        let kinds = [Drop, OneWay, Reset, ResetOneWay, Cut, HalfOpen, Abort];
        let kind = kinds[random.random_range(0..kinds.len())];
        let host = random.random_range(0..HOSTS);
        let others = |host| (1..HOSTS).map(move |step| (host, (host + step) % HOSTS));
        let (one, all) = (random.random_range(0..HOSTS - 1), random.random_bool(0.5));
        let pairs = match kind {
            // A cable is one for all, and lies in the first host.
            Cut if host == 0 => (0..HOSTS).flat_map(others).collect(),
            _ if all || kind == Cut => others(host).collect(),
            _ => others(host).skip(one).take(1).collect(),
        };
        // Mostly there shall be no way left.
        let cables = match random.random_range(0..4) {
            0 => vec![random.random_range(0..CABLES)],
            _ => (0..CABLES).collect(),
        };
        let heals = match random.random_range(0..3) {
            0 => None,
            1 => Some(TOLERATED.mul_f64(random.random_range(0.0..1.0))),
            _ => Some((PATIENCE * 2).mul_f64(random.random_range(0.0..1.0))),
        };
        Fault { kind, pairs, cables, heals }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { seed, each, streams, connect, when, mishap } = self;
        write!(f, "seed {seed}: {each} ranks a host, {streams} streams, {connect}; ")?;
        match mishap {
            Mishap::Kill(whom) => write!(f, "kill {whom:?} {when:?}"),
            Mishap::Fault(Fault { kind, pairs, cables, heals }) => {
                write!(f, "{kind:?} {when:?} between {pairs:?} on {cables:?}, heals {heals:?}")
            }
        }
    }
}
