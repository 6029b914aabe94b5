//! How processes are spread over last-level caches and sockets: what [`cost`](super::cost) knows of them.
//!
//! Enters: the socket and the cache of each. Leaves: the most of each kind, and the groups of a tree.

/// How the processes of a communicator are spread over a node, the most of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spread {
    /// All processes.
    pub ranks: usize,
    /// Those of a last-level cache.
    pub of_cache: usize,
    /// Caches of a socket.
    pub caches: usize,
    /// Sockets.
    pub sockets: usize,
}

impl Spread {
    /// So many processes of one cache.
    pub fn near(ranks: usize) -> Spread {
        Spread { ranks, of_cache: ranks, caches: 1, sockets: 1 }
    }

    /// From the socket and the cache of each rank.
    pub fn of(places: &[[u32; 2]]) -> Spread {
        let mut sorted = places.to_vec();
        sorted.sort_unstable();
        let most = |sorted: &[[u32; 2]], key: fn(&[u32; 2]) -> [u32; 2]| {
            let runs = sorted.chunk_by(|one, other| key(one) == key(other));
            runs.map(<[_]>::len).max().unwrap_or(1)
        };
        let of_cache = most(&sorted, |place| *place);
        sorted.dedup();
        let caches = most(&sorted, |place| [place[0], 0]);
        sorted.dedup_by_key(|place| place[0]);
        Spread { ranks: places.len(), of_cache, caches, sockets: sorted.len() }
    }

    /// The groups of a tree and their leaders: by caches, or by sockets where each process has a cache for itself.
    pub fn split(self) -> Option<[Spread; 2]> {
        let Spread { ranks, of_cache, caches, sockets } = self;
        let [near, leaders] = match self {
            _ if of_cache > 1 => [
                Spread::near(of_cache),
                Spread {
                    ranks: ranks.div_ceil(of_cache).max(caches),
                    of_cache: 1,
                    caches,
                    sockets,
                },
            ],
            _ => [
                Spread { ranks: caches, of_cache: 1, caches, sockets: 1 },
                Spread { ranks: sockets, of_cache: 1, caches: 1, sockets },
            ],
        };
        (near.ranks > 1 && leaders.ranks > 1).then_some([near, leaders])
    }

    /// How many others one has at each distance.
    pub(crate) fn others(self) -> [f64; 3] {
        let near = self.of_cache - 1;
        let beyond =
            if self.sockets > 1 { self.ranks - self.ranks.div_ceil(self.sockets) } else { 0 };
        [near, (self.ranks - 1).saturating_sub(near + beyond), beyond].map(|count| count as f64)
    }
}
