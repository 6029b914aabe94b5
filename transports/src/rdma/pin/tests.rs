//! The cache by counts, over addresses that are mere numbers, and with its memory monitor, over memory.

use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::device::Device;
use super::*;
use crate::sys::memory::PAGE;
use crate::sys::wait;

/// The variable that says that a test has a process of its own.
const ALONE: &str = "PIN_TEST_ALONE";

pub(super) const AUTO: PinSettings =
    PinSettings { cache: PinCachePreference::Auto, regions: 0, bytes: 0 };
const OFF: PinSettings = PinSettings { cache: PinCachePreference::Off, ..AUTO };

/// Runs a test in a process of its own, as an ordinary user if wished and possible; whether this is that process,
/// which then does the test's work.
pub(super) fn is_alone(test: &str, as_nobody: bool) -> bool {
    // SAFETY: numbers.
    let is_root = unsafe { libc::getuid() } == 0;
    if let Some(who) = std::env::var_os(ALONE) {
        assert!(who == "anybody" || !is_root, "an ordinary user was wanted");
        return true;
    }
    let who = if as_nobody { "nobody" } else { "anybody" };
    let mut command = Command::new("/proc/self/exe");
    let name = test.split_once("::").expect("a path of this crate").1;
    command.args(["--exact", name, "--nocapture", "--test-threads", "2"]).env(ALONE, who);
    if as_nobody && is_root {
        use std::os::unix::process::CommandExt;
        command.uid(65534).gid(65534).current_dir("/");
    }
    let mut child = command.stdin(Stdio::null()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() > end => child.kill().unwrap(),
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    assert!(status.success(), "{test} in a process of its own: {status}");
    false
}

/// Anonymous memory.
pub(super) fn map(len: usize, flags: i32) -> usize {
    let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, flags | libc::MAP_ANONYMOUS);
    // SAFETY: new memory.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), len, prot, flags, -1, 0) };
    assert_ne!(at, libc::MAP_FAILED);
    at.addr()
}

/// Ends what `map` gave, which nobody uses any more.
pub(super) fn unmap(at: usize, len: usize) {
    // SAFETY: by the caller's promise.
    assert_eq!(unsafe { libc::munmap(at as *mut libc::c_void, len) }, 0);
}

fn pin(cache: &mut PinCache<Device>, device: &mut Device, at: usize, len: usize) -> Pin<u32> {
    // SAFETY: the device only looks.
    unsafe { cache.pin(device, at as *const u8, len, Access::Write) }.unwrap()
}

/// A transfer; the region that it went through.
fn use_once(cache: &mut PinCache<Device>, device: &mut Device, at: usize, len: usize) -> u32 {
    let pin = pin(cache, device, at, len);
    let region = pin.region();
    assert_eq!(device.transfer(region, at..at + len, Access::Write), 0);
    cache.unpin(device, pin);
    region
}

/// Tests whose caches have a memory monitor take turns, since a mapping can be watched by one.
pub(super) static WATCHING: Mutex<()> = Mutex::new(());

/// A device that does not look at memory, and a cache with a memory monitor of it.
fn watched() -> (Device, PinCache<Device>) {
    let device = Device { looks: false, ..Device::new() };
    let cache = PinCache::new(AUTO, &device);
    assert!(cache.tell().contains("userfaultfd)"), "{}", cache.tell());
    (device, cache)
}

#[test]
fn what_is_unpinned_for_good_is_not_found_again_and_goes_with_its_last_user() {
    let (mut device, at) = (Device::of_numbers(), 0x10_0000);
    let mut cache = PinCache::new(AUTO, &device);
    let [first, second] = [0, 0].map(|_| pin(&mut cache, &mut device, at, 4096));
    let old = first.region();
    cache.unpin_for_good(&mut device, first);
    assert!(device.live.contains_key(&old), "it has another user");
    let third = pin(&mut cache, &mut device, at, 4096);
    assert_ne!(third.region(), old);
    cache.unpin_for_good(&mut device, second);
    assert!(!device.live.contains_key(&old));
    cache.unpin(&mut device, third);
    assert_eq!(device.live.len(), 1, "the new one is kept");
}

