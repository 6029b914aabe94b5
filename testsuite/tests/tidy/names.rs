//! What the files of a crate name: its modules from the root on, what each declares, the paths that it names, and the
//! functions that it gives to types.
//!
//! Enters: the first file of a crate. Leaves: its modules, without those that only tests have.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::root;

/// What begins a condition under which only tests and models are built.
const APART: [&str; 4] = ["cfg(test)", "cfg(all(test", "cfg(loom)", "cfg(all(loom"];
/// Words before a name that an item declares.
const DECLARING: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "const", "static", "union"];
/// A path from the root of a crate: of a module, without `crate`.
pub(super) type Place = Vec<String>;

/// A path that a file names.
pub(super) struct Mention {
    pub(super) line: usize,
    pub(super) path: Vec<String>,
    /// By what name it is known then, `*` for all that is in it; none where it is no `use`.
    pub(super) name: Option<String>,
}

#[derive(Default)]
pub(super) struct Module {
    pub(super) file: String,
    pub(super) mentions: Vec<Mention>,
    pub(super) declares: BTreeSet<String>,
    /// How many functions its `impl` blocks without a trait have, by the type.
    pub(super) methods: BTreeMap<String, usize>,
}

pub(super) type Modules = BTreeMap<Place, Module>;

struct Token {
    line: usize,
    text: String,
}

/// Reads a file as the module at `place`, whose own modules lie in `folder`, and these.
pub(super) fn read(file: &Path, folder: &Path, place: Place, modules: &mut Modules) {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let name = file.strip_prefix(root()).expect("below the root").display().to_string();
    let tokens = without_tests(tokens(&text));
    let mut below = Vec::new();
    parse(&name, &tokens, place, modules, &mut below);
    for child in below {
        let name = child.last().expect("a child has a name").clone();
        let plain = folder.join(format!("{name}.rs"));
        let own = folder.join(&name);
        let found = if plain.exists() { plain } else { own.join("mod.rs") };
        read(&found, &own, child, modules);
    }
}

/// Notes what one file names and declares; `below` are its modules in files of their own.
fn parse(
    file: &str,
    tokens: &[Token],
    place: Place,
    modules: &mut Modules,
    below: &mut Vec<Place>,
) {
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let mut module = Module { file: file.to_string(), ..Module::default() };
    let mut at = 0;
    while at < tokens.len() {
        let line = tokens[at].line;
        match word(at) {
            "mod" if word(at + 2) == ";" => below.push(child(&place, word(at + 1))),
            "mod" if word(at + 2) == "{" => {
                let end = closing(tokens, at + 2);
                let inner = child(&place, word(at + 1));
                parse(file, &tokens[at + 3..end], inner, modules, below);
                at = end;
            }
            "use" if word(at + 1) != "<" => {
                at = tree(tokens, at + 1, &[], &mut module.mentions);
            }
            "crate" | "super" | "self" if word(at + 1) == "::" => {
                let path = path(tokens, &mut at);
                module.mentions.push(Mention { line, path, name: None });
            }
            "impl" if begins_item(tokens, at) => {
                if let Some((name, count)) = methods(tokens, at) {
                    *module.methods.entry(name).or_insert(0) += count;
                }
            }
            declaring if DECLARING.contains(&declaring) => {
                module.declares.insert(word(at + 1).to_string());
            }
            _ => {}
        }
        at += 1;
    }
    modules.insert(place, module);
}

/// Whether an item begins at a token, and no type.
fn begins_item(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| tokens[before].text.as_str());
    before.is_none_or(|before| ["{", "}", ";", "]", "unsafe"].contains(&before))
}

/// The type of the `impl` block that begins at a token, and how many functions stand in it; none for that of a trait.
fn methods(tokens: &[Token], at: usize) -> Option<(String, usize)> {
    let word = |at: usize| tokens[at].text.as_str();
    let (mut name, mut depth, mut open) = (None, 0, at + 1);
    while word(open) != "{" {
        match word(open) {
            "<" => depth += 1,
            ">" if word(open - 1) != "-" => depth -= 1,
            "for" if depth == 0 => return None,
            "where" => {
                open += tokens[open..].iter().position(|token| token.text == "{")?;
                break;
            }
            text if depth == 0 && is_word(text) => name = Some(text.to_string()),
            _ => {}
        }
        open += 1;
    }
    let (mut inside, end, mut count) = (open + 1, closing(tokens, open), 0);
    while inside < end {
        match word(inside) {
            "fn" if is_word(word(inside + 1)) => count += 1,
            "{" | "(" | "[" => inside = closing(tokens, inside),
            _ => {}
        }
        inside += 1;
    }
    Some((name?, count))
}

pub(super) fn child(place: &[String], name: &str) -> Place {
    [place, &[name.to_string()]].concat()
}

/// The words of a path that begins at a token, which is left at its last one.
fn path(tokens: &[Token], at: &mut usize) -> Vec<String> {
    let mut path = vec![tokens[*at].text.clone()];
    while tokens.get(*at + 1).is_some_and(|token| token.text == "::")
        && tokens.get(*at + 2).is_some_and(|token| is_word(&token.text))
    {
        *at += 2;
        path.push(tokens[*at].text.clone());
    }
    path
}

