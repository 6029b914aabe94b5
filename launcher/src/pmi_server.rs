//! The launcher's end of PMI version 1: keeps the job's keys and answers its ranks' lines.
//!
//! Without any input or output of its own: in go the lines of a rank, out come replies to ranks and
//! the [`Event`]s that the job has to know of. The wire format is that of `launch_wire::pmi1`.

use launch_wire::pmi1::{Line, MAXES, WireError, compose, mapping};
use std::collections::HashMap;

/// Most bytes of keys and values that a job may keep here.
const KEPT_MAX: usize = 256 << 20;

/// What the job learns from a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// The rank has begun to use the process manager.
    Init,
    /// The rank will not use it any more.
    Finalize,
    /// The rank asks for the end of the job.
    Abort(i32),
}

/// What a line leads to: replies, each for a rank, and at most one event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Lines to send, line ends included.
    pub(crate) replies: Vec<(usize, String)>,
    /// News of the rank that spoke.
    pub(crate) event: Option<Event>,
}

/// The state of one job's exchange.
#[derive(Debug)]
pub(crate) struct Server {
    kvsname: String,
    appnums: Vec<usize>,
    universe: usize,
    keys: HashMap<String, String>,
    names: HashMap<String, String>,
    kept: usize,
    waiting: Vec<bool>,
    in_block: Vec<bool>,
}

impl Server {
    /// A job of `appnums.len()` ranks, each with the number of its program on the command line.
    pub(crate) fn new(kvsname: &str, appnums: Vec<usize>, universe: usize) -> Server {
        let ranks = appnums.len();
        let node_map = ("PMI_process_mapping".to_string(), mapping::one_node(ranks));
        Server {
            kvsname: kvsname.to_string(),
            appnums,
            universe,
            keys: HashMap::from([node_map]),
            names: HashMap::new(),
            kept: 0,
            waiting: vec![false; ranks],
            in_block: vec![false; ranks],
        }
    }

    /// Whether this rank waits in a barrier.
    pub(crate) fn waits(&self, rank: usize) -> bool {
        self.waiting[rank]
    }

    /// Answers one line of one rank. An error means that the rank does not speak PMI.
    pub(crate) fn line(&mut self, rank: usize, bytes: &[u8]) -> Result<Outcome, WireError> {
        if self.in_block[rank] {
            return Ok(self.block_line(rank, bytes));
        }
        if bytes.starts_with(b"mcmd=") {
            self.in_block[rank] = true;
            return Ok(Outcome::default());
        }
        let line = Line::parse(bytes)?;
        let mut event = None;
        let reply = match line.command() {
            "init" => {
                event = Some(Event::Init);
                self.init(&line)?
            }
            "get_maxes" => maxes()?,
            "get_appnum" => {
                compose("appnum", &[("appnum", &self.appnums[rank].to_string()), ("rc", "0")])?
            }
            "get_my_kvsname" => compose("my_kvsname", &[("kvsname", &self.kvsname), ("rc", "0")])?,
            "get_universe_size" => {
                compose("universe_size", &[("size", &self.universe.to_string()), ("rc", "0")])?
            }
            "put" => self.put(&line)?,
            "get" => self.get(&line)?,
            "barrier_in" => return self.barrier(rank),
            "publish_name" => self.publish(&line)?,
            "lookup_name" => self.lookup(&line)?,
            "unpublish_name" => self.unpublish(&line)?,
            "finalize" => {
                event = Some(Event::Finalize);
                compose("finalize_ack", &[("rc", "0")])?
            }
            "abort" => {
                let code = line.number("exitcode").unwrap_or(1);
                let code = i32::try_from(code).unwrap_or(1);
                return Ok(Outcome { replies: Vec::new(), event: Some(Event::Abort(code)) });
            }
            other => {
                let result = format!("{}_result", other.chars().take(40).collect::<String>());
                compose(&result, &[("rc", "-1"), ("msg", "unknown_command")])?
            }
        };
        Ok(Outcome { replies: vec![(rank, reply)], event })
    }

