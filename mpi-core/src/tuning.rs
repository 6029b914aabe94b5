//! Every tuning value of the engine inside a node, once: a number that trades time or memory, its unit and reason.
//!
//! A value whose right side names another follows from that one. What a user may want to change is a setting (see
//! [`crate::settings`]), what the standard or safety demands a limit (see [`crate::limits`]).

use std::time::Duration;

use crate::room::PAGE;

// What processors have.

/// Bytes of a cache line, in which processors pass memory to each other.
pub const LINE_BYTES: usize = 64;
/// Bytes of a first-level cache: a copy in parts of so many finds each part there when it is used again.
pub const FIRST_CACHE_BYTES: usize = 32 << 10;
/// Bytes of the second-level caches of two processors, about, a writer's and a reader's: what both go round in stays.
pub const SECOND_CACHES_BYTES: usize = 2 << 20;
/// Bytes that each last-level cache holds: what one processor's second-level cache does, so that few need no look.
pub const LAST_CACHE_LEAST_BYTES: u64 = SECOND_CACHES_BYTES as u64 / 2;
/// The same at most, and where the kernel does not say: what a larger one holds it holds for many processors.
pub const LAST_CACHE_MOST_BYTES: u64 = 32 << 20;
/// Bytes of a view of memory for programs at least: what one page of the kernel's tables maps.
pub const VIEW_LEAST_BYTES: u64 = 512 * PAGE as u64;
/// Times that something is measured, of which the shortest counts: the first meets new pages, any may be interrupted.
pub const TRIALS: u32 = 4;
/// Looks at a line that is here, to learn what one takes by the clock: these are short, so there are more.
pub const LOOK_TRIALS: u32 = 2 * TRIALS;
/// Time by which a look exceeds one at a line that is here if that line comes from another last-level cache.
pub const FAR_BEYOND: Duration = Duration::from_nanos(70);
/// Looks by which one verdict on where the caches of a peer are must lead to be believed: one look in fifty errs.
pub const REACH_LEAD: i8 = 3;

// Waiting.

