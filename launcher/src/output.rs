//! Output of many ranks on one stream, line by line: a line of one rank is not mixed with another's.
//!
//! Without any input or output of its own: in go bytes as they are read from a rank's pipe, out
//! come whole lines, tagged if asked for. A last line without an end is handed out when the pipe
//! ends, and one that has been held for long when its owner says so ([`Lines::show_partial`]). Memory
//! is bounded: a line longer than [`LINE_MAX`] is handed out in parts. Bytes pass unchanged, but for
//! the tags: a tagged part is a line, and a line end is put behind an unfinished line where another
//! rank's output follows.

/// How a line is marked with its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    /// Not at all.
    None,
    /// `[3] `, as hydra does it.
    Rank,
    /// `[1,3]<stdout>:`, as Open MPI does it.
    RankAndStream,
    /// `<stdout>:`, as Open MPI does it behind a time.
    Stream,
}

/// What tells the time, for marks.
pub(crate) type Clock = fn() -> String;

/// Longest line that is kept whole.
pub(crate) const LINE_MAX: usize = 1 << 20;

/// The unfinished line of one stream of one rank.
#[derive(Debug)]
pub(crate) struct Lines {
    tag: Vec<u8>,
    /// What is to stand before the tag.
    clock: Option<Clock>,
    partial: Vec<u8>,
    /// Whether a part of the line has been handed out already (a prompt).
    shown: bool,
}

impl Lines {
    /// The stream `name` (`stdout` or `stderr`) of `rank`; with a clock a tag has the time before it.
    pub(crate) fn new((tag, clock): (Tag, Option<Clock>), rank: usize, name: &str) -> Lines {
        let tag = match tag {
            Tag::None => String::new(),
            Tag::Rank => format!("[{rank}] "),
            Tag::RankAndStream => format!("[1,{rank}]<{name}>:"),
            Tag::Stream => format!("<{name}>:"),
        };
        Lines { tag: tag.into_bytes(), clock, partial: Vec::new(), shown: false }
    }

    /// Takes bytes as they come and appends the lines that they complete to `out`.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for piece in bytes.split_inclusive(|&b| b == b'\n') {
            self.partial.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.hand_out(out);
                self.shown = false;
            } else if self.partial.len() >= LINE_MAX {
                match self.tag.is_empty() {
                    true => self.show_partial(out),
                    false => {
                        self.partial.push(b'\n');
                        self.hand_out(out);
                        self.shown = false;
                    }
                }
            }
        }
    }

    /// The pipe has ended: appends what is left. Another's line may follow, so it gets a line end
    /// where lines of several ranks are told apart.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        if !self.partial.is_empty() {
            if !self.tag.is_empty() {
                self.partial.push(b'\n');
            }
            self.hand_out(out);
        }
    }

    /// Whether a line has begun and not ended.
    pub(crate) fn is_open(&self) -> bool {
        !self.partial.is_empty()
    }

    /// Another's output stands behind the part of the line that has been shown: what follows is a
    /// line of its own.
    pub(crate) fn interrupted(&mut self) {
        self.shown = false;
    }

    /// Appends an unfinished line as it is: somebody may wait for a prompt, or look at a row of dots.
    pub(crate) fn show_partial(&mut self, out: &mut Vec<u8>) {
        if self.is_open() {
            self.hand_out(out);
            self.shown = true;
        }
    }

    fn hand_out(&mut self, out: &mut Vec<u8>) {
        if !self.shown {
            out.extend(self.clock.map(|clock| clock().into_bytes()).into_iter().flatten());
            out.extend_from_slice(&self.tag);
        }
        out.append(&mut self.partial);
    }
}

/// One output stream of mpirun, to which the streams of all ranks go: puts a line end between an
/// unfinished line of one rank and what another writes.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    queue: Vec<u8>,
    written: usize,
    /// Whose unfinished line was queued last.
    open: Option<usize>,
}

/// Queued bytes above which no more is read from the ranks.
const QUEUE_MAX: usize = 1 << 20;

impl Sink {
    /// Queues output of stream `who`: whole lines, or at the end of a stream, what is left.
    pub(crate) fn queue(&mut self, who: usize, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        if self.open.is_some_and(|owner| owner != who) {
            self.queue.push(b'\n');
        }
        self.queue.extend_from_slice(bytes);
        self.open = if *last == b'\n' { None } else { Some(who) };
    }

    /// Whether what stream `who` writes next stands right behind what it wrote last.
    pub(crate) fn continues(&self, who: usize) -> bool {
        self.open == Some(who)
    }

    /// What is to be written next.
    pub(crate) fn pending(&self) -> &[u8] {
        &self.queue[self.written..]
    }

    /// Whether the ranks have to wait.
    pub(crate) fn is_full(&self) -> bool {
        self.pending().len() > QUEUE_MAX
    }

