//! The matcher against two plain lists, with queues that cross the linear bound both ways.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Receive(u64, i32, i32),
    Message(u64, i32, i32),
    Cancel(prop::sample::Index),
    Probe(u64, i32, i32),
    Purge(u64),
}

const STEPS_MAX: usize = if cfg!(miri) { 40 } else { 400 };

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let source = prop_oneof![3 => 0i32..4, 1 => Just(ANY_SOURCE)];
    let tag = prop_oneof![3 => 0i32..5, 1 => Just(ANY_TAG)];
    let receive = (0u64..2, source, tag);
    let message = (0u64..2, -2i32..4, -2i32..5);
    let any = (receive, message, any::<prop::sample::Index>(), 0..100u8);
    // Runs that lean to receives or to messages make one queue long.
    prop::collection::vec((any, 0..100u8), 0..STEPS_MAX).prop_map(|list| {
        let mut lean = 50;
        let step = |((r, m, which, other), turn): ((_, _, _, u8), u8)| {
            let (r, m): ((u64, i32, i32), (u64, i32, i32)) = (r, m);
            if turn < 3 {
                lean = turn * 45 + 5;
            }
            match other {
                0 => Step::Purge(m.0),
                1..6 => Step::Cancel(which),
                6..10 => Step::Probe(r.0, r.1, r.2),
                _ if turn < lean => Step::Receive(r.0, r.1, r.2),
                _ => Step::Message(m.0, m.1, m.2),
            }
        };
        list.into_iter().map(step).collect()
    })
}

/// Two plain lists, looked through from the front.
#[derive(Default)]
struct Naive {
    posted: Vec<(Envelope, usize)>,
    unexpected: Vec<(Envelope, usize)>,
}

impl Naive {
    fn unexpected_for(&self, receive: Envelope) -> Option<usize> {
        self.unexpected.iter().position(|(message, _)| fits(receive, *message))
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(300))]
    #[test]
    fn finds_what_two_plain_lists_find(steps in steps()) {
        let mut fast = Matcher::new();
        let mut naive = Naive::default();
        let mut places = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Receive(context, source, tag) => {
                    let envelope = Envelope { context, source, tag };
                    let expected = naive.unexpected_for(envelope).map(|at| naive.unexpected.remove(at).1);
                    let found = fast.take_unexpected(context, source, tag);
                    prop_assert_eq!(found, expected);
                    if found.is_none() {
                        naive.posted.push((envelope, number));
                        places.push((number, fast.post(context, source, tag, number)));
                    }
                }
                Step::Message(context, source, tag) => {
                    let envelope = Envelope { context, source, tag };
                    let at = naive.posted.iter().position(|(receive, _)| fits(*receive, envelope));
                    let expected = at.map(|at| naive.posted.remove(at).1);
                    prop_assert_eq!(fast.peek_posted(context, source, tag).copied(), expected);
                    prop_assert_eq!(fast.arrive(context, source, tag), expected);
                    if expected.is_none() {
                        naive.unexpected.push((envelope, number));
                        fast.add_unexpected(context, source, tag, number);
                    }
                }
                Step::Cancel(which) if !places.is_empty() => {
                    let (receive, place) = places.swap_remove(which.index(places.len()));
                    let at = naive.posted.iter().position(|(_, number)| *number == receive);
                    prop_assert_eq!(fast.cancel(place), at.map(|at| naive.posted.remove(at).1));
                }
                Step::Cancel(_) => {}
                Step::Probe(context, source, tag) => {
                    let expected = naive.unexpected_for(Envelope { context, source, tag });
                    let expected = expected.map(|at| naive.unexpected[at].1);
                    prop_assert_eq!(fast.peek_unexpected(context, source, tag).copied(), expected);
                    let any = naive.unexpected_for(Envelope { context, source, tag: ANY_TAG });
                    prop_assert_eq!(fast.no_unexpected_for(context, source), any.is_none());
                }
                Step::Purge(context) => {
                    let all = naive.unexpected.extract_if(.., |(e, _)| e.context == context);
                    let gone: Vec<usize> = all.map(|(_, n)| n).collect();
                    prop_assert_eq!(fast.extract_unexpected(|e, _| e.context == context), gone);
                }
            }
            prop_assert_eq!(fast.posted_len(), naive.posted.len());
            prop_assert!(fast.posted().map(|(e, n)| (e, *n)).eq(naive.posted.iter().copied()));
            prop_assert!(fast.unexpected().map(|(e, n)| (e, *n)).eq(naive.unexpected.iter().copied()));
        }
    }
}

#[test]
fn many_receives_cost_a_constant_number_of_looks() {
    const MANY: i32 = if cfg!(miri) { 100 } else { 100_000 };
    let mut matcher: Matcher<i32, i32> = Matcher::new();
    for tag in 0..MANY {
        matcher.post(1, tag % 7, tag, tag);
    }
    let last = matcher.post(1, ANY_SOURCE, ANY_TAG, -1);
    // From the back: a linear search would make five billion compares.
    for tag in (0..MANY).rev() {
        assert_eq!(matcher.arrive(1, tag % 7, tag), Some(tag));
    }
    assert_eq!(matcher.posted_len(), 1);
    assert_eq!(matcher.cancel(last), Some(-1));
    assert_eq!(matcher.cancel(last), None);
    for tag in 0..MANY {
        matcher.add_unexpected(1, 3, tag, tag);
    }
    assert_eq!(matcher.take_unexpected(1, ANY_SOURCE, MANY - 1), Some(MANY - 1));
    assert_eq!(matcher.take_unexpected(1, 3, ANY_TAG), Some(0));
    for tag in (1..MANY - 1).rev() {
        assert_eq!(matcher.take_unexpected(1, 3, tag), Some(tag));
    }
    assert!(matcher.no_unexpected_for(1, 3) && matcher.unexpected_len() == 0);
}

#[test]
fn a_reused_slot_is_not_cancelled_by_an_old_place() {
    let mut matcher: Matcher<u8, ()> = Matcher::new();
    let old = matcher.post(0, 0, 0, 1);
    assert_eq!(matcher.arrive(0, 0, 0), Some(1));
    let new = matcher.post(0, 0, 0, 2);
    assert_eq!(matcher.cancel(old), None);
    assert_eq!(matcher.cancel(new), Some(2));
}
