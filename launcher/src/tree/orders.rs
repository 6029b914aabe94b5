//! The plan of a job, written down for the other hosts. It holds the ranks' environment and the
//! job's secret, and therefore goes through the agents' streams and nowhere else.

use crate::pack::{Malformed, behind, whole};
use crate::plan::Plan;

/// The plan as bytes.
pub(crate) fn write(plan: &Plan) -> Vec<u8> {
    behind(Vec::new(), plan)
}

/// The plan of these bytes.
pub(crate) fn read(bytes: &[u8]) -> Result<Plan, Malformed> {
    let plan: Plan = whole(bytes)?;
    let fits = plan.program_of.len() == plan.node_of.len()
        && plan.program_of.iter().all(|&program| program < plan.programs.len())
        && plan.node_of.iter().all(|&node| node < plan.hosts.len());
    if fits { Ok(plan) } else { Err(Malformed::new("a plan that contradicts itself")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    use std::path::PathBuf;

    fn plan(line: &str) -> Plan {
        let words = line.split_whitespace().map(OsString::from).collect();
        let request = crate::options::parse(words).unwrap();
        let inherited = [("PATH".into(), "/bin".into()), ("A".into(), "1 \u{b5}".into())].into();
        Plan::make(&request, &inherited, None).unwrap()
    }

    const LINES: [&str; 3] = [
        "-n 3 -H n1,n2:2 true x y",
        "-s all --bind-to core:2 --map-by numa --report -n 1 -wdir / a : -n 2 -H n3 b",
        "-s none --launcher fork --no-redirect --fanout 3 a",
    ];

    #[test]
    fn plans_come_back() {
        for line in LINES {
            let plan = plan(line);
            assert_eq!(read(&write(&plan)), Ok(plan));
        }
    }

    #[test]
    fn names_that_are_not_utf_8_come_back() {
        let (mut plan, odd) = (plan(LINES[0]), || OsString::from_vec(vec![b'/', 0xff]));
        plan.here = odd().into();
        plan.way.words = vec![odd()];
        let program = &mut plan.programs[0];
        (program.directory, program.path) = (Some(odd().into()), vec![PathBuf::from(odd()); 2]);
        program.environment.insert(odd(), odd());
        assert_eq!(read(&write(&plan)), Ok(plan));
    }

    #[test]
    fn a_plan_that_contradicts_itself_is_refused() {
        let mut plan = plan(LINES[0]);
        plan.node_of[0] = plan.hosts.len();
        assert!(read(&write(&plan)).unwrap_err().to_string().contains("contradicts"));
    }

    proptest! {
        #[test]
        fn damaged_plans_do_no_harm(line in 0usize..3, at: prop::sample::Index, to: u8) {
            let mut bytes = write(&plan(LINES[line]));
            let i = at.index(bytes.len());
            bytes[i] = to;
            let _ = read(&bytes);
            prop_assert!(read(&bytes[..i]).is_err());
        }
    }
}
