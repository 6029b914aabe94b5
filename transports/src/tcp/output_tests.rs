//! The outgoing half against a naive model: a flat vector of all bytes ever pushed.

use mpi_core::buffer::RawBytes;
use mpi_core::port::Body;
use proptest::prelude::*;

use super::*;
use crate::tcp::seal::tests::seals;

#[derive(Clone, Debug)]
enum Step {
    Own(usize),
    User(usize),
    Packed(usize),
    Send(usize),
    Acknowledge(usize),
    Resume(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0usize..300).prop_map(Step::Own),
        (0usize..300).prop_map(Step::User),
        (0usize..300).prop_map(Step::Packed),
        (0usize..900).prop_map(Step::Send),
        (0usize..900).prop_map(Step::Acknowledge),
        (0usize..900).prop_map(Step::Resume),
    ];
    prop::collection::vec(step, 1..120)
}

/// Everything ever pushed, and what was done with it.
#[derive(Default)]
struct Model {
    seal: Seal,
    bytes: Vec<u8>,
    sent: usize,
    /// The most that was ever sent.
    reached: usize,
    acked: usize,
    /// Where each transfer's bytes end.
    ends: Vec<(usize, u64)>,
    released: Vec<u64>,
}

impl Model {
    /// A part as it is to be sent.
    fn add(&mut self, part: &[u8], is_body: bool) {
        let (place, mut part) = (self.bytes.len() as u64, part.to_vec());
        let tag = match is_body {
            true if part.is_empty() => None,
            true => self.seal.close_body(place, &mut part),
            false => self.seal.close(place, &mut part),
        };
        self.bytes.extend(part);
        self.bytes.extend(tag.into_iter().flatten());
    }
}

fn next_bytes(n: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (n * 31 + i * 7) as u8).collect()
}

fn send(output: &mut Output, model: &mut Model, at_most: usize) {
    let mut runs = [Run::new(std::ptr::null(), 0); RUNS_MAX];
    let count = output.fill(&mut runs);
    let mut flat = Vec::new();
    for run in &runs[..count] {
        // SAFETY: the runs lie in the output and in vectors that the test keeps.
        flat.extend(unsafe { run.to_vec() });
    }
    assert_eq!(flat[..], model.bytes[model.sent..model.sent + flat.len()]);
    assert_eq!(flat.is_empty(), model.sent == model.bytes.len());
    let n = flat.len().min(at_most);
    output.advance(n);
    model.sent += n;
    model.reached = model.reached.max(model.sent);
}

fn take(output: &mut Output, model: &mut Model, step: &Step, n: usize, kept: &mut Vec<Vec<u8>>) {
    match *step {
        Step::Own(len) => {
            let bytes = next_bytes(n, len);
            let body = Body::Bytes(RawBytes::from(&bytes[..]));
            output.push(Kind::Frame, 5, b"front", body, len);
            output.expect_delivery();
            let record = Record { len: len as u32 + 5, kind: Kind::Frame, ack: 5 };
            model.add(&record.to_bytes(), false);
            model.add(&[b"front", &bytes[..]].concat(), false);
        }
        Step::User(len) | Step::Packed(len) => {
            let bytes = next_bytes(n, len);
            output.push_front(Kind::Fragment, 5, *b"head", len);
            let record = Record { len: len as u32 + 4, kind: Kind::Fragment, ack: 5 };
            model.add(&record.to_bytes(), false);
            model.add(b"head", false);
            model.ends.push((model.bytes.len() + len, n as u64));
            model.add(&bytes, true);
            if matches!(step, Step::User(_)) && len > 0 && !output.encrypts() {
                // SAFETY: the test keeps them to its end.
                unsafe { output.push_user(bytes.as_ptr(), len, n as u64) };
                kept.push(bytes);
            } else {
                output.push_packed(bytes.into(), n as u64);
            }
        }
        Step::Send(at_most) => send(output, model, at_most),
        Step::Acknowledge(more) | Step::Resume(more) => {
            let place = model.acked + more;
            let released = &mut model.released;
            let (answer, most) = if matches!(step, Step::Resume(_)) {
                (output.resume(place as u64, |transfer| released.push(transfer)), model.reached)
            } else {
                (output.acknowledge(place as u64, |transfer| released.push(transfer)), model.sent)
            };
            assert_eq!(answer.is_ok(), place <= most);
            if answer.is_ok() {
                model.acked = place;
                if matches!(step, Step::Resume(_)) {
                    model.sent = place;
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn every_byte_goes_out_in_order_and_is_kept_until_it_arrived(
        steps in steps(), seal in seals(),
    ) {
        let mut model = Model { seal, ..Model::default() };
        let (mut output, mut kept) = (Output::new(seal), Vec::new());
        for (n, step) in steps.iter().enumerate() {
            take(&mut output, &mut model, step, n, &mut kept);
            prop_assert_eq!(output.is_sent(), model.sent == model.bytes.len());
        }
        while model.sent < model.bytes.len() {
            send(&mut output, &mut model, usize::MAX);
        }
        let released = &mut model.released;
        output.acknowledge(model.bytes.len() as u64, |transfer| released.push(transfer)).unwrap();
        prop_assert!(output.is_delivered() && output.kept() == 0);
        let due: Vec<u64> = model.ends.iter().map(|(_, transfer)| *transfer).collect();
        prop_assert_eq!(&model.released, &due, "each transfer's memory is given back once");
    }
}
