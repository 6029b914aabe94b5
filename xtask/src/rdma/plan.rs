//! What the emulated host shall do, as data: `testsuite/rdma-vm/*.toml`.
//!
//! A plan has steps, each a line for bash in the host; figures, which collect what steps measured; and bars,
//! which say how one line of a figure must stand to another. An entry with `each` stands for one entry for
//! each combination of its words, put in place of the `{name}`s.

use crate::compare::samples::size;
use crate::place;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use toml::{Table, Value};

/// A plan, its entries written out.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    /// Wires of the host, each with two devices.
    #[serde(default = "one")]
    pub(super) wires: u32,
    /// C sources that are compiled by our mpicc.
    #[serde(default)]
    pub(super) programs: Vec<String>,
    /// Examples of our crates, as PACKAGE/NAME, that are built where they exist.
    #[serde(default)]
    pub(super) examples: Vec<String>,
    #[serde(default, rename = "step")]
    pub(super) steps: Vec<Step>,
    #[serde(default, rename = "figure")]
    pub(super) figures: Vec<Figure>,
    #[serde(default, rename = "bar")]
    pub(super) bars: Vec<Bar>,
}

/// One line for bash in the host, in the repository's root, with `testsuite/rdma-vm`, the compiled programs
/// and our prefix on its search path.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    pub(super) name: String,
    pub(super) run: String,
    /// In how many hosts it runs at once: in one, or in two with one wire between them.
    #[serde(default = "one")]
    pub(super) hosts: u32,
    /// What all wires do to packets meanwhile, in the words of netem.
    #[serde(default)]
    pub(super) netem: String,
    /// How long it may take.
    #[serde(default = "minute")]
    pub(super) seconds: u64,
    /// The value of `FERRITE_TRANSPORT` without which the step makes no sense.
    pub(super) over: Option<String>,
    /// The file below the target folder without which it cannot run.
    pub(super) needs: Option<String>,
    /// The figure that gets the values which it prints.
    pub(super) figure: Option<String>,
    /// What they are called in that figure.
    pub(super) line: Option<String>,
}

/// Values of one kind, by size.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) title: String,
    /// The unit of the rows that it takes of what programs print.
    pub(super) unit: String,
    /// In how many rounds it is measured at most, where the first one says enough.
    pub(super) rounds: Option<usize>,
    /// What the numbers are that rows stand for, where they are not bytes.
    pub(super) by: Option<String>,
    /// The line that all others are told as ratios to as well.
    pub(super) against: Option<String>,
}

impl Figure {
    /// A number of a row, as a person writes it.
    pub(super) fn number(&self, number: u64) -> String {
        match &self.by {
            Some(what) => format!("{number} {what}"),
            None => size(number),
        }
    }
}

/// A line's value at a size, over another line's there if one is named, must lie between bounds.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Bar {
    pub(super) says: String,
    pub(super) figure: String,
    pub(super) line: String,
    pub(super) over: Option<String>,
    /// The size, or what else the figure goes by.
    pub(super) bytes: u64,
    pub(super) least: Option<f64>,
    pub(super) most: Option<f64>,
}

fn one() -> u32 {
    1
}

fn minute() -> u64 {
    60
}

impl Step {
    /// A step that only runs this line.
    pub(super) fn plain(run: &str, netem: &str, seconds: u64) -> Step {
        Step {
            name: run.to_owned(),
            run: run.to_owned(),
            hosts: 1,
            netem: netem.to_owned(),
            seconds,
            over: None,
            needs: None,
            figure: None,
            line: None,
        }
    }

    /// Its name, and what the wires do if that does not say it.
    pub(super) fn title(&self) -> String {
        if self.name.contains(&self.netem) {
            self.name.clone()
        } else {
            format!("{}, {}", self.name, self.netem)
        }
    }
}

impl Plan {
    /// Reads the plan of this name.
    pub(super) fn read(name: &str) -> Result<Plan> {
        let path = place::root().join("testsuite/rdma-vm").join(format!("{name}.toml"));
        let shown = place::shown(&path);
        let text = fs::read_to_string(&path).with_context(|| format!("no {shown}"))?;
        Plan::parse(&text).context(shown)
    }

    pub(super) fn parse(text: &str) -> Result<Plan> {
        let mut table: Table = text.parse()?;
        for kind in ["step", "figure", "bar"] {
            if let Some(Value::Array(entries)) = table.get_mut(kind) {
                let written: Result<Vec<Vec<Value>>> = entries.iter().map(written_out).collect();
                *entries = written?.into_iter().flatten().collect();
            }
        }
        let plan: Plan = table.try_into()?;
        plan.check()?;
        Ok(plan)
    }

