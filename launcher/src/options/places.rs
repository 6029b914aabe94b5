//! Where ranks run, in the words of hydra and of Open MPI.
//!
//! In: the values of `--bind-to` and `--map-by`. Out: what each rank is tied to and how many of it
//! ([`Tie`]), and how ranks are dealt out ([`Mapping`]). A word behind a colon that asks for
//! something is heeded or refused; those that allow what is allowed anyway are passed over.

use super::elsewhere::BY_SOCKET;
use crate::hosts::Rule;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What a rank is tied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum BindTo {
    /// Nothing: every rank may run on every CPU that mpirun may use.
    #[value(alias = "user")]
    None,
    /// A core.
    Core,
    /// A hardware thread.
    #[value(aliases = ["thread", "cpu", "pu"])]
    Hwthread,
    /// A NUMA domain.
    #[value(alias = "l3cache")]
    Numa,
    /// A processor package.
    #[value(alias = "package")]
    Socket,
}

impl BindTo {
    /// Its name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
    }
}

/// What each rank is tied to, and how many of it: `--bind-to core:4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tie {
    /// What.
    pub(crate) to: BindTo,
    /// How many neighbouring ones.
    pub(crate) count: usize,
}

/// In which order ranks are dealt out to the places that `--bind-to` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum MapBy {
    /// Neighbouring ranks side by side.
    Near,
    /// Neighbouring ranks on different NUMA domains.
    Numa,
    /// Neighbouring ranks on different packages.
    Socket,
}

/// How ranks are dealt out to hosts, and on each host to its CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Over the hosts, if that was said.
    pub(crate) hosts: Option<Rule>,
    /// Within a host.
    pub(crate) within: MapBy,
    /// How many cores, or what else it is tied to, each rank gets, if that was said (`PE=4`).
    pub(crate) each: Option<usize>,
    /// Whether it is hardware threads that `each` counts.
    pub(crate) threads: bool,
    /// Whether more ranks than slots are to be refused.
    pub(crate) refuse_more: bool,
}

/// In which order ranks are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// Neighbours on one host.
    Slot,
    /// Neighbours on different hosts.
    Node,
}

/// What may stand behind a colon and asks for nothing that mpirun does not do anyway.
const ALLOWED_ANYWAY: [&str; 8] = [
    "overload-allowed",
    "if-supported",
    "oversubscribe",
    "span",
    "ordered",
    "inherit",
    "noinherit",
    "corecpus",
];

fn number(text: &str) -> Option<usize> {
    text.parse().ok().filter(|&n| n > 0)
}

/// `core`, `core:4`, `core:overload-allowed`.
pub(super) fn bind_to(text: &str) -> Result<Tie, String> {
    let lower = text.to_ascii_lowercase();
    let mut words = lower.split([':', ',']);
    let to = BindTo::from_str(words.next().unwrap_or_default(), true).map_err(|_| {
        let known: Vec<String> = BindTo::value_variants().iter().map(|v| v.name()).collect();
        format!("known are: {}", known.join(", "))
    })?;
    let mut tie = Tie { to, count: 1 };
    for word in words.filter(|word| !ALLOWED_ANYWAY.contains(word)) {
        match number(word).filter(|_| to != BindTo::None) {
            Some(count) => tie.count = count,
            None => {
                return Err(format!(
                    "“{word}” has no meaning there; behind the colon goes how many each rank \
                     gets, as in core:4 for four cores"
                ));
            }
        }
    }
    Ok(tie)
}

/// `node`, `core:PE=2`, `ppr:2:node`.
pub(super) fn map_by(text: &str) -> Result<Mapping, String> {
    let lower = text.to_ascii_lowercase();
    let words: Vec<&str> = lower.split([':', ',']).collect();
    let (hosts, within, rest) = match words[..] {
        ["ppr", n, "node", ref rest @ ..] => {
            let n = number(n).ok_or("ppr:N:node needs a number of ranks greater than 0")?;
            (Some(Rule::PerNode(n)), MapBy::Near, rest)
        }
        ["ppr", _, "socket" | "package" | "numa" | "l3cache" | "core" | "hwthread", ..] => {
            return Err(BY_SOCKET.to_string());
        }
        // Open MPI's :OVERSUBSCRIBE, without saying by what.
        ["", ref rest @ ..] if !rest.is_empty() => (None, MapBy::Near, rest),
        ["node", ref rest @ ..] => (Some(Rule::Node), MapBy::Near, rest),
        ["slot", ref rest @ ..] => (Some(Rule::Slot), MapBy::Near, rest),
        ["core" | "hwthread" | "thread" | "user" | "near", ref rest @ ..] => {
            (None, MapBy::Near, rest)
        }
        ["numa" | "l3cache", ref rest @ ..] => (None, MapBy::Numa, rest),
        ["socket" | "package", ref rest @ ..] => (None, MapBy::Socket, rest),
        _ => return Err("known are: slot, node, ppr:N:node, core, numa, socket".to_string()),
    };
    let mut mapping = Mapping { hosts, within, each: None, threads: false, refuse_more: false };
    for word in rest.iter().filter(|word| !ALLOWED_ANYWAY.contains(*word)) {
        let each = word.strip_prefix("pe=").map(number);
        match each {
            Some(Some(each)) => mapping.each = Some(each),
            Some(None) => return Err(format!("“{word}” needs a number of cores, as in PE=4")),
            None if *word == "hwtcpus" => mapping.threads = true,
            None if ["nooversubscribe", "no-oversubscribe"].contains(word) => {
                mapping.refuse_more = true;
            }
            None => {
                return Err(format!(
                    "“{word}” has no meaning there; PE=N gives each rank N cores, -H names hosts"
                ));
            }
        }
    }
    Ok(mapping)
}

