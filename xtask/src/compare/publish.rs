//! What was measured, put into the book: the tables and plots of `docs/performance.md`.
//!
//! Enters: the groups reported last, in `target/compare`. Leaves: the page, in which the text
//! between a group's two marks is replaced by the command, the machine, the table and the plots; and the
//! plots in `docs/performance/`. What stands around the marks is written by hand and stays.

use super::folder;
use super::groups::Group;
use crate::{place, run};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

/// Writes these groups into the page.
pub(super) fn publish(groups: &[Group]) -> Result<()> {
    for group in groups {
        let mut text = fs::read_to_string(folder().join(format!("{}.md", group.name)))
            .with_context(|| format!("{} was not measured", group.name))?;
        for plot in copy_plots(group.name, &place::root().join("docs/performance"))? {
            text += &format!("\n![{}](performance/{plot})\n", plot.trim_end_matches(".svg"));
        }
        let command = format!("cargo xtask compare --only {} --publish", group.name);
        write(group.name, &command, &text)?;
    }
    Ok(())
}

/// Puts what a command measured on this machine into `docs/performance.md`.
pub(crate) fn write(name: &str, command: &str, text: &str) -> Result<()> {
    let section = format!("`{command}` on {}:\n\n{text}", machine());
    put(&place::root().join("docs/performance.md"), name, &section)
}

/// Puts a text between the marks of this name on a page.
pub(crate) fn put(page: &Path, name: &str, section: &str) -> Result<()> {
    let shown = place::shown(page);
    let before = fs::read_to_string(page).with_context(|| format!("no {shown}"))?;
    fs::write(page, replaced(&before, name, section).with_context(|| shown.clone())?)?;
    println!("written: {shown}, {name}");
    Ok(())
}

/// The page with another text between the marks `<!-- NAME -->` and `<!-- /NAME -->`.
fn replaced(page: &str, name: &str, text: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let Some((before, rest)) = page.split_once(&begin) else {
        bail!("there is no line {}", begin.trim_end());
    };
    let Some((_, after)) = rest.split_once(&end) else {
        bail!("there is no line {end}");
    };
    Ok(format!("{before}{begin}{text}{end}{after}"))
}

/// Brings a group's plots to where the page finds them; their names.
fn copy_plots(group: &str, to: &Path) -> Result<Vec<String>> {
    fs::create_dir_all(to)?;
    let mut names = Vec::new();
    for entry in fs::read_dir(folder())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // The plots of `cold-bandwidth` are none of the group `cold`.
        let mine = name.strip_prefix(group).is_some_and(|rest| {
            rest.starts_with('-') && (group != "cold" || !rest.starts_with("-bandwidth"))
        });
        if mine && name.ends_with(".svg") {
            fs::copy(entry.path(), to.join(&name))?;
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// The processors and the system.
pub(crate) fn machine() -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name"));
    let model =
        model.map_or("an unknown processor", |rest| rest.trim_start_matches(['\t', ' ', ':']));
    let count = available_parallelism().map_or(1, usize::from);
    let kernel = run::output(run::command("uname").arg("-r")).unwrap_or_default();
    format!("{count} processors of {model}, Linux {}", kernel.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_marks_is_replaced() {
        let page = "A\n<!-- cold -->\nold\n<!-- /cold -->\nB\n<!-- rate -->\n<!-- /rate -->\n";
        let once = replaced(page, "rate", "new\n").expect("both marks");
        assert_eq!(once, page.replace("<!-- /rate", "new\n<!-- /rate"));
        assert_eq!(replaced(&once, "rate", "new\n").expect("both marks"), once);
        let cold = replaced(page, "cold", "").expect("both marks");
        assert_eq!(cold, page.replace("old\n<", "<"));
        assert!(replaced(page, "latency", "").is_err());
    }
}
