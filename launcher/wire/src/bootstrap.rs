//! The library's first question: who am I, and how do I reach the others? (MPI-5.0 §11.2)
//!
//! In: the environment that the launcher made. Out: rank, size, and one exchange of texts through
//! the job's key-value space: every rank puts its card, all call [`Bootstrap::fence`], every rank
//! gets the cards it needs.

use crate::address::{self, Address, Key, NoAnswer};
use crate::control;
use crate::pmi1::{Client, PmiError};
use crate::refusal::{Refusal, Start, judge};
use crate::socket::Socket;
use std::collections::HashMap;
use std::fmt;
use std::io::Write as _;

/// Why this process cannot take its place in a job.
#[derive(Debug)]
pub enum BootstrapError {
    /// One of several tasks, with no process manager that can be reached.
    Refused(Refusal),
    /// The launcher's socket is not there any more: this is a program that a rank started, or one
    /// whose shell closed the descriptors.
    NoSocket(&'static str, String),
    /// The same, and our own launcher cannot be reached by its address either.
    NoLauncher(String),
    /// Our own launcher does not let this process be the rank that it is to be.
    NotAdmitted(usize, String),
    /// The launcher did not answer as it should.
    Pmi(PmiError),
}

impl fmt::Display for BootstrapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BootstrapError::Refused(refusal) => refusal.fmt(f),
            BootstrapError::NoSocket(variable, why) => write!(
                f,
                "{variable} names a launcher's connection that this process does not have ({why}). \
                 An MPI program started by a rank, or through something that closes open files, \
                 cannot join the job; FERRITE_SINGLETON=1 lets it run alone"
            ),
            BootstrapError::NoLauncher(why) => write!(
                f,
                "the connection to mpirun was closed by what started this program, and mpirun \
                 cannot be reached by its address ({why}): it has ended, or this program runs in \
                 a network namespace of its own. FERRITE_SINGLETON=1 lets it run alone"
            ),
            BootstrapError::NotAdmitted(rank, why) => write!(
                f,
                "this process cannot be rank {rank}: {why}. An MPI program that a rank starts \
                 while it uses MPI itself cannot join the job; FERRITE_SINGLETON=1 lets it run \
                 alone"
            ),
            BootstrapError::Pmi(error @ PmiError::OutOfTurn(..)) => {
                write!(
                    f,
                    "{error}. Two MPI programs may run at once in one rank's place, which only \
                     one after the other can"
                )
            }
            BootstrapError::Pmi(error) if error.is_of_the_program() => write!(
                f,
                "{error}. The program has closed the connection, as one does that closes all descriptors \
                 (closefrom, close)"
            ),
            BootstrapError::Pmi(error) => {
                write!(f, "{error}. The launcher may have ended, or be no PMI-1 launcher")
            }
        }
    }
}

impl BootstrapError {
    /// What to do, a whole sentence.
    pub fn advice(&self) -> &'static str {
        match self {
            BootstrapError::Pmi(error) if error.is_of_the_program() => {
                "Let the program close only what it has opened itself."
            }
            _ => "Start the program with mpirun of this installation.",
        }
    }
}

impl std::error::Error for BootstrapError {}

impl From<PmiError> for BootstrapError {
    fn from(error: PmiError) -> BootstrapError {
        BootstrapError::Pmi(error)
    }
}

/// Values on their way to our own launcher at most, which the buffers of a socket hold.
const PUTS_AT_ONCE: usize = 16;

/// When a process leaves its job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaving {
    /// It works on afterwards: it waits until all others of our own launcher's job leave too.
    BeforeExit,
    /// It ends at once, and of our own launcher's job it waits for nobody.
    AtExit,
}

/// Where the texts go.
#[derive(Debug)]
enum Exchange {
    Pmi1(Box<Client>),
    Alone(HashMap<String, String>),
}

/// A process's place in its job.
#[derive(Debug)]
pub struct Bootstrap {
    exchange: Exchange,
    control: Option<control::Client>,
    local_rank: Option<usize>,
    local_size: Option<usize>,
    job_id: String,
}

