//! The client against launchers that answer by a script, well and badly.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

const HELLO: &str = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n\
                     cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=40\n\
                     cmd=my_kvsname kvsname=kvs_7\n";

/// A client whose launcher has already written `replies` and reads nothing.
fn scripted(replies: &[u8]) -> Result<Client, PmiError> {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.write_all(replies).unwrap();
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    let client = Client::new(Socket::from(OwnedFd::from(theirs)), 0, 2);
    drop(ours);
    client
}

#[test]
fn a_launcher_that_falls_silent_is_given_up() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.write_all(&HELLO.as_bytes()[..HELLO.find('\n').unwrap() + 9]).unwrap();
    let mut client = Client::unheard(Socket::from(OwnedFd::from(theirs)), 0, 2);
    client.patience = Duration::from_millis(20);
    let error = client.hello().unwrap_err();
    assert!(matches!(error, PmiError::Silent("get_maxes", _)), "{error}");
    // For others it waits as long as they take.
    let late = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(60));
        ours.write_all(b"max=1\ncmd=barrier_out\n").map(|()| ours)
    });
    client.buffer = LineBuffer::default();
    assert!(matches!(client.leave_barrier(), Err(PmiError::Wire("barrier", _))));
    client.leave_barrier().unwrap();
    late.join().unwrap().unwrap();
}

/// A launcher of one rank that keeps keys, with a short `vallen_max`.
fn keep(stream: UnixStream) -> HashMap<String, String> {
    let mut table = HashMap::new();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut stream, mut text) = (stream, String::new());
    stream.write_all(HELLO.as_bytes()).unwrap();
    while reader.read_line(&mut text).unwrap_or(0) > 0 {
        let line = Line::parse(text.trim_end().as_bytes()).unwrap();
        let answer = match line.command() {
            "put" => {
                let (key, value) = (line.need("key").unwrap(), line.need("value").unwrap());
                assert!(key.len() < 64 && value.len() < 40);
                table.insert(key.to_string(), value.to_string());
                "cmd=put_result rc=0\n".to_string()
            }
            "get" => match table.get(line.need("key").unwrap()) {
                Some(value) => format!("cmd=get_result rc=0 value={value}\n"),
                None => "cmd=get_result rc=1 msg=none\n".to_string(),
            },
            "finalize" => "cmd=finalize_ack\n".to_string(),
            _ => String::new(),
        };
        stream.write_all(answer.as_bytes()).unwrap();
        text.clear();
    }
    table
}

#[test]
fn long_values_come_back_whole() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = std::thread::spawn(move || keep(ours));
    let mut client = Client::new(Socket::from(OwnedFd::from(theirs)), 0, 1).unwrap();
    let long: String = ('!'..='~').cycle().take(500).collect();
    for value in ["short", "", "segments=3", &long] {
        client.put("card-0", value).unwrap();
        assert_eq!(client.get("card-0").unwrap().as_deref(), Some(value));
    }
    assert_eq!(client.get("card-1").unwrap(), None);
    assert!(matches!(client.put(&"k".repeat(64), "v"), Err(PmiError::TooLong(_))));
    assert!(matches!(client.put("key", "two words"), Err(PmiError::Wire(..))));
    client.finalize().unwrap();
    assert!(server.join().unwrap().contains_key("card-0-seg-1/13"));
}

/// What a launcher reads before it first answers, and the client's result.
fn put_all(
    values: &[(&str, &str)],
    at_once: usize,
    answer: &'static str,
) -> (usize, Result<(), PmiError>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    (&ours).write_all(HELLO.as_bytes()).unwrap();
    let mut client = Client::new(Socket::from(OwnedFd::from(theirs)), 0, 2).unwrap();
    // Three lines have said hello; whoever is asked no more answers.
    ours.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let launcher = std::thread::spawn(move || {
        let (mut reader, mut text, mut first) = (BufReader::new(&ours), String::new(), None);
        for _ in 0..3 {
            reader.read_line(&mut text).unwrap();
        }
        let mut asked = 0;
        loop {
            match reader.read_line(&mut text) {
                Ok(0) => return first.unwrap_or(0),
                Ok(_) => asked += 1,
                Err(_) if asked == 0 => {}
                Err(_) => {
                    first.get_or_insert(asked);
                    (&ours).write_all(answer.repeat(asked).as_bytes()).unwrap();
                    asked = 0;
                }
            }
        }
    });
    let result = client.put_all(values, at_once);
    drop(client);
    (launcher.join().unwrap(), result)
}

