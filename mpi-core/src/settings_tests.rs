//! Settings: precedence, refusals that name the nearest name and the origin, what ranks share.

use super::*;

fn environment(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

fn file(path: &str, text: &str) -> ConfigFile {
    ConfigFile { path: path.into(), text: text.into() }
}

#[test]
fn the_environment_comes_before_files_and_files_in_order() {
    let files = [
        file("a.toml", "log = 'info'\n[shm]\nlanes = 7\n[wait]\nyield = '5ms'"),
        file("b.toml", "singleton = true\n[shm]\nlanes = 8\nslots = 9\neager_bytes = '16KiB'"),
    ];
    let variables = environment(&[
        ("FERRITE_SHM_EAGER_BYTES", " 32KiB "),
        ("FERRITE_CONFIG", "a.toml"),
        ("FERRITE_TEST_PREFIX", "/x"),
        ("FERRITE_SHM_SLOTS", ""),
        ("_FERRITE_JOB", "j"),
        ("PATH", "/bin"),
    ]);
    let settings = Settings::load(variables, &files).unwrap();
    assert_eq!(settings.shm_eager_bytes, 32 << 10);
    assert_eq!((settings.shm_lanes, settings.shm_slots), (7, 9));
    assert_eq!(settings.wait_yield, Duration::from_millis(5));
    assert!(settings.singleton && settings.log == "info");
    let table = settings.table();
    let row = table.lines().find(|line| line.starts_with("FERRITE_SHM_LANES ")).unwrap();
    assert!(row.contains(" 7 ") && row.ends_with("a.toml"), "{row}");
}

#[test]
fn refusals_say_what_where_and_what_was_meant() {
    let refusal = |variables: &[(&str, &str)], files: &[ConfigFile]| {
        Settings::load(environment(variables), files).unwrap_err().what().to_owned()
    };
    assert_eq!(
        refusal(&[("FERRITE_SHM_LANE", "4")], &[]),
        "there is no setting FERRITE_SHM_LANE (from the environment); \
         did you mean FERRITE_SHM_LANES?"
    );
    assert_eq!(
        refusal(&[], &[file("x.toml", "[coll]\nalreduce = 'ring'")]),
        "there is no setting FERRITE_COLL_ALREDUCE (from x.toml); \
         did you mean FERRITE_COLL_ALLREDUCE?"
    );
    assert_eq!(
        refusal(&[("FERRITE_SHM_BULK", "magic")], &[]),
        "the setting FERRITE_SHM_BULK (from the environment) is \"magic\", \
         which is none of auto, cross_memory, pipeline"
    );
    assert!(refusal(&[], &[file("y.toml", "log = 'a'\nlog = ")]).starts_with("y.toml, line 2: "));
    assert!(refusal(&[], &[file("z.toml", "log = [1]")]).starts_with("z.toml: log is [1], but"));
}

#[test]
fn rank_0_decides_what_must_be_equal() {
    let mine = environment(&[("FERRITE_SHM_LANES", "3"), ("FERRITE_LOG", "mine")]);
    let mut mine = Settings::load(mine, &[]).unwrap();
    let zero = environment(&[("FERRITE_COLL_BCAST", "chain"), ("FERRITE_LOG", "zero")]);
    let zero = Settings::load(zero, &[]).unwrap();
    mine.apply_uniform(&zero.uniform_text()).unwrap();
    assert_eq!(mine.coll_algorithm("bcast").as_deref(), Some("chain"));
    assert_eq!(mine.coll_algorithm("barrier"), None);
    assert_eq!((mine.shm_lanes, mine.log.as_str()), (1, "mine"));
    assert!(mine.apply_uniform("no_such=1").is_err());
}

#[test]
fn every_setting_reads_back_its_default() {
    let mut settings = Settings::default();
    for setting in Settings::ALL {
        let text = settings.show(setting.name).unwrap();
        settings.set(setting.name, &text, "a test").unwrap();
    }
    settings.origins = Settings::default().origins;
    assert_eq!(settings, Settings::default());
}

#[test]
fn files_are_looked_for_from_the_strongest_on() {
    let lookup = |name: &str| match name {
        "FERRITE_CONFIG" => Some("c.toml".to_owned()),
        "HOME" => Some("/home/u".to_owned()),
        _ => None,
    };
    let paths = config_paths(lookup, Some("/opt/f"));
    let found: Vec<(&str, bool)> = paths.iter().map(|p| (p.path.as_str(), p.required)).collect();
    assert_eq!(
        found,
        [
            ("c.toml", true),
            ("/home/u/.config/ferrite/config.toml", false),
            ("/opt/f/etc/ferrite.toml", false),
        ]
    );
}

#[test]
fn the_table_lists_what_may_be_written() {
    let table = Settings::default().table();
    let listed = |variable: &str| {
        let mut lines = table.lines().skip_while(|line| !line.starts_with(variable)).skip(1);
        let listed =
            lines.find(|line| line.starts_with("    One of ") || line.starts_with("FERRITE_"));
        listed.unwrap_or_default().to_owned()
    };
    assert_eq!(listed("FERRITE_SHM_BULK "), "    One of auto, cross_memory, pipeline.");
    assert!(listed("FERRITE_COLL_BCAST ").starts_with("    One of binomial, scatter_ring"));
    assert!(listed("FERRITE_TCP_PORTS ").starts_with("FERRITE_TCP_STREAMS"));
    for setting in Settings::ALL {
        let mut settings = Settings::default();
        for value in setting.values() {
            settings.set(setting.name, value, "here").unwrap();
        }
        let choice = setting.kind == "choice" || setting.help.starts_with("Algorithm of");
        assert_eq!(!setting.values().is_empty(), choice, "{}", setting.name);
    }
}