    /// What is spoken of exists.
    fn check(&self) -> Result<()> {
        let figures: BTreeSet<&str> = self.figures.iter().map(|figure| &*figure.name).collect();
        let mut lines = BTreeSet::new();
        let mut names = BTreeSet::new();
        for Step { name, figure, line, hosts, .. } in &self.steps {
            if !names.insert(name) {
                bail!("two steps have the name {name:?}");
            }
            if !(1..=2).contains(hosts) {
                bail!("{name}: there are one or two hosts");
            }
            match (figure, line) {
                (None, None) => {}
                (Some(figure), Some(line)) if figures.contains(&**figure) => {
                    if line.contains(char::is_whitespace) || line.is_empty() {
                        bail!("{name}: a line's name is one word, and not {line:?}");
                    }
                    lines.insert((&**figure, &**line));
                }
                (Some(figure), Some(_)) => bail!("{name}: there is no figure {figure:?}"),
                _ => bail!("{name}: a figure and a line go together"),
            }
        }
        for Figure { name, against, .. } in &self.figures {
            if let Some(line) =
                against.as_ref().filter(|line| !lines.contains(&(&**name, &***line)))
            {
                bail!(
                    "no step gives the figure {name:?} the line {line:?}, which others are held against"
                );
            }
        }
        for Bar { says, figure, line, over, least, most, .. } in &self.bars {
            for line in [Some(line), over.as_ref()].into_iter().flatten() {
                if !lines.contains(&(&**figure, &**line)) {
                    bail!("{says}: no step gives the figure {figure:?} a line {line:?}");
                }
            }
            if least.is_none() && most.is_none() {
                bail!("{says}: it bounds nothing");
            }
        }
        Ok(())
    }
}

/// The entries that one stands for.
fn written_out(entry: &Value) -> Result<Vec<Value>> {
    let mut table = entry.as_table().context("an entry is a table")?.clone();
    let each: BTreeMap<String, Vec<String>> = match table.remove("each") {
        Some(each) => each.try_into().context("`each` has lists of words")?,
        None => BTreeMap::new(),
    };
    let mut entries = vec![table];
    for (name, words) in &each {
        let place = format!("{{{name}}}");
        if !entry.to_string().contains(&place) {
            bail!("nothing has {place}, which stands in `each`: {entry}");
        }
        entries = entries
            .iter()
            .flat_map(|table| words.iter().map(|word| filled(table, &place, word)))
            .collect();
    }
    Ok(entries.into_iter().map(Value::Table).collect())
}

/// The table with a word in all places.
fn filled(table: &Table, place: &str, word: &str) -> Table {
    let fill = |value: &Value| match value {
        Value::String(text) => Value::String(text.replace(place, word)),
        other => other.clone(),
    };
    table.iter().map(|(key, value)| (key.clone(), fill(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_stands_for_every_combination_of_its_words() {
        let plan = Plan::parse(
            r#"
            [[step]]
            each = { over = ["rc", "uc"], pairs = ["1", "4"] }
            name = "{over} by {pairs}"
            over = "{over}"
            run = "FERRITE_VERBS_QUEUE_PAIRS={pairs} ends {over} ring"
            figure = "f"
            line = "ours-{over}-{pairs}"
            [[figure]]
            name = "f"
            title = "F"
            unit = "us"
            [[bar]]
            each = { over = ["rc", "uc"] }
            says = "four against one by {over}"
            figure = "f"
            line = "ours-{over}-4"
            over = "ours-{over}-1"
            bytes = 8
            most = 1.1
            "#,
        )
        .expect("a plan");
        let runs: Vec<&str> = plan.steps.iter().map(|step| &*step.run).collect();
        assert_eq!(runs.len(), 4);
        assert_eq!(runs[0], "FERRITE_VERBS_QUEUE_PAIRS=1 ends rc ring");
        assert!(runs.contains(&"FERRITE_VERBS_QUEUE_PAIRS=4 ends uc ring"));
        assert_eq!(plan.steps[0].over.as_deref(), Some("rc"));
        assert_eq!(plan.bars[1].line, "ours-uc-4");
        assert_eq!((plan.wires, plan.steps[0].seconds), (1, 60));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |text: &str| format!("{:#}", Plan::parse(text).expect_err("refused"));
        let twice = "[[step]]\nname = 'a'\nrun = 'true'\n[[step]]\nname = 'a'\nrun = 'false'";
        assert!(refused(twice).contains("\"a\""));
        let unused = "[[step]]\neach = { x = ['1'] }\nname = 'a'\nrun = 'true'";
        assert!(refused(unused).contains("{x}"));
        let figure = "[[step]]\nname = 'a'\nrun = 'true'\nfigure = 'f'\nline = 'l'";
        assert!(refused(figure).contains("no figure \"f\""));
        let misspelt = "[[step]]\nname = 'a'\nrun = 'true'\nnetem_ = ''";
        assert!(refused(misspelt).contains("netem_"));
        let line = "[[figure]]\nname = 'f'\ntitle = ''\nunit = 'us'\n[[bar]]\nsays = 'b'\n\
                    figure = 'f'\nline = 'l'\nbytes = 8\nmost = 1.0";
        assert!(refused(line).contains("no step"));
    }

    #[test]
    fn the_plans_of_the_repository_can_be_read() {
        let short = Plan::read("short").expect("short.toml");
        assert!(short.steps.iter().all(|step| step.figure.is_none()), "it measures nothing");
        let shows = Plan::read("shows").expect("shows.toml");
        assert!(!shows.figures.is_empty());
    }
}