/// Notes what a `use` names from this token on, below `before`; the place of the token behind.
fn tree(tokens: &[Token], mut at: usize, before: &[String], found: &mut Vec<Mention>) -> usize {
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let line = tokens[at].line;
    let mut whole = before.to_vec();
    if is_word(word(at)) {
        whole.extend(path(tokens, &mut at));
        at += 1;
    }
    if word(at) == "::" {
        at += 1;
    }
    if word(at) == "{" {
        at += 1;
        while word(at) != "}" && at < tokens.len() {
            at = tree(tokens, at, &whole, found);
            at += usize::from(word(at) == ",");
        }
        return at + 1;
    }
    let mut name = whole.last().cloned();
    if word(at) == "*" {
        name = Some("*".to_string());
        at += 1;
    } else if name.as_deref() == Some("self") && whole.len() > 1 {
        whole.pop();
        name = whole.last().cloned();
    }
    if word(at) == "as" {
        name = Some(word(at + 1).to_string());
        at += 2;
    }
    found.push(Mention { line, path: whole, name });
    at
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Where the bracket that opens at a token is closed.
fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}

/// The tokens without items that only tests and models have.
fn without_tests(tokens: Vec<Token>) -> Vec<Token> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_attribute =
            tokens[at].text == "#" && tokens.get(at + 1).is_some_and(|token| token.text == "[");
        let end = if is_attribute { closing(&tokens, at + 1) } else { at };
        let inside: String = tokens[at..end].iter().skip(2).map(|token| &*token.text).collect();
        if APART.iter().any(|apart| inside.starts_with(apart)) {
            at = behind_item(&tokens, end + 1);
        } else {
            kept.push(at);
            at += 1;
        }
    }
    let mut tokens = tokens.into_iter().map(Some).collect::<Vec<_>>();
    kept.into_iter().filter_map(|at| tokens[at].take()).collect()
}

/// The place behind the item that begins at a token.
fn behind_item(tokens: &[Token], mut at: usize) -> usize {
    while at < tokens.len() {
        match tokens[at].text.as_str() {
            ";" | "," => return at + 1,
            "}" | ")" | "]" => return at,
            "{" => return closing(tokens, at) + 1,
            "(" | "[" => at = closing(tokens, at),
            _ => {}
        }
        at += 1;
    }
    at
}

/// Words, `::` and other signs of a text, without comments, strings and characters.
fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let (mut line, mut rest) = (1, text);
    while let Some(first) = rest.chars().next() {
        let len = match first {
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            'r' if rest.starts_with("r\"") => after(rest, 2, "\""),
            'r' if rest.starts_with("r#\"") => after(rest, 3, "\"#"),
            '"' => string(rest),
            '\'' => character(rest),
            c if c.is_whitespace() => c.len_utf8(),
            c => {
                let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                let sign = if rest.starts_with("::") { 2 } else { c.len_utf8() };
                let len = word.unwrap_or(rest.len()).max(sign);
                found.push(Token { line, text: rest[..len].to_string() });
                len
            }
        };
        line += rest[..len].matches('\n').count();
        rest = &rest[len..];
    }
    found
}

fn after(text: &str, begin: usize, end: &str) -> usize {
    text[begin..].find(end).map_or(text.len(), |at| begin + at + end.len())
}

/// How long the string is that a text begins with.
fn string(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let is_end = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        is_end
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// How long the character is that a text begins with, or the sign of a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => after(text, 3, "'"),
        Some((_, _)) => match chars.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

#[test]
fn what_tests_and_comments_name_is_left_out() {
    let text = "use super::{a::B, c as d}; // use super::e;\n#[cfg(test)]\nmod tests { use super::f; }\nfn g() \
                { crate::h::i(\"super::j\", 'k') }";
    let (mut modules, mut below) = (Modules::new(), Vec::new());
    parse("g.rs", &without_tests(tokens(text)), vec!["g".to_string()], &mut modules, &mut below);
    let named: Vec<String> =
        modules[&vec!["g".to_string()]].mentions.iter().map(|one| one.path.join("::")).collect();
    assert_eq!(named, ["super::a::B", "super::c", "crate::h::i"]);
}

#[test]
fn functions_are_counted_by_their_types() {
    let text =
        "impl<F: Fn() -> u8> a::B<F> where F: C { const D: fn(u8) = e; fn f() { fn g() {} } }
                impl H for B { fn h() {} } fn i(j: impl K) {} impl B { pub(super) unsafe fn l() {} }
                #[cfg(test)] impl B { fn m() {} }";
    let (mut modules, tokens) = (Modules::new(), without_tests(tokens(text)));
    parse("", &tokens, Place::new(), &mut modules, &mut Vec::new());
    assert_eq!(modules[&Place::new()].methods, BTreeMap::from([("B".to_string(), 2)]));
}