impl Bootstrap {
    /// Reads this process's environment and says hello to the launcher, if there is one.
    pub fn from_env() -> Result<Bootstrap, BootstrapError> {
        let program = std::env::args_os().next().map(|name| name.to_string_lossy().into_owned());
        Bootstrap::from_vars(
            &|name| std::env::var(name).ok(),
            program.as_deref().unwrap_or("PROGRAM"),
        )
    }

    /// The same with the environment given: `lookup` reads a variable, `program` is the name that
    /// an error uses in the line to type.
    pub fn from_vars(
        lookup: &dyn Fn(&str) -> Option<String>,
        program: &str,
    ) -> Result<Bootstrap, BootstrapError> {
        let (exchange, control) = match judge(lookup, program).map_err(BootstrapError::Refused)? {
            Start::PmiFd { fd, rank, size } => {
                let (client, control) = reach(lookup, fd, rank, size)?;
                (Exchange::Pmi1(Box::new(client)), control)
            }
            Start::PmiPort { address, id } => {
                let client = Client::connect(&address, &id)?;
                let control = control::Client::from_env(lookup, None).unwrap_or(None);
                (Exchange::Pmi1(Box::new(client)), control)
            }
            Start::Singleton => (Exchange::Alone(HashMap::new()), None),
        };
        let number = |name: &str| lookup(name).and_then(|text| text.trim().parse::<usize>().ok());
        let (local_rank, local_size, job_id) = match &exchange {
            Exchange::Pmi1(client) => {
                let places = (number("MPI_LOCALRANKID"), number("MPI_LOCALNRANKS"));
                (places.0, places.1.filter(|n| *n <= client.size()), client.kvsname().to_string())
            }
            Exchange::Alone(_) => (Some(0), Some(1), format!("singleton-{}", std::process::id())),
        };
        Ok(Bootstrap { exchange, control, local_rank, local_size, job_id })
    }

    /// This process's rank, from 0.
    pub fn rank(&self) -> usize {
        match &self.exchange {
            Exchange::Pmi1(client) => client.rank(),
            Exchange::Alone(_) => 0,
        }
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        match &self.exchange {
            Exchange::Pmi1(client) => client.size(),
            Exchange::Alone(_) => 1,
        }
    }

    /// Whether nobody started this process as part of a job.
    pub fn is_singleton(&self) -> bool {
        matches!(self.exchange, Exchange::Alone(_))
    }

    /// The rank among those that the launcher started on this host, where it says so.
    pub fn local_rank(&self) -> Option<usize> {
        self.local_rank
    }

    /// How many ranks the launcher started on this host, where it says so.
    pub fn local_size(&self) -> Option<usize> {
        self.local_size
    }

    /// A name of the job that all its ranks have in common and no other running job of this
    /// launcher has.
    pub fn job_id(&self) -> &str {
        &self.job_id
    }

    /// Which of the programs of the command line this is, from 0 (MPI_APPNUM); `None` where
    /// nothing says so.
    pub fn appnum(&mut self) -> Result<Option<i64>, BootstrapError> {
        match &mut self.exchange {
            Exchange::Pmi1(client) => Ok(Some(client.appnum()?).filter(|&n| n >= 0)),
            Exchange::Alone(_) => Ok(None),
        }
    }

    /// How many processes the launcher could run in all (MPI_UNIVERSE_SIZE), where it knows.
    pub fn universe_size(&mut self) -> Result<Option<usize>, BootstrapError> {
        match &mut self.exchange {
            Exchange::Pmi1(client) => Ok(client.universe_size()?),
            Exchange::Alone(_) => Ok(None),
        }
    }

    /// Offers a text to all ranks. Neither key nor value may hold blanks or control characters;
    /// for anything else there is [`Bootstrap::put_bytes`].
    pub fn put(&mut self, key: &str, value: &str) -> Result<(), BootstrapError> {
        self.put_all(&[(key, value)])
    }

    /// The same for several texts, which our own launcher takes in one round trip. They become known
    /// in this order.
    pub fn put_all(&mut self, texts: &[(&str, &str)]) -> Result<(), BootstrapError> {
        let at_once = if self.control.is_some() { PUTS_AT_ONCE } else { 1 };
        match &mut self.exchange {
            Exchange::Pmi1(client) => client.put_all(texts, at_once)?,
            Exchange::Alone(table) => {
                table.extend(texts.iter().map(|(key, value)| (key.to_string(), value.to_string())));
            }
        }
        Ok(())
    }

