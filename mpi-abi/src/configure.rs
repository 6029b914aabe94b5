//! From settings to their places: files and environment are read once, in `MPI_Init`, and what
//! must be equal on all ranks comes from rank 0 (decision 30).

use std::io;

use mpi_core::coll::menu::Collective;
use mpi_core::coll::select::Selection;
use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::settings::{ConfigFile, Settings, TransportWish, config_paths};
use transports::node::{Choice, Wish};

/// The settings of this process.
pub(crate) fn load() -> Result<Settings> {
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut files = Vec::new();
    for place in config_paths(|name| std::env::var(name).ok(), prefix().as_deref()) {
        match machine::read_text(&place.path) {
            Ok(text) => files.push(ConfigFile { path: place.path, text }),
            Err(why) if place.may_lack(why.kind()) => {}
            Err(why) => return Err(unreadable(&place.path, &why)),
        }
    }
    Settings::load(environment, &files)
}

fn unreadable(path: &str, why: &io::Error) -> Error {
    Error::new(ErrorClass::OTHER, format!("the settings in {path} cannot be read: {why}")).hint(
        "Correct the name of the file (FERRITE_CONFIG, FERRITE_COLL_TABLE), or its permissions.",
    )
}

/// The folder that this library is installed under: two above its own file.
pub(crate) fn prefix() -> Option<String> {
    let mut place = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: the address is one of this library's own; `place` is writable. The name that comes
    // back is the loader's and stays.
    let file = unsafe {
        if libc::dladdr(prefix as *const libc::c_void, &raw mut place) == 0
            || place.dli_fname.is_null()
        {
            return None;
        }
        std::ffi::CStr::from_ptr(place.dli_fname)
    };
    let file = std::fs::canonicalize(file.to_str().ok()?).ok()?;
    Some(file.parent()?.parent()?.to_str()?.to_owned())
}

/// By what the way to a peer is chosen.
pub(crate) fn choice(settings: &Settings) -> Choice {
    let wish = match settings.transport {
        TransportWish::Auto => Wish::Auto,
        TransportWish::SharedMemory => Wish::SharedMemory,
        TransportWish::Tcp => Wish::Tcp,
    };
    Choice { wish, node_ranks: settings.node_ranks }
}

/// Whether a network is to be opened: unless nothing could need it, since an open port is one that
/// strangers can try.
pub(crate) fn wants_network(settings: &Settings, size: u32, local_size: Option<usize>) -> bool {
    let on_one_node = local_size == Some(size as usize) && settings.node_ranks == 0;
    match settings.transport {
        TransportWish::SharedMemory => false,
        TransportWish::Tcp => size > 1,
        TransportWish::Auto => size > 1 && !on_one_node,
    }
}

/// Which algorithm a collective uses: the compiled-in table, the file, then single choices.
pub(crate) fn selection(settings: &Settings) -> Result<Selection> {
    let mut selection = Selection::default();
    if !settings.coll_table.is_empty() {
        let path = &settings.coll_table;
        let text = machine::read_text(path).map_err(|why| unreadable(path, &why))?;
        selection = selection.with_table(&text, path)?;
    }
    for &collective in Collective::ALL {
        if let Some(choice) = settings.coll_algorithm(collective.name()) {
            selection = selection.with_override(collective, &choice)?;
        }
    }
    selection.checked = settings.coll_check;
    Ok(selection)
}

/// Starts logging to standard error, if the settings want it. Where the program has a subscriber
/// of its own already, that one stays.
pub(crate) fn start_log(settings: &Settings) {
    if !settings.log.is_empty() {
        let filter = tracing_subscriber::EnvFilter::new(&settings.log);
        let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
        // A second start finds the first one's subscriber, which has the same settings.
        drop(subscriber.try_init());
    }
}