#[test]
fn several_values_go_at_once_or_in_strict_turn() {
    let values = [("a", "1"), ("b", "2"), ("c", "3")];
    assert!(matches!(put_all(&values, 16, "cmd=put_result rc=0\n"), (3, Ok(()))));
    assert!(matches!(put_all(&values, 1, "cmd=put_result rc=0\n"), (1, Ok(()))));
    let refused = "cmd=put_result rc=-1 msg=no_room\n";
    assert!(matches!(put_all(&values, 16, refused), (3, Err(PmiError::Refused(..)))));
}

#[test]
fn a_launcher_that_goes_away_is_an_error() {
    assert!(matches!(scripted(b""), Err(PmiError::Closed("init"))));
    let mut client = scripted(HELLO.as_bytes()).unwrap();
    assert!(client.barrier().is_err());
}

#[test]
fn what_a_barrier_has_told_is_not_asked_for() {
    let told = "cmd=told key=secret value=common\ncmd=told key=card-1 value=here\n\
                cmd=barrier_out rc=0\n";
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.write_all(format!("{HELLO}{told}").as_bytes()).unwrap();
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    let mut client = Client::new(Socket::from(OwnedFd::from(theirs)), 0, 2).unwrap();
    client.enter_barrier(Some("secret")).unwrap();
    client.leave_barrier().unwrap();
    assert_eq!(client.get("secret").unwrap().as_deref(), Some("common"));
    assert_eq!(client.get("card-1").unwrap().as_deref(), Some("here"));
    assert!(client.get("card-2").is_err(), "this launcher says nothing more");
}

#[test]
fn answers_out_of_turn_are_errors() {
    assert!(matches!(scripted(b"cmd=put_result rc=0\n"), Err(PmiError::OutOfTurn(..))));
    let refused = b"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n";
    assert!(matches!(scripted(refused), Err(PmiError::Refused(..))));
    let zero = b"cmd=response_to_init rc=0\ncmd=maxes kvsname_max=0 keylen_max=1 vallen_max=1\n";
    assert!(matches!(scripted(zero), Err(PmiError::Wire(..))));
}

proptest! {
    #[test]
    fn any_bytes_end_in_an_error_or_an_answer(
        bytes in proptest::collection::vec(any::<u8>(), 0..200), hello in any::<bool>(),
    ) {
        let mut replies = if hello { HELLO.as_bytes().to_vec() } else { Vec::new() };
        replies.extend(bytes);
        if let Ok(mut client) = scripted(&replies) {
            let _ = client.get("key");
        }
    }
}

#[test]
fn a_launcher_is_left_when_the_barrier_has_opened() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.write_all(format!("{HELLO}cmd=barrier_out\ncmd=finalize_ack\n").as_bytes()).unwrap();
    let mut client = Client::new(Socket::from(OwnedFd::from(theirs)), 0, 2).unwrap();
    client.settle().unwrap();
    client.enter_barrier(None).unwrap();
    client.settle().unwrap();
    client.settle().unwrap();
    client.finalize().unwrap();
}

#[test]
fn other_requests_come_between_the_halves_of_a_barrier() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let replies = "cmd=barrier_out\ncmd=put_result rc=0\ncmd=put_result rc=0\ncmd=barrier_out\n\
                   cmd=barrier_out\n";
    ours.write_all(format!("{HELLO}{replies}").as_bytes()).unwrap();
    let mut client = Client::new(Socket::from(OwnedFd::from(theirs)), 0, 2).unwrap();
    client.enter_barrier(None).unwrap();
    client.put("opened", "before").unwrap();
    client.leave_barrier().unwrap();
    client.enter_barrier(None).unwrap();
    client.put("opened", "later").unwrap();
    client.leave_barrier().unwrap();
    assert!(matches!(client.put("nobody", "entered"), Err(PmiError::OutOfTurn(..))));
}
