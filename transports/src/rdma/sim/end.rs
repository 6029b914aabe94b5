//! One process's end of the simulated fabric.

use std::cell::{RefCell, RefMut};
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::time::Duration;

use mpi_core::port::{OfferKind, PeerId, ProcessName};

use super::{Deed, Event, Key, LATE, Link, Op, Region, World};
use crate::rdma::fabric::{
    Abilities, Access, Completion, Fabric, Local, Memory, NoRoom, Refusal, Remote, Target, Work,
};
use crate::tcp::Secret;

/// A poll takes so long, and one that finds nothing some more.
const POLL: u64 = 100;
const IDLE: u64 = 400;
/// Completions that one poll shows at most.
const NEWS_MAX: usize = 16;
const PAGE: u64 = 4096;

/// An end, which closes when it is dropped.
pub(in super::super) struct End {
    world: Rc<RefCell<World>>,
    own: usize,
}

impl End {
    pub(super) fn new(world: &Rc<RefCell<World>>, own: usize) -> End {
        End { world: Rc::clone(world), own }
    }

    fn world(&self) -> RefMut<'_, World> {
        self.world.borrow_mut()
    }

    fn push(
        &mut self,
        peer: PeerId,
        rail: usize,
        deed: Deed,
        local: Local<Key>,
        work: Option<Work>,
    ) -> Result<(), NoRoom> {
        let own = self.own;
        let mut world = self.world();
        let to = *world.sides[own].peers.get(&peer).ok_or(NoRoom)?;
        if world.sides[own].up.get(&to) != Some(&Link::Up) {
            return Err(NoRoom);
        }
        let weather = world.weather;
        assert!(rail < weather.abilities.rails && local.len <= weather.abilities.message_bytes_max);
        let (now, delay) = (world.now, weather.delay);
        let delay = world.random(delay);
        let copies = matches!(deed, Deed::Send | Deed::Write(..))
            && local.len <= weather.abilities.inline_bytes;
        assert!(copies || world.is_local(own, &local), "work on memory that is not registered");
        // SAFETY: readable during the call.
        let inline = copies.then(|| unsafe {
            let mut bytes = vec![0; local.len];
            local.address.copy_to_nonoverlapping(bytes.as_mut_ptr(), local.len);
            bytes
        });
        let overtakes = !weather.abilities.message_after_writes && world.random((0, 1)) == 1;
        let line = world.rails.entry((own, to, rail)).or_default();
        if line.open >= weather.depth {
            return Err(NoRoom);
        }
        line.free_at = line.free_at.max(now) + local.len as u64 * 1_000 / weather.bytes_per_us;
        let at = (line.free_at + delay).max(line.last_at);
        line.last_at = at;
        line.open += 1;
        let is_first = line.ops.is_empty();
        line.ops.push_back(Op { deed, local, inline, work, at, moved: 0 });
        if overtakes {
            line.pass_a_write();
        }
        if is_first {
            world.at(at, Event::Step(own, to, rail));
        }
        let counts = &mut world.sides[own].counts;
        match deed {
            Deed::Send => counts.messages += 1,
            Deed::Write(..) => counts.writes += 1,
            Deed::Read(_) => counts.reads += 1,
            Deed::Add(..) | Deed::Swap(..) => {}
        }
        Ok(())
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let own = self.own;
        if let Ok(mut world) = self.world.try_borrow_mut() {
            world.close(own, "its process has closed it");
        }
    }
}

impl Memory for End {
    type Region = Key;

    unsafe fn register(
        &mut self,
        address: *mut u8,
        len: usize,
        access: Access,
    ) -> Result<Key, Refusal> {
        let own = self.own;
        let mut world = self.world();
        let (each, page) = world.weather.register;
        if world.sides[own].regions.len() >= world.weather.regions {
            return Err(Refusal::Limit("the table of the device is full".to_owned()));
        }
        world.now += each + page * (len as u64).div_ceil(PAGE);
        let key = world.next_key;
        world.next_key += 1;
        let side = &mut world.sides[own];
        side.counts.registrations += 1;
        side.regions.insert(key, Region { address: address.addr(), len, access });
        Ok(key)
    }

    fn deregister(&mut self, region: Key) {
        let own = self.own;
        let is_dead = self.world().sides[own].is_dead;
        let gone = self.world().sides[own].regions.remove(&region);
        assert!(gone.is_some() || is_dead, "registration {region} is ended twice");
    }

    fn remote(&self, region: Key) -> Remote {
        let world = self.world();
        let base = match world.weather.has_addresses {
            true => world.sides[self.own].regions[&region].address as u64,
            false => 0,
        };
        Remote { base, key: region }
    }

    fn follows_mappings(&self) -> bool {
        self.world().weather.follows_mappings
    }
}

impl Fabric for End {
    const OFFER: OfferKind = crate::offers::SIMULATED;
    const NAME: &'static str = "a simulated fabric";

    fn abilities(&self) -> Abilities {
        self.world().weather.abilities
    }

    fn card(&self) -> String {
        format!("sim.{}.end", self.own)
    }

    fn set_secret(&mut self, _: Secret) {}

