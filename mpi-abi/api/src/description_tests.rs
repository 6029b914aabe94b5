//! How parameters are read, and facts about the whole description.

use std::path::Path;

use super::*;

fn all() -> Vec<Procedure> {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("procedures")).unwrap()
}

fn named<'a>(all: &'a [Procedure], name: &str) -> &'a Procedure {
    all.iter().find(|procedure| procedure.name == name).unwrap()
}

#[test]
fn a_parameter_is_read_in_all_its_parts() {
    let read = parameter("out size: bytes or-undefined").unwrap();
    assert_eq!((read.name.as_str(), read.direction), ("size", Direction::Out));
    assert!(read.or_undefined && !read.constant && !read.is_array());
    let read = parameter("out valuelen: int if-flag").unwrap();
    assert!(read.if_flag && read.kind == Kind::Int);
    let read = parameter("ranges: rank[n][3]").unwrap();
    assert_eq!(read.lengths, ["n", "3"]);
    let read = parameter("inout name_len: string_length nullable").unwrap();
    assert_eq!((read.kind, read.nullable), (Kind::TextLength, true));
    let read = parameter("out name: string[object_name]").unwrap();
    assert_eq!(read.kind, Kind::Text(Some("object_name".to_owned())));
    assert!(read.lengths.is_empty(), "the bracket of a string is its limit");
    let read = parameter("buf: const buffer").unwrap();
    assert!(read.constant && read.kind == Kind::Buffer);
}

#[test]
fn what_is_no_parameter_is_refused() {
    for wrong in ["count", "sideways x: int", "x: number", "x: string[limit"] {
        assert!(parameter(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_depends_on_a_flag_has_one() {
    for procedure in all() {
        let has = |name: &str, kind| {
            procedure.parameters.iter().any(|other| other.name == name && other.kind == kind)
        };
        let depends = procedure.parameters.iter().any(|parameter| parameter.if_flag);
        assert!(!depends || has("flag", Kind::Logical), "{}", procedure.name);
    }
}

/// The counts of the standard's own list of C symbols.
#[test]
fn every_procedure_is_described_once() {
    let all = all();
    let standard = || all.iter().filter(|p| p.is_in("standard") && !p.removed);
    assert_eq!(standard().count(), 503);
    assert_eq!(standard().filter(|p| p.large).count(), 161);
    assert_eq!(standard().filter(|p| p.name.starts_with("T_")).count(), 51);
    assert_eq!(all.iter().filter(|p| p.removed).count(), 10);
    assert_eq!(all.len(), 541);
}

#[test]
fn what_has_no_sentence_for_each_form_is_refused() {
    let entry =
        |does| format!("forms = ['blocking', 'nonblocking']\nparameters = []\ndoes = {does}");
    let read = |does| procedures_of("MPI_Test", &toml::from_str(&entry(does)).unwrap());
    assert!(read("['Tests.']").is_err());
    let names = |does| read(does).unwrap().into_iter().map(|procedure| procedure.name);
    assert!(names("['Tests.', 'Starts a test.']").eq(["Test", "Itest"]));
    assert!(names("'Tests.'").eq(["Test", "Itest"]));
}

#[test]
fn lengths_name_parameters() {
    for procedure in all() {
        for length in procedure.parameters.iter().flat_map(|parameter| &parameter.lengths) {
            let known = procedure.parameters.iter().any(|other| other.name == *length);
            let number = length == "*" || length.parse::<u32>().is_ok();
            assert!(known || number, "MPI_{}: no parameter {length}", procedure.name);
        }
    }
}

#[test]
fn the_first_object_owns_the_error_handler() {
    let all = all();
    let owner = |name| named(&all, name).owner().map(|parameter| parameter.name.clone());
    assert_eq!(owner("Send").as_deref(), Some("comm"));
    assert_eq!(owner("Put").as_deref(), Some("win"));
    assert_eq!(owner("Intercomm_create").as_deref(), Some("local_comm"));
    assert_eq!(owner("Comm_free").as_deref(), Some("comm"));
    assert_eq!(owner("File_read_at").as_deref(), Some("fh"));
    assert_eq!(owner("Comm_get_parent"), None, "a result owns nothing");
    assert_eq!(owner("Waitall"), None);
}

#[test]
fn a_twin_differs_in_its_types() {
    for procedure in all().iter().filter(|procedure| procedure.large) {
        let differs = procedure.parameters.iter().any(|parameter| {
            let poly = matches!(parameter.kind, Kind::Poly(_) | Kind::PolyFunction(_));
            poly || parameter.large_only
        });
        // Partitioned communication had 64-bit counts from its start, and twins all the same.
        let partitioned = ["Psend_init", "Precv_init"].contains(&procedure.name.as_str());
        assert!(differs != partitioned, "MPI_{}", procedure.name);
    }
}

#[test]
fn every_procedure_says_what_it_does() {
    for procedure in all() {
        let does = &procedure.does;
        assert!(does.ends_with('.') && does.len() < 96, "MPI_{}: {does:?}", procedure.name);
    }
}
