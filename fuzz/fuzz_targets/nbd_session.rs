//! Arbitrary bytes as a client of the NBD server, without sockets: errors are fine, panics and much memory are not.
//! `cargo +nightly fuzz run nbd_session`; `crates/nbd/tests/it/hostile.rs` does the same with seeded damage.
#![no_main]

use bytes::BytesMut;
use headstack_live::store::Store;
use headstack_nbd::handshake::{Export, Handshake, Next};
use headstack_nbd::session::{Event, Session};
use headstack_nbd::tls::Mode;
use libfuzzer_sys::fuzz_target;

const BYTES: u64 = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let export = Export {
        name: "0".into(),
        description: "a disk".into(),
        bytes: BYTES,
    };
    let (mut input, mut out) = (BytesMut::from(data), BytesMut::new());
    let mut handshake = Handshake::begin(&mut out, Mode::Off);
    let Next::Use(negotiated) = handshake.step(&mut input, &mut out, &[export]) else {
        return;
    };
    let (mut session, mut store) = (Session::new(negotiated), Store::memory());
    loop {
        match session.next(&mut input, &mut store, BYTES) {
            Event::Request(request) => session.ended(&request, None),
            Event::Wait | Event::Leaves => break,
        }
        out.clear();
        session.fill(&mut out, &store).expect("memory can be read");
    }
});
