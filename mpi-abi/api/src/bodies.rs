//! Which procedures have a body, and where: the functions of `mpi-abi/src/{calls,raw,direct}`; and
//! which have a short way beside it, in `mpi-abi/src/quick`.

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

/// Where a body is.
#[derive(Clone, Debug)]
pub struct Body {
    /// How it wants its parameters.
    pub style: Style,
    /// Its path, as in `crate::calls::p2p::send`.
    pub path: String,
    /// The path of a function with the C parameters that says whether it did the whole call.
    pub quick: Option<String>,
}

/// Finds the bodies of `procedures` below `src`, by the names of procedures.
pub fn find(src: &Path, procedures: &[Procedure]) -> Result<BTreeMap<String, Body>> {
    let names: BTreeMap<String, &Procedure> =
        procedures.iter().map(|procedure| (procedure.snake(), procedure)).collect();
    let mut bodies = BTreeMap::new();
    for (folder, style) in [("calls", Style::Calls), ("raw", Style::Raw), ("direct", Style::Direct)]
    {
        for (module, function) in functions(&src.join(folder))? {
            let Some(procedure) = names.get(&function) else { continue };
            let path = match module.as_str() {
                "mod" => format!("crate::{folder}::{function}"),
                module => format!("crate::{folder}::{module}::{function}"),
            };
            if style == Style::Calls && procedure.needs_raw() {
                bail!("{path} must be in raw/: MPI_{} has arrays of handles", procedure.name);
            }
            if let Some(Body { path: other, .. }) = bodies
                .insert(procedure.name.clone(), Body { style, path: path.clone(), quick: None })
            {
                bail!("MPI_{} has two bodies: {other} and {path}", procedure.name);
            }
        }
    }
    for (module, function) in functions(&src.join("quick"))? {
        let procedure = names.get(&function);
        if let Some(body) = procedure.and_then(|procedure| bodies.get_mut(&procedure.name)) {
            body.quick = Some(format!("crate::quick::{module}::{function}"));
        }
    }
    Ok(bodies)
}

/// The public functions of the modules in `folder`, with the module of each.
fn functions(folder: &Path) -> Result<Vec<(String, String)>> {
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
                found.push((module.clone().into_owned(), function.sig.ident.to_string()));
            }
        }
    }
    found.sort();
    Ok(found)
}
