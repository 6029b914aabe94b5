//! The house rules that a machine can check, over the source tree itself (docs/architecture.md,
//! "How it is tested"). Generated files are left to the generator's own test.
//!
//! A rule that older code does not keep yet has a list of exceptions with the size each may have:
//! the list may shrink, and a file that got shorter must leave it (a ratchet).

#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/decisions.rs"]
mod decisions;
#[path = "tidy/engine.rs"]
mod engine;
#[path = "tidy/map.rs"]
mod map;
#[path = "tidy/methods.rs"]
mod methods;
#[path = "tidy/names.rs"]
mod names;
#[path = "tidy/performance.rs"]
mod performance;
#[path = "tidy/tour.rs"]
mod tour;
#[path = "tidy/tuning.rs"]
mod tuning;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const MAX_FILE: usize = 600;
const MAX_FUNCTION: usize = 70;
/// rustfmt keeps code to 100 columns; this is for what it leaves alone (comments, C, strings).
const MAX_LINE: usize = 120;

/// Files longer than `MAX_FILE`, and how long they may be.
const LONG_FILES: &[(&str, usize)] = &[];

/// Functions longer than `MAX_FUNCTION`, as `file::function`, and how long they may be.
const LONG_FUNCTIONS: &[(&str, usize)] = &[];

/// Where unsafe code may stand: the two edges, the launcher's system calls, and in the core what touches user memory
/// or runs the program's functions (docs/architecture.md, "Where unsafe lives").
const UNSAFE: &[&str] = &[
    "src/",
    "mpi-abi/",
    "transports/",
    "launcher/",
    "benches/",
    "testsuite/",
    "mpi-core/src/buffer.rs",
    "mpi-core/src/callout.rs",
    "mpi-core/src/coll/memory.rs",
    "mpi-core/src/collectives/execute.rs",
    "mpi-core/src/collectives/node/fold.rs",
    "mpi-core/src/collectives/node/fold_short.rs",
    "mpi-core/src/collectives/node/message.rs",
    "mpi-core/src/datatype/blocks.rs",
    "mpi-core/src/datatype/copy.rs",
    "mpi-core/src/datatype/cursor.rs",
    "mpi-core/src/datatype/pack.rs",
    "mpi-core/src/datatype/tests.rs",
    "mpi-core/src/entry.rs",
    "mpi-core/src/in_turn.rs",
    "mpi-core/src/threads.rs",
    "mpi-core/src/io/representation.rs",
    "mpi-core/src/op/element.rs",
    "mpi-core/src/op/kernels.rs",
    "mpi-core/src/op/tests.rs",
    "mpi-core/src/op/wide.rs",
    "mpi-core/src/rma/memory.rs",
    "mpi-core/src/user_memory.rs",
];

/// Which crates of ours each crate may name. Dependencies point one way:
/// mpi-abi → transports → mpi-core; the launcher's protocols stand beside.
const DIRECTION: &[(&str, &[&str])] = &[
    ("mpi-core", &[]),
    ("launcher/wire", &[]),
    ("launcher/machine", &[]),
    ("launcher/version", &[]),
    ("mpi-abi/api", &[]),
    ("mpicc-wrapper", &[]),
    ("transports", &["mpi-core", "launch-wire", "machine"]),
    ("mpi-abi", &["mpi-core", "transports", "launch-wire", "machine", "version"]),
    (".", &["mpi-abi", "mpi-core"]),
    ("mpi-abi/mpich", &["mpi-abi", "mpi-core"]),
    ("mpi-abi/openmpi", &["mpi-abi", "mpi-core"]),
    ("launcher", &["mpi-core", "launch-wire", "machine", "version"]),
    ("xtask", &["mpi-api"]),
];

/// What the core does not have: it is given its time, its transports and its way to wait.
const NOT_IN_THE_CORE: &[&str] =
    &["thread_local!", "std::net", "Instant::now", "SystemTime::now", "std::thread::sleep"];

