//! Ports and devices that fail, under reliable connections.

use std::os::fd::AsFd;

use mpi_core::port::{PeerId, ProcessName};
use rdma_sys::ibv_wc_status::IBV_WC_SUCCESS;

use super::super::made_up::{self, MadeUp};
use super::super::meet::Ends;
use super::super::rc::{Rc, VerbsConfig};
use super::super::settings::VerbsSettings;
use super::*;
use crate::rdma::fabric::{Access, Completion, Fabric, Local, Memory, Work};
use crate::sys::wait::until_readable;

const PEER: PeerId = PeerId(3);

/// An end over a made-up device that knows one peer.
fn end(device: &MadeUp) -> Rc {
    let devices = vec![(Arc::clone(&device.context), made_up::chosen())];
    let (job, settings) = ("job".to_owned(), VerbsSettings::default());
    let config = VerbsConfig { job: job.clone(), rank: 0, secret: [1; 32], settings };
    let mut end = Rc::on(devices, config).unwrap();
    end.add_peer(PEER, &ProcessName { job, rank: 1 });
    end
}

/// Posts a buffer; whether there was room.
fn post(end: &mut Rc, memory: &mut [u8], work: u64) -> bool {
    let (address, len) = (memory.as_mut_ptr(), memory.len());
    // SAFETY: the memory outlives the test's use of it.
    unsafe {
        let region = end.register(address, len, Access::Local).unwrap();
        end.post(Local { region, address, len }, Work(work)).is_ok()
    }
}

fn news(end: &mut Rc) -> Vec<Completion> {
    let mut news = Vec::new();
    end.poll(&mut news);
    news
}

/// Whether who sleeps by this end's descriptor is left alone.
fn sleeps(end: &mut Rc) -> bool {
    news(end);
    let is_armed = end.arm() || {
        news(end);
        end.arm()
    };
    is_armed && !until_readable([end.news()], Duration::ZERO).unwrap()
}

#[test]
fn a_port_that_was_down_for_long_keeps_its_buffers() {
    let device = MadeUp::new();
    let mut end = end(&device);
    let mut memory = [[0; 64]; 3];
    let [first, second, third] = &mut memory;
    assert!(post(&mut end, first, 10) && post(&mut end, second, 11));
    let core = &mut end.core;
    assert!(core.make(1).unwrap().is_ok());
    let queue_pair = core.connections[0].rails[0].queue_pair.number();
    let down = ibv_event_type::IBV_EVENT_PORT_ERR as u32;
    device.state().events.push_back((down, 1));
    core.events();
    core.look_at_ports(core.now() + PORT_DOWN);
    assert!(matches!(&core.news[..], [Completion::Down(PEER, why)] if why.contains("is down")));
    core.news.clear();

    // The link is back, and so is the peer's first message, in the buffer that was posted first.
    assert!(post(&mut end, third, 12));
    let numbers: Vec<u64> = device.state().shared.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [0, 1, 2], "no number twice");
    device.state().complete(queue_pair, 0, IBV_WC_SUCCESS, 8);
    assert_eq!(news(&mut end), [Completion::Unused(Work(10))]);
    assert!(end.core.make(1).unwrap().is_ok(), "it may connect again");
}

#[test]
fn a_port_whose_queues_have_failed_gives_its_buffers_back_once_and_takes_none() {
    let device = MadeUp::new();
    let mut end = end(&device);
    let mut memory = [[0; 64]; 2];
    let [first, second] = &mut memory;
    assert!(post(&mut end, first, 10));
    assert!(end.core.make(1).unwrap().is_ok());
    let queue_pair = end.core.connections[0].rails[0].queue_pair.number();
    device.state().is_failing = true;
    let told = news(&mut end);
    assert!(
        matches!(&told[..], [Completion::Down(PEER, _), Completion::Unused(Work(10))]),
        "{told:?}"
    );
    assert!(!device.state().queue_pairs.contains_key(&queue_pair), "something may still come");
    assert!(!post(&mut end, second, 11));
    assert!(end.core.make(1).unwrap().is_err());
    assert_eq!(news(&mut end), []);
}

#[test]
fn a_removed_device_wakes_nobody() {
    for is_told in [true, false] {
        let device = MadeUp::new();
        let mut end = end(&device);
        let mut memory = [0; 64];
        assert!(post(&mut end, &mut memory, 10));
        assert!(sleeps(&mut end));
        if is_told {
            let fatal = ibv_event_type::IBV_EVENT_DEVICE_FATAL as u32;
            device.state().events.push_back((fatal, 0));
        }
        device.state().remove();
        assert!(until_readable([Some(end.news().unwrap().as_fd())], Duration::ZERO).unwrap());
        assert!(sleeps(&mut end), "told: {is_told}");
        assert!(!post(&mut end, &mut memory, 11));
        assert!(end.core.make(1).unwrap().is_err());
        assert!(sleeps(&mut end), "told: {is_told}");
        assert_eq!(news(&mut end), []);
    }
}