/// Spins before the processor is told that this is a spin: up to here latency counts most.
pub const SPINS_BARE: u32 = 256;
/// Looks at a collective segment from one poll of all else to the next.
pub const LOOKS_PER_POLL: u32 = 16;
/// Polls from one look at who is gone to the next, which goes through all members.
pub const POLLS_PER_CHECK: u32 = 64;
/// Collective calls from one that polls to the next, although all find their data at once: each is as short as a poll.
pub const CALLS_PER_POLL: u32 = POLLS_PER_CHECK;
/// Looks, where processors are shared, for what another one sends after this one's ranks had a turn: as long as a turn.
pub const LOOKS_PER_YIELD: u32 = 64;
/// The same before they had one, for a root's data: as long as it takes to get from one call to the next.
pub const LOOKS_FOR_ROOT: u32 = LOOKS_PER_YIELD / 2;
/// The same when they have done what they have to, so that they need no turn.
pub const LOOKS_FOR_LAST: u32 = 2 * LOOKS_PER_YIELD;
/// Looks of a receive at the lane of its sender before all others get one: a poll of all takes as long as several.
pub const LANE_LOOKS_PER_POLL: u32 = 64;
/// Polls that take as long as so many looks at a lane, by which a wait counts: a look takes the eighth part of a poll.
pub const POLLS_PER_ROUND: u32 = LANE_LOOKS_PER_POLL / 8;
/// Looks at a lane after which a receive that waits asks for more lines of its memory: several times in a round.
pub const LOOKS_PER_CLAIM: u32 = 8;
/// Lines that it asks for at a time: about what a processor has under way, so that the next look is not held up.
pub const LINES_PER_CLAIM: usize = 16;
/// Looks at a lane in the middle of a long message before others get their turn: about as long as a fragment takes.
pub const LOOKS_AMID: u32 = 128;
/// The same of a receive whose message it is: a few times as long as a fragment takes to be copied.
pub const LOOKS_FOR_FRAGMENT: u32 = 8 * LOOKS_AMID;
/// Messages taken by the fast path before others get their turn, so that all make progress (MPI-5.0 §3.5, §3.7.4).
pub const FAST_IN_A_ROW: u32 = 256;
/// Polls between looks for who has asked for a connection, yields between looks at the socket: such a look is dear. A
/// power of two.
pub const POLLS_PER_LOOK: u32 = 32;
/// Such looks from one look at the socket to the next, unless an answer is awaited there: system calls cost more again.
pub const LOOKS_PER_SETUP_MESSAGE: u32 = POLLS_PER_LOOK;
/// Polls before a buffer for buffered sends counts as full: all ways in are looked at in so many.
pub const POLLS_BEFORE_FULL: u32 = POLLS_PER_LOOK * LOOKS_PER_SETUP_MESSAGE;
/// Yields, or idle polls, from one look at the clock to the next, a power of two.
pub const WAITS_PER_CLOCK: u32 = 8;
/// The same at most of polls that are short, while the network is silent.
pub const WAITS_PER_CLOCK_MOST: u32 = 8 * WAITS_PER_CLOCK;
/// Polls in a row that found nothing in shared memory, after which every poll looks at the network.
pub const EMPTY_POLLS_MOST: u32 = WAITS_PER_CLOCK;
/// Ticks between two looks at the network at most: a look takes the thousandth part of it.
pub const NETWORK_GAP_TICKS: u64 = 1 << 21;
/// Ticks between two looks at the clock for that: a small part of the gap.
pub const CLOCK_GAP_TICKS: u64 = NETWORK_GAP_TICKS >> 4;
/// Ticks between two tests of a loop of tests at most: a program that computes between them takes longer.
pub const LOOP_GAP_TICKS: u64 = NETWORK_GAP_TICKS >> 6;
/// Ticks between two looks at the launcher's socket, a system call; not waits, since one may be a sleep (decision 83).
pub const LAUNCHER_GAP_TICKS: u64 = 1 << 26;
/// The longest sleep when every piece of news rings: what is lost should one not ring.
pub const SLEEP_MAX: Duration = Duration::from_secs(1);
/// The longest sleep when room in a lane may come, which does not ring, or a peer cannot fence.
pub const SLEEP_BLIND: Duration = Duration::from_micros(100);
/// The longest leave-taking over TCP: the kernel of a peer, which answers at once, is then told three times again.
pub const TCP_GOODBYE_MAX: Duration = Duration::from_secs(3);
/// The same over networks where the peer itself answers: one that computes hears it later.
pub const GOODBYE_MAX: Duration = Duration::from_millis(250);

// Rings and fragments.

