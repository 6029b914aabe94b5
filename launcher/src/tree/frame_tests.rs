//! Frames come back, and any bytes are read or refused.

use super::*;
use launch_wire::control::Face;
use proptest::prelude::*;

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..40)
}

fn keys() -> impl Strategy<Value = Keys> {
    proptest::collection::vec(("\\PC{0,9}", "\\PC{0,9}"), 0..5)
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        any::<i32>().prop_map(End::Exited),
        (any::<i32>(), any::<bool>()).prop_map(|(signal, core)| End::Killed { signal, core }),
    ]
}

fn up() -> impl Strategy<Value = Up> {
    let n = || 0usize..1 << 20;
    let ranks = || proptest::collection::vec(0usize..1 << 20, 0..5);
    let bound = proptest::collection::vec((n(), ranks()), 0..3);
    let caution = proptest::option::of("\\PC{0,9}");
    prop_oneof![
        Just(Up::Alive),
        (n(), n(), "\\PC{0,9}", bound, caution).prop_map(|(node, cpus, why, bound, caution)| {
            Up::Arrived(Arrived { node, cpus, why, bound, caution })
        }),
        (n(), any::<u8>(), "\\PC{0,9}").prop_map(|(node, status, text)| Up::Refused {
            node,
            status,
            text
        }),
        proptest::collection::vec((n(), any::<i32>()), 0..5).prop_map(Up::Started),
        (n(), 0usize..2, bytes()).prop_map(|(rank, which, bytes)| Up::Output {
            rank,
            which,
            bytes
        }),
        (n(), any::<bool>()).prop_map(|(rank, inside)| Up::Inside { rank, inside }),
        (n(), any::<i32>()).prop_map(|(rank, code)| Up::Abort { rank, code }),
        n().prop_map(|rank| Up::Said {
            rank,
            word: Word::Hello { rank: 7, pid: 9, face: Face::Mpich }
        }),
        (n(), bytes()).prop_map(|(rank, line)| Up::Name { rank, line }),
        n().prop_map(|rank| Up::Closed { rank }),
        (n(), "\\PC{0,9}").prop_map(|(rank, text)| Up::Garbled { rank, text }),
        (n(), end()).prop_map(|(rank, end)| Up::Ended { rank, end }),
        keys().prop_map(Up::Fence),
        (any::<u32>(), ranks()).prop_map(|(passed, ranks)| Up::Wait { passed, ranks }),
        (n(), any::<bool>()).prop_map(|(rank, gone)| Up::Fed { rank, gone }),
        bytes().prop_map(Up::Words),
        (n(), n(), any::<bool>(), "\\PC{0,9}").prop_map(|(first, end, arrived, why)| Up::Lost {
            first,
            end,
            arrived,
            why
        }),
        Just(Up::Done),
        (ranks(), "\\PC{0,9}", "\\PC{0,9}").prop_map(|(ranks, what, calls)| Up::Fell(Fell {
            ranks,
            what,
            calls
        })),
    ]
}

fn down() -> impl Strategy<Value = Down> {
    let n = || 0usize..1 << 20;
    prop_oneof![
        Just(Down::Alive),
        (n(), n(), bytes()).prop_map(|(first, end, plan)| Down::Orders { first, end, plan }),
        Just(Down::Go),
        any::<i32>().prop_map(Down::Signal),
        keys().prop_map(Down::Release),
        (n(), "\\PC{0,9}").prop_map(|(rank, line)| Down::Reply { rank, line }),
        (n(), bytes()).prop_map(|(rank, bytes)| Down::Feed { rank, bytes }),
        Just(Down::RollCall),
        Just(Down::Watch),
        (n(), 0usize..2, n()).prop_map(|(node, which, bytes)| Down::Taken { node, which, bytes }),
        (0usize..2).prop_map(Down::Unread),
        any::<u32>().prop_map(Down::End),
    ]
}

#[test]
fn lengths_of_what_does_not_follow_are_refused_and_take_no_memory() {
    let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    for kind in 0..20 {
        for before in 0..3 {
            let body = [&[kind][..], &vec![0; before], &most, b"ab"].concat();
            assert!(Up::decode(&body).is_err() && Down::decode(&body).is_err(), "{body:?}");
        }
    }
}

#[test]
fn there_is_no_third_stream() {
    let body = |which| Up::Output { rank: 3, which, bytes: vec![1] }.encode().split_off(4);
    assert!(Up::decode(&body(1)).is_ok() && Up::decode(&body(2)).is_err());
    let body = |which| Down::Unread(which).encode().split_off(4);
    assert!(Down::decode(&body(1)).is_ok() && Down::decode(&body(2)).is_err());
}

proptest! {
    #[test]
    fn frames_come_back(up in up(), down in down()) {
        let bytes = up.encode();
        prop_assert_eq!(u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize, bytes.len() - 4);
        prop_assert_eq!(Up::decode(&bytes[4..]), Ok(up));
        prop_assert_eq!(Down::decode(&down.encode()[4..]), Ok(down));
    }

    #[test]
    fn any_bytes_decode_or_fail(kind in 0u8..20, rest in bytes()) {
        let body = [&[kind], &rest[..]].concat();
        if let Ok(frame) = Up::decode(&body) {
            prop_assert_eq!(Up::decode(&frame.encode()[4..]), Ok(frame));
        }
        if let Ok(frame) = Down::decode(&body) {
            prop_assert_eq!(Down::decode(&frame.encode()[4..]), Ok(frame));
        }
    }

    #[test]
    fn frames_that_are_cut_or_damaged_do_no_harm(up in up(), at: prop::sample::Index, to: u8) {
        let mut body = up.encode().split_off(4);
        prop_assert!(Up::decode(&body[..at.index(body.len())]).is_err());
        let i = at.index(body.len());
        body[i] = to;
        let _ = Up::decode(&body);
    }
}
