//! The plan of a job, written down for the other hosts. It holds the ranks' environment and the
//! job's secret, and therefore goes through the agents' streams and nowhere else.

use super::branch::Way;
use super::pack::{Malformed, Pack};
use crate::options::{BindTo, MapBy, StdinTo, Tie};
use crate::plan::{Plan, Program};
use std::ffi::OsString;

impl Pack for Program {
    fn pack(&self, to: &mut Vec<u8>) {
        let Program { name, arguments, environment, directory, path } = self;
        name.pack(to);
        arguments.pack(to);
        environment.len().pack(to);
        for (name, value) in environment {
            name.pack(to);
            value.pack(to);
        }
        directory.pack(to);
        path.pack(to);
    }

    fn unpack(from: &mut &[u8]) -> Result<Self, Malformed> {
        Ok(Program {
            name: Pack::unpack(from)?,
            arguments: Pack::unpack(from)?,
            environment: Vec::<(OsString, OsString)>::unpack(from)?.into_iter().collect(),
            directory: Pack::unpack(from)?,
            path: Pack::unpack(from)?,
        })
    }
}

impl Pack for Way {
    fn pack(&self, to: &mut Vec<u8>) {
        let Way { words, program, fanout } = self;
        words.pack(to);
        program.pack(to);
        fanout.pack(to);
    }

    fn unpack(from: &mut &[u8]) -> Result<Self, Malformed> {
        Ok(Way {
            words: Pack::unpack(from)?,
            program: Pack::unpack(from)?,
            fanout: Pack::unpack(from)?,
        })
    }
}

impl Pack for StdinTo {
    fn pack(&self, to: &mut Vec<u8>) {
        match self {
            StdinTo::None => 0u8.pack(to),
            StdinTo::All => 1u8.pack(to),
            StdinTo::Rank(rank) => (2u8, *rank).pack(to),
        }
    }

    fn unpack(from: &mut &[u8]) -> Result<Self, Malformed> {
        match u8::unpack(from)? {
            0 => Ok(StdinTo::None),
            1 => Ok(StdinTo::All),
            2 => Ok(StdinTo::Rank(Pack::unpack(from)?)),
            _ => Err(Malformed("who reads the input")),
        }
    }
}

/// An enumeration without fields, by its place in a list.
macro_rules! by_place {
    ($type:ty, $list:expr) => {
        impl Pack for $type {
            fn pack(&self, to: &mut Vec<u8>) {
                let place = $list.iter().position(|item| item == self);
                place.expect("the list is complete").pack(to);
            }

            fn unpack(from: &mut &[u8]) -> Result<Self, Malformed> {
                let place = usize::unpack(from)?;
                $list.get(place).copied().ok_or(Malformed(stringify!($type)))
            }
        }
    };
}

by_place!(BindTo, [BindTo::None, BindTo::Core, BindTo::Hwthread, BindTo::Numa, BindTo::Socket]);
by_place!(MapBy, [MapBy::Near, MapBy::Numa, MapBy::Socket]);

impl Pack for Tie {
    fn pack(&self, to: &mut Vec<u8>) {
        let Tie { to: what, count } = self;
        what.pack(to);
        count.pack(to);
    }

    fn unpack(from: &mut &[u8]) -> Result<Self, Malformed> {
        Ok(Tie { to: Pack::unpack(from)?, count: Pack::unpack(from)? })
    }
}

impl Pack for Plan {
    fn pack(&self, to: &mut Vec<u8>) {
        self.job.pack(to);
        self.programs.pack(to);
        self.program_of.pack(to);
        self.hosts.pack(to);
        self.node_of.pack(to);
        self.slots.pack(to);
        self.here.pack(to);
        self.way.pack(to);
        self.tie.pack(to);
        self.within.pack(to);
        (self.redirect, self.report).pack(to);
        self.stdin.pack(to);
    }

    fn unpack(from: &mut &[u8]) -> Result<Self, Malformed> {
        let plan = Plan {
            job: Pack::unpack(from)?,
            programs: Pack::unpack(from)?,
            program_of: Pack::unpack(from)?,
            hosts: Pack::unpack(from)?,
            node_of: Pack::unpack(from)?,
            slots: Pack::unpack(from)?,
            here: Pack::unpack(from)?,
            way: Pack::unpack(from)?,
            tie: Pack::unpack(from)?,
            within: Pack::unpack(from)?,
            redirect: Pack::unpack(from)?,
            report: Pack::unpack(from)?,
            stdin: Pack::unpack(from)?,
        };
        let fits = plan.program_of.len() == plan.node_of.len()
            && plan.program_of.iter().all(|&program| program < plan.programs.len())
            && plan.node_of.iter().all(|&node| node < plan.hosts.len());
        if fits { Ok(plan) } else { Err(Malformed("a plan that contradicts itself")) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pack::whole;
    use super::*;
    use proptest::prelude::*;

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
            let (plan, mut bytes) = (plan(line), Vec::new());
            plan.pack(&mut bytes);
            assert_eq!(whole::<Plan>(&bytes), Ok(plan));
        }
    }

    proptest! {
        #[test]
        fn damaged_plans_do_no_harm(line in 0usize..3, at: prop::sample::Index, to: u8) {
            let mut bytes = Vec::new();
            plan(LINES[line]).pack(&mut bytes);
            let i = at.index(bytes.len());
            bytes[i] = to;
            let _ = whole::<Plan>(&bytes);
            prop_assert!(whole::<Plan>(&bytes[..i]).is_err());
        }
    }
}