    /// What some rank offered before a fence that this rank has passed.
    pub fn get(&mut self, key: &str) -> Result<Option<String>, BootstrapError> {
        match &mut self.exchange {
            Exchange::Pmi1(client) => Ok(client.get(key)?),
            Exchange::Alone(table) => Ok(table.get(key).cloned()),
        }
    }

    /// Offers bytes to all ranks, as hexadecimal digits.
    pub fn put_bytes(&mut self, key: &str, value: &[u8]) -> Result<(), BootstrapError> {
        self.put(key, &hex::encode(value))
    }

    /// The bytes that some rank offered; `None` also where the value is no such text.
    pub fn get_bytes(&mut self, key: &str) -> Result<Option<Vec<u8>>, BootstrapError> {
        Ok(self.get(key)?.and_then(|text| hex::decode(text).ok()))
    }

    /// Waits until all ranks of the job have called this as often as this one; what was put
    /// before can then be got.
    pub fn fence(&mut self) -> Result<(), BootstrapError> {
        self.enter_fence(None)?;
        self.leave_fence()
    }

    /// The first half of [`Bootstrap::fence`], which does not wait. What `wanted` names comes with the
    /// news that all have entered, and in a small job all else that was put, from our own launcher,
    /// for which alone the ranks would else queue up a second time.
    pub fn enter_fence(&mut self, wanted: Option<&str>) -> Result<(), BootstrapError> {
        let is_ours = self.control.is_some();
        match &mut self.exchange {
            Exchange::Pmi1(client) => Ok(client.enter_barrier(wanted.filter(|_| is_ours))?),
            Exchange::Alone(_) => Ok(()),
        }
    }

    /// The second half: waits until all ranks of the job have entered.
    pub fn leave_fence(&mut self) -> Result<(), BootstrapError> {
        match &mut self.exchange {
            Exchange::Pmi1(client) => Ok(client.leave_barrier()?),
            Exchange::Alone(_) => Ok(()),
        }
    }

    /// The second socket to our own launcher; no other launcher has one.
    pub fn control(&self) -> Option<&control::Client> {
        self.control.as_ref()
    }

    /// Tells the launcher that this process has left the job in good order. Other launchers than ours
    /// are left when the fence that this process is in has opened, and their answer is waited for
    /// at any moment.
    pub fn finalize(self, moment: Leaving) -> Result<(), BootstrapError> {
        if let Some(control) = &self.control {
            control.send(&control::Frame::FinalizeSeen);
        }
        match self.exchange {
            Exchange::Pmi1(client) if moment == Leaving::AtExit && self.control.is_some() => {
                Ok(client.leave()?)
            }
            Exchange::Pmi1(mut client) => {
                if self.control.is_none() {
                    client.settle()?;
                }
                Ok(client.finalize()?)
            }
            Exchange::Alone(_) => Ok(()),
        }
    }

    /// Asks the launcher to end the whole job with `code`, and prints `text` where the launcher does
    /// not take that over. The caller then exits by itself, with `code`.
    pub fn abort(&mut self, code: i32, text: &str) {
        self.abort_by(code, text, &control::Frame::AbortRequest { code, text: text.to_string() });
    }

    /// The same because this process cannot reach `peer`.
    pub fn abort_over(&mut self, peer: u32, code: i32, text: &str) {
        let word = control::Frame::Unreached { peer, code, text: text.to_string() };
        self.abort_by(code, text, &word);
    }

