//! How much room a program's libraries need for thread-local variables that stay where the thread
//! begins (the "static TLS" of the ELF handling of thread-local storage; DF_STATIC_TLS).
//!
//! In: a program and where its libraries are. Out: a number of bytes.

use crate::libraries::Places;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadCache};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The bytes for all libraries that `program` needs, and those that they need, and those that are
/// loaded before them. Its own variables are not among them: the loader knows of these in time.
pub(crate) fn of_libraries(program: &Path, preloaded: &OsStr, places: &Places) -> u64 {
    let names = preloaded.as_bytes().split(|byte| b": ".contains(byte));
    let names =
        names.filter(|name| !name.is_empty()).map(|name| Path::new(OsStr::from_bytes(name)));
    let mut waiting: Vec<PathBuf> = names.filter_map(|name| places.find(name, &[])).collect();
    let mut known: BTreeSet<PathBuf> = waiting.iter().cloned().collect();
    let own = read(program);
    waiting.extend(own.iter().flat_map(|own| own.libraries(program, places)));
    let mut bytes = 0_u64;
    while let Some(file) = waiting.pop() {
        let Some(library) = read(&file) else { continue };
        bytes = bytes.saturating_add(library.bytes);
        let needed = library.libraries(&file, places);
        waiting.extend(needed.into_iter().filter(|file| known.insert(file.clone())));
    }
    bytes
}

/// What an ELF file says of itself.
#[derive(Debug, Default)]
struct Image {
    /// Its static thread-local variables.
    bytes: u64,
    /// The names of the libraries that it needs.
    needed: Vec<PathBuf>,
    /// Where it says that they are.
    places: Vec<PathBuf>,
}

impl Image {
    /// The files of the libraries that the file at `place` needs.
    fn libraries(&self, place: &Path, places: &Places) -> Vec<PathBuf> {
        let folder = place.parent().unwrap_or(place);
        let expanded = |path: &PathBuf| match path.strip_prefix("$ORIGIN") {
            Ok(rest) => folder.join(rest),
            Err(_) => path.clone(),
        };
        let own: Vec<PathBuf> = self.places.iter().map(expanded).collect();
        self.needed.iter().filter_map(|name| places.find(name, &own)).collect()
    }
}

/// Reads what is needed of a file and no more; nothing of one that is not ELF for 64 bits.
fn read(file: &Path) -> Option<Image> {
    let cache = ReadCache::new(File::open(file).ok()?);
    let header = FileHeader64::<Endianness>::parse(&cache).ok()?;
    let endian = header.endian().ok()?;
    let table = header.sections(endian, &cache).ok()?.dynamic_table(endian, &cache).ok()?;
    let mut image = Image::default();
    let mut stays = false;
    for entry in table.iter() {
        let text = || table.string(entry).ok().map(OsStr::from_bytes);
        match entry.tag {
            elf::DT_NEEDED => image.needed.extend(text().map(PathBuf::from)),
            elf::DT_RPATH | elf::DT_RUNPATH => {
                image.places.extend(text().iter().flat_map(std::env::split_paths));
            }
            elf::DT_FLAGS => stays = entry.val & elf::DF_STATIC_TLS.0 != 0,
            _ => {}
        }
    }
    let segments = header.program_headers(endian, &cache).ok()?;
    let variables =
        segments.iter().filter(|segment| stays && segment.p_type(endian) == elf::PT_TLS);
    image.bytes = variables.map(|s| s.p_memsz(endian).saturating_add(s.p_align(endian))).sum();
    Some(image)
}