#[test]
fn n_transfers_of_two_buffers_register_twice_with_the_cache_and_2n_times_without() {
    const N: u64 = 100;
    for (settings, registrations, deregistrations) in [(AUTO, 2, 0), (OFF, 2 * N, 2 * N)] {
        let mut device = Device::of_numbers();
        let mut cache = PinCache::new(settings, &device);
        for _ in 0..N {
            let _ = use_once(&mut cache, &mut device, 0x10_0000, 64 << 10);
            let _ = use_once(&mut cache, &mut device, 0x90_0000, 64 << 10);
        }
        let counters = cache.counters();
        assert_eq!(counters.registrations, registrations);
        assert_eq!(counters.deregistrations, deregistrations);
        assert_eq!(counters.hits, 2 * N - registrations);
        let is_kept = settings == AUTO;
        assert_eq!(cache.tell().contains("stays registered"), is_kept);
        assert_eq!(cache.tell().contains("FERRITE_RDMA_PIN_CACHE"), !is_kept);
        cache.end(&mut device);
        assert!(device.live.is_empty());
    }
}

#[test]
fn a_range_from_the_third_page_of_a_registered_region_is_registered_already() {
    let mut device = Device::of_numbers();
    let mut cache = PinCache::new(AUTO, &device);
    let whole = use_once(&mut cache, &mut device, 0x10_0000, 8 * PAGE);
    let part = use_once(&mut cache, &mut device, 0x10_0000 + 2 * PAGE, 3 * PAGE);
    assert_eq!(whole, part);
    let counters = cache.counters();
    assert_eq!((counters.registrations, counters.hits, counters.sub_range_hits), (1, 1, 1));
}

#[test]
fn pieces_of_an_array_grow_together_at_a_price_of_three_pieces_each() {
    let mut device = Device::of_numbers();
    let mut cache = PinCache::new(AUTO, &device);
    for piece in 0..256 {
        let region = use_once(&mut cache, &mut device, 0x10_0000 + piece * 4 * PAGE, 4 * PAGE);
        assert!(device.live[&region].range.len() <= 3 * 4 * PAGE);
    }
    for piece in 0..32 {
        let _ = use_once(&mut cache, &mut device, 0x10_0000 + piece * 32 * PAGE, 32 * PAGE);
    }
    let _ = use_once(&mut cache, &mut device, 0x10_0000, 1024 * PAGE);
    assert_eq!(device.live.len(), 1);
}

#[test]
fn the_range_that_was_not_used_for_the_longest_time_makes_room() {
    let mut device = Device { bytes_max: 3 * PAGE, ..Device::of_numbers() };
    let mut cache = PinCache::new(AUTO, &device);
    let place = |number: usize| 0x10_0000 * (number + 1);
    for number in [0, 1, 2, 0, 3] {
        let _ = use_once(&mut cache, &mut device, place(number), PAGE);
    }
    assert_eq!(cache.counters().evictions, 1);
    let _ = use_once(&mut cache, &mut device, place(0), PAGE);
    assert_eq!(cache.counters().registrations, 4);
    let _ = use_once(&mut cache, &mut device, place(1), PAGE);
    assert_eq!(cache.counters().registrations, 5);
    assert!(cache.give_up_oldest(&mut device) && device.live.len() == 2);
}

#[test]
fn who_finds_no_room_hears_whether_there_will_be_some() {
    let limited = PinSettings { bytes: 4 * PAGE, ..AUTO };
    for (settings, bytes_max) in [(AUTO, 4 * PAGE), (limited, usize::MAX)] {
        let mut device = Device { bytes_max, ..Device::of_numbers() };
        let mut cache = PinCache::new(settings, &device);
        let held = pin(&mut cache, &mut device, 0x10_0000, 2 * PAGE);
        let ask = |cache: &mut PinCache<Device>, device: &mut Device, pages: usize| {
            // SAFETY: the device never looks.
            unsafe { cache.pin(device, 0x90_0000 as *const u8, pages * PAGE, Access::Read) }
        };
        let refused = ask(&mut cache, &mut device, 3).unwrap_err();
        assert!(matches!(&refused, Refusal::Limit(text) if text.contains("ulimit -l")));
        cache.unpin(&mut device, held);
        let now = ask(&mut cache, &mut device, 3).unwrap();
        cache.unpin(&mut device, now);
        let refused = ask(&mut cache, &mut device, 5).unwrap_err();
        assert!(matches!(&refused, Refusal::Never(text) if text.contains("ulimit -l")));
        assert_eq!(cache.counters().refusals, 2);
    }
}