/// What reads bytes or text from outside the process, each by random input in the file beside it.
const FUZZED: &[(&str, &str)] = &[
    ("launcher/src/hosts/list.rs", "launcher/src/hosts/list.rs"),
    ("launcher/src/allocation.rs", "launcher/src/allocation.rs"),
    ("launcher/machine/src/lib.rs", "launcher/machine/src/lib.rs"),
    ("launcher/src/options/configfile.rs", "launcher/src/options/configfile.rs"),
    ("launcher/src/options/mod.rs", "launcher/src/options/tests.rs"),
    ("launcher/src/pmi_server.rs", "launcher/src/pmi_server_tests.rs"),
    ("launcher/src/program.rs", "launcher/src/program_tests.rs"),
    ("launcher/src/route.rs", "launcher/src/route.rs"),
    ("launcher/src/tree/frame.rs", "launcher/src/tree/frame_tests.rs"),
    ("launcher/src/tree/link.rs", "launcher/src/tree/link.rs"),
    ("launcher/src/pack.rs", "launcher/src/pack.rs"),
    ("launcher/wire/src/address.rs", "launcher/wire/src/address.rs"),
    ("launcher/wire/src/bootstrap.rs", "launcher/wire/src/bootstrap.rs"),
    ("launcher/wire/src/control/dying.rs", "launcher/wire/src/control/frame.rs"),
    ("launcher/wire/src/control/frame.rs", "launcher/wire/src/control/frame.rs"),
    ("launcher/wire/src/control/mapping.rs", "launcher/wire/src/control/mapping.rs"),
    ("launcher/wire/src/pmi1/client.rs", "launcher/wire/src/pmi1/client_tests.rs"),
    ("launcher/wire/src/pmi1/line.rs", "launcher/wire/src/pmi1/line.rs"),
    ("launcher/wire/src/pmi1/mapping.rs", "launcher/wire/src/pmi1/mapping.rs"),
    ("launcher/wire/src/pmi1/segment.rs", "launcher/wire/src/pmi1/segment.rs"),
    ("launcher/wire/src/refusal.rs", "launcher/wire/src/refusal.rs"),
    ("mpi-core/src/coll/table.rs", "mpi-core/src/coll/table.rs"),
    ("mpi-core/src/communicators/inter.rs", "mpi-core/src/communicators/inter.rs"),
    ("mpi-core/src/p2p/partitioned/channel.rs", "mpi-core/src/p2p/partitioned/channel.rs"),
    ("mpi-core/src/p2p/rendezvous.rs", "mpi-core/src/p2p/rendezvous.rs"),
    ("mpi-core/src/roll_call.rs", "mpi-core/src/roll_call.rs"),
    ("mpi-core/src/settings/value.rs", "mpi-core/src/settings/value.rs"),
    ("transports/src/datagrams/envelope.rs", "transports/src/datagrams/envelope.rs"),
    ("transports/src/ofi/card.rs", "transports/src/ofi/card.rs"),
    ("transports/src/ofi/stamp.rs", "transports/src/ofi/stamp.rs"),
    ("transports/src/fragment.rs", "transports/src/fragment.rs"),
    ("transports/src/rdma/bulk.rs", "transports/src/rdma/hostile_tests.rs"),
    ("transports/src/rdma/envelope.rs", "transports/src/rdma/envelope.rs"),
    ("transports/src/rdma/receive.rs", "transports/src/rdma/hostile_tests.rs"),
    ("transports/src/rdma/rendezvous.rs", "transports/src/rdma/hostile_tests.rs"),
    ("transports/src/rdma/ring.rs", "transports/src/rdma/hostile_tests.rs"),
    ("transports/src/reliability/receive.rs", "transports/src/reliability/tests.rs"),
    ("transports/src/reliability/reassembly.rs", "transports/src/reliability/reassembly.rs"),
    ("transports/src/reliability/wire.rs", "transports/src/reliability/wire.rs"),
    ("transports/src/shm/attach/hello.rs", "transports/src/shm/attach/hello.rs"),
    ("transports/src/shm/ring/runs.rs", "transports/src/shm/hostile_tests.rs"),
    ("transports/src/tcp/card.rs", "transports/src/tcp/card.rs"),
    ("transports/src/tcp/guest.rs", "transports/src/tcp/stranger_tests.rs"),
    ("transports/src/tcp/hello.rs", "transports/src/tcp/hello.rs"),
    ("transports/src/tcp/input.rs", "transports/src/tcp/input_tests.rs"),
    ("transports/src/tcp/record.rs", "transports/src/tcp/record.rs"),
    ("transports/src/verbs/address.rs", "transports/src/verbs/address.rs"),
    ("transports/src/verbs/hello.rs", "transports/src/verbs/hello.rs"),
    ("transports/src/verbs/ud/address.rs", "transports/src/verbs/ud/address.rs"),
];

