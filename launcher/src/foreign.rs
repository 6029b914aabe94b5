//! Settings of other MPI libraries: variables and `--mca` pairs that scripts bring along.
//!
//! In: the options and the environment. Out: what such a setting is called here, for the few that mean
//! the same ([`mapped`]), and one note about the others, with our counterpart where there is one.
//! Nothing is left out in silence, since a limit or a network that a user has chosen may matter.

use crate::env::Environment;
use crate::options::Global;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Beginnings of variables by which other libraries and their launchers are set.
const OF_OTHERS: [&str; 6] =
    ["OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_", "I_MPI_", "MPIR_CVAR_", "HYDRA_"];

/// What is no wish of the user's: where a library is, and what its own launcher tells its ranks.
const NO_WISH: [&str; 5] =
    ["I_MPI_ROOT", "I_MPI_MPIRUN", "I_MPI_INFO_", "I_MPI_OFI_LIBRARY_INTERNAL", "OMPI_MCA_orte_"];

/// Names of others, and what is called so here.
const SAME: [(&str, &str); 7] = [
    ("I_MPI_PORT_RANGE", "FERRITE_TCP_PORTS"),
    ("MPIR_CVAR_CH3_PORT_RANGE", "FERRITE_TCP_PORTS"),
    ("btl_tcp_if_include", INTERFACES),
    ("I_MPI_HYDRA_IFACE", INTERFACES),
    ("I_MPI_NETMASK", INTERFACES),
    ("MPIR_CVAR_NEMESIS_TCP_NETWORK_IFACE", INTERFACES),
    ("HYDRA_IFACE", INTERFACES),
];

/// The setting of ours that names network interfaces.
const INTERFACES: &str = "FERRITE_TCP_INTERFACES";

/// Beginnings of names, without that of their library, and what serves the same purpose here. The
/// first that fits counts.
const INSTEAD: [(&str, &str); 33] = [
    ("btl_tcp_port", "FERRITE_TCP_PORTS"),
    ("btl_tcp_if", "FERRITE_TCP_INTERFACES with names of interfaces"),
    ("oob_tcp_if", "FERRITE_TCP_INTERFACES with names of interfaces"),
    ("NETMASK", "FERRITE_TCP_INTERFACES with names of interfaces"),
    ("btl_tcp_eager", "FERRITE_TCP_EAGER_BYTES"),
    ("btl_tcp_links", "FERRITE_TCP_STREAMS"),
    ("btl_vader_single_copy", "FERRITE_SHM_BULK"),
    ("btl_sm_use_", "FERRITE_SHM_BULK"),
    ("btl_vader_eager", "FERRITE_SHM_EAGER_BYTES"),
    ("btl_sm_eager", "FERRITE_SHM_EAGER_BYTES"),
    ("btl", "FERRITE_TRANSPORT"),
    ("pml", "FERRITE_TRANSPORT"),
    ("mtl", "FERRITE_TRANSPORT"),
    ("FABRICS", "FERRITE_TRANSPORT"),
    ("DEVICE", "FERRITE_TRANSPORT"),
    ("coll", "FERRITE_COLL_*"),
    ("ADJUST_", "FERRITE_COLL_*"),
    ("mpi_yield_when_idle", "FERRITE_WAIT_SPIN_POLLS"),
    ("WAIT_MODE", "FERRITE_WAIT_SPIN_POLLS"),
    ("THREAD_YIELD", "FERRITE_WAIT_SPIN_POLLS"),
    ("ASYNC_PROGRESS", "FERRITE_PROGRESS"),
    ("hwloc_base_binding", "--bind-to"),
    ("PIN", "--bind-to"),
    ("rmaps_base_mapping", "--map-by"),
    ("rmaps_ppr", "-ppn"),
    ("PERHOST", "-ppn"),
    ("PPN", "-ppn"),
    ("plm_rsh_agent", "--launcher"),
    ("HYDRA_BOOTSTRAP", "--launcher"),
    ("LAUNCHER", "--launcher"),
    ("HOST_FILE", "--hostfile"),
    ("DEBUG", "--report"),
    ("JOB_TIMEOUT", "--timeout"),
];

/// All settings of others, by their names: those of options first, then those of the environment.
fn given(global: &Global, inherited: &Environment) -> Vec<(String, String)> {
    let pairs = global.other.mca.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
    let variables = inherited.iter().filter_map(|(name, value)| {
        let (name, value) = (name.to_str()?, value.to_string_lossy().into_owned());
        let of_others = OF_OTHERS.iter().any(|start| name.starts_with(start));
        let wish = !NO_WISH.iter().any(|start| name.starts_with(start));
        (of_others && wish).then(|| (name.to_string(), value))
    });
    pairs.chain(variables).collect()
}

/// A name without the beginning that all of Open MPI's variables have.
fn bare(name: &str) -> &str {
    name.strip_prefix("OMPI_MCA_").unwrap_or(name)
}

/// What a setting of others is called here, if it means the same. Networks by their addresses do not.
fn same(name: &str, value: &str) -> Option<&'static str> {
    let known = SAME.iter().find(|(theirs, _)| *theirs == bare(name));
    known.filter(|_| !value.contains('/')).map(|(_, ours)| *ours)
}

