//! The cache beside a naive model of it, over addresses that are mere numbers.

use std::ops::Range;

use proptest::prelude::*;

use super::device::Device;
use super::*;
use crate::sys::memory::PAGE;

#[derive(Clone, Debug)]
enum Step {
    Pin { page: usize, pages: usize, access: Access },
    Unpin(usize),
    Vanish { page: usize, pages: usize },
    GiveUp,
    Mood(u32),
}

fn access() -> impl Strategy<Value = Access> {
    prop_oneof![Just(Access::Local), Just(Access::Read), Just(Access::Write), Just(Access::All)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..60usize, 1..12usize, access())
            .prop_map(|(page, pages, access)| Step::Pin { page, pages, access }),
        6 => any::<usize>().prop_map(Step::Unpin),
        2 => (0..60usize, 1..6usize).prop_map(|(page, pages)| Step::Vanish { page, pages }),
        1 => Just(Step::GiveUp),
        1 => (1..3u32).prop_map(Step::Mood),
    ]
}

struct World {
    device: Device,
    cache: PinCache<Device>,
    pins: Vec<(Pin<u32>, Range<usize>, Access)>,
    /// Regions of which a part has vanished.
    vanished: Vec<u32>,
}

fn addresses(page: usize, pages: usize) -> Range<usize> {
    (page + 1) * PAGE..(page + 1 + pages) * PAGE
}

impl World {
    /// A region that holds the range and may be found: the naive way, by looking at all.
    fn held(&self, range: &Range<usize>, access: Access) -> bool {
        self.device.live.iter().any(|(region, own)| {
            let holds = own.range.start <= range.start && range.end <= own.range.end;
            let serves =
                own.access == access || own.access == Access::All || access == Access::Local;
            holds && serves && !self.vanished.contains(region)
        })
    }

    fn pin(&mut self, range: Range<usize>, access: Access) {
        let (held, next) = (self.held(&range, access), self.device.next);
        let hits = self.cache.counters().hits;
        let bad_mood = self.device.moods.get() > 0;
        // Not the whole pages: the first and last bytes.
        let (at, len) = (range.start + 1, range.len() - 2);
        // SAFETY: the device never looks.
        let pinned = unsafe { self.cache.pin(&mut self.device, at as *const u8, len, access) };
        match pinned {
            Ok(pin) => {
                let hit = self.cache.counters().hits > hits;
                assert_eq!(hit, pin.region() < next, "what is no hit is a new region");
                assert!(!hit || held, "only what is registered is found");
                assert!(!self.vanished.contains(&pin.region()));
                let target = pin.target(&self.device, at as *const u8);
                assert_eq!((target.address, target.key), (at as u64, pin.region().into()));
                self.pins.push((pin, range, access));
            }
            Err(Refusal::Limit(text)) => {
                assert!(text.contains("ulimit -l"), "{text}");
                assert!(!self.pins.is_empty(), "nothing would become free");
            }
            Err(Refusal::Never(text)) => assert!(bad_mood || self.pins.is_empty(), "{text}"),
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Pin { page, pages, access } => self.pin(addresses(page, pages), access),
            Step::Unpin(which) if !self.pins.is_empty() => {
                let (pin, ..) = self.pins.swap_remove(which % self.pins.len());
                self.cache.unpin(&mut self.device, pin);
            }
            Step::Unpin(_) => {}
            Step::Vanish { page, pages } => {
                let gone = addresses(page, pages);
                self.cache.forget(&mut self.device, &gone);
                let touched =
                    self.device.live.iter().filter(|(_, own)| {
                        own.range.start < gone.end && gone.start < own.range.end
                    });
                self.vanished.extend(touched.map(|(region, _)| region));
            }
            Step::GiveUp => _ = self.cache.give_up_oldest(&mut self.device),
            Step::Mood(moods) => self.device.moods.set(moods),
        }
    }

    fn check(&self, regions_max: usize, bytes_max: usize) {
        for (pin, range, access) in &self.pins {
            self.device.transfer(pin.region(), range.clone(), *access);
        }
        for region in &self.vanished {
            let is_used = self.pins.iter().any(|(pin, ..)| pin.region() == *region);
            assert!(is_used || !self.device.live.contains_key(region), "vanished and kept");
        }
        assert!(self.device.live.len() <= regions_max && self.device.bytes() <= bytes_max);
        let (regions, bytes) = self.cache.table.registered();
        assert_eq!((regions, bytes), (self.device.live.len(), self.device.bytes()));
        let counters = self.cache.counters();
        assert_eq!(counters.registrations, u64::from(self.device.next) - 1);
        assert_eq!(counters.deregistrations, u64::from(self.device.deregistrations));
    }
}

proptest! {
    #[test]
    fn the_cache_does_what_looking_at_all_regions_would(
        steps in proptest::collection::vec(step(), 1..120),
        set in (1..12usize, 8..80usize),
        device in (1..12usize, 8..80usize),
    ) {
        let cache = PinCachePreference::Auto;
        let settings = PinSettings { cache, regions: set.0, bytes: set.1 * PAGE };
        let mut world = Device::of_numbers();
        (world.regions_max, world.bytes_max) = (device.0, device.1 * PAGE);
        let cache = PinCache::new(settings, &world);
        let mut world = World { device: world, cache, pins: Vec::new(), vanished: Vec::new() };
        for step in steps {
            world.take(step);
            world.check(set.0.min(device.0), set.1.min(device.1) * PAGE);
        }
        for (pin, ..) in std::mem::take(&mut world.pins) {
            world.cache.unpin(&mut world.device, pin);
        }
        world.cache.end(&mut world.device);
        prop_assert!(world.device.live.is_empty());
    }

    /// Without limits and refusals nothing is registered that a kept region holds.
    #[test]
    fn what_is_held_is_always_found(
        steps in proptest::collection::vec(
            (0..60usize, 1..12usize, access(), any::<bool>()), 1..80),
    ) {
        let cache = PinCachePreference::Auto;
        let device = Device::of_numbers();
        let cache = PinCache::new(PinSettings { cache, regions: 0, bytes: 0 }, &device);
        let mut world = World { device, cache, pins: Vec::new(), vanished: Vec::new() };
        for (page, pages, access, stays) in steps {
            let range = addresses(page, pages);
            let held = world.held(&range, access);
            let hits = world.cache.counters().hits;
            world.pin(range, access);
            prop_assert_eq!(world.cache.counters().hits > hits, held);
            if !stays {
                world.take(Step::Unpin(world.pins.len() - 1));
            }
        }
    }
}