/// Fragments of a long message at least: only one end works on the first and on the last, which are then a small part.
pub const PIPELINE_FRAGMENTS: usize = 4;
/// Bytes of the largest fragment of a collective where every rank has a processor: what is read while the next is
/// written.
pub const FRAGMENT_BYTES: usize = FIRST_CACHE_BYTES;
/// The same where two members both write and then read: each stores in one go what else were a pipeline.
pub const EXCHANGED_FRAGMENT_BYTES: usize = PIPELINE_FRAGMENTS * FRAGMENT_BYTES;
/// Fragments of the largest size that a stream holds where ranks share processors: one pipeline is read, one is
/// written.
pub const OVERSUBSCRIBED_FRAGMENTS: usize = 2 * PIPELINE_FRAGMENTS;
/// Bytes of the first fragment of a message between two, and of one that goes whole: less gains what a cell more costs.
pub const FIRST_FRAGMENT_BYTES: usize = 8 << 10;
/// The same of an answer through the exchange buffer: its receiver waits, and cells delay no message behind it.
pub const ANSWER_FRAGMENT_BYTES: usize = FIRST_FRAGMENT_BYTES / 2;
/// Bytes of a fragment of a message that is not much longer: the last fragment is copied out by one end alone.
pub const STEADY_FRAGMENT_BYTES: usize = 2 * FIRST_FRAGMENT_BYTES;
/// Cells of a lane that chunks of a rendezvous leave to small messages, as a fraction: one in so many.
pub const CELLS_LEFT: u32 = 4;
/// Frames taken from one lane before the others get their turn, and before the sender hears how far this end is.
pub const FRAMES_PER_LANE: usize = 16;
/// Bodies in one lane before the sender looks how far the reader is: so many slots stay in the cache.
pub const BODIES_PER_LOOK: usize = FRAMES_PER_LANE / 2;
/// Datagrams taken in one look at the socket: looks are rarer than polls.
pub const DATAGRAMS_PER_LOOK: usize = 4 * FRAMES_PER_LANE;
/// Lanes that a poll looks at, of the peers heard of last, and as many others in turn: many peers cost no more.
pub const LANES_PER_POLL: usize = 4;
/// Bytes of a unit of the ring: what small bodies waste is less than a page.
pub const RING_UNIT_BYTES: u64 = PAGE as u64 / 4;
/// Bytes after which the ring begins again if there is room: what lies further is used while that much is under way.
pub const RING_WORKING_SET_BYTES: u64 = SECOND_CACHES_BYTES as u64;
/// Bytes of a way round at first, between processors that both copy at the same time: a pipeline of fragments.
pub const WORKING_SET_FIRST_BYTES: u64 = (PIPELINE_FRAGMENTS * FRAGMENT_BYTES) as u64;
/// Times that a way is gone round before it is doubled: what its short form has cost is then near to what pages cost.
pub const WORKING_SET_ROUNDS: u64 = 16;
/// Bytes of pages got at a time at first, later as many as there are already: the pages of a fragment.
pub const PAGES_FIRST_BYTES: u64 = FRAGMENT_BYTES as u64;
/// The same at most: the kernel clears them all, and some are to be in the caches when they are used.
pub const PAGES_MOST_BYTES: u64 = SECOND_CACHES_BYTES as u64 / 4;
/// Times its length that a short body goes round in, and any in a small working set.
pub const ROUND_BODIES: usize = 8;
/// Bytes that short bodies go round in at least, so that they stay in the cache and few pages are touched.
pub const ROUND_LEAST_BYTES: usize = PAGE;
/// Bytes of a stream's share of the caches up to which it has all of it at once, where ranks share processors.
pub const ROUND_SHORT_BYTES: usize = SECOND_CACHES_BYTES / 4;
/// Bytes from which on readers map a way round as a whole with its first body: its writer has got all pages.
pub const ROUND_MAPPED_BYTES: usize = WORKING_SET_FIRST_BYTES as usize;
/// Bytes of a body, or an answer, whose lines are asked for before it is known that it goes there: two pairs of lines.
pub const ASKED_AHEAD_BYTES: usize = 4 * LINE_BYTES;
/// Bytes of room for bodies of the stream that everyone reads.
pub const PUBLIC_ROOM_BYTES: usize = SECOND_CACHES_BYTES;
/// Bytes of room of all streams that one member reads, together.
pub const PRIVATE_ROOMS_BYTES: usize = 2 * PUBLIC_ROOM_BYTES;
/// The same of each at least: one fragment is read while the next is written.
pub const PRIVATE_ROOM_LEAST_BYTES: usize = 2 * FRAGMENT_BYTES;
/// Times its room that a stream with one reader has where ranks share processors: a writer goes on before its root.
pub const PRIVATE_SPACES: usize = 2;
/// Bytes of counters and cells of a part that are mapped when its segment opens: those of small communicators.
pub const HEADS_MAPPED_BYTES: usize = 92 << 10;
/// Parts of closed segments that are kept for others: what has lain in them stays in memory.
pub const PARTS_KEPT: usize = 2;

// Copies, and the bids of protocols.

