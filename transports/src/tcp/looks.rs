//! Where the next poll looks: streams that were busy lately are read at every poll, and the epoll set, which knows of
//! all others, is asked once in several.

use super::StreamId;

/// So many streams are read without asking the epoll set first.
const HOT_READ: usize = 2;
/// So many are remembered as busy; with more than [`HOT_READ`] the epoll set is asked each time.
const HOT_MAX: usize = 8;
/// A stream on which nothing came for so many polls is not busy any more.
const HOT_POLLS: u32 = 4096;
/// Polls from one look at the epoll set to the next: while some stream is busy, and at most. Polls
/// may take any time; whoever polls bounds that ([`Looks::at_once`]).
const GAP_HOT: u32 = 32;
const GAP_MAX: u32 = 64;
/// The same while there is no connection, not even one that is being made.
const GAP_ALONE: u32 = 1024;

/// A stream that is read at every poll, and how many polls in a row found nothing on it.
struct Hot {
    id: StreamId,
    idle: u32,
}

/// Where and when.
pub(super) struct Looks {
    hot: Vec<Hot>,
    /// Polls until the epoll set is looked at, and from one such look to the next.
    until: u32,
    gap: u32,
}

impl Looks {
    /// The next poll asks the set.
    pub(super) fn new() -> Looks {
        Looks { hot: Vec::new(), until: 1, gap: 1 }
    }

    /// The busy stream at this place of the list, and whether it is read before the set is asked.
    #[inline]
    pub(super) fn hot(&self, at: usize) -> Option<(StreamId, bool)> {
        self.hot.get(at).map(|one| (one.id, self.hot.len() <= HOT_READ))
    }

    /// The stream at a place of the list was looked at, with or without success; the place of the next.
    #[inline]
    pub(super) fn step(&mut self, at: usize, id: StreamId, found: bool) -> usize {
        match self.hot.get_mut(at) {
            Some(one) if one.id == id => {
                one.idle = if found { 0 } else { one.idle + 1 };
                if one.idle <= HOT_POLLS {
                    return at + 1;
                }
                self.hot.swap_remove(at);
            }
            // It has ended and is no longer in the list.
            _ => {}
        }
        at
    }

    /// Something came on a stream that is open.
    pub(super) fn warm_up(&mut self, id: StreamId) {
        if let Some(one) = self.hot.iter_mut().find(|one| one.id == id) {
            one.idle = 0;
        } else if self.hot.len() < HOT_MAX {
            self.hot.push(Hot { id, idle: 0 });
        }
    }

    /// A stream has no connection any more.
    pub(super) fn forget(&mut self, id: StreamId) {
        self.hot.retain(|one| one.id != id);
    }

    /// A poll goes by; whether it is to ask the set.
    #[inline]
    pub(super) fn is_due(&mut self) -> bool {
        self.until -= 1;
        self.until == 0 || self.hot.len() > HOT_READ
    }

    /// The set was asked: it had news or not, in a process with so many connections.
    pub(super) fn note(&mut self, news: bool, connections: usize) {
        self.gap = match (news, connections) {
            (true, _) => 1,
            (false, 0) => GAP_ALONE,
            (false, _) => (self.gap * 2).min(GAP_MAX),
        };
        self.until = if self.hot.is_empty() { self.gap } else { self.gap.max(GAP_HOT) };
    }

    /// The next poll looks at every socket, and no stream counts as busy any more.
    pub(super) fn around(&mut self) {
        self.hot.clear();
        self.soon();
    }

    /// The next poll looks at every socket; how many come before the one after that stays.
    pub(super) fn at_once(&mut self) {
        self.until = 1;
    }

    /// The next polls look at every socket, at first all of them.
    pub(super) fn soon(&mut self) {
        (self.until, self.gap) = (1, 1);
    }
}
