//! The library beside mpirun is put in front of the one that a program was linked with, opens by
//! its path, or has in its RPATH; not when asked not to.

mod common;

use common::{Run, built, good};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A library with one function that tells whose it is, under the name of an MPI library.
fn library(place: &Path, file: &str, owner: &str) {
    let source = place.join(format!("{owner}.c"));
    fs::write(&source, format!("const char *whose(void) {{ return \"{owner}\"; }}\n")).unwrap();
    let soname = format!("-Wl,-soname,{file}");
    compile(&[
        "-shared",
        "-fPIC",
        &soname,
        "-o",
        place.join(file).to_str().unwrap(),
        source.to_str().unwrap(),
    ]);
}

fn compile(arguments: &[&str]) {
    good(&Command::new("cc").args(arguments).output().unwrap());
}

/// A prefix with mpirun and our library, a vendor's library, and programs that use it.
fn prefix() -> &'static PathBuf {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let mut what = vec!["-p", "launcher-audit", "--lib", "--crate-type", "cdylib", "--"];
        what.extend(include_str!("../audit/rustc-flags").split_whitespace());
        let module = built("rustc", &what, "libferrite_audit.so");
        let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("redirect");
        for folder in ["bin", "lib/ferrite", "vendor", "other"] {
            fs::create_dir_all(place.join(folder)).unwrap();
        }
        fs::copy(common::MPIRUN, place.join("bin/mpirun")).unwrap();
        fs::copy(module, place.join("lib/ferrite/libferrite_audit.so")).unwrap();
        library(&place.join("lib"), "libmpi_abi.so.1", "ours");
        library(&place.join("lib"), "libmpi.so.12", "ours");
        library(&place.join("lib"), "libmpi.so.40", "ours_40");
        library(&place.join("vendor"), "libmpi.so.12", "theirs");
        library(&place.join("other"), "libmpi.so.40", "others");
        symlink_again("libmpi.so.40", &place.join("other/libmpi.so"));
        let vendor = place.join("vendor");
        let source = place.join("linked.c");
        let text =
            "#include <stdio.h>\nconst char *whose(void);\nint main(void) { puts(whose()); }\n";
        fs::write(&source, text).unwrap();
        for (name, tags) in [("rpath", "--disable-new-dtags"), ("runpath", "--enable-new-dtags")] {
            compile(&[
                "-o",
                place.join(name).to_str().unwrap(),
                source.to_str().unwrap(),
                vendor.join("libmpi.so.12").to_str().unwrap(),
                &format!("-Wl,{tags},-rpath,{}", vendor.display()),
            ]);
        }
        let source = place.join("opens.c");
        let text = "#include <dlfcn.h>\n#include <stdio.h>\nint main(int n, char **words) {\n  \
                    while (*++words) {\n  void *library = dlopen(*words, RTLD_NOW);\n  \
                    if (!library) { puts(dlerror()); return n; }\n  \
                    const char *(*whose)(void) = (const char *(*)(void))\n    \
                    dlsym(library, \"whose\");\n  puts(whose());\n  }\n}\n";
        fs::write(&source, text).unwrap();
        let opens = place.join("opens");
        compile(&["-o", opens.to_str().unwrap(), source.to_str().unwrap(), "-ldl"]);
        place
    })
}

/// Makes a symbolic link, which an earlier run may have left.
fn symlink_again(to: &str, link: &Path) {
    let _ = fs::remove_file(link);
    symlink(to, link).unwrap();
}

/// What a rank of `mpirun options… program…` prints.
fn printed(options: &[&str], program: &[&str]) -> String {
    let mpirun = prefix().join("bin/mpirun");
    let words: Vec<&str> = options.iter().chain(program).copied().collect();
    let ended = Run::of(mpirun.to_str().unwrap(), &words).end();
    assert_eq!((ended.status, ended.err.as_str()), (0, ""), "{words:?}");
    ended.out.trim().to_string()
}

#[test]
fn ours_comes_first_in_every_way_of_loading() {
    let at = |name: &str| prefix().join(name).to_str().unwrap().to_string();
    let (rpath, runpath, opens) = (at("rpath"), at("runpath"), at("opens"));
    let theirs = at("vendor/libmpi.so.12");
    assert_eq!(printed(&[], &[&rpath]), "ours");
    assert_eq!(printed(&[], &[&runpath]), "ours");
    assert_eq!(printed(&[], &["sh", "-c", &rpath]), "ours");
    assert_eq!(printed(&[], &[&opens, &theirs]), "ours");
    assert_eq!(printed(&[], &[&opens, "libmpi.so.12"]), "ours");
    assert_eq!(printed(&["--no-redirect"], &[&rpath]), "theirs");
    assert_eq!(printed(&["--no-redirect"], &[&opens, &theirs]), "theirs");
}

#[test]
fn libraries_that_we_do_not_have_are_left_alone() {
    let opens = prefix().join("opens");
    let other = prefix().join("vendor/libmpi_mpifh.so.40");
    library(&prefix().join("vendor"), "libmpi_mpifh.so.40", "theirs");
    let words = [opens.to_str().unwrap(), other.to_str().unwrap()];
    assert_eq!(printed(&[], &words), "theirs");
}