    fn abort_by(&mut self, code: i32, text: &str, request: &control::Frame) {
        let told = self.control.as_ref().is_some_and(|control| control.send(request));
        if !told && !text.is_empty() {
            // Before the request: another launcher may kill this process as soon as it reads that.
            // If standard error is gone there is nobody left to tell.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
        self.abort_by_pmi(code);
    }

    /// The same for a failure that this process knows from another one: the launcher leaves that one the word, and
    /// ends this process with the others. Returns where it has not been told, or is gone.
    pub fn abort_by_secondary_error(&mut self, code: i32, text: &str) {
        let word = control::Frame::SecondaryError { code, text: text.to_string() };
        match self.control.as_ref().filter(|control| control.send(&word)) {
            Some(control) => control.await_end(),
            None => self.abort(code, text),
        }
    }

    fn abort_by_pmi(&mut self, code: i32) {
        if let Exchange::Pmi1(client) = &mut self.exchange {
            // The job ends by this process's exit status where the request cannot be sent.
            let _ = client.abort(code);
        }
    }
}

/// A rank's connections to its launcher.
type Connections = (Client, Option<control::Client>);

/// Reaches the launcher that left the descriptor `fd` open, or, where that is lost, by its address.
fn reach(
    lookup: &dyn Fn(&str) -> Option<String>,
    fd: i32,
    rank: usize,
    size: usize,
) -> Result<Connections, BootstrapError> {
    let address = lookup(address::VARIABLE).and_then(|text| Address::from_text(&text));
    let Some(address) = address else {
        let socket = Socket::inherited(fd, None)
            .map_err(|why| BootstrapError::NoSocket("PMI_FD", why.to_string()))?;
        let control = control::Client::from_env(lookup, None).unwrap_or(None);
        return Ok((Client::new(socket, rank, size)?, control));
    };
    let [pmi, control] = address.sockets;
    let control = control::Client::from_env(lookup, Some(control));
    if let (Ok(pmi), Ok(Some(control))) = (Socket::inherited(fd, Some(pmi)), control) {
        match Client::new(pmi, rank, size) {
            // The launcher has given new sockets to another process in this one's place since.
            Err(PmiError::Closed(_) | PmiError::Io(..)) => {}
            client => return Ok((client?, Some(control))),
        }
    }
    let key = Key::of(&lookup(address::JOB).unwrap_or_default());
    let sockets = address::ask(&address.name, &key, rank as u32);
    let [pmi, control] = sockets.map_err(|why| match why {
        NoAnswer::Unreachable(error) => BootstrapError::NoLauncher(error.to_string()),
        NoAnswer::Refused(why) => BootstrapError::NotAdmitted(rank, why),
    })?;
    let client = Client::new(Socket::from(pmi), rank, size)?;
    Ok((client, Some(control::Client::new(Socket::from(control)))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_singleton_is_its_own_job() {
        let mut alone = Bootstrap::from_vars(&|_| None, "./p").unwrap();
        assert!(alone.is_singleton() && alone.control().is_none());
        assert_eq!((alone.rank(), alone.size(), alone.local_rank()), (0, 1, Some(0)));
        alone.put("card-0", "here").unwrap();
        alone.fence().unwrap();
        assert_eq!(alone.get("card-0").unwrap().as_deref(), Some("here"));
        assert_eq!(alone.get("card-1").unwrap(), None);
        assert_eq!(alone.appnum().unwrap(), None);
        alone.finalize(Leaving::BeforeExit).unwrap();
    }

    #[test]
    fn a_descriptor_that_is_gone_is_named() {
        let vars = |name: &str| match name {
            "PMI_FD" => Some("987654".to_string()),
            "PMI_RANK" => Some("0".to_string()),
            "PMI_SIZE" => Some("2".to_string()),
            _ => None,
        };
        let error = Bootstrap::from_vars(&vars, "./p").unwrap_err();
        assert!(error.to_string().starts_with("PMI_FD names"), "{error}");
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut alone = Bootstrap::from_vars(&|_| None, "./p").unwrap();
            alone.put_bytes("b", &bytes).unwrap();
            prop_assert_eq!(alone.get_bytes("b").unwrap(), Some(bytes));
        }

        #[test]
        fn any_text_is_bytes_or_not(text in "\\PC{0,20}") {
            let mut alone = Bootstrap::from_vars(&|_| None, "./p").unwrap();
            alone.put("b", &text).unwrap();
            let is_digits = text.len() % 2 == 0 && text.bytes().all(|c| c.is_ascii_hexdigit());
            prop_assert_eq!(alone.get_bytes("b").unwrap().is_some(), is_digits);
        }
    }
}