#[test]
fn what_reads_foreign_bytes_is_fuzzed() {
    complain(FUZZED.iter().filter_map(|(reader, test)| {
        let text = fs::read_to_string(root().join(test)).unwrap_or_default();
        let is_tried = root().join(reader).exists() && text.contains("proptest!");
        (!is_tried).then(|| format!("{reader}: {test} does not try it with random input"))
    }));
}

#[test]
fn files_are_short() {
    let lengths = sources(&["rs"]).into_iter().map(|file| {
        let lines = file.text.lines().count();
        (file.name, lines)
    });
    hold(lengths.collect(), MAX_FILE, LONG_FILES);
}

#[test]
fn functions_fit_a_screen() {
    let mut lengths = BTreeMap::new();
    for file in sources(&["rs"]) {
        for (function, lines) in functions(&file.text) {
            let longest = lengths.entry(format!("{}::{function}", file.name)).or_insert(0);
            *longest = lines.max(*longest);
        }
    }
    hold(lengths, MAX_FUNCTION, LONG_FUNCTIONS);
}

#[test]
fn lines_are_short() {
    complain(sources(&["rs", "c", "h"]).iter().flat_map(|file| {
        file.numbered()
            .filter(|(_, line)| line.chars().count() > MAX_LINE)
            .map(|(number, _)| format!("{}:{number}: over {MAX_LINE} columns", file.name))
            .collect::<Vec<_>>()
    }));
}

#[test]
fn modules_say_what_they_are_for() {
    complain(sources(&["rs"]).iter().filter_map(|file| {
        let first = file.text.lines().find(|line| !line.is_empty() && !line.starts_with("#!"))?;
        (!first.starts_with("//!")).then(|| {
            format!("{}: does not begin with //! (what for, what enters and leaves)", file.name)
        })
    }));
}

#[test]
fn unsafe_code_is_where_the_plan_says() {
    complain(sources(&["rs"]).iter().filter(|file| !listed(&file.name)).flat_map(|file| {
        file.numbered()
            .filter(|(_, line)| has_word(code_of(line), "unsafe"))
            .map(|(number, _)| format!("{}:{number}: unsafe outside its places", file.name))
            .collect::<Vec<_>>()
    }));

    fn listed(name: &str) -> bool {
        UNSAFE.iter().any(|place| name.starts_with(place))
    }
}

#[test]
fn dependencies_point_one_way() {
    let ours: Vec<String> = crates().into_iter().map(|(_, name)| name).collect();
    complain(crates().into_iter().flat_map(|(dir, _)| {
        let allowed = DIRECTION.iter().find(|(of, _)| *of == dir).map(|(_, names)| *names);
        dependencies(&dir)
            .into_iter()
            .filter(|name| ours.contains(name))
            .filter(|name| allowed.is_some_and(|allowed| !allowed.contains(&name.as_str())))
            .map(|name| format!("{dir}/Cargo.toml: may not depend on {name}"))
            .collect::<Vec<_>>()
    }));
}

#[test]
fn the_core_owns_no_clock_and_no_socket() {
    complain(
        sources(&["rs"]).iter().filter(|file| file.name.starts_with("mpi-core/src")).flat_map(
            |file| {
                file.numbered()
                    .filter_map(|(number, line)| {
                        let word =
                            NOT_IN_THE_CORE.iter().find(|word| code_of(line).contains(**word))?;
                        Some(format!("{}:{number}: {word} in the core", file.name))
                    })
                    .collect::<Vec<_>>()
            },
        ),
    );
}

#[test]
fn nothing_is_left_for_later() {
    let words = [concat!("TO", "DO"), concat!("FIX", "ME")];
    complain(sources(&["rs", "c", "h", "sh"]).iter().flat_map(|file| {
        file.numbered()
            .filter(|(_, line)| words.iter().any(|word| has_word(line, word)))
            .map(|(number, _)| format!("{}:{number}: a note for later", file.name))
            .collect::<Vec<_>>()
    }));
}

#[test]
fn the_function_meter_measures() {
    let text = [
        "fn a() {",
        "    x;",
        "}",
        "impl T {",
        "    pub(crate) fn b(",
        "        &self,",
        "    ) {",
        "    }",
        "    fn c();",
        "}",
    ]
    .join("\n");
    assert_eq!(functions(&text), [("a".to_string(), 3), ("b".to_string(), 4)]);
}