    /// `n` bytes have been written.
    pub(crate) fn advance(&mut self, n: usize) {
        self.written = (self.written + n).min(self.queue.len());
        if self.written == self.queue.len() || self.written > QUEUE_MAX {
            self.queue.drain(..self.written);
            self.written = 0;
        }
    }

    /// Nobody reads any more: forgets everything.
    pub(crate) fn discard(&mut self) {
        self.queue.clear();
        self.written = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tags_begin_lines() {
        let mut out = Vec::new();
        let mut lines = Lines::new((Tag::RankAndStream, None), 3, "stderr");
        lines.push(b"one\ntw", &mut out);
        lines.push(b"o", &mut out);
        lines.finish(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "[1,3]<stderr>:one\n[1,3]<stderr>:two\n");
    }

    #[test]
    fn the_time_stands_before_the_tag_of_each_line() {
        let (mut out, clock) = (Vec::new(), || "noon".to_string());
        let mut lines = Lines::new((Tag::Stream, Some(clock)), 3, "stdout");
        lines.push(b"one\ntwo", &mut out);
        lines.finish(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "noon<stdout>:one\nnoon<stdout>:two\n");
    }

    #[test]
    fn endless_lines_are_cut() {
        let (mut out, mut lines) = (Vec::new(), Lines::new((Tag::Rank, None), 0, "stdout"));
        for _ in 0..300 {
            lines.push(&[b'x'; 10_000], &mut out);
            assert!(lines.partial.len() < LINE_MAX + 10_000);
        }
        assert!(out.ends_with(b"x\n") && out.starts_with(b"[0] x"));
    }

    #[test]
    fn untagged_bytes_pass_unchanged() {
        let (mut out, mut lines) = (Vec::new(), Lines::new((Tag::None, None), 0, "stdout"));
        let given = [b'x'; 10_000].repeat(300);
        for piece in given.chunks(7_777) {
            lines.push(piece, &mut out);
        }
        lines.push(b"\nend", &mut out);
        lines.finish(&mut out);
        assert!(out == [&given[..], b"\nend"].concat());
    }

    #[test]
    fn a_line_that_was_interrupted_is_tagged_again() {
        let mut streams = [0, 1].map(|rank| Lines::new((Tag::Rank, None), rank, "stdout"));
        let mut sink = Sink::default();
        let mut say = |rank: usize, text: &[u8], shown: bool| {
            let mut out = Vec::new();
            if !sink.continues(rank) {
                streams[rank].interrupted();
            }
            streams[rank].push(text, &mut out);
            if shown {
                streams[rank].show_partial(&mut out);
            }
            sink.queue(rank, &out);
            String::from_utf8(sink.pending().to_vec()).unwrap()
        };
        say(0, b"n = ", true);
        say(0, b"3, m = ", true);
        say(1, b"hello\n", false);
        let text = say(0, b"5\n", false);
        assert_eq!(text, "[0] n = 3, m = \n[1] hello\n[0] 5\n");
    }

    #[test]
    fn a_prompt_is_shown_once() {
        let (mut out, mut lines) = (Vec::new(), Lines::new((Tag::Rank, None), 0, "stdout"));
        lines.push(b"n = ", &mut out);
        assert!(out.is_empty());
        lines.show_partial(&mut out);
        lines.push(b"thanks\nnext\n", &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "[0] n = thanks\n[0] next\n");
    }

    #[test]
    fn open_lines_are_closed_before_another_writes() {
        let mut sink = Sink::default();
        sink.queue(0, b"no end");
        sink.queue(1, b"");
        sink.queue(1, b"line\n");
        sink.queue(0, b"x\n");
        assert_eq!(sink.pending(), b"no end\nline\nx\n");
        sink.advance(7);
        assert_eq!(sink.pending(), b"line\nx\n");
        sink.advance(100);
        assert!(sink.pending().is_empty());
    }

    proptest! {
        #[test]
        fn lines_come_out_whole_and_in_order(
            pieces in proptest::collection::vec((0usize..3, "[ab\n]{0,8}"), 0..40),
        ) {
            let mut streams: Vec<Lines> = (0..3).map(|r| Lines::new((Tag::Rank, None), r, "stdout")).collect();
            let (mut sink, mut given) = (Sink::default(), vec![String::new(); 3]);
            for (rank, piece) in &pieces {
                let mut out = Vec::new();
                given[*rank].push_str(piece);
                streams[*rank].push(piece.as_bytes(), &mut out);
                sink.queue(*rank, &out);
            }
            for (rank, lines) in streams.iter_mut().enumerate() {
                let mut out = Vec::new();
                lines.finish(&mut out);
                sink.queue(rank, &out);
            }
            let text = String::from_utf8(sink.pending().to_vec()).unwrap();
            for (rank, given) in given.iter().enumerate() {
                let tag = format!("[{rank}] ");
                let got: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix(&tag)).collect();
                prop_assert_eq!(got, given.lines().collect::<Vec<_>>());
            }
        }
    }
}