/// `slot`, `node`.
pub(super) fn rank_by(text: &str) -> Result<Numbering, String> {
    match text.to_ascii_lowercase().split(':').next().unwrap_or_default() {
        "slot" | "core" | "hwthread" | "fill" => Ok(Numbering::Slot),
        "node" => Ok(Numbering::Node),
        _ => Err("known are slot and node; within a host --map-by socket or numa deals ranks out \
                  in turn"
            .to_string()),
    }
}

/// What both options together tie a rank to. `threads`: CPUs are hardware threads, as Open MPI's
/// --use-hwthread-cpus has it.
pub(crate) fn tie(
    bind_to: Option<Tie>,
    map_by: Option<Mapping>,
    threads: bool,
) -> Result<Option<Tie>, String> {
    let Some(each) = map_by.and_then(|map| map.each) else { return Ok(bind_to) };
    let threads = threads || map_by.is_some_and(|map| map.threads);
    let cpu = if threads { BindTo::Hwthread } else { BindTo::Core };
    match bind_to {
        None => Ok(Some(Tie { to: cpu, count: each })),
        // Open MPI's scripts say so where a program looks for its cores by itself.
        Some(Tie { to: BindTo::None, .. }) => Ok(bind_to),
        Some(Tie { to: to @ (BindTo::Core | BindTo::Hwthread), count }) => {
            if count != 1 && count != each {
                let to = to.name();
                return Err(format!(
                    "--bind-to {to}:{count} and --map-by …:PE={each} ask for different numbers: \
                     leave one of them out"
                ));
            }
            Ok(Some(Tie { to, count: each }))
        }
        Some(Tie { to, .. }) => Err(format!(
            "--map-by …:PE={each} gives each rank {each} cores, --bind-to {} something else: leave \
             one of them out",
            to.name()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_behind_colons_count() {
        let core = |count| Tie { to: BindTo::Core, count };
        assert_eq!(bind_to("core"), Ok(core(1)));
        assert_eq!(bind_to("core:4"), Ok(core(4)));
        assert_eq!(bind_to("Core:overload-allowed,if-supported"), Ok(core(1)));
        assert_eq!(bind_to("socket:2"), Ok(Tie { to: BindTo::Socket, count: 2 }));
        for wrong in ["core:0", "core:many", "core:-1", "user:0,1", "moon:2", "core:"] {
            assert!(bind_to(wrong).is_err(), "{wrong}");
        }
        for (text, each, threads) in [
            ("slot:PE=4", Some(4), false),
            ("slot:PE=2:oversubscribe,hwtcpus", Some(2), true),
            ("ppr:2:node:pe=3", Some(3), false),
            ("socket:span", None, false),
        ] {
            let mapping = map_by(text).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!((mapping.each, mapping.threads), (each, threads), "{text}");
        }
        for wrong in ["slot:PE=0", "slot:PE=x", "core:2", "slot:nolocal", "node:pe-list=0,1"] {
            assert!(map_by(wrong).is_err(), "{wrong}");
        }
        assert!(map_by("ppr:2:socket").unwrap_err().contains("-ppn N"));
        let more = |text| map_by(text).map(|mapping| (mapping.hosts, mapping.refuse_more));
        assert_eq!(more(":OVERSUBSCRIBE"), Ok((None, false)));
        assert_eq!(more("node:NOOVERSUBSCRIBE"), Ok((Some(Rule::Node), true)));
        assert!(map_by("").is_err() && map_by(":moon").is_err());
        assert_eq!(rank_by("Slot"), Ok(Numbering::Slot));
        assert!(rank_by("socket:span").unwrap_err().contains("--map-by socket"));
    }

    #[test]
    fn both_options_together() {
        let both = |bind: &str, map: &str, threads| {
            let bind = Some(bind).filter(|b| !b.is_empty()).map(|b| bind_to(b).unwrap());
            tie(bind, Some(map_by(map).unwrap()), threads)
        };
        let of = |to, count| Ok(Some(Tie { to, count }));
        assert_eq!(both("", "slot", false), Ok(None));
        assert_eq!(both("", "slot:PE=4", false), of(BindTo::Core, 4));
        assert_eq!(both("", "slot:PE=4", true), of(BindTo::Hwthread, 4));
        assert_eq!(both("", "slot:PE=4:hwtcpus", false), of(BindTo::Hwthread, 4));
        assert_eq!(both("core", "slot:PE=4", false), of(BindTo::Core, 4));
        assert_eq!(both("core:2", "socket", false), of(BindTo::Core, 2));
        assert_eq!(both("none", "slot:PE=4", false), of(BindTo::None, 1));
        assert!(both("core:2", "slot:PE=4", false).unwrap_err().contains("leave one"));
        assert!(both("socket", "slot:PE=4", false).unwrap_err().contains("leave one"));
    }

    proptest! {
        #[test]
        fn any_value_is_read_or_refused(text in "(core|slot|ppr)?[:,=a-z0-9]{0,12}") {
            if let Ok(tie) = bind_to(&text) {
                prop_assert!(tie.count > 0);
            }
            if let Ok(mapping) = map_by(&text) {
                prop_assert!(mapping.each != Some(0));
            }
        }
    }
}