#[test]
fn memory_in_use_that_goes_away_is_found_no_more_and_deregistered_after_its_last_use() {
    let _turn = WATCHING.lock();
    let (mut device, mut cache) = watched();
    let at = map(8 * PAGE, libc::MAP_PRIVATE);
    let first = pin(&mut cache, &mut device, at, 8 * PAGE);
    let second = pin(&mut cache, &mut device, at, 2 * PAGE);
    assert_eq!(first.region(), second.region());
    unmap(at + 4 * PAGE, 4 * PAGE);
    let third = pin(&mut cache, &mut device, at, PAGE);
    assert_ne!(first.region(), third.region());
    assert_eq!(cache.counters().invalidations, 1);
    let region = first.region();
    cache.unpin(&mut device, first);
    assert!(device.live.contains_key(&region));
    cache.unpin(&mut device, second);
    assert!(!device.live.contains_key(&region));
    cache.unpin(&mut device, third);
    unmap(at, 4 * PAGE);
}

#[test]
fn shared_memory_is_registered_for_each_transfer_and_static_arrays_are_kept() {
    static mut ARRAY: [u8; 16 * PAGE] = [0; 16 * PAGE];
    let _turn = WATCHING.lock();
    let (mut device, mut cache) = watched();
    let at = map(2 * PAGE, libc::MAP_SHARED);
    for uses in 1..4 {
        let _ = use_once(&mut cache, &mut device, at, 2 * PAGE);
        assert_eq!((cache.counters().uncached, device.live.len()), (uses, 0));
    }
    unmap(at, 2 * PAGE);
    for _ in 0..3 {
        let _ = use_once(&mut cache, &mut device, (&raw mut ARRAY).addr(), 16 * PAGE);
    }
    assert_eq!((cache.counters().hits, device.live.len()), (2, 1));
}

#[test]
fn nobody_waits_who_touches_pages_that_are_not_there() {
    if !is_alone(
        concat!(module_path!(), "::nobody_waits_who_touches_pages_that_are_not_there"),
        true,
    ) {
        return;
    }
    let _turn = WATCHING.lock();
    let (mut device, mut cache) = watched();
    const PAGES: usize = 1024;
    let at = map(PAGES * PAGE, libc::MAP_PRIVATE);
    let _ = use_once(&mut cache, &mut device, at, PAGES * PAGE);
    let _ = use_once(&mut cache, &mut device, at, PAGES * PAGE);
    assert_eq!(cache.counters().hits, 1, "it is watched");
    let (done, all) = mpsc::channel();
    let toucher = std::thread::spawn(move || {
        for page in 0..PAGES / 2 {
            // SAFETY: mapped above, for this thread alone.
            unsafe { ((at + page * PAGE) as *mut u8).write_volatile(7) };
        }
        let zeros = std::fs::File::open("/dev/zero").unwrap();
        let rest = (at + PAGES / 2 * PAGE) as *mut libc::c_void;
        // SAFETY: the other half of the same memory.
        let read = unsafe { libc::read(zeros.as_raw_fd(), rest, PAGES / 2 * PAGE) };
        done.send(read).unwrap();
    });
    let read = all.recv_timeout(Duration::from_secs(20)).expect("nobody waits for a page");
    assert_eq!(read, (PAGES / 2 * PAGE) as isize);
    toucher.join().unwrap();
    unmap(at, PAGES * PAGE);
}

