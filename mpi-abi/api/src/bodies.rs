//! Which procedures have a body, and where: the functions of `mpi-abi/src/{calls,raw,direct}`; and
//! which have a fast path beside it, in `mpi-abi/src/fast`.
//!
//! A function that returns a prepared collective is the body of three procedures: of the blocking
//! one, which has its name, of the nonblocking one and of the persistent one. One that returns an
//! access of a file is the body of all that make this access: independent or collective, waiting
//! for it or not. Where the body would be one call, the description has it instead.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::description::Procedure;

/// The three styles of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Core values in and out; knows no face.
    Calls,
    /// C parameters, generic over the face.
    Raw,
    /// C parameters, generic over the face, no entry and no error code.
    Direct,
}

/// What becomes of a body's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Nothing: the body does everything.
    Whole,
    /// It is one call of the core, which the description states.
    Core,
    /// The collective that it prepared is run to its end.
    Run,
    /// It is begun, and what is left is a request.
    Begin,
    /// It is kept to be started (MPI-5.0 §6.13): a request as well.
    Keep,
    /// The access of a file that it describes is made, and leaves a status.
    Access,
    /// The same, but what is left is a request.
    Start,
    /// The same, but the status is left to the procedure that ends the access.
    Split,
    /// The access that was begun is ended.
    End,
}

impl Form {
    /// Whether the body describes an access of a file, and needs no more than its arguments.
    pub(crate) fn of_an_access(self) -> bool {
        matches!(self, Form::Access | Form::Start | Form::Split)
    }
}

/// What a function returns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    /// Only whether it failed, or a plain value.
    Outcome,
    /// A prepared collective.
    Collective,
    /// An access of a file.
    Access,
}

/// A fast path that the glue tries before all else.
#[derive(Clone, Debug)]
pub struct FastPath {
    /// Its function.
    pub path: String,
    /// Whether it enters the library, alone or in a turn.
    pub enters: bool,
}

/// Where a body is.
#[derive(Clone, Debug)]
pub struct Body {
    /// How it wants its parameters.
    pub style: Style,
    /// What becomes of its value.
    pub form: Form,
    /// Its path, as in `crate::calls::p2p::send`, or the call of the core.
    pub path: String,
    /// The path of a function with the C parameters that says whether it did the whole call.
    pub fast_path: Option<FastPath>,
}

impl Body {
    fn new(style: Style, form: Form, path: String) -> Body {
        Body { style, form, path, fast_path: None }
    }
}

/// Finds the bodies of `procedures` below `src`, by the names of procedures.
pub fn find(src: &Path, procedures: &[Procedure]) -> Result<BTreeMap<String, Body>> {
    let names: BTreeMap<String, &Procedure> =
        procedures.iter().map(|procedure| (procedure.snake(), procedure)).collect();
    let mut bodies = BTreeMap::new();
    for (folder, style) in [("calls", Style::Calls), ("raw", Style::Raw), ("direct", Style::Direct)]
    {
        for Function { module, name, value } in functions(&src.join(folder))? {
            let path = match module.as_str() {
                "mod" => format!("crate::{folder}::{name}"),
                module => format!("crate::{folder}::{module}::{name}"),
            };
            for (procedure, form) in served(&name, value) {
                let Some(procedure) = names.get(&procedure) else { continue };
                if style == Style::Calls && procedure.needs_raw() {
                    bail!("{path} must be in raw/: MPI_{} has arrays of handles", procedure.name);
                }
                add(&mut bodies, procedure, Body::new(style, form, path.clone()))?;
            }
        }
    }
    for procedure in procedures {
        if let Some(core) = &procedure.core {
            add(&mut bodies, procedure, Body::new(Style::Calls, Form::Core, core.clone()))?;
        } else if let Some(other) = &procedure.same_as {
            let body = bodies.get(other).with_context(|| format!("MPI_{other} has no body"))?;
            let body = body.clone();
            add(&mut bodies, procedure, body)?;
        }
    }
    for Function { module, name, .. } in functions(&src.join("fast"))? {
        let procedure = names.get(&name);
        if let Some(body) = procedure.and_then(|procedure| bodies.get_mut(&procedure.name)) {
            body.fast_path = Some(FastPath {
                path: format!("crate::fast::{module}::{name}"),
                enters: module != "any_time",
            });
        }
    }
    Ok(bodies)
}

fn add(bodies: &mut BTreeMap<String, Body>, of: &Procedure, body: Body) -> Result<()> {
    let path = body.path.clone();
    match bodies.insert(of.name.clone(), body) {
        Some(other) => bail!("MPI_{} has two bodies: {} and {path}", of.name, other.path),
        None => Ok(()),
    }
}

/// The procedures that a function of this name is the body of, if there are such.
fn served(name: &str, value: Value) -> Vec<(String, Form)> {
    match value {
        Value::Outcome => vec![(name.to_owned(), Form::Whole)],
        Value::Collective => vec![
            (name.to_owned(), Form::Run),
            (format!("i{name}"), Form::Begin),
            (format!("{name}_init"), Form::Keep),
        ],
        Value::Access => {
            let access = name.strip_prefix("file_").unwrap_or(name);
            ["", "_all"]
                .into_iter()
                .flat_map(|together| {
                    [
                        (format!("file_{access}{together}"), Form::Access),
                        (format!("file_i{access}{together}"), Form::Start),
                        (format!("file_{access}{together}_begin"), Form::Split),
                        (format!("file_{access}{together}_end"), Form::End),
                    ]
                })
                .collect()
        }
    }
}

/// A public function.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Function {
    module: String,
    name: String,
    value: Value,
}

/// The public functions of the modules in `folder`.
fn functions(folder: &Path) -> Result<Vec<Function>> {
    let mut found = Vec::new();
    if !folder.exists() {
        return Ok(found);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let module = path.file_stem().context("a file without a name")?.to_string_lossy();
        let source = syn::parse_file(&fs::read_to_string(&path)?)
            .with_context(|| path.display().to_string())?;
        for item in source.items {
            if let syn::Item::Fn(function) = item
                && matches!(function.vis, syn::Visibility::Public(_))
            {
                found.push(Function {
                    module: module.clone().into_owned(),
                    name: function.sig.ident.to_string(),
                    value: value(&function.sig.output),
                });
            }
        }
    }
    found.sort();
    Ok(found)
}

fn value(output: &syn::ReturnType) -> Value {
    match output {
        syn::ReturnType::Type(_, of) if **of == syn::parse_quote!(Result<Prepared>) => {
            Value::Collective
        }
        syn::ReturnType::Type(_, of) if **of == syn::parse_quote!(Access) => Value::Access,
        _ => Value::Outcome,
    }
}
