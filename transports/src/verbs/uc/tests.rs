//! Unreliable connections over a device that fails.

use rdma_sys::ibv_wc_status::IBV_WC_WR_FLUSH_ERR;

use super::*;
use crate::sys::inet::Run;
use crate::sys::wait::until_readable;
use crate::verbs::hello::{Numbers, Pair};
use crate::verbs::made_up::{self, MadeUp};
use crate::verbs::meet::Ends;

#[test]
fn an_end_can_go_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Uc>();
}

#[test]
fn without_a_device_there_is_a_sentence_with_the_cure() {
    let mut settings = UcSettings::default();
    settings.verbs.devices = "no_such_device".to_owned();
    let job = "job".to_owned();
    let why = Datagrams::<Uc>::open(UcConfig { job, rank: 0, secret: [1; 32], settings });
    let why = why.err().expect("there is no such device");
    assert!(why.contains("device") || why.contains("install"), "{why}");
    assert!(why.split_whitespace().count() > 8, "{why}");
}

/// A carrier over a made-up device with a connection to rank 1; the connection and its queue pair.
fn connected(device: &MadeUp) -> (Uc, u32, u32) {
    let (job, settings) = ("job".to_owned(), UcSettings::default());
    let config = UcConfig { job, rank: 0, secret: [1; 32], settings };
    let mut uc = Uc::on(&device.context, made_up::chosen(), &config).unwrap();
    let to = QueuePairAddress { port: made_up::port(2), queue_pair: 5, qkey: 1 };
    let line = uc.lines.meet(1, to);
    let number = uc.lines.make(1).unwrap().unwrap().pairs[0].number;
    let pairs = vec![Pair { number: 6, psn: 7 }];
    let theirs = Numbers { devices: vec![(made_up::port(2), 1024)], pairs, reads: 0 };
    uc.lines.connect(1, &theirs).unwrap();
    uc.lines.come_up(1);
    assert_eq!(uc.lines.state(line), State::Up);
    (uc, line, number)
}

#[test]
fn what_a_queue_pair_told_of_before_it_was_brought_back_does_not_fail_it_again() {
    let device = MadeUp::new();
    let (mut uc, line, number) = connected(&device);
    let datagram = [1; 8];
    for _ in 0..20 {
        // SAFETY: the bytes are there.
        unsafe { uc.lines.send(line, &[Run::new(datagram.as_ptr(), 8)]).unwrap() };
    }
    let (sent, buffers) = {
        let state = device.state();
        (state.sent[&number].clone(), state.buffers[&number].clone())
    };
    // Sends that nobody asks for come back last.
    for (work, _) in buffers.into_iter().chain(sent) {
        device.state().complete(number, work, IBV_WC_WR_FLUSH_ERR, 0);
    }
    let mut is_back = false;
    while uc.look() {
        is_back |= uc.lines.state(line) == State::Up;
        assert!(!is_back || uc.lines.state(line) == State::Up, "it has failed again");
    }
    assert!(is_back);
}

#[test]
fn a_removed_device_wakes_nobody_and_carries_nothing() {
    let device = MadeUp::new();
    let (mut uc, line, _) = connected(&device);
    assert!(uc.arm());
    device.state().remove();
    assert!(until_readable([Some(uc.news())], Duration::ZERO).unwrap());
    let is_armed = uc.arm() || uc.arm();
    assert!(is_armed && !until_readable([Some(uc.news())], Duration::ZERO).unwrap());
    assert!(matches!(uc.without_line(line), Fate::Unreachable(_)));
    assert_eq!((uc.lines.state(line), uc.put_off()), (State::Closed, None));
}
