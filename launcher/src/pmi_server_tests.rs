//! The server's answers, and any bytes that a rank may send.

use super::*;
use proptest::prelude::*;

fn server(ranks: usize) -> Server {
    Server::new("kvs_7", vec![0; ranks], 8, &vec![0; ranks], 0)
}

fn ask(server: &mut Server, rank: usize, line: &str) -> String {
    let outcome = server.line(rank, line.as_bytes()).unwrap();
    outcome.replies.into_iter().map(|(_, reply)| reply).collect()
}

#[test]
fn keys_are_kept_for_all() {
    let mut server = server(2);
    let put = ask(&mut server, 0, "cmd=put kvsname=kvs_7 key=card-0 value=a=b");
    assert!(put.starts_with("cmd=put_result rc=0"), "{put}");
    let got = ask(&mut server, 1, "cmd=get kvsname=kvs_7 key=card-0");
    assert!(got.starts_with("cmd=get_result rc=0") && got.contains("value=a=b"), "{got}");
    assert!(ask(&mut server, 1, "cmd=get kvsname=kvs_7 key=card-1").contains("rc=1"));
    assert!(ask(&mut server, 1, "cmd=get kvsname=other key=card-0").contains("rc=1"));
    assert!(ask(&mut server, 1, "cmd=put kvsname=other key=card-0 value=x").contains("rc=-1"));
    let long = format!("cmd=put kvsname=kvs_7 key=k value={}", "x".repeat(1024));
    assert!(ask(&mut server, 1, &long).contains("rc=-1"));
    let map = ask(&mut server, 1, "cmd=get kvsname=kvs_7 key=PMI_process_mapping");
    assert!(map.contains("value=(vector,(0,1,2))"), "{map}");
}

/// What `keys` puts.
fn put(server: &mut Server, rank: usize, keys: &Keys) {
    for (key, value) in keys {
        let line = format!("cmd=put kvsname=kvs_7 key={key} value={value}");
        assert!(ask(server, rank, &line).contains("rc=0"));
    }
}

fn keys(names: &[&str]) -> Keys {
    names.iter().map(|name| (name.to_string(), format!("of-{name}"))).collect()
}

#[test]
fn a_barrier_opens_when_the_last_rank_comes() {
    let mut server = server(3);
    let enter = |server: &mut Server, rank| server.line(rank, b"cmd=barrier_in").unwrap().event;
    for round in ["first", "second"] {
        put(&mut server, 2, &keys(&[round]));
        assert_eq!(enter(&mut server, 2), None);
        assert_eq!(enter(&mut server, 0), None);
        assert_eq!(server.waiting().collect::<Vec<_>>(), [0, 2]);
        assert_eq!(enter(&mut server, 1), Some(Event::Fence(keys(&[round]))));
        let out = server.release(keys(&[round])).unwrap();
        let told: Vec<usize> = out.iter().map(|(rank, _)| *rank).collect();
        assert_eq!(told, [0, 1, 2]);
        assert_eq!(server.waiting().count(), 0);
    }
}

#[test]
fn what_is_wanted_comes_with_the_end_of_a_barrier_also_to_who_enters_last() {
    let mut server = server(3);
    let enter = |server: &mut Server, rank, line: &str| server.line(rank, line.as_bytes()).unwrap();
    put(&mut server, 0, &keys(&["a", "b"]));
    enter(&mut server, 1, "cmd=barrier_in tell=a");
    enter(&mut server, 0, "cmd=barrier_in");
    let last = enter(&mut server, 2, "cmd=barrier_in tell=a").event;
    let Some(Event::Fence(all)) = last else { panic!() };
    let out = server.release(all).unwrap();
    assert_eq!(out[0].1, "cmd=barrier_out rc=0\n");
    let all_of_a_small_job =
        "cmd=told key=a value=of-a\ncmd=told key=b value=of-b\ncmd=barrier_out rc=0\n";
    assert_eq!([&*out[1].1, &*out[2].1], [all_of_a_small_job; 2]);
    assert!(ask(&mut server, 1, "cmd=get kvsname=kvs_7 key=a").contains("value=of-a"));
}

#[test]
fn a_large_job_is_told_what_it_wants() {
    let mut server = server(2);
    server.line(0, b"cmd=barrier_in tell=k7").unwrap();
    server.line(1, b"cmd=barrier_in tell=nothing").unwrap();
    let many: Vec<(String, String)> =
        (0..100).map(|i| (format!("k{i}"), "v".repeat(TOLD_MAX / 100))).collect();
    let told = format!("cmd=told key=k7 value={}\n", many[7].1);
    let out = server.release(many).unwrap();
    assert_eq!(out[0].1, told + "cmd=barrier_out rc=0\n");
    assert_eq!(out[1].1, "cmd=barrier_out rc=0\n");
}

