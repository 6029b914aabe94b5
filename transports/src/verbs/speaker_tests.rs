//! What says and hears handshakes, over a device that fails.

use rdma_sys::ibv_qp_state::{IBV_QPS_ERR, IBV_QPS_RTS, IBV_QPS_SQE};
use rdma_sys::ibv_wc_status::{IBV_WC_RETRY_EXC_ERR, IBV_WC_SUCCESS, IBV_WC_WR_FLUSH_ERR};

use super::super::made_up::{self, MadeUp};
use super::*;

fn speaker(device: &MadeUp) -> Speaker {
    let channel = Arc::new(Channel::new(&device.context).unwrap());
    Speaker::new(&device.domain(), &channel, &made_up::chosen()).unwrap()
}

fn hello(to: u8) -> Outgoing {
    let to = Address { port: made_up::port(to), queue_pair: 5, qkey: 1 };
    Outgoing { rank: 1, to, bytes: vec![1; 100] }
}

/// Takes all that there is.
fn hear_all(speaker: &mut Speaker) -> usize {
    let mut heard = 0;
    while speaker.hear(|_| heard += 1).unwrap() {}
    heard
}

#[test]
fn hellos_to_one_host_take_one_way() {
    let device = MadeUp::new();
    let mut speaker = speaker(&device);
    for _ in 0..3 {
        assert_eq!(speaker.say(&hello(1), Instant::now()), Ok(()));
    }
    assert_eq!(device.state().ways_tried, 1);
}

#[test]
fn a_send_that_fails_stops_no_later_one() {
    let device = MadeUp::new();
    let mut speaker = speaker(&device);
    let number = speaker.address().queue_pair;
    for _ in 0..SAID {
        speaker.say(&hello(1), Instant::now()).unwrap();
    }
    let sent = device.state().sent[&number].clone();
    device.state().queue_pairs.get_mut(&number).unwrap().0 = IBV_QPS_SQE;
    for (work, _) in sent {
        device.state().complete(number, work, IBV_WC_RETRY_EXC_ERR, 0);
    }
    assert_eq!(hear_all(&mut speaker), 0);
    assert_eq!(device.state().queue_pairs[&number].0, IBV_QPS_RTS);
    assert_eq!(device.state().buffers[&number].len(), HEARD, "it listens as before");
    speaker.say(&hello(1), Instant::now()).unwrap();
    assert_eq!(device.state().sent[&number].len(), SAID + 1);
}

#[test]
fn one_in_error_begins_anew_under_its_number_and_hears_with_all_buffers() {
    let device = MadeUp::new();
    let mut speaker = speaker(&device);
    let number = speaker.address().queue_pair;
    speaker.say(&hello(1), Instant::now()).unwrap();
    let before = device.state().buffers[&number].clone();
    let sent = device.state().sent[&number].clone();
    device.state().queue_pairs.get_mut(&number).unwrap().0 = IBV_QPS_ERR;
    for (work, _) in sent.into_iter().chain(before.clone()) {
        device.state().complete(number, work, IBV_WC_WR_FLUSH_ERR, 0);
    }
    assert_eq!(hear_all(&mut speaker), 0);
    assert_eq!(speaker.address().queue_pair, number);
    assert_eq!(device.state().queue_pairs[&number].0, IBV_QPS_RTS);
    let after = device.state().buffers[&number].clone();
    let places = |buffers: &[made_up::Posted]| {
        let mut places: Vec<u64> = buffers.iter().map(|(_, place)| *place).collect();
        places.sort_unstable();
        places
    };
    assert_eq!(places(&after), places(&before), "each buffer once");
    device.state().complete(number, after[3].0, IBV_WC_SUCCESS, 100);
    assert_eq!(hear_all(&mut speaker), 1);
    for _ in 0..SAID {
        speaker.say(&hello(1), Instant::now()).unwrap();
    }
    assert_eq!(device.state().sent[&number].len(), SAID, "no place is lost");
}

#[test]
fn one_that_takes_no_buffers_loses_no_completion() {
    let device = MadeUp::new();
    let mut speaker = speaker(&device);
    let number = speaker.address().queue_pair;
    speaker.say(&hello(1), Instant::now()).unwrap();
    let (listens, sent) = {
        let state = device.state();
        (state.buffers[&number][0].0, state.sent[&number][0].0)
    };
    device.state().is_full = true;
    device.state().complete(number, listens, IBV_WC_SUCCESS, 100);
    device.state().complete(number, sent, IBV_WC_SUCCESS, 0);
    let mut heard = 0;
    assert!(speaker.hear(|_| heard += 1).is_err(), "it cannot be brought back either");
    assert_eq!((heard, speaker.said.contains(&true)), (1, false));
    speaker.mute();
    assert!(!speaker.hear(|_| ()).unwrap());
    assert!(speaker.arm());
}

/// Before Linux 5.12 a child takes pages away from a device that reads or writes them for its parent.
#[test]
fn its_memory_is_not_shared_with_children() {
    let device = MadeUp::new();
    let speaker = speaker(&device);
    let address = device.state().buffers[&speaker.address().queue_pair][0].1;
    let mappings = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut is_here = false;
    for line in mappings.lines() {
        let range = line.split_whitespace().next().and_then(|range| range.split_once('-'));
        if let Some((Ok(begin), Ok(end))) =
            range.map(|(begin, end)| (u64::from_str_radix(begin, 16), u64::from_str_radix(end, 16)))
        {
            is_here = (begin..end).contains(&address);
        } else if let Some(flags) = line.strip_prefix("VmFlags:")
            && is_here
        {
            assert!(flags.split_whitespace().any(|flag| flag == "dc"), "{flags}");
            return;
        }
    }
    panic!("the memory is nowhere");
}
