//! Whether others are at work on this machine.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// How often to look at most: what runs for a moment is not there each time.
const LOOKS: usize = 4;
/// The time between two looks.
const BETWEEN: Duration = Duration::from_millis(2);

/// How many threads of others want a processor, or have one: the fewest that are there in several looks. Where the
/// kernel does not tell, nobody.
pub fn others_running() -> usize {
    let look = || running(&fs::read_to_string("/proc/loadavg").unwrap_or_default());
    let mut fewest = look();
    for _ in 1..LOOKS {
        // The first look mostly finds nobody, and costs no time.
        if fewest == 0 {
            break;
        }
        sleep(BETWEEN);
        fewest = fewest.min(look());
    }
    fewest
}

/// The running ones of the kernel's `0.20 0.18 0.12 2/80 11206`, without the reader.
fn running(loadavg: &str) -> usize {
    let field = loadavg.split_whitespace().nth(3).and_then(|field| field.split_once('/'));
    let all: usize = field.and_then(|(running, _)| running.parse().ok()).unwrap_or(0);
    all.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn the_reader_is_not_counted() {
        assert_eq!(running("0.20 0.18 0.12 3/80 11206\n"), 2);
        for text in ["0.20 0.18 0.12 1/80 11206", "0.0 0.0 0.0 0/0 0", "", "a b c d e"] {
            assert_eq!(running(text), 0, "{text}");
        }
    }

    #[test]
    fn who_works_all_the_time_is_seen() {
        let (started, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                started.store(true, Ordering::Relaxed);
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            while !started.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            let seen = others_running();
            stop.store(true, Ordering::Relaxed);
            // A sandbox's kernel may tell nothing.
            let told = fs::read_to_string("/proc/loadavg").is_ok_and(|text| !text.contains(" 0/"));
            assert!(seen > 0 || !told);
        });
    }
}