/// Bytes from which on a copy is made by vector moves: the C library's string move crawls at some addresses.
pub const VECTOR_COPY_BYTES: usize = PAGE / 2;
/// Bytes ahead that lines another one has just written are asked for: the processor's own asking keeps fewer under way.
pub const BROUGHT_AHEAD_BYTES: usize = 2 * LINES_PER_CLAIM * LINE_BYTES;
/// Bytes from which on lines are in a shared cache at best, whoever wrote them, and are asked for in any copy.
pub const DISTANT_BYTES: usize = SECOND_CACHES_BYTES / 2;
/// Bytes from which on a body is stored by the string move or past the caches: both take a while to begin.
pub const LONG_STORE_BYTES: usize = PAGE;
/// Bytes that are copied before they are copied on or others are looked at, and to measure: a near cache has them.
pub const COPIED_AT_ONCE_BYTES: usize = 64 << 10;
/// Part of its time by which the string move must be quicker, as its inverse: it varies with how both ends lie.
pub const STRING_MARGIN: u64 = 4;
/// Times as long that a copy takes from a cache that is not shared: a processor waits for several lines at a time.
pub const FAR_FACTOR: u64 = 3;
/// The same from memory, where no cache holds the bytes.
pub const MEMORY_FACTOR: u64 = 2;
/// Bytes from which on a message may be fetched by a cross-memory copy: handshake and system call cost as much as less.
pub const FETCHED_BYTES: u64 = 16 << 10;
/// The same where ranks share processors, and a wait is a change of processes.
pub const FETCHED_OVERSUBSCRIBED_BYTES: u64 = 2 * FETCHED_BYTES;
/// Nanoseconds that fetching costs besides: announcement and answer go between processors, and the kernel is called.
pub const HANDSHAKE_NANOS: u64 = 800;
/// Bytes by which the ends of a string move that crawls lie apart within their pages: it reads half a line at a time.
pub const ALIKE_BYTES: u64 = LINE_BYTES as u64 / 2;
/// Bytes behind which such a copy is made elsewhere at most: of three lines one is far from both ends.
pub const ALIKE_BEHIND_BYTES: usize = 2 * LINE_BYTES;
/// Bytes of such a copy that are left as they lie, since a second copy of some lines costs as much as it saves.
pub const ALIKE_LEAST_BYTES: usize = 16 * LINE_BYTES;
/// Bytes of such a copy that go by way of other memory at a time, or are tried: both ends fit the first-level cache.
pub const ALIKE_WAY_BYTES: usize = FIRST_CACHE_BYTES / 2;
/// Times as long that such a copy takes where it matters.
pub const ALIKE_SLOW: u32 = 2;

// Collectives.

/// Bytes at whose multiples shares of a vector are cut: no two processes write to one line.
pub const SHARE_BYTES: usize = 512;
/// Bytes from which on it counts where a body lies, and how far its ring has been used: it touches more than two pages.
pub const LONG_BODY_BYTES: usize = 2 * PAGE;
/// Bytes from which on the only other member copies from memory that both have mapped, and not through the ring. What
/// is shorter is one fragment on any segment, so that the fast path need not cut it.
pub const MAPPED_BYTES: u64 = PAGE as u64;
/// Bytes from which on one message to all is copied from mapped memory, and one begun by the ring is still fetched.
pub const LONG_BLOCK_BYTES: u64 = 64 << 10;
/// Bytes of a tile of a reduction: the sum so far stays in the first-level cache.
pub const FOLD_TILE_BYTES: usize = FIRST_CACHE_BYTES;
/// Tiles that are fetched at a time from where others have them: as much as one fragment where two exchange.
pub const FETCHED_TILES: usize = EXCHANGED_FRAGMENT_BYTES / FOLD_TILE_BYTES;
/// Bytes that a process has in the caches besides its messages, at least a page of stack, which need room too.
pub const BESIDES_BYTES: u64 = PAGE as u64;
/// Bytes of a segment in which a message goes down a tree whole: a stage below is a call of its own.
pub const SEGMENT_BYTES: i64 = 128 << 10;
/// Schedules of collectives that a process keeps: what a loop of a program calls, and few enough to be looked through.
pub const CACHED_SCHEDULES: usize = 16;
/// Steps of all schedules kept together, of some hundred bytes each.
pub const CACHED_STEPS: usize = 256 * CACHED_SCHEDULES;
/// Collective operations in progress at once whose lists and scratch memory are kept for others.
pub const SCRATCH_KEPT: usize = 8;
/// Bytes of scratch memory that an ended operation leaves for the next: to clear more costs little beside using it.
pub const SCRATCH_KEPT_BYTES: usize = SECOND_CACHES_BYTES / 2;

// Eager messages, credits and queues.