    fn add_peer(&mut self, peer: PeerId, name: &ProcessName) {
        let own = self.own;
        self.world().sides[own].peers.insert(peer, name.rank as usize);
    }

    fn meet(&mut self, peer: PeerId, card: &str) -> Result<(), String> {
        let number = card.strip_prefix("sim.").and_then(|rest| rest.strip_suffix(".end"));
        let end = number.and_then(|number| number.parse::<usize>().ok());
        let known = self.world().sides[self.own].peers.get(&peer).copied();
        match end.is_some() && end == known {
            true => Ok(()),
            false => Err(format!("{card:.40} is no card of peer {}", peer.0)),
        }
    }

    fn reach(&mut self, peer: PeerId) {
        let own = self.own;
        let mut world = self.world();
        let Some(to) = world.sides[own].peers.get(&peer).copied() else { return };
        if world.sides[to].is_dead {
            let at = world.now + world.weather.connect;
            world.sides[own].up.insert(to, Link::Broken);
            return world.at(at, Event::Down(own, to, "it does not answer".to_owned()));
        }
        if world.sides[own].up.contains_key(&to) {
            return;
        }
        world.sides[own].up.insert(to, Link::Connecting);
        let late = world.now + LATE;
        world.sides[own].late.push_back((late, peer));
        if world.blocked.contains(&(own.min(to), own.max(to))) {
            return;
        }
        world.sides[to].up.insert(own, Link::Connecting);
        let at = world.now + world.weather.connect;
        world.at(at, Event::Up(own, to));
    }

    fn is_up(&self, peer: PeerId) -> bool {
        let world = self.world();
        let side = &world.sides[self.own];
        side.peers.get(&peer).is_some_and(|to| side.up.get(to) == Some(&Link::Up))
    }

    fn cut(&mut self, peer: PeerId) {
        let own = self.own;
        let mut world = self.world();
        let Some(to) = world.sides[own].peers.get(&peer).copied() else { return };
        let was = world.sides[own].up.insert(to, Link::Broken);
        let hears = !world.blocked.contains(&(own.min(to), own.max(to)));
        if hears && was.is_some_and(|was| was != Link::Broken) {
            world.sever(own, to, "it has ended it");
            world.hush(own, peer);
        }
    }

    fn late(&mut self) -> Option<PeerId> {
        let own = self.own;
        let mut world = self.world();
        let now = world.now;
        let (_, peer) = world.sides[own].late.pop_front_if(|(at, _)| *at <= now)?;
        let to = world.sides[own].peers.get(&peer)?;
        (world.sides[own].up.get(to) == Some(&Link::Connecting)).then_some(peer)
    }

    unsafe fn post(&mut self, buffer: Local<Key>, work: Work) -> Result<(), NoRoom> {
        let own = self.own;
        let mut world = self.world();
        if world.sides[own].posted.len() >= world.weather.posts {
            return Err(NoRoom);
        }
        assert!(world.is_local(own, &buffer), "a buffer that is not registered is posted");
        world.sides[own].posted.push_back((buffer, work));
        Ok(())
    }

    unsafe fn send(
        &mut self,
        peer: PeerId,
        message: Local<Key>,
        work: Option<Work>,
    ) -> Result<(), NoRoom> {
        self.push(peer, 0, Deed::Send, message, work)
    }

    unsafe fn write(
        &mut self,
        peer: PeerId,
        rail: usize,
        from: Local<Key>,
        to: Target,
        immediate: Option<u32>,
        work: Option<Work>,
    ) -> Result<(), NoRoom> {
        self.push(peer, rail, Deed::Write(to, immediate), from, work)
    }

    unsafe fn read(
        &mut self,
        peer: PeerId,
        rail: usize,
        into: Local<Key>,
        from: Target,
        work: Work,
    ) -> Result<(), NoRoom> {
        self.push(peer, rail, Deed::Read(from), into, Some(work))
    }

    unsafe fn fetch_add(
        &mut self,
        peer: PeerId,
        into: Local<Key>,
        at: Target,
        add: u64,
        work: Work,
    ) -> Result<(), NoRoom> {
        self.push(peer, 0, Deed::Add(at, add), into, Some(work))
    }

    unsafe fn compare_swap(
        &mut self,
        peer: PeerId,
        into: Local<Key>,
        at: Target,
        expected: u64,
        new: u64,
        work: Work,
    ) -> Result<(), NoRoom> {
        self.push(peer, 0, Deed::Swap(at, expected, new), into, Some(work))
    }

    fn poll(&mut self, news: &mut Vec<Completion>) {
        let own = self.own;
        let mut world = self.world();
        world.pass(POLL);
        if world.sides[own].is_dead {
            return world.pass(IDLE);
        }
        let now = world.now;
        for _ in 0..NEWS_MAX {
            let Some((_, completion)) = world.sides[own].news.pop_front_if(|(at, _)| *at <= now)
            else {
                break;
            };
            news.push(completion);
        }
        news.extend(world.sides[own].further.pop_front());
        if news.is_empty() {
            world.pass(IDLE);
        }
    }

    fn arm(&mut self) -> bool {
        let side = &self.world().sides[self.own];
        side.news.is_empty() && side.further.is_empty()
    }

    fn news(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn put_off(&self) -> Option<Duration> {
        None
    }
}
