//! Files of every kind that people hand to mpirun.

use super::*;
use proptest::prelude::*;

fn made(name: &str, bytes: &[u8], mode: u32) -> (tempfile::TempDir, Result<Program, Refusal>) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join(name);
    fs::write(&file, bytes).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    let found = find(OsStr::new(&format!("./{name}")), &[], place.path());
    (place, found)
}

fn refused(name: &str, bytes: &[u8], mode: u32) -> Refusal {
    made(name, bytes, mode).1.unwrap_err()
}

/// The first 64 bytes of a program for machine `machine`.
fn elf(kind: u16, machine: u16) -> Vec<u8> {
    let mut head = vec![0; 64];
    head[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1]);
    head[16..18].copy_from_slice(&kind.to_le_bytes());
    head[18..20].copy_from_slice(&machine.to_le_bytes());
    head[20] = 1;
    head[52] = 64;
    head
}

#[test]
fn a_program_on_the_search_path() {
    let path = [PathBuf::from("/nowhere"), PathBuf::from("/bin")];
    let found = find(OsStr::new("sh"), &path, Path::new("/")).unwrap();
    assert_eq!(found.file, Path::new("/bin/sh"));
    assert_eq!(found.words, ["sh"]);
}

#[test]
fn a_program_in_the_working_directory_comes_last() {
    let (place, _) = made("wave", b"#!/bin/sh\n", 0o755);
    let find = |name: &str| find(OsStr::new(name), &["/bin".into()], place.path());
    assert_eq!(find("wave").unwrap().file, place.path().join("wave"));
    fs::copy(place.path().join("wave"), place.path().join("sh")).unwrap();
    assert_eq!(find("sh").unwrap().file, Path::new("/bin/sh"));
    fs::set_permissions(place.path().join("wave"), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(find("wave").unwrap_err().text.contains("not executable"));
}

#[test]
fn what_is_not_there_is_said() {
    let gone = find(OsStr::new("no-such-program"), &["/bin".into()], Path::new("/")).unwrap_err();
    assert_eq!(gone.status, 127);
    let gone = find(OsStr::new("./no-such-program"), &[], Path::new("/")).unwrap_err();
    assert_eq!(gone.status, 127);
    assert_eq!(find(OsStr::new("/tmp"), &[], Path::new("/")).unwrap_err().status, 126);
}

#[test]
fn files_that_are_no_programs() {
    assert!(refused("a.py", b"print(1)", 0o644).text.contains("python3 a.py"));
    assert!(refused("a.c", b"int main;", 0o644).text.contains("mpicc"));
    assert!(refused("a", b"", 0o644).text.contains("chmod +x a"));
    assert!(refused("a", b"#! /no/such/perl -w\n", 0o755).text.contains("/no/such/perl"));
    assert!(refused("a.o", &elf(1, 62), 0o755).text.contains("linked"));
    assert!(refused("core", &elf(4, 62), 0o755).text.contains("core file"));
    assert!(refused("libx.a", b"!<arch>\n/               0", 0o755).text.contains("archive"));
    assert!(
        refused("a", &[0xcf, 0xfa, 0xed, 0xfe, 7, 0, 0, 1, 3, 0, 0, 0, 2, 0, 0, 0], 0o755)
            .text
            .contains("macOS")
    );
}

#[test]
fn programs_for_other_machines() {
    assert_eq!(judge(&elf(2, 183), "aarch64"), Verdict::Native);
    assert_eq!(judge(&elf(2, 62), "x86_64"), Verdict::Native);
    assert!(matches!(judge(&elf(2, 183), "x86_64"), Verdict::Foreign(_)));
    assert!(matches!(judge(&elf(2, 62), "aarch64"), Verdict::Foreign(_)));
    assert!(matches!(judge(&elf(2, 22), "x86_64"), Verdict::Foreign(_)));
}

#[test]
fn scripts_run_with_and_without_an_interpreter_line() {
    let (_place, found) = made("job", b"#!/bin/sh\nexit 0\n", 0o755);
    assert_eq!(found.unwrap().words, ["./job"]);
    let (_place, found) = made("job", b"exit 0\n", 0o755);
    assert_eq!(found.unwrap().file, Path::new("/bin/sh"));
}

#[test]
fn this_very_program_is_native() {
    let me = std::env::current_exe().unwrap();
    let mut head = Vec::new();
    File::open(me).unwrap().take(HEAD).read_to_end(&mut head).unwrap();
    assert!(matches!(judge(&head, std::env::consts::ARCH), Verdict::Interpreted(_)));
}

proptest! {
    #[test]
    fn any_file_is_judged(
        mut head in proptest::collection::vec(any::<u8>(), 0..300), elf_head in any::<bool>(),
    ) {
        if elf_head {
            let magic: &[u8] = &[0x7f, b'E', b'L', b'F', 2, 1, 1];
            head.splice(..0, magic.iter().copied());
        }
        let _ = judge(&head, "x86_64");
    }
}
