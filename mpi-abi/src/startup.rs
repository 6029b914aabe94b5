//! Initialisation and finalization (MPI-5.0 §11.2, §11.3): joining the job and leaving it.
//!
//! One exchange: each process publishes its business card when it joins, all meet once, and a card
//! is fetched when somebody first talks to its owner. `MPI_Init` does both; a session joins, and
//! waits for the others only where a communicator of several processes is made.

use std::ptr::NonNull;
use std::time::{Duration, Instant};

use launch_wire::control::{self, Frame};
use launch_wire::{Bootstrap, Leaving};
use mpi_core::buffer::ask_processor;
use mpi_core::coll::aliased::EqualBuffers;
use mpi_core::datatype::make_named;
use mpi_core::error::{Error, ErrorClass, Result, listed};
use mpi_core::handle::SessionHandle;
use mpi_core::objects::Identity;
use mpi_core::settings::{ConnectMode, ProgressMode, Settings};
use transports::cards::{self, Directory};
use transports::node::{
    Identity as NetworkIdentity, LocalPort, Mode, Network, NetworkConfig, Preference,
};
use transports::shm::{LocalConfig, Secret, ShmSettings};

use crate::abi::Abi;
use crate::configure;
use crate::cx::Cx;
use crate::library::{self, Phase, Place, library, phase};
use crate::{dying, node, progress, report, standard_streams};

/// The levels of thread support with their core values.
pub(crate) const THREAD_LEVELS: [(&str, i32); 4] = [
    ("MPI_THREAD_SINGLE", 0),
    ("MPI_THREAD_FUNNELED", 1024),
    ("MPI_THREAD_SERIALIZED", 2048),
    ("MPI_THREAD_MULTIPLE", 4096),
];
/// The place of the highest one.
const MULTIPLE: usize = 3;

/// The level that the world gets where `asked` is, a core value: the same. One that is none counts as the lowest.
fn granted(asked: i32) -> i32 {
    let place = THREAD_LEVELS.iter().rposition(|(_, level)| *level <= asked);
    THREAD_LEVELS[place.unwrap_or(0)].1
}

/// The name of the level that a session gets which asks for one: the highest, unless the world has the library serve
/// one thread at a time.
pub(crate) fn session_level(asked: i32) -> &'static str {
    let place = match node::running().is_null() {
        true => MULTIPLE,
        false => {
            THREAD_LEVELS[..MULTIPLE].iter().rposition(|(_, level)| *level <= asked).unwrap_or(0)
        }
    };
    THREAD_LEVELS[place].0
}

/// Under which rank 0 publishes what all ranks have in common.
const COMMON_KEY: &str = "ferrite-common";

/// Ranks of a job on one host up to which `MPI_Init` meets all others, which costs each a
/// little for each of them: the first collectives would do that too, while others wait.
const MEETS_AT_START: u32 = 16;
/// The longest wait for those others, who come at once unless they have only begun a session.
const TOGETHER_MOST: Duration = Duration::from_millis(20);

/// Finds the cards of others at the launcher.
struct Cards;

impl Directory for Cards {
    fn card(
        &mut self,
        kind: &'static str,
        rank: u32,
    ) -> std::result::Result<Option<String>, String> {
        match &mut library().bootstrap {
            Some(bootstrap) => {
                bootstrap.get(&cards::key(kind, rank)).map_err(|why| why.to_string())
            }
            None => Err("the connection to the launcher is closed".to_owned()),
        }
    }
}

/// Begins the world model (§11.2): the thread level that is granted for `required` (core values).
pub(crate) fn start(cx: &mut Cx<'_>, required: i32) -> Result<i32> {
    match phase() {
        Phase::Before => {}
        Phase::Running => {
            return Err(Error::new(ErrorClass::OTHER, "MPI has been initialised already")
                .hint("Call MPI_Init once; MPI_Initialized tells whether a library has."));
        }
        Phase::After => {
            return Err(Error::new(ErrorClass::OTHER, "MPI has been finalized")
                .hint("MPI_Init cannot be called a second time in one process."));
        }
    }
    join(cx)?;
    meet(cx)?;
    cx.begin_world();
    library::set_phase(Phase::Running);
    let granted = granted(required);
    // SAFETY: gettid cannot fail.
    library::set_thread_level(granted, unsafe { libc::gettid() });
    open(cx, granted == THREAD_LEVELS[MULTIPLE].1)?;
    Ok(granted)
}

