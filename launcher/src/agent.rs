//! An agent: one host's part of a job, on a host where somebody else's mpirun has sent it.
//!
//! In: orders and requests from standard input, the ranks' sockets and pipes, the agents of further
//! hosts. Out: news on standard output. When the parent ends or falls silent for too long, the job is
//! over for this host: everything is ended, nothing is left behind.

use crate::leftovers::{self, Guard};
use crate::node::Node;
use crate::plan::Plan;
use crate::refuse::Refusal;
use crate::source::Source;
use crate::sys::{self, Epoll, Interest, Signals};
use crate::tree::frame::{Down, Frame, Up};
use crate::tree::link::Link;
use crate::tree::{ARRIVAL, BEAT, Beat, PATIENCE, orders};
use launch_wire::plain;
use std::ops::Range;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Runs as an agent.
pub(crate) fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(Refusal { text, status }) => {
            eprintln!("mpirun's agent: {}", plain(&text));
            ExitCode::from(status)
        }
    }
}

/// What an agent has before it knows of a job.
struct Agent {
    epoll: Epoll,
    signals: Signals,
    parent: Link,
    limit: sys::Rlimit,
}

fn run() -> Result<(), Refusal> {
    let limit = sys::raise_descriptor_limit();
    sys::become_subreaper()?;
    let signals = Signals::take_over()?;
    let epoll = Epoll::new()?;
    epoll.add(&signals, Source::Signals.token(), Interest::Read)?;
    let [from, to] = [sys::stdin(), sys::stdout()].map(sys::own_stream);
    let ends = ((from?, Source::ParentIn.token()), (to?, Source::ParentOut.token()));
    let parent = Link::new(&epoll, ends.0, ends.1).map_err(|error| {
        Refusal::new(format!(
            "it is started by mpirun on the hosts of -host, not by hand ({error})"
        ))
    })?;
    let mut agent = Agent { epoll, signals, parent, limit };
    let (own, plan) = agent.orders()?;
    // Programs and files are named as mpirun sees them.
    let entered = std::env::set_current_dir(&plan.here).map_err(|error| {
        let here = plan.here.display();
        Refusal::new(format!("the working directory {here} cannot be used: {error}"))
    });
    let guard = Guard::start(&plan.mark(own.start))?;
    let result = agent.serve(&plan, &own, entered, &guard);
    guard.dismiss();
    result
}

impl Agent {
    /// Waits for the orders.
    fn orders(&mut self) -> Result<(Range<usize>, Plan), Refusal> {
        let deadline = Instant::now() + ARRIVAL;
        loop {
            let now = Instant::now();
            if now >= deadline {
                return Err(Refusal::new("no orders have come"));
            }
            for token in self.epoll.wait(Some(deadline - now))? {
                match Source::from_token(token) {
                    Source::ParentIn if !self.parent.readable() => {
                        return Err(Refusal::new("mpirun has gone before it gave orders"));
                    }
                    Source::ParentOut => self.parent.writable(&self.epoll),
                    Source::Signals => while self.signals.next().is_some() {},
                    _ => {}
                }
            }
            match self.parent.next::<Down>().map_err(Refusal::new)? {
                Some(Down::Orders { first, end, plan }) => {
                    let plan =
                        orders::read(&plan).map_err(|wrong| Refusal::new(wrong.to_string()))?;
                    if first == 0 || first >= end || end > plan.hosts.len() {
                        return Err(Refusal::new("orders for hosts that are not in the plan"));
                    }
                    return Ok((first..end, plan));
                }
                Some(Down::Alive) | None => {}
                Some(other) => {
                    return Err(Refusal::new(format!("a request before the orders: {other:?}")));
                }
            }
        }
    }

