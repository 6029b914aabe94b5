//! The format of a table of rules (see `default_table.toml`).

use std::collections::BTreeMap;
use std::ops::Range;
use std::str::FromStr;

use serde::Deserialize;
use toml::Spanned;

use super::menu::{Algorithm, Collective, Needs, unknown};
use super::shape::Shape;

/// Segment of a chain where a rule names none, in bytes.
const SEGMENT_DEFAULT: i64 = 64 << 10;
/// More ports than this are a mistake.
const PORTS_MAX: i64 = 64;

/// A rule: an algorithm with its parameters, and when to take it. All limits are inclusive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rule {
    pub(crate) algorithm: Algorithm,
    pub(crate) ports: usize,
    /// In bytes.
    pub(crate) segment: i64,
    ranks: Limits,
    ranks_per_node: Limits,
    processors: Limits,
    bytes: Limits,
    block: Limits,
    commutative: Option<bool>,
    oversubscribed: Option<bool>,
    blocking: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Limits {
    min: i64,
    max: i64,
}

/// What is wrong with a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    pub(crate) line: usize,
    pub(crate) what: String,
    pub(crate) fix: &'static str,
}

impl Rule {
    /// `algorithm`, wherever it can serve.
    pub(crate) fn always(algorithm: Algorithm) -> Rule {
        let any = Limits { min: 0, max: i64::MAX };
        Rule {
            algorithm,
            ports: 1,
            segment: SEGMENT_DEFAULT,
            ranks: any,
            ranks_per_node: any,
            processors: any,
            bytes: any,
            block: any,
            commutative: None,
            oversubscribed: None,
            blocking: None,
        }
    }

    /// The largest number of bytes for which the rule takes the algorithm `shared_memory` if that can
    /// serve, whatever else is asked; -1 if there is none.
    pub(crate) fn shared_memory_below(&self) -> i64 {
        let any = Rule { bytes: self.bytes, ..Rule::always(Algorithm::SharedMemory) };
        let same = *self == Rule { ports: self.ports, segment: self.segment, ..any };
        if same && self.bytes.min <= 0 { self.bytes.max } else { -1 }
    }

    /// Whether the rule's conditions hold and its algorithm can serve the call.
    pub(crate) fn applies(&self, shape: &Shape) -> bool {
        let needs = shape.collective.needs(self.algorithm);
        let met = |needs: Needs| match needs {
            Needs::SharedMemory => shape.shared_memory,
            Needs::Nodes => shape.nodes,
            other => other.met(shape.size, shape.commutative),
        };
        needs.is_some_and(met)
            && self.ranks.contain(shape.size as i64)
            && self.ranks_per_node.contain(shape.ranks_per_node as i64)
            && self.processors.contain(shape.processors as i64)
            && self.bytes.contain(shape.bytes)
            && self.block.contain(shape.bytes / shape.size.max(1) as i64)
            && self.commutative.is_none_or(|wanted| wanted == shape.commutative)
            && self.oversubscribed.is_none_or(|wanted| wanted == shape.oversubscribed)
            && self.blocking.is_none_or(|wanted| wanted == shape.blocking)
    }
}

impl Limits {
    fn contain(self, value: i64) -> bool {
        (self.min..=self.max).contains(&value)
    }
}

/// A rule as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    algorithm: Spanned<String>,
    ports: Option<Spanned<i64>>,
    segment: Option<Spanned<Amount>>,
    min_ranks: Option<i64>,
    max_ranks: Option<i64>,
    min_ranks_per_node: Option<i64>,
    max_ranks_per_node: Option<i64>,
    min_processors: Option<i64>,
    max_processors: Option<i64>,
    min_bytes: Option<Spanned<Amount>>,
    max_bytes: Option<Spanned<Amount>>,
    min_block: Option<Spanned<Amount>>,
    max_block: Option<Spanned<Amount>>,
    commutative: Option<bool>,
    oversubscribed: Option<bool>,
    blocking: Option<bool>,
}

/// A number of bytes, as `4096` or `"4KiB"`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Amount {
    Number(i64),
    Text(String),
}

type Tables = BTreeMap<Spanned<String>, Spanned<Vec<Entry>>>;

/// Reads a whole table.
pub(crate) fn parse(text: &str) -> Result<Vec<(Collective, Vec<Rule>)>, Fault> {
    let fault = |span: Range<usize>, what: String, fix| Fault {
        line: 1 + text.bytes().take(span.start).filter(|byte| *byte == b'\n').count(),
        what,
        fix,
    };
    let tables: Tables = toml::from_str(text).map_err(|error| {
        let fix = "Write rules as [[collective]] followed by lines key = value.";
        fault(error.span().unwrap_or(0..0), error.message().replace('\n', " "), fix)
    })?;
    let mut rules = Vec::new();
    for (name, entries) in tables {
        let collective = Collective::from_str(name.get_ref()).map_err(|what| {
            fault(name.span(), format!("collective {what}"), "Correct the name.")
        })?;
        let of_collective: Result<Vec<Rule>, Fault> = entries
            .into_inner()
            .into_iter()
            .map(|entry| entry.rule(collective).map_err(|(span, what, fix)| fault(span, what, fix)))
            .collect();
        rules.push((collective, of_collective?));
    }
    Ok(rules)
}

