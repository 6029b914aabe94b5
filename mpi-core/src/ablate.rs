//! Mechanisms of the node engine that can be switched off one by one, to see what each is worth.
//!
//! Only a build with `RUSTFLAGS="--cfg ablation"` looks at the switch; in any other all of them are on, and the
//! compiler removes the question. `ABLATE=turns,loans` in the environment of all ranks switches these two off.

/// What can be switched off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
#[allow(missing_docs, reason = "each is named as the module that it switches off")]
pub enum Mechanism {
    Reach,
    Ways,
    Movers,
    Strings,
    Past,
    Price,
    Alike,
    Choice,
    Pages,
    Laps,
    Joint,
    Exchange,
    Beside,
    Shown,
    Loans,
    Halves,
    Aided,
    Across,
    Chains,
    Root,
    Turns,
    Quick,
    Small,
    Listed,
    Begun,
    Standing,
    Kept,
    Alone,
}

/// Their names, in the order of their numbers.
#[cfg(ablation)]
const NAMES: &[&str] = &[
    "reach", "ways", "movers", "strings", "past", "price", "alike", "choice", "pages", "laps",
    "joint", "exchange", "beside", "shown", "loans", "halves", "aided", "across", "chains", "root",
    "turns", "quick", "small", "listed", "begun", "standing", "kept", "alone",
];

#[cfg(ablation)]
static OFF: std::sync::LazyLock<u64> = std::sync::LazyLock::new(|| {
    let names = std::env::var("ABLATE").unwrap_or_default();
    let bit = |name: &str| {
        let place = NAMES.iter().position(|known| *known == name);
        1u64 << place
            .unwrap_or_else(|| panic!("ABLATE={name}: no such mechanism; known: {NAMES:?}"))
    };
    names.split(',').filter(|name| !name.is_empty()).map(bit).sum()
});

/// Whether a mechanism is switched off.
#[inline(always)]
pub fn is_off(_mechanism: Mechanism) -> bool {
    #[cfg(ablation)]
    return *OFF >> _mechanism as u64 & 1 == 1;
    #[cfg(not(ablation))]
    false
}
