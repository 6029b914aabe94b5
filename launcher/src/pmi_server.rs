//! The launcher's end of PMI version 1 on one host: keeps the job's keys and answers the lines of
//! the ranks there.
//!
//! Without any input or output of its own: in go the lines of a rank, out come replies to ranks and
//! the [`Event`]s that the job has to know of. The wire format is that of `launch_wire::pmi1`.
//!
//! Every host keeps all keys, and the hosts exchange new ones only in a barrier: when all ranks of a
//! host and all hosts below it are in, the new keys of all of them go up in one piece; what the whole
//! job has put comes down with the end of the barrier. Ranks are counted here as the host counts
//! them, from 0.

use crate::tree::frame::Keys;
use launch_wire::pmi1::{Line, MAXES, WireError, compose, mapping};
use std::collections::HashMap;

/// Most bytes of keys and values that a job may keep here.
const KEPT_MAX: usize = 256 << 20;

/// Most bytes of keys and values that a barrier's end brings to a rank that wants to be told of one. In a
/// small job that is all of them: first contacts between its ranks then need no launcher, which may
/// have to wait for a processor. Ranks of a large one talk to few others each.
const TOLD_MAX: usize = 4 << 10;

/// What a rank that leaves is answered.
pub(crate) const FINALIZE_ACK: &str = "cmd=finalize_ack rc=0\n";

/// What the job learns from a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// The rank has begun to use the process manager.
    Init,
    /// The rank will not use it any more.
    Finalize {
        /// It waits for [`FINALIZE_ACK`].
        is_awaited: bool,
    },
    /// The rank asks for the end of the job.
    Abort(i32),
    /// The line is about a published name: these are kept for all in one place.
    Name,
    /// Everybody here and below is in the barrier; these keys are new.
    Fence(Keys),
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
    /// The keys that were put since the last barrier.
    fresh: Keys,
    kept: usize,
    waiting: Vec<bool>,
    /// What the ranks that wait in the barrier want to be told when it opens, one key each.
    wanted: Vec<Option<String>>,
    /// Which of the hosts below are in the barrier.
    arrived: Vec<bool>,
    in_block: Vec<bool>,
}

/// Names that ranks publish for other programs to look up.
#[derive(Debug, Default)]
pub(crate) struct Names {
    names: HashMap<String, String>,
    kept: usize,
}

impl Server {
    /// A host with `appnums.len()` ranks, each with the number of its program on the command line,
    /// and `below` hosts that it has started itself. `node_map` tells the host of each rank of the
    /// job.
    pub(crate) fn new(
        kvsname: &str,
        appnums: Vec<usize>,
        universe: usize,
        node_map: &[usize],
        below: usize,
    ) -> Server {
        let ranks = appnums.len();
        let node_map = ("PMI_process_mapping".to_string(), mapping::write(node_map));
        // A map that is longer than any value is not told; a rank then finds out by itself.
        let keys = Some(node_map).filter(|(_, map)| map.len() < MAXES.value);
        Server {
            kvsname: kvsname.to_string(),
            appnums,
            universe,
            keys: keys.into_iter().collect(),
            fresh: Keys::new(),
            kept: 0,
            waiting: vec![false; ranks],
            wanted: vec![None; ranks],
            arrived: vec![false; below],
            in_block: vec![false; ranks],
        }
    }

    /// The ranks that wait in a barrier.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = usize> {
        (0..self.waiting.len()).filter(|&rank| self.waiting[rank])
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
            "get" => {
                let key = line.need("key")?;
                self.get(key, line.get("kvsname") == Some(&self.kvsname))?
            }
            "barrier_in" => {
                self.waiting[rank] = true;
                self.wanted[rank] = line.get("tell").map(str::to_string);
                return Ok(Outcome { replies: Vec::new(), event: self.all_in() });
            }
            "publish_name" | "lookup_name" | "unpublish_name" => {
                return Ok(Outcome { replies: Vec::new(), event: Some(Event::Name) });
            }
            "finalize" => {
                // Who does not wait for the answer leaves it to the next program of a script.
                let is_awaited = line.get("answer") != Some("no");
                let event = Some(Event::Finalize { is_awaited });
                return Ok(Outcome { replies: Vec::new(), event });
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
        self.fresh.push((key.to_string(), value.to_string()));
        compose("put_result", &[("rc", "0"), ("msg", "success")])
    }

    fn get(&self, key: &str, known: bool) -> Result<String, WireError> {
        match self.keys.get(key).filter(|_| known) {
            Some(value) => {
                compose("get_result", &[("rc", "0"), ("msg", "success"), ("value", value)])
            }
            None => compose("get_result", &[("rc", "1"), ("msg", "key_not_found")]),
        }
    }

    /// A host below is in the barrier, with all that are below it, and brings their new keys.
    pub(crate) fn arrives(&mut self, below: usize, keys: Keys) -> Option<Event> {
        self.arrived[below] = true;
        self.fresh.extend(keys);
        self.all_in()
    }

    fn all_in(&mut self) -> Option<Event> {
        let all = self.waiting.iter().chain(&self.arrived).all(|&is_in| is_in);
        all.then(|| Event::Fence(std::mem::take(&mut self.fresh)))
    }

    /// The whole job is in the barrier and has put `keys`: the lines that let the ranks out, with
    /// what they want to be told.
    pub(crate) fn release(&mut self, keys: Keys) -> Result<Vec<(usize, String)>, WireError> {
        let out = compose("barrier_out", &[("rc", "0")])?;
        let all = told(&keys)?;
        self.keys.extend(keys);
        self.waiting.fill(false);
        self.arrived.fill(false);
        (0..self.waiting.len())
            .map(|rank| {
                let lines = match self.wanted[rank].take() {
                    None => String::new(),
                    Some(_) if !all.is_empty() => all.clone(),
                    Some(key) => self.tell(&key)?,
                };
                Ok((rank, lines + &out))
            })
            .collect()
    }

    /// The line that tells a key to a rank which has not asked for it; none if nobody has put it.
    fn tell(&self, key: &str) -> Result<String, WireError> {
        let value = self.keys.get(key);
        value.map_or(Ok(String::new()), |value| compose("told", &[("key", key), ("value", value)]))
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

impl Names {
    /// Answers a line about a name.
    pub(crate) fn line(&mut self, bytes: &[u8]) -> Result<String, WireError> {
        let line = Line::parse(bytes)?;
        match line.command() {
            "publish_name" => self.publish(&line),
            "lookup_name" => self.lookup(&line),
            _ => self.unpublish(&line),
        }
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
}

/// The lines that tell these keys to a rank which has not asked for them; none if they are many.
fn told(keys: &Keys) -> Result<String, WireError> {
    let bytes: usize = keys.iter().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > TOLD_MAX {
        return Ok(String::new());
    }
    keys.iter().map(|(key, value)| compose("told", &[("key", key), ("value", value)])).collect()
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
