//! Which algorithm when: rules from a table, in TOML.
//!
//! A rule may only ask for what the standard makes equal on all ranks, so that all choose alike.
//! The table is compiled in (`default_table.toml`, where the format is told) and may be replaced,
//! a collective at a time, by a file or a setting; all ranks must be given the same.

use super::menu::Collective;
pub use super::shape::{Choice, Shape};
use super::table::{self, Rule};
use crate::error::{Error, ErrorClass, Result};
use std::sync::{Arc, LazyLock};

/// The rules in force.
#[derive(Clone, Debug)]
pub struct Selection {
    /// By collective, in the order of its declaration.
    rules: Vec<Arc<[Rule]>>,
    /// Choices that go before all rules.
    forced: Vec<Option<Rule>>,
    /// Collective calls, for each four of its members, that a communicator makes before it gets a
    /// segment: one that is used little is not worth the acquaintance of all with all.
    pub patience: u32,
    /// Calls are compared between their processes before they begin (see `check`).
    pub checked: bool,
    /// Whether calls go over several last-level caches as a tree, where one can; without a word where it costs least.
    pub tree: Option<bool>,
    /// So many ranks play that they share a last-level cache, and two caches a socket; 0 for what the machine says.
    pub cache_ranks: u32,
    /// See [`Selection::shared_memory_below`], by collective.
    shared_memory: Vec<i64>,
}

/// The compiled-in table, which is read once: that takes longer than all else in `MPI_Init`.
static COMPILED_IN: LazyLock<Selection> = LazyLock::new(|| {
    let count = Collective::ALL.len();
    let (rules, forced, shared_memory) =
        (vec![[].into(); count], vec![None; count], vec![-1; count]);
    Selection {
        rules,
        forced,
        patience: 1,
        checked: false,
        tree: None,
        cache_ranks: 0,
        shared_memory,
    }
    .with_table(include_str!("default_table.toml"), "default_table.toml")
    .expect("a test parses the compiled-in table")
});

impl Default for Selection {
    /// The compiled-in table.
    fn default() -> Selection {
        COMPILED_IN.clone()
    }
}

impl Selection {
    /// These rules, but those of the table in `text` for all collectives that it mentions.
    ///
    /// # Errors
    /// The text is no such table; the error names `origin`, the line and what to do.
    pub fn with_table(mut self, text: &str, origin: &str) -> Result<Selection> {
        let tables = table::parse(text).map_err(|fault| {
            let what = format!("collective table {origin}, line {}: {}", fault.line, fault.what);
            Error::new(ErrorClass::ARG, what).hint(fault.fix)
        })?;
        for (collective, rules) in tables {
            self.rules[collective as usize] = rules.into();
        }
        Ok(self.weighed())
    }

    /// These rules, but `collective` always by the algorithm of this name wherever it can serve.
    /// A parameter may follow: the segment of a chain (`chain:64KiB`), the number of ports of any
    /// other (`bruck:3`).
    ///
    /// # Errors
    /// There is no such algorithm for this collective, or the parameter is malformed.
    pub fn with_override(mut self, collective: Collective, text: &str) -> Result<Selection> {
        let rule = table::parse_choice(collective, text).map_err(|what| {
            Error::new(ErrorClass::ARG, format!("algorithm for {collective}: {what}"))
                .hint("Give the name alone, or name:parameter as in chain:64KiB or bruck:3.")
        })?;
        self.forced[collective as usize] = Some(rule);
        Ok(self.weighed())
    }

    fn weighed(mut self) -> Selection {
        for (index, most) in self.shared_memory.iter_mut().enumerate() {
            let first = self.forced[index].iter().chain(self.rules[index].iter()).next();
            *most = first.map_or(-1, Rule::shared_memory_below);
        }
        self
    }

    /// Up to how many bytes every call that may go over a segment takes the algorithm `shared_memory`, as
    /// far as the first rule alone tells; -1 if it does not.
    #[inline]
    pub(crate) fn shared_memory_below(&self, collective: Collective) -> i64 {
        self.shared_memory[collective as usize]
    }

    /// Whether a collective goes by one algorithm wherever that can serve.
    pub(crate) fn is_forced(&self, collective: Collective) -> bool {
        self.forced[collective as usize].is_some()
    }

    /// The first rule that applies to `shape` and whose algorithm can serve it.
    pub fn select(&self, shape: &Shape) -> Choice {
        let index = shape.collective as usize;
        if shape.shared_memory && shape.bytes <= self.shared_memory[index] {
            return Choice::SHARED_MEMORY;
        }
        let mut rules = self.forced[index].iter().chain(self.rules[index].iter());
        let rule = rules.find(|rule| rule.applies(shape)).copied();
        let rule = rule.unwrap_or_else(|| Rule::always(shape.collective.menu()[0].0));
        Choice {
            algorithm: rule.algorithm,
            ports: rule.ports,
            segment: (rule.segment / shape.unit.max(1)).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "minutes of safe code")]
    fn the_compiled_in_table_is_read_once() {
        let (one, other) = (Selection::default(), Selection::default());
        let mut rules = one.rules.iter().zip(&other.rules);
        assert!(rules.all(|(one, other)| Arc::ptr_eq(one, other)));
    }
}