/// Begins a session (§11.3.1), which waits for nobody.
pub(crate) fn begin_session(cx: &mut Cx<'_>) -> Result<()> {
    join(cx)?;
    {
        let mut library = library();
        library.sessions += 1;
        if library.leaves_at_exit.is_none() {
            library.leaves_at_exit = Some(std::process::id());
            // SAFETY: the function takes and returns nothing; a library with it stays loaded (it is linked with -z
            // nodelete). If the list is full the launcher sees that this process did not say goodbye.
            unsafe { libc::atexit(leave_at_exit) };
        }
    }
    // Another session may ask for several threads while this one is in a call.
    open(cx, !node::is_open())
}

/// Opens the ordinary procedures, to `several` threads at a time or to one, and starts the progress thread if the user
/// wants one.
fn open(cx: &mut Cx<'_>, several: bool) -> Result<()> {
    let wants_thread = library().wants_thread;
    if wants_thread {
        progress::start(NonNull::from(&mut ***cx)).map_err(|why| {
            Error::new(ErrorClass::OTHER, format!("the progress thread cannot be started: {why}"))
                .hint("FERRITE_PROGRESS=calls does without it.")
        })?;
    }
    if !node::is_open() {
        node::open(several || wants_thread);
    }
    watch_signals();
    Ok(())
}

/// Has fatal signals told, unless the user does not want that.
fn watch_signals() {
    let library = library();
    if library.wants_backtrace {
        let control = library.bootstrap.as_ref().and_then(Bootstrap::control);
        dying::watch(control.map(control::Client::raw));
    }
}

/// Closes them again.
fn close(node: &mut node::Node) {
    dying::rest();
    node::close();
    progress::stop(node);
    node.set_turns(None);
}

/// Joins the job, if this process has not yet: says who it is and how it is reached, and waits for nobody.
fn join(cx: &mut Cx<'_>) -> Result<()> {
    if library().bootstrap.is_some() {
        if !node::is_open() {
            library::answer(Frame::InitSeen);
        }
        return Ok(());
    }
    if cx.identity.size > 0 {
        return Err(Error::new(ErrorClass::OTHER, "this process has left its job in MPI_Finalize")
            .hint("Begin a session before MPI_Finalize if others are to follow."));
    }
    crate::claim::claim((cx.face.mark)())?;
    standard_streams::open_all().map_err(|why| {
        Error::new(ErrorClass::OTHER, format!("/dev/null cannot be opened: {why}"))
            .hint("Start the program with its standard streams open, or repair /dev/null.")
    })?;
    let settings = configure::load()?;
    configure::start_log(&settings);
    let mut bootstrap = Bootstrap::from_env().map_err(refused)?;
    let (rank, size) = (bootstrap.rank() as u32, bootstrap.size() as u32);
    if let Some(control) = bootstrap.control() {
        control.hello(rank, wire_face(cx.face.abi));
    }
    let secret = new_secret()?;
    if rank == 0 && size > 1 {
        offer_common(&mut bootstrap, &secret, &settings)?;
    }
    let config = LocalConfig {
        job: bootstrap.job_id().to_owned(),
        rank,
        size,
        ranks_on_node: bootstrap.local_size().map_or(size, |n| n as u32),
        secret,
        alone: size == 1
            || matches!(configure::preference(settings.transport), Preference::Network(_)),
        shm: ShmSettings::from(&settings),
    };
    let job = config.job.clone();
    let networks = networks(&settings, &config, bootstrap.local_size(), cx.face.abi);
    let needs_all = configure::preference(settings.transport) != Preference::Auto;
    // Errors of what follows say it.
    library::set_place(Place { rank, size, host: host_name() });
    let mut port = open_port(config, networks, needs_all)?;
    publish(&mut bootstrap, rank, &port)?;
    if let Some(control) = bootstrap.control() {
        control.send(&Frame::InitSeen);
    }
    bootstrap.enter_fence(Some(COMMON_KEY)).map_err(launcher_lost)?;
    // While others come, and not while they wait for a first message.
    make_named();
    ask_processor();
    cx.selection = configure::selection(&settings)?;
    cx.equal_buffers = match cx.face.abi {
        Abi::OpenMpi => EqualBuffers::InPlace,
        Abi::Mpich | Abi::Standard => EqualBuffers::Refused,
    };
    // The others' words cannot be judged before their secret is known.
    port.set_deaf(size > 1);
    port.set_host(&node::Program);
    cx.port.set(Some(port));
    cx.join(Identity { job, rank, size });
    keep(bootstrap, settings);
    Ok(())
}