    /// Does the host's part.
    fn serve(
        self,
        plan: &Plan,
        own: &Range<usize>,
        entered: Result<(), Refusal>,
        guard: &Guard,
    ) -> Result<(), Refusal> {
        let Agent { epoll, signals, mut parent, limit } = self;
        let site = entered.and_then(|()| crate::site::Site::make(plan, own.start));
        let site = match site {
            Ok(site) => site,
            Err(Refusal { text, status }) => {
                let refused = Up::Refused { node: own.start, status, text };
                parent.send(&epoll, &refused.encode());
                return say_goodbye(&epoll, parent);
            }
        };
        let mut node = Node::new(plan, site, own, epoll, signals, limit);
        node.news.push_back(Up::Arrived(node.site.arrived()));
        node.reach();
        let mut service = Service { node, parent, beat: Beat::new(), paused: false };
        let orderly = service.work(guard);
        if !orderly? {
            service.node.obey(&Down::Signal(libc::SIGKILL));
            service.node.branches.clear();
            leftovers::end_orphans(guard, &[], Duration::ZERO, || true);
            return Err(Refusal::new("mpirun, or the host in between, cannot be reached any more"));
        }
        let Service { node, parent, .. } = service;
        say_goodbye(&node.epoll, parent)
    }
}

/// Writes what is still to be written, as long as it is read.
fn say_goodbye(epoll: &Epoll, mut parent: Link) -> Result<(), Refusal> {
    parent.send(epoll, &Up::Done.encode());
    let deadline = Instant::now() + PATIENCE;
    while !parent.is_flushed() && Instant::now() < deadline {
        for token in epoll.wait(Some(BEAT))? {
            if Source::from_token(token) == Source::ParentOut {
                parent.writable(epoll);
            }
        }
    }
    Ok(())
}

/// An agent at work.
struct Service<'a> {
    node: Node<'a>,
    parent: Link,
    beat: Beat,
    /// mpirun was suspended by its terminal, and is silent for as long as it likes.
    paused: bool,
}

impl Service<'_> {
    /// The loop. True when the job is over and cleared away, false when the parent is gone.
    fn work(&mut self, guard: &Guard) -> Result<bool, Refusal> {
        let mut over = false;
        loop {
            self.tell();
            if !self.paused && self.parent.silence() > PATIENCE {
                return Ok(false);
            }
            if over && self.node.is_alone() {
                return Ok(true);
            }
            let patience = self.beat.next.saturating_duration_since(Instant::now());
            for token in self.node.epoll.wait(Some(patience))? {
                let there = match Source::from_token(token) {
                    Source::ParentIn => self.hear(&mut over, guard)?,
                    Source::ParentOut => {
                        self.parent.writable(&self.node.epoll);
                        true
                    }
                    Source::Signals => self.signalled(),
                    other => {
                        self.node.notice(other);
                        true
                    }
                };
                if !there {
                    return Ok(false);
                }
            }
            self.node.keep_in_touch();
        }
    }

    /// Tells the parent what has happened, and now and then that nothing has.
    fn tell(&mut self) {
        while let Some(news) = self.node.news.pop_front() {
            self.parent.send(&self.node.epoll, &news.encode());
        }
        if let Some(late) = self.beat.due() {
            self.parent.excuse(late);
            self.parent.send(&self.node.epoll, &Up::Alive.encode());
        }
    }

    /// Reads what the parent says; false when it has gone.
    fn hear(&mut self, over: &mut bool, guard: &Guard) -> Result<bool, Refusal> {
        let open = self.parent.readable();
        while let Some(request) = self.parent.next::<Down>().map_err(Refusal::new)? {
            self.paused = request == Down::Signal(libc::SIGTSTP);
            self.node.obey(&request);
            if let Down::End(millis) = request
                && !std::mem::replace(over, true)
            {
                let branches = self.node.branches.iter().filter(|b| b.ended.is_none());
                let commands: Vec<i32> = branches.map(|branch| branch.pid).collect();
                let grace = Duration::from_millis(millis.into());
                leftovers::end_orphans(guard, &commands, grace, || false);
                self.node.drain();
                self.node.tell_who_fell();
            }
        }
        Ok(open)
    }

    /// Takes the signals that have come; false when this agent is to end.
    fn signalled(&mut self) -> bool {
        while let Some(signal) = self.node.signals.next() {
            match signal {
                libc::SIGCHLD => self.node.take_ends(),
                libc::SIGINT | libc::SIGTERM | libc::SIGQUIT => return false,
                // The ranks get the signals that mpirun gets, from there.
                _ => {}
            }
        }
        true
    }
}