#[test]
fn a_program_can_go_on_moving_and_growing_what_is_watched_in_part() {
    let _turn = WATCHING.lock();
    let (mut device, mut cache) = watched();
    let at = map(16 * PAGE, libc::MAP_PRIVATE);
    let _ = use_once(&mut cache, &mut device, at + 4 * PAGE, 4 * PAGE);
    // SAFETY: nobody uses it.
    let new = unsafe {
        let old = at as *mut libc::c_void;
        libc::mremap(old, 16 * PAGE, 64 * PAGE, libc::MREMAP_MAYMOVE)
    };
    assert_ne!(new, libc::MAP_FAILED);
    let _ = use_once(&mut cache, &mut device, new.addr() + 4 * PAGE, 4 * PAGE);
    unmap(new.addr(), 64 * PAGE);
}

/// Threads of this process that read userfaultfd.
fn readers() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")));
    names.filter(|name| name.as_deref().is_ok_and(|name| name == "ferrite-memory\n")).count()
}

/// Forks; the child does this and ends well, or ends badly.
fn forked(child: impl FnOnce()) -> i32 {
    // SAFETY: the child runs on with a copy of this thread, whose memory is whole.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
        // SAFETY: it ends here, without what the test harness would do at an exit.
        unsafe { libc::_exit(i32::from(done.is_err())) };
    }
    pid
}

fn await_child(pid: i32) {
    let mut status = 0;
    // SAFETY: a child of ours, and a number.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert_eq!(status, 0);
}

#[test]
fn children_neither_hang_nor_disturb_and_after_the_end_nobody_waits_for_a_reader() {
    let name = "::children_neither_hang_nor_disturb_and_after_the_end_nobody_waits_for_a_reader";
    if !is_alone(&[module_path!(), name].concat(), false) {
        return;
    }
    let _turn = WATCHING.lock();
    let (mut device, mut cache) = watched();
    assert_eq!(readers(), 0);
    let mut at = map(64 * PAGE, libc::MAP_PRIVATE);
    let region = use_once(&mut cache, &mut device, at, 64 * PAGE);
    assert_eq!(readers(), 1);
    // Watched memory that grows where it is, or moves, stays watched by the kernel's own.
    // SAFETY: nobody uses it.
    at = unsafe {
        let old = at as *mut libc::c_void;
        libc::mremap(old, 64 * PAGE, 256 * PAGE, libc::MREMAP_MAYMOVE).addr()
    };
    let again = use_once(&mut cache, &mut device, at, 64 * PAGE);
    let mut memory = Some((device, cache));
    await_child(forked(|| {
        let (mut device, mut cache) = memory.take().unwrap();
        let _ = use_once(&mut cache, &mut device, at, PAGE);
        unmap(at, 64 * PAGE);
        cache.end(&mut device);
    }));
    let (mut device, mut cache) = memory.take().unwrap();
    let now = use_once(&mut cache, &mut device, at, 64 * PAGE);
    assert!(now == again || again == region, "a child's unmapping is its own affair");
    // A child that runs on and has the descriptor.
    let (theirs, ours) = std::os::unix::net::UnixStream::pair().unwrap();
    let child = forked(|| {
        drop(ours.try_clone());
        let fds = [Some(std::os::fd::AsFd::as_fd(&theirs))];
        while !wait::until_readable(fds, Duration::from_secs(60)).unwrap() {}
    });
    cache.end(&mut device);
    drop(cache);
    assert_eq!(readers(), 0);
    unmap(at, 256 * PAGE);
    std::io::Write::write_all(&mut &ours, b"x").unwrap();
    await_child(child);
}

#[test]
fn a_program_that_closes_the_descriptor_gets_registrations_for_each_transfer() {
    let name = "::a_program_that_closes_the_descriptor_gets_registrations_for_each_transfer";
    if !is_alone(&[module_path!(), name].concat(), false) {
        return;
    }
    let _turn = WATCHING.lock();
    let (mut device, mut cache) = watched();
    let at = map(4 * PAGE, libc::MAP_PRIVATE);
    let _ = use_once(&mut cache, &mut device, at, 4 * PAGE);
    for entry in std::fs::read_dir("/proc/self/fd").unwrap().flatten() {
        let target = std::fs::read_link(entry.path()).unwrap_or_default();
        if target.to_string_lossy().contains("userfaultfd") {
            let fd = entry.file_name().to_string_lossy().parse().unwrap();
            // SAFETY: what a careless program does; nothing is opened meanwhile that gets its number.
            unsafe { libc::close(fd) };
        }
    }
    unmap(at + PAGE, PAGE);
    let _ = use_once(&mut cache, &mut device, at, PAGE);
    assert!(device.live.is_empty() && cache.counters().uncached == 1);
    assert!(cache.tell().contains("closed"), "{}", cache.tell());
    assert_eq!(readers(), 0);
}