/// Publishes, as rank 0, what all ranks have in common.
fn offer_common(bootstrap: &mut Bootstrap, secret: &Secret, settings: &Settings) -> Result<()> {
    let mut common = secret.to_vec();
    common.extend_from_slice(settings.uniform_text().as_bytes());
    bootstrap.put_bytes(COMMON_KEY, &common).map_err(launcher_lost)
}

/// Publishes the cards by which others find this process.
fn publish(bootstrap: &mut Bootstrap, rank: u32, port: &LocalPort) -> Result<()> {
    let named = port.cards().into_iter().map(|(kind, text)| (cards::key(kind, rank), text));
    let named: Vec<_> = named.collect();
    let texts: Vec<_> = named.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
    bootstrap.put_all(&texts).map_err(launcher_lost)
}

/// What the networks are to be like that are wanted in a job of which so many ranks are on this host.
fn networks(
    settings: &Settings,
    config: &LocalConfig,
    here: Option<usize>,
    abi: Abi,
) -> Vec<NetworkConfig> {
    let identity = NetworkIdentity {
        job: config.job.clone(),
        rank: config.rank,
        secret: config.secret,
        face: wire_face(abi) as u32,
        route: std::env::var(ROUTE_VARIABLE).ok().and_then(|address| address.parse().ok()),
        one_host: here == Some(config.size as usize),
    };
    let wanted = configure::networks(settings, config.size, here).into_iter();
    wanted.map(|network| NetworkConfig::new(network, &identity, settings)).collect()
}

/// Meets the others, if this process has not yet: waits until all have joined, and takes the
/// settings on which all agree. Nothing is sent to another process before.
pub(crate) fn meet(cx: &mut Cx<'_>) -> Result<()> {
    let size = cx.identity.size;
    let (mut settings, told) = {
        let mut library = library();
        let (Some(settings), Some(bootstrap)) = (library.unmet.take(), &mut library.bootstrap)
        else {
            return Ok(());
        };
        if size == 1 {
            bootstrap.leave_fence().map_err(launcher_lost)?;
            (settings, None)
        } else {
            (settings, Some(common(bootstrap)?))
        }
    };
    if let Some((_, text)) = &told
        && *text != settings.uniform_text()
    {
        settings.apply_uniform(text)?;
        cx.selection = configure::selection(&settings)?;
    }
    let port = &mut *cx.port;
    if let Some((secret, _)) = told {
        port.set_secret(secret);
    }
    agree(port, &settings)?;
    port.set_deaf(false);
    if size <= MEETS_AT_START {
        meet_all(cx);
    }
    connect_all(cx, settings.connect)
}

/// Meets all others of a job on one host. Where ranks share processors all go on together: those who
/// went ahead would take the turns of those whom they wait for soon.
fn meet_all(cx: &mut Cx<'_>) {
    if cx.port.meet_all() && cx.port.is_oversubscribed() {
        let begin = Instant::now();
        cx.block_until(|process| process.port.has_met_all() || begin.elapsed() > TOGETHER_MOST);
    }
}

/// Keeps the connection to the launcher and the settings.
fn keep(bootstrap: Bootstrap, settings: Settings) {
    let mut library = library();
    library.bootstrap = Some(bootstrap);
    library.wants_backtrace = settings.backtrace;
    library.wants_thread = settings.progress == ProgressMode::Thread;
    library.unmet = Some(settings);
}