    fn init(&self, line: &Line) -> Result<String, WireError> {
        let rc = if line.get("pmi_version") == Some("1") { "0" } else { "-1" };
        let words = [("pmi_version", "1"), ("pmi_subversion", "1"), ("rc", rc)];
        compose("response_to_init", &words)
    }

    fn put(&mut self, line: &Line) -> Result<String, WireError> {
        let (key, value) = (line.need("key")?, line.need("value")?);
        let kept = self.kept + key.len() + value.len();
        let refusal = if line.get("kvsname") != Some(&self.kvsname) {
            Some("no_such_kvsname")
        } else if key.len() >= MAXES.key || value.len() >= MAXES.value {
            Some("too_long")
        } else if kept > KEPT_MAX {
            Some("no_room")
        } else {
            None
        };
        if let Some(why) = refusal {
            return compose("put_result", &[("rc", "-1"), ("msg", why)]);
        }
        self.kept = kept;
        self.keys.insert(key.to_string(), value.to_string());
        compose("put_result", &[("rc", "0"), ("msg", "success")])
    }

    fn get(&self, line: &Line) -> Result<String, WireError> {
        let key = line.need("key")?;
        let known = line.get("kvsname") == Some(&self.kvsname);
        match self.keys.get(key).filter(|_| known) {
            Some(value) => {
                compose("get_result", &[("rc", "0"), ("msg", "success"), ("value", value)])
            }
            None => compose("get_result", &[("rc", "1"), ("msg", "key_not_found")]),
        }
    }

    fn barrier(&mut self, rank: usize) -> Result<Outcome, WireError> {
        self.waiting[rank] = true;
        if !self.waiting.iter().all(|&waits| waits) {
            return Ok(Outcome::default());
        }
        self.waiting.fill(false);
        let line = compose("barrier_out", &[("rc", "0")])?;
        let replies = (0..self.waiting.len()).map(|rank| (rank, line.clone())).collect();
        Ok(Outcome { replies, event: None })
    }

    fn publish(&mut self, line: &Line) -> Result<String, WireError> {
        let (service, port) = (line.need("service")?, line.need("port")?);
        let kept = self.kept + service.len() + port.len();
        let refusal = match self.names.contains_key(service) {
            true => Some("already_published"),
            false if kept > KEPT_MAX => Some("no_room"),
            false => None,
        };
        if let Some(why) = refusal {
            return compose("publish_result", &[("rc", "1"), ("msg", why)]);
        }
        self.kept = kept;
        self.names.insert(service.to_string(), port.to_string());
        compose("publish_result", &[("rc", "0"), ("msg", "success"), ("info", "ok")])
    }

    fn lookup(&self, line: &Line) -> Result<String, WireError> {
        match self.names.get(line.need("service")?) {
            Some(port) => compose("lookup_result", &[("rc", "0"), ("port", port), ("info", "ok")]),
            None => compose("lookup_result", &[("rc", "1"), ("msg", "service_not_found")]),
        }
    }

    fn unpublish(&mut self, line: &Line) -> Result<String, WireError> {
        match self.names.remove(line.need("service")?) {
            Some(_) => compose("unpublish_result", &[("rc", "0"), ("info", "ok")]),
            None => compose("unpublish_result", &[("rc", "1"), ("msg", "service_not_found")]),
        }
    }

    /// A block asks for further processes (spawn); this launcher does not start any yet.
    fn block_line(&mut self, rank: usize, bytes: &[u8]) -> Outcome {
        if bytes != b"endcmd" {
            return Outcome::default();
        }
        self.in_block[rank] = false;
        let words = [("rc", "-1"), ("msg", "spawn_not_supported"), ("errcodes", "-1")];
        let replies = compose("spawn_result", &words).map(|reply| vec![(rank, reply)]);
        Outcome { replies: replies.unwrap_or_default(), event: None }
    }
}

fn maxes() -> Result<String, WireError> {
    let [kvsname, key, value] =
        [MAXES.kvsname, MAXES.key, MAXES.value].map(|length| length.to_string());
    let words = [("kvsname_max", &kvsname), ("keylen_max", &key), ("vallen_max", &value)];
    compose("maxes", &words.map(|(name, length)| (name, length.as_str())))
}

#[cfg(test)]
#[path = "pmi_server_tests.rs"]
mod tests;
