//! No import circles: files that need each other are one file in several places, and none can be read first.
//!
//! Enters: the product's crates. Leaves: for each folder a graph of its files, an arrow for each file that names
//! another, by `use` or by a path in its code (`super::x::y`, `crate::a::x`); a circle fails.
//!
//! A subfolder is one file of that graph, with all that lies below it. `mod.rs` (or `x.rs` beside `x/`) is the folder
//! itself and no file in it: it may use its files, and they may use what it declares, as methods of one type that
//! stand in several files do. What it only passes on by `use` is looked through to the file that declares it.
//! Tests are apart. Not seen are methods of another file's types, macros' names and code that the build generates.
//!
//! One circle is left, and may only shrink: a process has its collective operations under way and goes on with them
//! whenever it polls, and what they are made of is made of steps that take the process, through an entry since they may
//! wait. To lay what is under way below the process would tear each step from what it works on.

use std::collections::{BTreeMap, BTreeSet};

use super::names::{Mention, Modules, Place, child, read};
use super::{DIRECTION, complain, root};

/// The circles that are left: of a folder, between these.
const LEFT: &[(&str, &str)] = &[("mpi-core/src", "collectives, entry, process")];
/// How many re-exports in a row are looked through.
const DEEP: usize = 8;

/// From which file to which one, by which lines.
type Arrows = BTreeMap<(String, String), Vec<String>>;

#[test]
fn no_file_needs_one_that_needs_it() {
    let mut complaints = Vec::new();
    let mut left = LEFT.to_vec();
    for (folder, arrows) in folders() {
        for circle in circles(&arrows) {
            let known = (&*folder, &*circle.join(", "));
            match left.iter().position(|one| *one == known) {
                Some(at) => _ = left.remove(at),
                None => complaints.push(complaint(&folder, &circle, &arrows)),
            }
        }
    }
    let gone = |(folder, circle)| format!("{folder}: there is no circle {circle} any more");
    complaints.extend(left.into_iter().map(gone));
    complain(complaints.into_iter());
}

/// All folders of the product, each with its arrows.
fn folders() -> Vec<(String, Arrows)> {
    let mut folders = Vec::new();
    for (dir, _) in DIRECTION {
        let src = root().join(dir).join("src");
        for begin in ["lib.rs", "main.rs"].map(|name| src.join(name)) {
            if begin.exists() {
                let mut modules = Modules::new();
                read(&begin, &src, Place::new(), &mut modules);
                let shown = |folder: Place| [vec![format!("{dir}/src")], folder].concat().join("/");
                let all = arrows(&modules).into_iter();
                folders.extend(all.map(|(folder, arrows)| (shown(folder), arrows)));
            }
        }
    }
    folders
}

/// In which module lies what a module names by this path; none for other crates.
fn resolve(modules: &Modules, from: &[String], path: &[String], deep: usize) -> Option<Place> {
    let (mut place, rest) = match path.first()?.as_str() {
        "crate" => (Place::new(), &path[1..]),
        "self" => (from.to_vec(), &path[1..]),
        "super" => (from[..from.len().saturating_sub(1)].to_vec(), &path[1..]),
        _ => (from.to_vec(), path),
    };
    for (index, word) in rest.iter().enumerate() {
        let below = child(&place, word);
        if word == "super" {
            place.pop();
        } else if modules.contains_key(&below) {
            place = below;
        } else if deep > 0
            && let Some(passed) = passed_on(modules, &place, word, deep - 1)
        {
            let path = [&passed[..], &rest[index + 1..]].concat();
            return resolve(modules, &place, &path, deep - 1);
        } else {
            let is_ours = rest.len() < path.len() || index > 0;
            return is_ours.then_some(place);
        }
    }
    Some(place)
}

/// What a module names by `use` under this name.
fn passed_on(modules: &Modules, place: &[String], word: &str, deep: usize) -> Option<Vec<String>> {
    let module = modules.get(place)?;
    let uses = || module.mentions.iter().filter(|mention| mention.name.is_some());
    let same = |mention: &&Mention| mention.name.as_deref() == Some(word);
    if let Some(mention) = uses().find(same) {
        return Some(mention.path.clone());
    }
    let all = uses().filter(|mention| mention.name.as_deref() == Some("*"));
    let mut all = all.filter(|mention| {
        let from = resolve(modules, place, &mention.path, deep);
        from.is_some_and(|from| modules[&from].declares.contains(word))
    });
    all.next().map(|mention| child(&mention.path, word))
}

/// The arrows between the files of each folder.
fn arrows(modules: &Modules) -> BTreeMap<Place, Arrows> {
    let mut folders = BTreeMap::<Place, Arrows>::new();
    for (place, module) in modules {
        for mention in &module.mentions {
            let Some(target) = resolve(modules, place, &mention.path, DEEP) else { continue };
            let common = place.iter().zip(&target).take_while(|(a, b)| a == b).count();
            if common < place.len() && common < target.len() {
                let arrows = folders.entry(place[..common].to_vec()).or_default();
                let lines = arrows.entry((place[common].clone(), target[common].clone()));
                let path = mention.path.join("::");
                lines.or_default().push(format!("{}:{}: {path}", module.file, mention.line));
            }
        }
    }
    folders
}

/// The circles among the files of one folder: files each of which leads to all others.
fn circles(arrows: &Arrows) -> Vec<Vec<String>> {
    let reached = reached(arrows);
    let files: BTreeSet<&String> = arrows.keys().map(|(from, _)| from).collect();
    let leads = |from: &String, to: &String| reached.contains(&(from.clone(), to.clone()));
    let circles: BTreeSet<Vec<String>> = files
        .iter()
        .map(|one| {
            let others = files.iter().filter(|other| leads(one, other) && leads(other, one));
            others.map(|other| other.to_string()).collect()
        })
        .collect();
    circles.into_iter().filter(|circle| !circle.is_empty()).collect()
}

/// From which file to which one arrows lead, one or several.
fn reached(arrows: &Arrows) -> BTreeSet<(String, String)> {
    let mut reached: BTreeSet<_> = arrows.keys().cloned().collect();
    loop {
        let mut all = reached.clone();
        for (from, over) in &reached {
            let next = arrows.keys().filter(|(begin, _)| begin == over);
            all.extend(next.map(|(_, to)| (from.clone(), to.clone())));
        }
        if all.len() == reached.len() {
            return reached;
        }
        reached = all;
    }
}

/// Tells of a circle, with all lines that make it.
fn complaint(folder: &str, circle: &[String], arrows: &Arrows) -> String {
    let mut complaint = format!("{folder}: {} need each other:", circle.join(", "));
    for ((from, to), lines) in arrows {
        if circle.contains(from) && circle.contains(to) {
            complaint += &format!("\n  {from} -> {to}: {}", lines.join("\n      "));
        }
    }
    complaint
}

#[test]
fn the_circle_finder_finds() {
    let arrow = |from: &str, to: &str| ((from.to_string(), to.to_string()), Vec::new());
    let arrows = [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("d", "e")];
    let arrows = arrows.into_iter().map(|(from, to)| arrow(from, to)).collect();
    assert_eq!(circles(&arrows), [["b", "c"]]);
}