/// A source file, named from the root of the repository.
struct Source {
    name: String,
    text: String,
}

impl Source {
    fn numbered(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("testsuite/ lies in the repository")
}

/// All files with one of these endings that people write.
fn sources(endings: &[&str]) -> Vec<Source> {
    let mut files = Vec::new();
    walk(root(), &mut files);
    let wanted = |file: &PathBuf| {
        file.extension().is_some_and(|ending| endings.iter().any(|wanted| ending == *wanted))
    };
    let sources: Vec<Source> = files
        .into_iter()
        .filter(wanted)
        .filter_map(|file| {
            let text = fs::read_to_string(&file).expect("a source file is UTF-8");
            let name = file.strip_prefix(root()).expect("below the root").display().to_string();
            (!is_generated(&text)).then_some(Source { name, text })
        })
        .collect();
    assert!(!sources.is_empty(), "the source tree is found");
    sources
}

/// Generated files say so in their first lines.
fn is_generated(text: &str) -> bool {
    let head: String = text.lines().take(5).collect();
    head.contains("cargo xtask generate")
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    for entry in entries {
        let path = entry.expect("a folder can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') || name == "target" {
            continue;
        }
        if path.is_dir() {
            walk(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// The functions of a file that rustfmt has formatted, with their lengths: from `fn` to the
/// closing brace in the same column.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let end = format!("{indent}}}");
        let body = &lines[start..];
        let declaration = body.iter().position(|line| line.ends_with(';') || line.ends_with('{'));
        if declaration.is_some_and(|at| body[at].ends_with(';')) {
            continue;
        }
        if let Some(length) = body.iter().position(|line| *line == end) {
            found.push((name.to_string(), length + 1));
        }
    }
    found
}

fn function_name(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let before = code.find("fn ")?;
    let qualifiers = code[..before].split_whitespace().all(|word| {
        let plain = ["pub", "const", "async", "unsafe", "extern"].contains(&word);
        plain || word.starts_with("pub(") || word.starts_with('"')
    });
    let name = code[before + 3..].split(['(', '<']).next()?;
    (qualifiers && !line.ends_with('}')).then_some(name)
}

/// A line without its comment and without what stands in quotes.
fn code_of(line: &str) -> &str {
    let end = line.find("//").or_else(|| line.find('"')).unwrap_or(line.len());
    &line[..end]
}

fn has_word(line: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(inside) && !line[at + word.len()..].starts_with(inside)
    })
}

/// Our crates: folder and package name.
fn crates() -> Vec<(String, String)> {
    let mut files = Vec::new();
    walk(root(), &mut files);
    let manifests = files.into_iter().filter(|file| file.ends_with("Cargo.toml"));
    manifests
        .filter_map(|file| {
            let text = fs::read_to_string(&file).expect("a manifest is UTF-8");
            let name = text.lines().find_map(|line| line.strip_prefix("name = \""))?;
            let dir = file.parent()?.strip_prefix(root()).ok()?.display().to_string();
            let dir = if dir.is_empty() { ".".to_string() } else { dir };
            Some((dir, name.trim_end_matches('"').to_string()))
        })
        .collect()
}

/// What a crate's `[dependencies]` names (tests may use more).
fn dependencies(dir: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(dir).join("Cargo.toml")).expect("a manifest");
    text.lines()
        .skip_while(|line| *line != "[dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| !name.is_empty())
        .map(str::to_string)
        .collect()
}

/// Compares sizes with the limit and with the exceptions.
fn hold(sizes: BTreeMap<String, usize>, limit: usize, exceptions: &[(&str, usize)]) {
    let allowed = |name: &str| {
        exceptions.iter().find(|(exception, _)| *exception == name).map(|(_, size)| *size)
    };
    let too_long = sizes.iter().filter_map(|(name, size)| {
        let limit = allowed(name).unwrap_or(limit);
        (*size > limit).then(|| format!("{name}: {size} lines, at most {limit}"))
    });
    let outdated =
        exceptions.iter().filter(|(name, _)| sizes.get(*name).is_none_or(|s| *s <= limit));
    let outdated = outdated.map(|(name, _)| format!("{name}: no exception is needed any more"));
    complain(too_long.chain(outdated));
}

/// Fails with all complaints at once.
fn complain(complaints: impl Iterator<Item = String>) {
    let complaints: Vec<String> = complaints.collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}
