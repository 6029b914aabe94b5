//! From settings to their places: files and environment are read once, in `MPI_Init`, and what
//! must be equal on all ranks comes from rank 0 (decision 30).

use std::io;

use mpi_core::coll::menu::Collective;
use mpi_core::coll::select::Selection;
use mpi_core::error::{Error, ErrorClass, Result};
use mpi_core::settings::{CollShape, ConfigFile, Settings, TransportPreference, config_paths};
use transports::node::{Choice, Network, Preference};

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
    Choice { preference: preference(settings.transport), node_ranks: settings.node_ranks }
}

/// Which ways the user wants.
pub(crate) fn preference(transport: TransportPreference) -> Preference {
    match transport {
        TransportPreference::Auto => Preference::Auto,
        TransportPreference::SharedMemory => Preference::SharedMemory,
        TransportPreference::Tcp => Preference::Network(Network::Tcp),
        TransportPreference::Udp => Preference::Network(Network::Udp),
        TransportPreference::Rc => Preference::Network(Network::Rc),
        TransportPreference::Uc => Preference::Network(Network::Uc),
        TransportPreference::Ud => Preference::Network(Network::Ud),
        TransportPreference::Ofi => Preference::Network(Network::Ofi),
    }
}

/// Which networks are to be opened: none that nothing could need, since an open port is one that
/// strangers can try.
pub(crate) fn networks(settings: &Settings, size: u32, local_size: Option<usize>) -> Vec<Network> {
    let on_one_node = local_size == Some(size as usize) && settings.node_ranks == 0;
    match preference(settings.transport) {
        _ if size == 1 => Vec::new(),
        Preference::SharedMemory => Vec::new(),
        Preference::Auto if on_one_node => Vec::new(),
        // Datagrams of verbs are there where reliable queue pairs are, which come before them.
        Preference::Auto => vec![Network::Rc, Network::Ofi, Network::Tcp, Network::Udp],
        // Where its datagrams do not get through, TCP carries them.
        Preference::Network(network @ (Network::Udp | Network::Uc | Network::Ud)) => {
            vec![Network::Tcp, network]
        }
        Preference::Network(network) => vec![network],
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
    selection.tree = match settings.coll_shape {
        CollShape::Auto => None,
        CollShape::Flat => Some(false),
        CollShape::Tree => Some(true),
    };
    selection.cache_ranks = settings.coll_cache_ranks;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_each_network_asks_for_it_and_opens_it() {
        for network in Network::ALL {
            let mut settings = Settings::default();
            settings.set("transport", network.word(), "a test").unwrap();
            assert_eq!(choice(&settings).preference, Preference::Network(network));
            assert!(networks(&settings, 2, Some(2)).contains(&network));
        }
    }

    #[test]
    fn no_network_is_opened_that_nothing_could_need() {
        let open = |(name, word), size, here| {
            let mut settings = Settings::default();
            settings.set(name, word, "a test").unwrap();
            networks(&settings, size, here)
        };
        let auto = ("transport", "auto");
        let all = [Network::Rc, Network::Ofi, Network::Tcp, Network::Udp];
        assert_eq!(open(auto, 4, Some(4)), []);
        assert_eq!(open(auto, 4, Some(2)), all);
        assert_eq!(open(auto, 4, None), all);
        assert_eq!(open(("node_ranks", "2"), 4, Some(4)), all);
        assert_eq!(open(("transport", "shm"), 4, None), []);
        assert_eq!(open(("transport", "tcp"), 1, None), []);
    }
}