/// Without a memory monitor, and in memory that others share. Two own ranges share a page.
#[test]
fn memory_of_the_library_stays_registered_until_it_is_taken_back() {
    let (mut device, mut cache) = (Device::new(), PinCache::new(AUTO, &Device::new()));
    cache.keeper = Keeper::Nobody("a test".to_owned());
    let at = map(6 * PAGE, libc::MAP_SHARED);
    let [first, second] = [at..at + 2 * PAGE + 64, at + 2 * PAGE + 64..at + 5 * PAGE];
    let use_of = |cache: &mut PinCache<Device>, device: &mut Device, range: &Range<usize>| {
        let _ = use_once(cache, device, range.start, range.len());
        cache.counters().registrations
    };
    assert_eq!([0; 2].map(|_| use_of(&mut cache, &mut device, &first)), [1, 2]);
    cache.own(first.clone());
    cache.own(second.clone());
    assert_eq!([0; 3].map(|_| use_of(&mut cache, &mut device, &first)), [3; 3]);
    assert_eq!([0; 3].map(|_| use_of(&mut cache, &mut device, &second)), [4; 3]);
    assert_eq!(use_of(&mut cache, &mut device, &(at + 5 * PAGE..at + 6 * PAGE)), 5, "nobody's");
    cache.disown(&mut device, first.start);
    assert_eq!(device.live.len(), 1);
    assert_eq!([0; 2].map(|_| use_of(&mut cache, &mut device, &second)), [5; 2]);
    assert_eq!([0; 2].map(|_| use_of(&mut cache, &mut device, &first)), [6, 7]);
    cache.end(&mut device);
    let after = [0; 2].map(|_| use_of(&mut cache, &mut device, &second));
    assert_eq!(after, [8, 9], "it has ended");
    unmap(at, 6 * PAGE);
    let mut off = PinCache::new(OFF, &device);
    off.own(second.clone());
    let at = map(PAGE, libc::MAP_SHARED);
    off.own(at..at + PAGE);
    assert_eq!([0; 2].map(|_| use_of(&mut off, &mut device, &(at..at + PAGE))), [1, 2]);
    unmap(at, PAGE);
    assert!(device.live.is_empty());
}

/// Lets the kernel refuse userfaultfd(2) to this process, as containers do.
fn forbid_userfault() {
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let equal = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let answer = (libc::BPF_RET | libc::BPF_K) as u16;
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let line = |code, jt, k| libc::sock_filter { code, jt, jf: u8::from(jt > 0), k };
    let mut lines = [
        line(load, 0, 0),
        libc::sock_filter { code: equal, jt: 0, jf: 1, k: libc::SYS_userfaultfd as u32 },
        line(answer, 0, refuse),
        line(answer, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: lines.len() as u16, filter: lines.as_mut_ptr() };
    // SAFETY: integers, and a program that is ours for the call.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program), 0);
    }
}

#[test]
fn where_userfaultfd_is_forbidden_nothing_is_kept_and_the_cure_is_named() {
    let name = "::where_userfaultfd_is_forbidden_nothing_is_kept_and_the_cure_is_named";
    if !is_alone(&[module_path!(), name].concat(), false) {
        return;
    }
    forbid_userfault();
    let mut device = Device::new();
    let mut cache = PinCache::new(AUTO, &device);
    assert!(cache.tell().contains("seccomp"), "{}", cache.tell());
    let at = map(4 * PAGE, libc::MAP_PRIVATE);
    for uses in 1..4 {
        let _ = use_once(&mut cache, &mut device, at, 4 * PAGE);
        let counters = cache.counters();
        assert_eq!((counters.registrations, counters.deregistrations), (uses, uses));
    }
    unmap(at, 4 * PAGE);
}