/// The ways to other processes; with `networks`, also those that lead to other nodes: all of them, or any if it is
/// left to the ranks which they use.
fn open_port(
    config: LocalConfig,
    networks: Vec<NetworkConfig>,
    needs_all: bool,
) -> Result<LocalPort> {
    let mut port = LocalPort::new(config, Box::new(Cards)).map_err(|why| {
        Error::new(ErrorClass::OTHER, format!("no memory can be shared with other ranks: {why}"))
            .hint("FERRITE_TRANSPORT=tcp does without it.")
    })?;
    let count = networks.len();
    let mut failures = Vec::new();
    for network in networks {
        // What libfabric would do by verbs too is there already.
        let is_there = !needs_all && network.network() == Network::Ofi && port.has(Network::Rc);
        if !is_there {
            failures.extend(port.open_network(network).err());
        }
    }
    if failures.is_empty() || !needs_all && failures.len() < count {
        failures.iter().for_each(|why| tracing::info!(why, "a network is not opened"));
        return Ok(port);
    }
    let error = Error::new(
        ErrorClass::OTHER,
        format!("the network cannot be opened: {}", listed(&failures)),
    );
    // Where a setting is out of bounds the sentence says what to change.
    let names_setting = failures.iter().any(|why| why.starts_with("FERRITE_"));
    Err(match (names_setting, needs_all) {
        (true, _) => error,
        (false, true) => error.hint(
            "FERRITE_TRANSPORT=auto takes the best network that there is; tcp needs no device.",
        ),
        (false, false) => {
            error.hint("FERRITE_TRANSPORT=shm does without it where all ranks are on one node.")
        }
    })
}

/// Connects to all ranks that are reached over a network, if that is wanted now.
fn connect_all(cx: &mut Cx<'_>, when: ConnectMode) -> Result<()> {
    let mode = match when {
        ConnectMode::OnDemand => return Ok(()),
        ConnectMode::Ring => Mode::Ring,
        ConnectMode::Threads => Mode::Threads,
    };
    let begin = Instant::now();
    let mut begun = Ok(None);
    cx.block_until(|process| {
        if matches!(begun, Ok(None)) {
            begun = process.port.start_connecting(mode);
        }
        !matches!(begun, Ok(None))
    });
    let begun = begun.map_err(|why| {
        Error::new(ErrorClass::OTHER, format!("connections cannot be accepted: {why}"))
    })?;
    if let Some(mut state) = begun {
        cx.block_until(|process| process.port.connect(&mut state));
    }
    tracing::info!(micros = begin.elapsed().as_micros() as u64, "all connections are made");
    Ok(())
}

/// Takes the settings on which all ranks agree.
fn agree(port: &mut LocalPort, settings: &Settings) -> Result<()> {
    let refused = |why| Error::new(ErrorClass::OTHER, format!("FERRITE_TRANSPORT: {why}"));
    port.set_choice(configure::choice(settings)).map_err(refused)?;
    port.set_settings(settings).map_err(|why| {
        Error::new(ErrorClass::OTHER, why).hint("mpirun --settings lists all settings.")
    })
}

fn refused(why: launch_wire::BootstrapError) -> Error {
    Error::new(ErrorClass::OTHER, why.to_string())
}

fn launcher_lost(why: launch_wire::BootstrapError) -> Error {
    Error::new(ErrorClass::OTHER, format!("the launcher does not answer: {why}")).hint(why.advice())
}

fn wire_face(abi: Abi) -> control::Face {
    match abi {
        Abi::Standard => control::Face::Standard,
        Abi::Mpich => control::Face::Mpich,
        Abi::OpenMpi => control::Face::OpenMpi,
    }
}

/// 32 bytes that nobody can guess.
fn new_secret() -> Result<Secret> {
    let mut secret = Secret::default();
    getrandom::fill(&mut secret)
        .map_err(|why| Error::new(ErrorClass::OTHER, format!("no random numbers: {why}")))?;
    Ok(secret)
}

/// Waits until all have joined, and takes rank 0's secret, by which ranks of the job know each other, and its settings.
fn common(bootstrap: &mut Bootstrap) -> Result<(Secret, String)> {
    bootstrap.leave_fence().map_err(launcher_lost)?;
    let bytes = bootstrap.get_bytes(COMMON_KEY).map_err(launcher_lost)?.unwrap_or_default();
    let Some((secret, text)) = bytes.split_first_chunk() else {
        return Err(Error::new(ErrorClass::OTHER, "rank 0 has published no secret for this job")
            .hint("Make sure that all ranks use the same version of this library."));
    };
    Ok((*secret, String::from_utf8_lossy(text).into_owned()))
}

