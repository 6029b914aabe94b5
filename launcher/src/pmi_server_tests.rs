//! The server's answers, and any bytes that a rank may send.

use super::*;
use proptest::prelude::*;

fn server(ranks: usize) -> Server {
    Server::new("kvs_7", vec![0; ranks], 8)
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

#[test]
fn a_barrier_opens_when_the_last_rank_comes() {
    let mut server = server(3);
    for round in 0..2 {
        assert_eq!(server.line(2, b"cmd=barrier_in").unwrap(), Outcome::default());
        assert_eq!(server.line(0, b"cmd=barrier_in").unwrap(), Outcome::default());
        assert!(server.waits(0) && !server.waits(1), "round {round}");
        let out = server.line(1, b"cmd=barrier_in").unwrap();
        let told: Vec<usize> = out.replies.iter().map(|(rank, _)| *rank).collect();
        assert_eq!(told, [0, 1, 2]);
        assert!(!server.waits(0));
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
    assert_eq!(event("cmd=finalize"), Some(Event::Finalize));
}

#[test]
fn names_are_published_once() {
    let mut server = server(2);
    assert!(ask(&mut server, 0, "cmd=lookup_name service=ocean").contains("rc=1"));
    assert!(ask(&mut server, 0, "cmd=publish_name service=ocean port=p:1").contains("rc=0"));
    assert!(ask(&mut server, 1, "cmd=publish_name service=ocean port=p:2").contains("rc=1"));
    assert!(ask(&mut server, 1, "cmd=lookup_name service=ocean").contains("port=p:1"));
    assert!(ask(&mut server, 1, "cmd=unpublish_name service=ocean").contains("rc=0"));
    assert!(ask(&mut server, 1, "cmd=unpublish_name service=ocean").contains("rc=1"));
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