/// Times as long that an eager message may be in the exchange buffer, which carries one at a time.
pub const ANSWER_FACTOR: u64 = 4;
/// Bytes of the longest eager message that is copied aside when its path is full.
pub const COPIED_ASIDE_BYTES: u64 = 8 << 10;
/// The same of a nonblocking send whatever is on its way already.
pub const ALWAYS_COPIED_BYTES: u64 = COPIED_ASIDE_BYTES / 2;
/// The same of a send that blocks, as long as fewer bytes than two such messages wait: who blocks in it may have to
/// receive next, and so may its receiver. The standard promises neither an end (MPI-5.0 §3.5).
pub const BLOCKING_BYTES: u64 = 64 << 10;
/// Bytes of partitions that are sent together, at most: each message has a price, and as much hardly takes time.
pub const JOINED_BYTES: u64 = BLOCKING_BYTES;
/// Bytes of the longest message of the fast send: a longer one fills a second-level cache and gains nothing.
pub const FAST_SEND_BYTES: u64 = SECOND_CACHES_BYTES as u64 / 2;
/// Bytes of a receive's memory that are asked for while it waits: later fragments of a longer message leave time to
/// ask.
pub const CLAIMED_BYTES: usize = BLOCKING_BYTES as usize;
/// Units that a message costs at most: what the longest does that a send that blocks does not announce.
pub const CREDIT_MOST_UNITS: u16 = (BLOCKING_BYTES as usize / LINE_BYTES) as u16;
/// Units after which a receiver reports by a frame of its own: well before the first window is used up.
pub const CREDIT_REPORT_UNITS: u16 = CREDIT_MOST_UNITS / 4;
/// Units that a sender may have outstanding at first: a second long message leaves before the first is known received.
pub const CREDIT_FIRST_UNITS: u16 = 2 * CREDIT_MOST_UNITS + CREDIT_REPORT_UNITS;
/// The same at most; with one message more less than half the range of the counter, so that it never wraps into itself.
pub const CREDIT_WINDOW_UNITS: u16 = 16 * CREDIT_MOST_UNITS;
/// Entries of a matching queue that are looked through before it is hashed: a hashed look-up costs as much as they do.
pub const LINEAR_MATCH: usize = 32;
/// Objects of one segment of a table, its first allocation: a program with one communicator does not pay for thousands.
pub const TABLE_SEGMENT: usize = 64;

// The cost model of a node: a server of two sockets with a last-level cache for a few cores each. All processes choose
// by it, and not by what each has measured, since all have to choose alike.

/// Loads that a core has outstanding: the line fill buffers of today's.
pub const MISSES: f64 = 10.0;
/// Nanoseconds from a line's store to its load within a last-level cache.
pub const LINE_NANOS: f64 = 25.0;
/// The same within a socket.
pub const SOCKET_LINE_NANOS: f64 = 60.0;
/// The same from another socket.
pub const FAR_LINE_NANOS: f64 = 200.0;
/// Nanoseconds to copy a KiB that is near.
pub const COPY_NANOS: f64 = 60.0;
/// The same to reduce it with another: a third operand is read.
pub const REDUCE_NANOS: f64 = COPY_NANOS * 4.0 / 3.0;
/// The same for a KiB to leave a last-level cache, which has outlets for about three copies.
pub const OUTLET_NANOS: f64 = COPY_NANOS / 3.0;
/// Nanoseconds of work for a message of a stream, at each of its ends.
pub const LOOK_NANOS: f64 = 10.0;
/// Nanoseconds to begin a stage of a tree, which is a call of its own and begins with a line from afar.
pub const STAGE_NANOS: f64 = FAR_LINE_NANOS;
/// Bytes of the words before a message in a cell, which is a line.
pub const MODEL_HEAD_BYTES: f64 = LINE_BYTES as f64 / 4.0;
/// Bytes of a vector that is cut into shares, at least: shorter ones make too few.
pub const MODEL_SHARED_BYTES: f64 = 8.0 * SHARE_BYTES as f64;
/// Bytes of a fragment of a long message: the fragments of exchanges are longer than others.
pub const MODEL_FRAGMENT_BYTES: f64 = 2.0 * FRAGMENT_BYTES as f64;
/// Classes of sizes that a way is counted for: none, from each power of two to the next, and more than a cache holds.
pub const SIZE_CLASSES: usize = LAST_CACHE_MOST_BYTES.ilog2() as usize + 1;
/// Last-level caches of a socket where ranks play that they are on several.
pub const CACHES_PLAYED: u32 = 2;