#[test]
fn hosts_exchange_their_keys_in_one_piece() {
    // Two hosts of two ranks each, the second below the first.
    let node_map = [0, 0, 1, 1];
    let mut upper = Server::new("kvs_7", vec![0, 0], 8, &node_map, 1);
    let mut lower = Server::new("kvs_7", vec![0, 0], 8, &node_map, 0);
    put(&mut upper, 0, &keys(&["a"]));
    put(&mut lower, 1, &keys(&["b", "c"]));
    let enter = |server: &mut Server, rank| server.line(rank, b"cmd=barrier_in").unwrap().event;
    assert_eq!(enter(&mut upper, 0), None);
    assert_eq!(enter(&mut upper, 1), None, "a host is still missing");
    assert_eq!(enter(&mut lower, 0), None);
    let Some(Event::Fence(below)) = enter(&mut lower, 1) else { panic!() };
    let Some(Event::Fence(all)) = upper.arrives(0, below) else { panic!() };
    assert_eq!(all, keys(&["a", "b", "c"]));
    for server in [&mut upper, &mut lower] {
        assert_eq!(server.release(all.clone()).unwrap().len(), 2);
        for key in ["a", "b", "c"] {
            let got = ask(server, 1, &format!("cmd=get kvsname=kvs_7 key={key}"));
            assert!(got.contains(&format!("value=of-{key}")), "{got}");
        }
        let map = ask(server, 0, "cmd=get kvsname=kvs_7 key=PMI_process_mapping");
        assert!(map.contains("(vector,(0,2,2))"), "{map}");
    }
}

#[test]
fn events_reach_the_job() {
    let mut server = server(1);
    let mut event = |line: &str| server.line(0, line.as_bytes()).unwrap().event;
    assert_eq!(event("cmd=init pmi_version=1 pmi_subversion=1"), Some(Event::Init));
    assert_eq!(event("cmd=get_maxes"), None);
    assert_eq!(event("cmd=abort exitcode=7"), Some(Event::Abort(7)));
    assert_eq!(event("cmd=abort"), Some(Event::Abort(1)));
    assert_eq!(event("cmd=finalize"), Some(Event::Finalize { is_awaited: true }));
    assert_eq!(event("cmd=finalize answer=no"), Some(Event::Finalize { is_awaited: false }));
}

#[test]
fn names_are_published_once() {
    let event = server(2).line(0, b"cmd=lookup_name service=ocean").unwrap().event;
    assert_eq!(event, Some(Event::Name), "somebody else keeps them");
    let mut names = Names::default();
    let mut ask = |line: &str| names.line(line.as_bytes()).unwrap();
    assert!(ask("cmd=lookup_name service=ocean").contains("rc=1"));
    assert!(ask("cmd=publish_name service=ocean port=p:1").contains("rc=0"));
    assert!(ask("cmd=publish_name service=ocean port=p:2").contains("rc=1"));
    assert!(ask("cmd=lookup_name service=ocean").contains("port=p:1"));
    assert!(ask("cmd=unpublish_name service=ocean").contains("rc=0"));
    assert!(ask("cmd=unpublish_name service=ocean").contains("rc=1"));
    assert!(names.line(b"cmd=publish_name").is_err());
}

#[test]
fn what_is_not_known_is_answered_too() {
    let mut server = server(1);
    assert!(ask(&mut server, 0, "cmd=fly_to moon=1").starts_with("cmd=fly_to_result rc=-1"));
    assert!(ask(&mut server, 0, "cmd=init pmi_version=2 pmi_subversion=0").contains("rc=-1"));
    assert_eq!(ask(&mut server, 0, "mcmd=spawn"), "");
    assert_eq!(ask(&mut server, 0, "execname=a b"), "");
    assert!(ask(&mut server, 0, "endcmd").starts_with("cmd=spawn_result rc=-1"));
    assert!(server.line(0, b"hello").is_err());
}

proptest! {
    #[test]
    fn any_line_is_answered_or_refused(
        lines in proptest::collection::vec(
            (0usize..3, prop_oneof![
                "cmd=(put|get|barrier_in|init|abort|publish_name|finalize)( [a-z]{1,8}=[ -~]{0,8}){0,3}",
                "[ -~]{0,40}", "mcmd=spawn", "endcmd",
                "cmd=(put|get) kvsname=kvs_7 key=[a-c]( value=[x-z]{0,3})?",
            ]), 0..30),
    ) {
        let mut server = server(3);
        for (rank, line) in lines {
            if let Ok(outcome) = server.line(rank, line.as_bytes()) {
                for (_, reply) in outcome.replies {
                    prop_assert!(Line::parse(reply.trim_end().as_bytes()).is_ok());
                }
            }
        }
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let _ = server(1).line(0, &bytes);
    }
}