/// Variables of ours that settings of others come to; where the user has set ours, that counts.
pub(crate) fn mapped(global: &Global, inherited: &Environment) -> Vec<(OsString, OsString)> {
    let iface = global.iface.iter().map(|name| (INTERFACES, name.clone()));
    let others = given(global, inherited).into_iter();
    let others = others.filter_map(|(name, value)| Some((same(&name, &value)?, value)));
    let new = |name: &str| !inherited.contains_key(OsStr::new(name));
    iface.chain(others).filter(|(n, _)| new(n)).map(|(n, v)| (n.into(), v.into())).collect()
}

/// One note about those that come to nothing.
pub(crate) fn note(global: &Global, inherited: &Environment) -> Option<String> {
    let mut groups: BTreeMap<Option<&str>, Vec<String>> = BTreeMap::new();
    for (name, value) in given(global, inherited) {
        if same(&name, &value).is_none() {
            groups.entry(instead_of(&name)).or_default().push(name);
        }
    }
    if groups.is_empty() {
        return None;
    }
    let said = groups.iter().map(|(instead, names)| match instead {
        Some(instead) => format!("{} (here: {instead})", names.join(", ")),
        None => names.join(", "),
    });
    let said: Vec<String> = said.collect();
    Some(format!(
        "note: settings of other MPI libraries have no effect here: {}. mpirun --settings and --help \
         list Ferrite's; --quiet leaves this note out",
        said.join("; ")
    ))
}

/// What serves the purpose of a setting of others.
fn instead_of(name: &str) -> Option<&'static str> {
    let whole = bare(name);
    let tail = OF_OTHERS.iter().find_map(|start| name.strip_prefix(start)).unwrap_or(whole);
    let fits = |start: &str| whole.starts_with(start) || tail.starts_with(start);
    INSTEAD.iter().find(|(start, _)| fits(start)).map(|(_, instead)| *instead)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str, have: &[(&str, &str)]) -> (Vec<(OsString, OsString)>, String) {
        let words = line.split_whitespace().map(OsString::from).collect();
        let request = crate::options::parse(words).unwrap();
        let have = have.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let (global, note) = (&request.global, note(&request.global, &have).unwrap_or_default());
        (mapped(global, &have), note)
    }

    fn interfaces(value: &str) -> Vec<(OsString, OsString)> {
        vec![(INTERFACES.into(), value.into())]
    }

    #[test]
    fn interfaces_are_ours() {
        for (line, have) in [
            ("--mca btl_tcp_if_include eth1 a", &[][..]),
            ("-iface eth1 a", &[]),
            ("a", &[("OMPI_MCA_btl_tcp_if_include", "eth1")]),
            ("a", &[("I_MPI_HYDRA_IFACE", "eth1"), ("I_MPI_ROOT", "/opt/impi")]),
        ] {
            assert_eq!(said(line, have), (interfaces("eth1"), String::new()), "{line}");
        }
        let range = vec![("FERRITE_TCP_PORTS".into(), "50000:50100".into())];
        assert_eq!(said("a", &[("I_MPI_PORT_RANGE", "50000:50100")]).0, range);
        assert!(said("-iface eth1 a", &[(INTERFACES, "ib0")]).0.is_empty());
        let (mapped, note) = said("--mca btl_tcp_if_include 10.0.0.0/8 a", &[]);
        assert!(mapped.is_empty() && note.contains("with names of interfaces"), "{note}");
    }

    #[test]
    fn others_are_named_once_with_what_serves_here() {
        let have = [
            ("OMPI_MCA_coll_tuned_use", "1"),
            ("I_MPI_FABRICS", "shm"),
            ("I_MPI_PIN_DOMAIN", "core"),
            ("MPIR_CVAR_WHATEVER", "1"),
            ("HYDRA_HOST_FILE", "hosts"),
            ("HOME", "/root"),
        ];
        let note = said("--mca btl self,sm --mca pml ob1 a", &have).1;
        for part in [
            "btl, pml, I_MPI_FABRICS (here: FERRITE_TRANSPORT)",
            "OMPI_MCA_coll_tuned_use (here: FERRITE_COLL_*)",
            "I_MPI_PIN_DOMAIN (here: --bind-to)",
            "HYDRA_HOST_FILE (here: --hostfile)",
            "here: MPIR_CVAR_WHATEVER;",
        ] {
            assert!(note.contains(part), "no “{part}” in {note}");
        }
        assert_eq!(said("a", &[("I_MPI_ROOT", "/opt"), ("HOME", "/root")]).1, "");
    }

    #[test]
    fn counterparts_are_there() {
        let settings = mpi_core::settings::Settings::ALL;
        let options = crate::options::names();
        for (theirs, ours) in INSTEAD.into_iter().chain(SAME) {
            let ours = ours.split(' ').next().unwrap();
            let is_setting = settings.iter().any(|setting| match ours.strip_suffix('*') {
                Some(start) => setting.variable().starts_with(start),
                None => setting.variable() == ours,
            });
            let bare = ours.trim_start_matches('-');
            let is_option = options.iter().any(|option| option == bare);
            assert!(if ours.starts_with('-') { is_option } else { is_setting }, "{theirs}: {ours}");
        }
    }
}