#[test]
fn the_name_without_a_version_is_the_face_that_goes_with_the_rest() {
    let at = |name: &str| prefix().join(name).to_str().unwrap().to_string();
    let opens = at("opens");
    assert_eq!(printed(&[], &[&opens, "libmpi.so.12", "libmpi.so"]), "ours\nours");
    assert_eq!(printed(&[], &[&opens, "libmpi.so.40", "libmpi.so"]), "ours_40\nours_40");
    assert_eq!(printed(&[], &[&opens, &at("other/libmpi.so")]), "ours_40");
    let usual = format!("LD_LIBRARY_PATH={}", at("other"));
    assert_eq!(printed(&["-genv", &usual], &[&opens, "libmpi.so"]), "ours_40");
    let both = [&opens, "libmpi.so.12", "libmpi.so"];
    assert_eq!(printed(&["-genv", &usual], &both), "ours\nours");
}

/// A container or a chroot(1) takes the environment to where our files are not, and the loader would
/// complain of the auditor in each process.
#[test]
fn what_leads_below_another_root_takes_no_auditor_along() {
    let module = prefix().join("lib/ferrite/libferrite_audit.so");
    let module = module.to_str().unwrap();
    let (source, program) = (prefix().join("shows.c"), prefix().join("shows"));
    let text = "#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\n  \
                const char *auditors = getenv(\"LD_AUDIT\");\n  \
                printf(\"%s %s\", auditors ? auditors : \"none\", getenv(\"LAST\")); }\n";
    fs::write(&source, text).unwrap();
    compile(&["-o", program.to_str().unwrap(), source.to_str().unwrap()]);
    let door = prefix().join("chroot");
    symlink_again("shows", &door);
    let (program, door) = (program.to_str().unwrap(), door.to_str().unwrap());
    let last = ["-genv", "LAST=here"];
    assert_eq!(printed(&last, &[program]), format!("{module} here"));
    assert_eq!(printed(&last, &[door]), "none here");
    assert_eq!(printed(&last, &["sh", "-c", door]), "none here");
    let another = prefix().join("another.so");
    fs::copy(module, &another).unwrap();
    let list = format!("LD_AUDIT={}", another.display());
    let words = [&last[..], &["-genv", &list]].concat();
    assert_eq!(printed(&words, &[door]), format!("{} here", another.display()));
}

/// A C library in the auditor's namespace would take the room that the program's libraries count on.
#[test]
fn the_auditor_needs_the_loader_alone() {
    let module = prefix().join("lib/ferrite/libferrite_audit.so");
    let output =
        Command::new("readelf").args(["--dynamic", "--wide"]).arg(module).output().unwrap();
    let text = good(&output);
    let needed: Vec<&str> = text.lines().filter(|line| line.contains("(NEEDED)")).collect();
    assert!(matches!(needed[..], [one] if one.contains("[ld-linux")), "{text}");
}

/// With an auditor the loader reserves room before it has seen what the program needs.
#[test]
fn thread_local_variables_of_libraries_find_room() {
    let folder = prefix().join("rooms");
    fs::create_dir_all(&folder).unwrap();
    // What an allocator has, opened late, and what the thread sanitizer has.
    for (name, bytes) in [("allocator", 8000), ("sanitizer", 800_000)] {
        let source = folder.join(format!("{name}.c"));
        let text = format!(
            "__thread char room[{bytes}] __attribute__((tls_model(\"initial-exec\"))) = {{1}};\n\
             const char *whose(void) {{ return room[0] ? \"{name}\" : \"none\"; }}\n"
        );
        fs::write(&source, text).unwrap();
        let library = folder.join(format!("lib{name}.so"));
        compile(&["-shared", "-fPIC", "-o", library.to_str().unwrap(), source.to_str().unwrap()]);
    }
    let at = |name: &str| folder.join(name).to_str().unwrap().to_string();
    let opens = prefix().join("opens").to_str().unwrap().to_string();
    assert_eq!(printed(&[], &[&opens, &at("liballocator.so")]), "allocator");
    let preload = format!("LD_PRELOAD={}", at("libsanitizer.so"));
    assert_eq!(printed(&["-genv", &preload], &["echo", "started"]), "started");
    let (program, source) = (at("program"), prefix().join("linked.c"));
    let between = at("libbetween.so");
    compile(&[
        "-shared",
        "-Wl,--no-as-needed,-rpath,$ORIGIN",
        "-o",
        &between,
        &at("libsanitizer.so"),
    ]);
    compile(&[
        "-o",
        &program,
        source.to_str().unwrap(),
        &between,
        &at("libsanitizer.so"),
        "-Wl,--no-as-needed,-rpath,$ORIGIN",
    ]);
    assert_eq!(printed(&[], &[&program]), "sanitizer");
}

#[test]
fn valgrind_has_nothing_to_report() {
    let program = prefix().join("rpath");
    let words = ["valgrind", "-q", "--error-exitcode=9", program.to_str().unwrap()];
    assert_eq!(printed(&[], &words), "ours");
}