/// This host's name, as `MPI_Get_processor_name` and messages give it.
pub(crate) fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is writable for its length.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len()) };
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

/// Ends the world model.
pub(crate) fn finish(cx: &mut Cx<'_>) -> Result<()> {
    let is_last = library().sessions == 0;
    deliver(cx, SessionHandle::NULL, is_last);
    library::set_phase(Phase::After);
    rest(cx)
}

/// Nobody may be in a call while MPI ends (§11.2.2).
pub(crate) fn refuse_others(cx: &Cx<'_>) -> Result<()> {
    match cx.has_others_inside() {
        true => Err(Error::new(ErrorClass::OTHER, "another thread is in a call of MPI")
            .hint("Let all calls of other threads end before, and join the threads.")),
        false => Ok(()),
    }
}

/// Ends a session.
pub(crate) fn end_session(cx: &mut Cx<'_>, session: SessionHandle) -> Result<()> {
    let is_last = phase() != Phase::Running && library().sessions == 1;
    deliver(cx, session, is_last);
    cx.end_session(session)?;
    library().sessions -= 1;
    rest(cx)
}

/// Who uses the library last waits until everything sent is delivered and nobody reads this memory any more. Before,
/// somebody else may have sent what is received only later, and an end waits for what was sent on its own communicators
/// (§11.2.2, §11.3.1).
fn deliver(cx: &mut Cx<'_>, session: SessionHandle, is_last: bool) {
    cx.block_until(|process| match is_last {
        true => process.is_quiescent(),
        false => process.has_sent(session),
    });
}

/// Closes the library if neither the world nor a session uses it; the job is left at once, or at
/// exit if there may be another session.
fn rest(cx: &mut Cx<'_>) -> Result<()> {
    let (sessions, leaves_at_exit) = {
        let library = library();
        (library.sessions, library.leaves_at_exit)
    };
    if phase() == Phase::Running || sessions > 0 {
        return Ok(());
    }
    if leaves_at_exit.is_none() {
        close(cx);
        return leave(cx, Leaving::BeforeExit);
    }
    // It stays connected but looks no more: nobody's end is to wait for its word.
    cx.block_until(|process| process.port.tell_all());
    close(cx);
    // If the process ends now it is missed by nobody.
    library::answer(Frame::FinalizeSeen);
    Ok(())
}

/// Leaves the job.
fn leave(process: &mut node::Node, moment: Leaving) -> Result<()> {
    let reports = std::env::var_os(REPORT_VARIABLE).is_some();
    let size = process.objects.identity.size;
    let port = process.port.get();
    let text = port.and_then(|port| {
        let text = reports.then(|| report::lines(port, size));
        // Those who are still to be met are looked up at the launcher.
        port.leave();
        text
    });
    let bootstrap = library().bootstrap.take();
    if let Some(text) = text
        && let Some(control) = bootstrap.as_ref().and_then(Bootstrap::control)
    {
        control.send(&Frame::ReportTable { text });
    }
    let left = bootstrap.map_or(Ok(()), |bootstrap| bootstrap.finalize(moment));
    // Behind the launcher's answer, since it takes time that ranks at work can use better.
    process.port.set(None);
    left.map_err(launcher_lost)
}

/// Leaves the job when the process exits, unless it still uses MPI, which is an error that the
/// launcher reports. A child of this process is none of the job's.
extern "C" fn leave_at_exit() {
    let own = library().leaves_at_exit == Some(std::process::id());
    let Some(mut process) = node::idle().filter(|_| own) else { return };
    // SAFETY: the node lives as long as the process, and the library is closed, so that nobody else is in it.
    if let Err(error) = leave(unsafe { process.as_mut() }, Leaving::AtExit) {
        tracing::warn!("{}", error.what());
    }
}

/// The address by which the launcher has reached this host.
const ROUTE_VARIABLE: &str = "_FERRITE_ROUTE";
/// Set by `mpirun --report` for the ranks.
const REPORT_VARIABLE: &str = "_FERRITE_REPORT";
