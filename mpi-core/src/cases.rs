//! On how many random inputs a property is tried that needs another number than most: under miri,
//! which takes thousands of times as long, on two.

use proptest::test_runner::Config;

/// Enters: the number where the processor runs the test. Leaves: what `proptest_config` takes.
pub(crate) fn cases(usual: u32) -> Config {
    Config::with_cases(if cfg!(miri) { 2 } else { usual })
}
