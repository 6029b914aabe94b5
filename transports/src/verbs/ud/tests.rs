//! Datagrams over a device that fails.

use std::time::Duration;

use super::*;
use crate::sys::wait::until_readable;
use crate::verbs::made_up::{self, MadeUp};

#[test]
fn a_removed_device_wakes_nobody_and_carries_nothing() {
    let device = MadeUp::new();
    let mut ud = Ud::on(&device.context, made_up::chosen(), 64, 2).unwrap();
    assert!(ud.arm());
    device.state().remove();
    assert!(until_readable([Some(ud.news())], Duration::ZERO).unwrap());
    let is_armed = ud.arm() || ud.arm();
    assert!(is_armed && !until_readable([Some(ud.news())], Duration::ZERO).unwrap());
    assert!(!ud.has_room() && ud.senders.are_broken());
}
