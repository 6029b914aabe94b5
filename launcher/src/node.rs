//! One host's part of a running job: its ranks with their sockets and pipes, and the agents that it
//! has started on further hosts.
//!
//! In: what epoll tells of ([`Node::notice`]) and requests ([`Node::obey`]), which go on to the hosts
//! below. Out: news, in the order in which it happened, its own and that of the hosts below. mpirun
//! draws the conclusions from it (`job.rs`); an agent hands it on (`agent.rs`). What the ranks
//! say is in `hear.rs`.

use crate::dying::Told;
use crate::outlets::Outlets;
use crate::plan::Plan;
use crate::pmi_server::{Event, Server};
use crate::recovery::Recovery;
use crate::refuse::{Refusal, remedy};
use crate::site::Site;
use crate::source::Source;
use crate::spawn::{self, Common, Started};
use crate::sys::{self, Epoll, Interest, Signals};
use crate::tree::branch::Branch;
use crate::tree::frame::{Down, Frame, Up};
use crate::tree::orders;
use crate::tree::{Beat, shape};
use launch_wire::control::Frame as Word;
use launch_wire::pmi1::LineBuffer;
use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::time::Instant;

/// A rank of this host.
#[derive(Debug)]
pub(crate) struct Member {
    /// Its process, which leads a process group.
    pub(crate) pid: i32,
    /// Whether that still runs.
    pub(crate) running: bool,
    /// Between MPI_Init and MPI_Finalize.
    pub(crate) inside: bool,
    /// MPI_Init seen at least once.
    pub(crate) ever: bool,
    /// It wants to leave, and has not been answered yet.
    pub(crate) leaving: bool,
    /// A process that uses MPI is connected: it has said hello by PMI, and not goodbye.
    pub(crate) connected: bool,
    /// Where it speaks PMI-1, as long as somebody holds the other end.
    pub(crate) pmi: Option<OwnedFd>,
    /// Where it sends frames.
    pub(crate) control: Option<OwnedFd>,
    /// What it has said of a line that has not ended yet.
    pub(crate) buffer: LineBuffer,
    /// Its standard input where we feed it, and what it has not taken yet.
    food: Option<(OwnedFd, Vec<u8>)>,
}

/// One host's part of a job.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) site: Site,
    pub(crate) epoll: Epoll,
    pub(crate) signals: Signals,
    pub(crate) server: Server,
    pub(crate) members: Vec<Member>,
    pub(crate) branches: Vec<Branch>,
    /// What has happened, for the owner to take.
    pub(crate) news: VecDeque<Up>,
    /// A rank has complained, so that what follows is most likely a consequence.
    pub(crate) complained: bool,
    /// Room for a frame, kept since new room costs the kernel's zeros, while ranks want the processor.
    pub(crate) packet: Vec<u8>,
    /// Whether to tell which ranks wait in a barrier.
    /// How many barriers of the job have opened, as far as is known here.
    pub(crate) passed: u32,
    pub(crate) watch: bool,
    /// Those who want to leave may go at this time, whoever is still inside.
    pub(crate) leave_by: Option<Instant>,
    /// A rank misses another one, which may be about to leave: how that ends may tell why.
    pub(crate) misses: bool,
    /// What ranks have told of the signals that ended them.
    pub(crate) told: Told,
    /// Where ranks call that have lost their sockets.
    pub(crate) recovery: Option<Recovery>,
    outlets: Outlets,
    below: Vec<Range<usize>>,
    limit: sys::Rlimit,
    beat: Beat,
}

