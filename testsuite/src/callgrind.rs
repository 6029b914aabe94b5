//! What callgrind counted: the instructions of a region, which of them lock the bus or fence, the
//! system calls and the calls of copying functions in it.
//!
//! Enters: a file written with [`OPTIONS`]. Leaves: [`Counts`]. The format is described in
//! valgrind's manual, "Callgrind Format Specification".

use anyhow::{Context, Result};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// What valgrind is told, so that its file has what is read here: about the function `region`
/// alone, every instruction, in full words, and the system calls.
pub const OPTIONS: [&str; 7] = [
    "--tool=callgrind",
    "--dump-instr=yes",
    "--compress-strings=no",
    "--compress-pos=no",
    "--collect-systime=yes",
    "--zero-before=region",
    "--dump-after=region",
];

/// What happened in the region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions.
    pub instructions: u64,
    /// System calls.
    pub system_calls: u64,
    /// Calls of functions that copy memory.
    pub copies: u64,
    /// Instructions that lock the bus or order all memory accesses, and where they stand.
    pub fences: u64,
    /// For a person: each locked instruction or fence, and its function.
    pub where_fenced: Vec<String>,
}

/// An instruction: its object file, its address in it, and the function.
type Place<'a> = (&'a str, u64, &'a str);

/// Locked instructions and fences: what each address has.
type Fences = BTreeMap<u64, String>;

/// Reads what callgrind wrote about a region.
///
/// # Errors
/// When it is not a file of that format, or an object file cannot be disassembled.
pub fn counts(text: &str) -> Result<Counts> {
    let find = |name| text.lines().find_map(|line| line.strip_prefix(name));
    let events = find("events: ").context("no events")?;
    let sums: Vec<&str> = find("summary: ").context("no summary")?.split_whitespace().collect();
    let column = |name| events.split_whitespace().position(|event| event == name);
    let (ir, sys) = (column("Ir").context("no Ir")?, column("sysCount").context("no sysCount")?);
    // Zeros at the end of a line are left out. A system call is the cost of its call alone, so only
    // the sum has each of them once.
    let sum = |column: usize| sums.get(column).map_or(Ok(0), |word| word.parse());
    let mut counts =
        Counts { instructions: sum(ir)?, system_calls: sum(sys)?, ..Counts::default() };
    let mut executed: BTreeMap<Place<'_>, u64> = BTreeMap::new();
    let (mut object, mut function, mut callee, mut inclusive) = ("", "", "", false);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("ob=") {
            object = name;
        } else if let Some(name) = line.strip_prefix("fn=") {
            function = name;
        } else if let Some(name) = line.strip_prefix("cfn=") {
            callee = name;
        } else if let Some(call) = line.strip_prefix("calls=") {
            // The next line is the cost of the callee, which has lines of its own.
            inclusive = true;
            if is_copy(callee) {
                let times = call.split_whitespace().next().unwrap_or_default();
                counts.copies += times.parse::<u64>().context("calls without a number")?;
            }
        } else if line.starts_with("0x") && !std::mem::take(&mut inclusive) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let address = u64::from_str_radix(&words[0][2..], 16)?;
            // Behind the address stand the line of the source and the costs.
            let times = words.get(2 + ir).map_or(Ok(0), |word| word.parse())?;
            *executed.entry((object, address, function)).or_default() += times;
        }
    }
    find_fences(&executed, &mut counts)?;
    Ok(counts)
}

/// Whether a function, as its symbol says, is one that copies memory.
fn is_copy(name: &str) -> bool {
    ["memcpy", "memmove"].iter().any(|word| name.contains(word))
}

/// Looks up every executed instruction in the disassembly of its object.
fn find_fences(executed: &BTreeMap<Place<'_>, u64>, counts: &mut Counts) -> Result<()> {
    let objects: BTreeSet<&str> = executed.keys().map(|(object, ..)| *object).collect();
    for object in objects.into_iter().filter(|object| Path::new(object).is_file()) {
        let fencing = fences_of(object)?;
        for ((_, address, function), times) in executed.iter().filter(|(at, _)| at.0 == object) {
            if let Some(instruction) = fencing.get(address) {
                counts.fences += times;
                counts.where_fenced.push(format!("{times} times {instruction} in {function}"));
            }
        }
    }
    Ok(())
}

/// All locked instructions and fences of an object, by address. To disassemble a library takes a second, so that is
/// done once.
fn fences_of(object: &str) -> Result<Arc<Fences>> {
    static KNOWN: Mutex<BTreeMap<String, Arc<Fences>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock();
    if let Some(fences) = known.get(object) {
        return Ok(fences.clone());
    }
    let mut objdump = Command::new("objdump");
    let output = objdump.args(["-d", "--no-show-raw-insn", object]).output();
    let output = output.context("cannot start objdump; `cargo xtask setup` installs it")?;
    let listing = String::from_utf8_lossy(&output.stdout);
    let fence = |line| fence(line).map(|(address, instruction)| (address, instruction.to_owned()));
    let fences: Arc<Fences> = Arc::new(listing.lines().filter_map(fence).collect());
    known.insert(object.to_owned(), fences.clone());
    Ok(fences)
}

/// The address and text of a line of a disassembly, if it is a locked instruction or a fence.
fn fence(line: &str) -> Option<(u64, &str)> {
    let (address, instruction) = line.split_once(":\t")?;
    let address = u64::from_str_radix(address.trim(), 16).ok()?;
    let name = instruction.split_whitespace().next()?;
    let locks = name == "lock" || name == "mfence" || name == "cpuid" || name == "serialize";
    // An exchange with memory locks the bus without saying so.
    let exchanges = name.starts_with("xchg") && instruction.contains('(');
    (locks || exchanges).then_some((address, instruction.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "version: 1\npositions: instr line\nevents: Ir sysCount sysTime\nsummary: 44 1\n\n\
        ob=/no/such/file\nfl=a.c\nfn=region\n0x10 0 3\n0x14 0 1\ncob=/no/such/libc\ncfn=memcpy\n\
        calls=2 0x99 0\n0x14 0 40 1 7\n\nfn=memcpy\n0x99 0 40 1 7\n";

    #[test]
    fn sums_are_read_and_copies_counted() {
        let counts = counts(FILE).expect("read");
        assert_eq!((counts.instructions, counts.system_calls, counts.copies), (44, 1, 2));
    }

    #[test]
    fn locks_and_fences_are_known_by_their_names() {
        for line in
            ["  1f:\tlock cmpxchg %rax,(%rdi)", "  20:\tmfence", "  21:\txchg %eax,0x8(%rdi)"]
        {
            assert!(fence(line).is_some(), "{line}");
        }
        for line in
            ["  1f:\txchg %ax,%ax", "  20:\tmov %rax,(%rdi)", "0000 <lock>:", "  2:\tlfence"]
        {
            assert!(fence(line).is_none(), "{line}");
        }
    }
}
