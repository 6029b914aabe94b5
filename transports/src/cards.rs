//! Business cards: the texts by which processes of a job find each other, a key for each of a
//! process's transports.
//!
//! In: a rank and a kind of card. Out: the text that the rank has published, through whoever asks
//! the launcher.
//!
//! A process publishes the cards of its networks first and the node's card last. So whoever finds
//! the node's card knows that a network whose card is not there has not been opened; where the
//! node's card is not there either, the process has not joined yet.

/// The kind of card by which processes of one node meet. Every process has one.
pub const NODE: &str = "card";

/// Characters of a card at most: a launcher keeps values of less than 256 at least, and longer ones
/// would need several keys.
pub const CARD_MAX: usize = 240;

/// Where to look up the business cards of peers.
pub trait Directory {
    /// The card of this kind of `rank`, or `None` if it has not been published.
    ///
    /// # Errors
    /// There is none and will be none; the text says why.
    fn card(&mut self, kind: &'static str, rank: u32) -> Result<Option<String>, String>;
}

/// The key under which `rank` publishes its card of a kind.
pub fn key(kind: &str, rank: u32) -> String {
    format!("ferrite-{kind}-{rank}")
}
