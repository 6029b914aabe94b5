//! A rank's end of PMI version 1, for use inside the library: requests and replies in strict turn
//! over one socket.
//!
//! In: the socket that the launcher left open (`PMI_FD`) or its address (`PMI_PORT`, `PMI_ID`).
//! Out: rank, size, and the job's key-value space. Works with MPICH's and Intel's `hydra` and with
//! our own `mpirun`.

use super::{Line, LineBuffer, Maxes, WireError, compose, segment};
use crate::Socket;
use crate::refusal::RANKS_MAX;
use std::fmt;
use std::io;
use std::time::{Duration, Instant};

/// How long an answer may take. A launcher that was stopped by hand for a minute goes on.
const PATIENCE: Duration = Duration::from_secs(300);

/// Why a request to the launcher failed.
#[derive(Debug)]
pub enum PmiError {
    /// The socket failed; the launcher has most likely ended.
    Io(&'static str, io::Error),
    /// The launcher closed the socket in the middle of a request.
    Closed(&'static str),
    /// The launcher did not answer a request for so long.
    Silent(&'static str, Duration),
    /// The launcher sent something that is not a reply to the request.
    Wire(&'static str, WireError),
    /// The launcher sent a regular reply to something else.
    OutOfTurn(&'static str, String),
    /// The launcher refused the request.
    Refused(&'static str, String),
    /// A key or value that this launcher cannot keep.
    TooLong(String),
}

impl fmt::Display for PmiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PmiError::Io(doing, error) => write!(f, "PMI {doing}: {error}"),
            PmiError::Closed(doing) => {
                write!(f, "PMI {doing}: the launcher closed the connection")
            }
            PmiError::Silent(doing, time) => {
                write!(f, "PMI {doing}: the launcher has not answered for {time:?}")
            }
            PmiError::Wire(doing, error) => write!(f, "PMI {doing}: {error}"),
            PmiError::OutOfTurn(doing, got) => {
                write!(f, "PMI {doing}: the launcher answered “{got}”")
            }
            PmiError::Refused(doing, why) => {
                write!(f, "PMI {doing}: the launcher refused it: {why}")
            }
            PmiError::TooLong(key) => {
                write!(f, "PMI put: the key or value of “{key}” is longer than the launcher keeps")
            }
        }
    }
}

impl std::error::Error for PmiError {}

impl PmiError {
    /// Whether it is this process itself that has closed the connection.
    pub fn is_of_the_program(&self) -> bool {
        let PmiError::Io(_, error) = self else { return false };
        matches!(error.raw_os_error(), Some(libc::EBADF | libc::ENOTSOCK))
    }
}

/// A connection on which `init` has been answered.
#[derive(Debug)]
pub struct Client {
    socket: Socket,
    buffer: LineBuffer,
    rank: usize,
    size: usize,
    kvsname: String,
    maxes: Maxes,
    barrier: Barrier,
    /// How long an answer may take that depends on no other rank.
    patience: Duration,
    /// Keys and values that came unasked with the end of a barrier.
    told: Vec<(String, String)>,
}

/// Whether this rank is in a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Barrier {
    Outside,
    /// It has entered one, and not all have.
    Entered,
    /// All have entered the one that it entered, as a line said that came before another reply.
    Open,
}

impl Client {
    /// Says hello on a connection whose launcher told `rank` and `size` in the environment.
    pub fn new(socket: Socket, rank: usize, size: usize) -> Result<Client, PmiError> {
        let mut client = Client::unheard(socket, rank, size);
        client.hello()?;
        Ok(client)
    }

    /// Connects to a launcher that listens at `address` and says hello as process `id`; the
    /// launcher then tells rank and size.
    pub fn connect(address: &str, id: &str) -> Result<Client, PmiError> {
        const DOING: &str = "connect";
        let socket = Socket::connect(address).map_err(|e| PmiError::Io(DOING, e))?;
        let mut client = Client::unheard(socket, 0, 0);
        client.request(DOING, "initack", &[("pmiid", id)], "initack", accepted(DOING))?;
        let (mut rank, mut size, mut debug) = (None, None, false);
        while rank.is_none() || size.is_none() || !debug {
            client.reply(DOING, "set", |line| {
                rank = rank.or(number(line, "rank"));
                size = size.or(number(line, "size"));
                debug |= line.get("debug").is_some();
                Ok(())
            })?;
        }
        client.rank = rank.unwrap_or(0);
        client.size = size.unwrap_or(0);
        if client.rank >= client.size {
            return Err(PmiError::Wire(DOING, WireError::BadWord("rank")));
        }
        if client.size > RANKS_MAX {
            return Err(PmiError::Wire(DOING, WireError::BadWord("size")));
        }
        client.hello()?;
        Ok(client)
    }

    /// A client that has said nothing yet.
    fn unheard(socket: Socket, rank: usize, size: usize) -> Client {
        Client {
            socket,
            buffer: LineBuffer::default(),
            rank,
            size,
            kvsname: String::new(),
            maxes: Maxes { kvsname: 0, key: 0, value: 0 },
            barrier: Barrier::Outside,
            patience: PATIENCE,
            told: Vec::new(),
        }
    }

    /// The three requests that every client opens with.
    fn hello(&mut self) -> Result<(), PmiError> {
        let version = [("pmi_version", "1"), ("pmi_subversion", "1")];
        self.request("init", "init", &version, "response_to_init", accepted("init"))?;
        self.maxes = self.request("get_maxes", "get_maxes", &[], "maxes", |line| {
            let positive = |key| match line.number(key) {
                Ok(n) if n > 0 => Ok(usize::try_from(n).unwrap_or(usize::MAX)),
                _ => Err(PmiError::Wire("get_maxes", WireError::BadWord(key))),
            };
            Ok(Maxes {
                kvsname: positive("kvsname_max")?,
                key: positive("keylen_max")?,
                value: positive("vallen_max")?,
            })
        })?;
        const NAME: &str = "get_my_kvsname";
        self.kvsname = self.request(NAME, NAME, &[], "my_kvsname", |line| {
            let name = line.need("kvsname").map_err(|e| PmiError::Wire(NAME, e))?;
            Ok(name.to_string())
        })?;
        Ok(())
    }

    /// This process's rank in the job.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of ranks in the job.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The name of the job's key-value space, equal on all its ranks and on no other job's.
    pub fn kvsname(&self) -> &str {
        &self.kvsname
    }

    /// The lengths that the launcher announced.
    pub fn maxes(&self) -> Maxes {
        self.maxes
    }

    /// Which of the programs of the command line this one is, from 0 (MPI_APPNUM).
    pub fn appnum(&mut self) -> Result<i64, PmiError> {
        self.request("get_appnum", "get_appnum", &[], "appnum", |line| {
            line.number("appnum").map_err(|e| PmiError::Wire("get_appnum", e))
        })
    }

    /// How many processes the launcher could run in all (MPI_UNIVERSE_SIZE), where it knows.
    pub fn universe_size(&mut self) -> Result<Option<usize>, PmiError> {
        const DOING: &str = "get_universe_size";
        self.request(DOING, DOING, &[], "universe_size", |line| {
            let size = line.number("size").map_err(|e| PmiError::Wire(DOING, e))?;
            Ok(usize::try_from(size).ok())
        })
    }

    /// Keeps `value` under `key` for all ranks, to be read after the next [`Client::barrier`].
    /// A value longer than the launcher keeps goes under several keys.
    pub fn put(&mut self, key: &str, value: &str) -> Result<(), PmiError> {
        self.put_all(&[(key, value)], 1)
    }

    /// The same for several values, so many of which may be on their way before the first is
    /// answered: more than one only at our own launcher, since PMI-1 speaks in strict turn.
    pub fn put_all(&mut self, values: &[(&str, &str)], at_once: usize) -> Result<(), PmiError> {
        let limit = self.maxes.value.saturating_sub(1);
        let mut lines = Vec::new();
        for (key, value) in values {
            let too_long = || PmiError::TooLong((*key).to_string());
            let cut = segment::cut(key, value, limit).ok_or_else(too_long)?;
            if cut.iter().any(|(key, _)| key.len() >= self.maxes.key) {
                return Err(too_long());
            }
            for (key, value) in cut {
                let words = [("kvsname", self.kvsname.as_str()), ("key", &key), ("value", &value)];
                lines.push(compose("put", &words).map_err(|e| PmiError::Wire("put", e))?);
            }
        }
        for lines in lines.chunks(at_once.max(1)) {
            self.socket.send_all(lines.concat().as_bytes()).map_err(|e| PmiError::Io("put", e))?;
            // All answers are taken, so that none is left for the next request.
            let answers = lines.iter().map(|_| self.reply("put", "put_result", accepted("put")));
            answers.collect::<Vec<_>>().into_iter().collect::<Result<(), _>>()?;
        }
        Ok(())
    }

    /// What some rank put under `key` before a barrier that this rank has passed.
    pub fn get(&mut self, key: &str) -> Result<Option<String>, PmiError> {
        let head = self.get_one(key)?;
        self.get_rest(key, head)
    }

    /// The value under `key`, of which the first piece is there.
    fn get_rest(&mut self, key: &str, head: Option<String>) -> Result<Option<String>, PmiError> {
        let Some(head) = head else { return Ok(None) };
        let Some(n) = segment::count(&head) else { return Ok(Some(head)) };
        let mut value = String::new();
        for i in 1..=n {
            match self.get_one(&segment::key(key, i, n))? {
                Some(piece) => value.push_str(&piece),
                None => return Ok(None),
            }
        }
        Ok(Some(value))
    }

    /// What came unasked is kept until it is wanted, since nobody is asked for a card twice.
    fn get_one(&mut self, key: &str) -> Result<Option<String>, PmiError> {
        if let Some(at) = self.told.iter().position(|(told, _)| told == key) {
            return Ok(Some(self.told.swap_remove(at).1));
        }
        let kvsname = self.kvsname.clone();
        let words = [("kvsname", kvsname.as_str()), ("key", key)];
        self.request("get", "get", &words, "get_result", |line| {
            match line.number("rc").map_err(|e| PmiError::Wire("get", e))? {
                0 => {
                    let value = line.need("value").map_err(|e| PmiError::Wire("get", e))?;
                    Ok(Some(value.to_string()))
                }
                _ => Ok(None),
            }
        })
    }

    /// Waits until all ranks of the job have called this as often as this one.
    pub fn barrier(&mut self) -> Result<(), PmiError> {
        self.enter_barrier(None)?;
        self.leave_barrier()
    }

    /// The first half of [`Client::barrier`], which does not wait; other requests may come between
    /// the halves. A key that is wanted then is told with the news that the barrier has opened, so that
    /// [`Client::get`] needs no launcher any more: for that one line must say both, or who enters last
    /// is let out before it has asked. Only our own launcher knows the word.
    pub fn enter_barrier(&mut self, wanted: Option<&str>) -> Result<(), PmiError> {
        let word = wanted.map(|key| ("tell", key));
        self.say("barrier", "barrier_in", word.as_slice())?;
        self.barrier = Barrier::Entered;
        Ok(())
    }

    /// The second half: waits until all have entered.
    pub fn leave_barrier(&mut self) -> Result<(), PmiError> {
        let entered = std::mem::replace(&mut self.barrier, Barrier::Outside);
        match entered {
            Barrier::Open => Ok(()),
            _ => self.reply("barrier", "barrier_out", |_| Ok(())),
        }
    }

    /// Waits until nobody can be told any more that a barrier has opened, which MPICH's `hydra` tells
    /// also those who have left, and fails at that.
    pub fn settle(&mut self) -> Result<(), PmiError> {
        match self.barrier {
            Barrier::Outside => Ok(()),
            _ => self.leave_barrier(),
        }
    }

    /// Tells the launcher that this rank needs nothing more and may end.
    pub fn finalize(mut self) -> Result<(), PmiError> {
        self.request("finalize", "finalize", &[], "finalize_ack", |_| Ok(()))
    }

    /// Tells the same without waiting for an answer, which our own launcher may hold back until
    /// others leave too.
    pub fn leave(mut self) -> Result<(), PmiError> {
        self.say("finalize", "finalize", &[("answer", "no")])
    }

    /// Asks the launcher to end the whole job with exit status `code`. There is no reply: the
    /// caller exits by itself.
    pub fn abort(&mut self, code: i32) -> Result<(), PmiError> {
        let code = code.to_string();
        self.say("abort", "abort", &[("exitcode", &code)])
    }

    fn say(
        &mut self,
        doing: &'static str,
        command: &str,
        words: &[(&str, &str)],
    ) -> Result<(), PmiError> {
        let line = compose(command, words).map_err(|e| PmiError::Wire(doing, e))?;
        self.socket.send_all(line.as_bytes()).map_err(|e| PmiError::Io(doing, e))
    }

    fn request<T>(
        &mut self,
        doing: &'static str,
        command: &str,
        words: &[(&str, &str)],
        reply: &str,
        read: impl FnOnce(&Line) -> Result<T, PmiError>,
    ) -> Result<T, PmiError> {
        self.say(doing, command, words)?;
        self.reply(doing, reply, read)
    }

    /// Waits for one line and hands it over if it is the expected reply.
    fn reply<T>(
        &mut self,
        doing: &'static str,
        reply: &str,
        read: impl FnOnce(&Line) -> Result<T, PmiError>,
    ) -> Result<T, PmiError> {
        let mut chunk = [0; 2048];
        let asked = Instant::now();
        // Others may come to a barrier, and to the end, whenever they like.
        let is_prompt = !matches!(reply, "barrier_out" | "finalize_ack");
        loop {
            let wire = |e| PmiError::Wire(doing, e);
            if let Some(bytes) = self.buffer.next_line().map_err(wire)? {
                let line = Line::parse(bytes).map_err(wire)?;
                if line.command() == "told" {
                    let word = |key| line.need(key).map(str::to_string).map_err(wire);
                    self.told.push((word("key")?, word("value")?));
                    continue;
                }
                if line.command() == "barrier_out" && self.barrier == Barrier::Entered {
                    self.barrier = Barrier::Open;
                    continue;
                }
                if line.command() != reply {
                    return Err(PmiError::OutOfTurn(doing, line.command().to_string()));
                }
                return read(&line);
            }
            let left = is_prompt.then(|| self.patience.saturating_sub(asked.elapsed()));
            if !self.socket.has_news(left).map_err(|e| PmiError::Io(doing, e))? {
                return Err(PmiError::Silent(doing, self.patience));
            }
            match self.socket.receive(&mut chunk).map_err(|e| PmiError::Io(doing, e))? {
                0 => return Err(PmiError::Closed(doing)),
                n => self.buffer.push(&chunk[..n]),
            }
        }
    }
}

/// A reader of replies that hold nothing but success or failure; a missing `rc` is success.
fn accepted(doing: &'static str) -> impl FnOnce(&Line) -> Result<(), PmiError> {
    move |line| match line.get("rc") {
        None | Some("0") => Ok(()),
        Some(rc) => {
            Err(PmiError::Refused(doing, line.get("msg").unwrap_or(rc).chars().take(200).collect()))
        }
    }
}

fn number(line: &Line, key: &'static str) -> Option<usize> {
    line.number(key).ok().and_then(|n| usize::try_from(n).ok())
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