impl<'a> Node<'a> {
    /// The host that was given the hosts `own`, of which it is the first. Nothing is started yet.
    pub(crate) fn new(
        plan: &'a Plan,
        site: Site,
        own: &Range<usize>,
        epoll: Epoll,
        signals: Signals,
        limit: sys::Rlimit,
    ) -> Node<'a> {
        let below = shape::children(own, plan.way.fanout);
        let appnums = site.ranks.iter().map(|&rank| plan.program_of[rank]).collect();
        let universe = plan.slots.unwrap_or(site.cpus).max(plan.ranks());
        let server = Server::new(&plan.job, appnums, universe, &plan.node_of, below.len());
        Node {
            plan,
            site,
            epoll,
            signals,
            server,
            members: Vec::new(),
            branches: Vec::new(),
            news: VecDeque::new(),
            complained: false,
            packet: Vec::new(),
            passed: 0,
            watch: false,
            leave_by: None,
            misses: false,
            told: Told::default(),
            recovery: None,
            outlets: Outlets::default(),
            below,
            limit,
            beat: Beat::new(),
        }
    }

    /// Starts the agents on the hosts below.
    pub(crate) fn reach(&mut self) {
        if self.below.is_empty() {
            return;
        }
        let orders = orders::write(self.plan);
        let limits = (self.signals.old_mask(), self.limit);
        for (index, nodes) in self.below.clone().into_iter().enumerate() {
            let node = nodes.start;
            match Branch::start(self.plan, &orders, nodes, (&self.epoll, index), limits) {
                Ok(branch) => self.branches.push(branch),
                Err(Refusal { text, status }) => {
                    return self.news.push_back(Up::Refused { node, status, text });
                }
            }
        }
    }

    /// Starts the ranks.
    fn start(&mut self) {
        let mut begun = Vec::new();
        let nothing = match File::open("/dev/null") {
            Ok(nothing) => nothing,
            Err(error) => {
                let text = format!("/dev/null cannot be opened: {error}{}", remedy(&error));
                return self.refuse(Refusal::new(text));
            }
        };
        // Where there can be none, ranks have their sockets all the same.
        self.recovery = Recovery::open(&self.epoll, &self.plan.mark(self.site.node)).ok();
        let recovery = self.recovery.as_ref().map(|recovery| &*recovery.name);
        for (index, &rank) in self.site.ranks.iter().enumerate() {
            let (plan, site, signals) = (self.plan, &self.site, &self.signals);
            let common =
                Common { plan, site, signals, limit: self.limit, recovery, nothing: &nothing };
            let started = spawn::start(&common, index).and_then(|started| {
                begun.push((rank, started.pid));
                let epoll = &self.epoll;
                epoll.add(&started.pmi, Source::Pmi(index).token(), Interest::Read)?;
                epoll.add(&started.control, Source::Control(index).token(), Interest::Read)?;
                if let Some(input) = &started.input {
                    let token = Source::Feed(index).token();
                    epoll.add(input, token, Interest::Nothing)?;
                }
                Ok(started)
            });
            let added = started.and_then(|started| {
                let Started { pid, pmi, control, outputs, input } = started;
                self.outlets.add(&self.epoll, rank, outputs)?;
                self.members.push(Member {
                    pid,
                    running: true,
                    inside: false,
                    ever: false,
                    leaving: false,
                    connected: false,
                    pmi: Some(pmi),
                    control: Some(control),
                    buffer: LineBuffer::default(),
                    food: input.map(|pipe| (pipe, Vec::new())),
                });
                Ok(())
            });
            if let Err(refusal) = added {
                self.news.push_back(Up::Started(begun));
                return self.refuse(refusal);
            }
        }
        self.news.push_back(Up::Started(begun));
    }

    /// This host cannot do its part.
    fn refuse(&mut self, Refusal { text, status }: Refusal) {
        self.news.push_back(Up::Refused { node: self.site.node, status, text });
    }

    /// The place of a rank among those of this host, if it runs here.
    pub(crate) fn at(&self, rank: usize) -> Option<usize> {
        self.site.ranks.binary_search(&rank).ok().filter(|&index| index < self.members.len())
    }

    /// Does what is asked for, here and on the hosts below.
    pub(crate) fn obey(&mut self, request: &Down) {
        match request {
            Down::Alive | Down::Orders { .. } => return,
            Down::Reply { rank, line } => match self.at(*rank) {
                Some(index) => self.reply(index, line),
                None => self.route(self.plan.node_of.get(*rank).copied(), request),
            },
            Down::Feed { rank, bytes } => match self.at(*rank) {
                Some(index) => self.feed(index, bytes),
                None => self.route(self.plan.node_of.get(*rank).copied(), request),
            },
            Down::Taken { node, which, bytes } => match *node == self.site.node {
                true => self.outlets.taken(&self.epoll, *which, *bytes),
                false => self.route(Some(*node), request),
            },
            Down::Go => self.start(),
            Down::Signal(signal) => self.signal_members(*signal),
            Down::Release(keys) => {
                self.passed = self.passed.wrapping_add(1);
                match self.server.release(keys.clone()) {
                    Ok(lines) => lines.iter().for_each(|(index, line)| self.reply(*index, line)),
                    Err(error) => unreachable!("a line of our own making: {error}"),
                }
            }
            Down::RollCall => self.call_the_roll(),
            Down::Watch => {
                self.watch = true;
                self.tell_who_waits();
            }
            Down::Unread(which) => self.outlets.close(*which),
            Down::End(_) => {}
        }
        let one_host_only =
            matches!(request, Down::Reply { .. } | Down::Feed { .. } | Down::Taken { .. });
        if !one_host_only && !self.branches.is_empty() {
            self.pass_on(&request.encode());
        }
    }

    fn pass_on(&mut self, frame: &[u8]) {
        for link in self.branches.iter_mut().filter_map(|branch| branch.link.as_mut()) {
            link.send(&self.epoll, frame);
        }
    }

    /// Sends a request on to the host that it is for.
    fn route(&mut self, node: Option<usize>, request: &Down) {
        let below = |branch: &&mut Branch| node.is_some_and(|node| branch.nodes.contains(&node));
        if let Some(link) = self.branches.iter_mut().find(below).and_then(|b| b.link.as_mut()) {
            link.send(&self.epoll, &request.encode());
        }
    }

    /// Sends a line of PMI to a rank of this host.
    pub(crate) fn reply(&mut self, index: usize, line: &str) {
        let Some(member) = self.members.get_mut(index) else { return };
        if member.pmi.as_ref().is_some_and(|socket| !sys::send(socket, line.as_bytes())) {
            self.close_pmi(index);
        }
    }

    fn signal_members(&self, signal: i32) {
        for member in self.members.iter().filter(|member| member.running) {
            sys::kill_group(member.pid, signal);
        }
    }

    /// Asks the ranks that use our library what they are doing.
    fn call_the_roll(&mut self) {
        let request = Word::RollCallRequest.encode();
        for socket in self.members.iter().filter_map(|member| member.control.as_ref()) {
            sys::send(socket, &request);
        }
    }

    /// Something that epoll told of.
    pub(crate) fn notice(&mut self, source: Source) {
        match source {
            Source::Pmi(index) => self.hear_pmi(index),
            Source::Control(index) => self.hear_control(index),
            Source::Output(index) => {
                self.outlets.readable(&self.epoll, index, &mut self.news);
            }
            Source::Feed(index) => self.hungry(index),
            Source::BranchIn(index) => self.hear_branch(index),
            Source::BranchOut(index) => {
                if let Some(link) = self.branches[index].link.as_mut() {
                    link.writable(&self.epoll);
                }
            }
            Source::BranchWords(index) => {
                let words = self.branches[index].hear_words();
                if !words.is_empty() {
                    self.news.push_back(Up::Words(words));
                }
            }
            Source::Callers => self.hear_callers(),
            Source::Signals
            | Source::Ours(_)
            | Source::Stdin
            | Source::ParentIn
            | Source::ParentOut => {}
        }
    }

    /// Gives a rank of this host input, or its end.
    fn feed(&mut self, index: usize, bytes: &[u8]) {
        let member = &mut self.members[index];
        match &mut member.food {
            Some((pipe, rest)) if !bytes.is_empty() => {
                rest.extend_from_slice(bytes);
                let _ = self.epoll.change(pipe, Source::Feed(index).token(), Interest::Write);
            }
            _ => member.food = None,
        }
    }

    /// A rank can take more input, or has closed its end.
    fn hungry(&mut self, index: usize) {
        let rank = self.site.ranks[index];
        let Some((pipe, rest)) = &mut self.members[index].food else { return };
        // It is asked for room only where something is left, so this is news of the other end.
        let gone = rest.is_empty() || {
            match sys::write(&*pipe, rest) {
                Ok(n) => {
                    rest.drain(..n.unwrap_or(0));
                    false
                }
                Err(_) => true,
            }
        };
        if gone {
            self.members[index].food = None;
            self.news.push_back(Up::Fed { rank, gone });
        } else if rest.is_empty() {
            let token = Source::Feed(index).token();
            let _ = self.epoll.change(pipe, token, Interest::Nothing);
            self.news.push_back(Up::Fed { rank, gone });
        }
    }

    /// Reads what an agent says.
    fn hear_branch(&mut self, index: usize) {
        let Some(link) = self.branches[index].link.as_mut() else { return };
        let open = link.readable();
        loop {
            let Some(link) = self.branches[index].link.as_mut() else { return };
            match link.next::<Up>() {
                Ok(None) => break,
                Ok(Some(news)) => self.pass_up(index, news),
                Err(why) => return self.lose(index, why),
            }
        }
        if !open {
            match self.branches[index].over {
                true => self.branches[index].link = None,
                false => {
                    let why = self.branches[index].why_it_ended();
                    self.lose(index, why);
                }
            }
        }
    }

    /// News of an agent, which may only speak for its own hosts.
    fn pass_up(&mut self, index: usize, news: Up) {
        let branch = &mut self.branches[index];
        let (plan, nodes) = (self.plan, &branch.nodes);
        let known = |rank: usize| plan.node_of.get(rank).is_some_and(|node| nodes.contains(node));
        if !news.ranks().into_iter().all(known) || !news.nodes().all(|node| nodes.contains(&node)) {
            return self.lose(index, "it speaks for ranks of other hosts".to_string());
        }
        match news {
            Up::Alive => {}
            Up::Done => branch.over = true,
            Up::Fence(keys) => {
                if let Some(Event::Fence(keys)) = self.server.arrives(index, keys) {
                    self.news.push_back(Up::Fence(keys));
                }
            }
            Up::Arrived(arrived) if arrived.node == nodes.start => {
                branch.arrived = true;
                self.news.push_back(Up::Arrived(arrived));
                self.notice(Source::BranchWords(index));
            }
            other => self.news.push_back(other),
        }
    }

    /// A host, and those below it, are out of reach.
    fn lose(&mut self, index: usize, why: String) {
        let branch = &mut self.branches[index];
        if branch.over {
            return;
        }
        branch.cut();
        let (first, end, arrived) = (branch.nodes.start, branch.nodes.end, branch.arrived);
        self.news.push_back(Up::Lost { first, end, arrived, why });
    }

    /// When something is to be done without news: where there are further hosts, or ranks want to leave.
    pub(crate) fn next_beat(&self) -> Option<Instant> {
        let beat = (!self.branches.is_empty()).then_some(self.beat.next);
        beat.into_iter().chain(self.leave_by).min()
    }

    /// Tells the agents that somebody is there, and looks which of them are not. To be called when
    /// what they have said has been read.
    pub(crate) fn keep_in_touch(&mut self) {
        if self.leave_by.is_some_and(|time| Instant::now() >= time) {
            self.let_leave();
        }
        if self.branches.is_empty() {
            return;
        }
        let Some(late) = self.beat.due() else { return };
        self.pass_on(&Down::Alive.encode());
        for index in 0..self.branches.len() {
            self.branches[index].excuse(late);
            if let Some(why) = self.branches[index].too_silent() {
                self.lose(index, why);
            }
        }
    }

    /// Whether the agents have cleared away everything, or are lost.
    pub(crate) fn is_alone(&self) -> bool {
        self.branches.iter().all(|branch| branch.over)
    }

    /// Tells where ranks fell, if any did; they have all ended.
    pub(crate) fn tell_who_fell(&mut self) {
        self.news.extend(self.told.name().into_iter().map(Up::Fell));
    }

    /// Takes what is still in the ranks' pipes and closes them.
    pub(crate) fn drain(&mut self) {
        self.outlets.drain(&self.epoll, &mut self.news);
    }
}