/// Reads `name` or `name:parameter`.
pub(crate) fn parse_choice(collective: Collective, text: &str) -> Result<Rule, String> {
    let (name, parameter) = match text.split_once(':') {
        Some((name, parameter)) => (name, Some(parameter.trim())),
        None => (text, None),
    };
    let mut rule = Rule::always(algorithm(collective, name.trim())?);
    match parameter {
        None => {}
        Some(parameter) if rule.algorithm == Algorithm::Chain => {
            rule.segment = Amount::Text(parameter.into()).bytes()?;
        }
        Some(parameter) => {
            let ports = parameter.parse().ok().filter(|ports| (1..=PORTS_MAX).contains(ports));
            let bad = || format!("\"{parameter}\" is not a number of ports from 1 to {PORTS_MAX}");
            rule.ports = ports.ok_or_else(bad)? as usize;
        }
    }
    Ok(rule)
}

/// The algorithm of this name, if it is on the collective's menu.
fn algorithm(collective: Collective, name: &str) -> Result<Algorithm, String> {
    let names = collective.menu().iter().map(|(algorithm, _)| algorithm.name());
    let found = collective.menu().iter().find(|(algorithm, _)| algorithm.name() == name);
    found.map(|(algorithm, _)| *algorithm).ok_or_else(|| unknown(name, names))
}

/// Where, what and how to mend.
type Blame = (Range<usize>, String, &'static str);

impl Entry {
    fn rule(self, collective: Collective) -> Result<Rule, Blame> {
        let named = self.algorithm.span();
        let algorithm = algorithm(collective, self.algorithm.get_ref()).map_err(|what| {
            (named.clone(), format!("algorithm {what}"), "Name one that serves this collective.")
        })?;
        let limited = [&self.min_bytes, &self.max_bytes, &self.min_block, &self.max_block];
        if let Some(limit) = limited.into_iter().flatten().next()
            && !collective.has_common_bytes()
        {
            let what = format!("the ranks of {collective} do not all know how many bytes it moves");
            return Err((limit.span(), what, "Leave out limits of bytes and blocks."));
        }
        let mut rule = Rule::always(algorithm);
        if let Some(ports) = self.ports {
            if !(1..=PORTS_MAX).contains(ports.get_ref()) {
                let what = format!("ports = {} is out of range", ports.get_ref());
                return Err((ports.span(), what, "Give from 1 to 64 ports."));
            }
            rule.ports = *ports.get_ref() as usize;
        }
        rule.segment = bytes(self.segment, SEGMENT_DEFAULT)?;
        rule.ranks = limits(&named, self.min_ranks, self.max_ranks)?;
        rule.ranks_per_node = limits(&named, self.min_ranks_per_node, self.max_ranks_per_node)?;
        rule.processors = limits(&named, self.min_processors, self.max_processors)?;
        let (min, max) = (bytes(self.min_bytes, 0)?, bytes(self.max_bytes, i64::MAX)?);
        rule.bytes = limits(&named, Some(min), Some(max))?;
        let (min, max) = (bytes(self.min_block, 0)?, bytes(self.max_block, i64::MAX)?);
        rule.block = limits(&named, Some(min), Some(max))?;
        rule.commutative = self.commutative;
        rule.oversubscribed = self.oversubscribed;
        rule.blocking = self.blocking;
        Ok(rule)
    }
}

fn limits(rule: &Range<usize>, min: Option<i64>, max: Option<i64>) -> Result<Limits, Blame> {
    let limits = Limits { min: min.unwrap_or(0), max: max.unwrap_or(i64::MAX) };
    if limits.min > limits.max {
        let what = format!("no value is from {} to {}", limits.min, limits.max);
        return Err((rule.clone(), what, "Let each min_ be at most its max_, or drop the rule."));
    }
    Ok(limits)
}

fn bytes(amount: Option<Spanned<Amount>>, default: i64) -> Result<i64, Blame> {
    let Some(amount) = amount else { return Ok(default) };
    let span = amount.span();
    let fix = "Write a number of bytes, or text as in \"64KiB\".";
    amount.into_inner().bytes().map_err(|what| (span, what, fix))
}

impl Amount {
    fn bytes(&self) -> Result<i64, String> {
        let (count, scale) = match self {
            Amount::Number(count) => (Some(*count), 1),
            Amount::Text(text) => {
                let digits = text.bytes().take_while(u8::is_ascii_digit).count();
                let scale = match text[digits..].trim() {
                    "" | "B" => 1,
                    "KiB" => 1 << 10,
                    "MiB" => 1 << 20,
                    "GiB" => 1 << 30,
                    _ => 0,
                };
                (text[..digits].parse().ok(), scale)
            }
        };
        let bytes = count.and_then(|count: i64| count.checked_mul(scale));
        bytes.filter(|&bytes| bytes >= 0 && scale > 0).ok_or_else(|| match self {
            Amount::Number(count) => format!("{count} is not a number of bytes"),
            Amount::Text(text) => format!("\"{text}\" is not a number of bytes (B, KiB, MiB, GiB)"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DEFAULT: &str = include_str!("default_table.toml");

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String, words in "[\\[\\]a-z_=\"0-9 \n]{0,80}") {
            let _ = (parse(&text), parse(&words), parse_choice(Collective::Bcast, &text));
        }

        /// The default table with a part of it replaced: most of it is understood.
        #[test]
        #[cfg_attr(miri, ignore = "minutes of safe code")]
        fn a_damaged_table_is_read_or_refused(
                at: prop::sample::Index, len in 0usize..40, with in "\\PC{0,8}") {
            let begin = DEFAULT.floor_char_boundary(at.index(DEFAULT.len()));
            let end = DEFAULT.floor_char_boundary((begin + len).min(DEFAULT.len()));
            let text = [&DEFAULT[..begin], &with, &DEFAULT[end..]].concat();
            if let Err(fault) = parse(&text) {
                prop_assert!((1..=text.lines().count() + 1).contains(&fault.line));
            }
        }
    }
}
