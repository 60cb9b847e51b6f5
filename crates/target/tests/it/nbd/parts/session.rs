use bytes::BytesMut;
use headstack_target::content::Content;
use headstack_target::devices::Bytes;
use headstack_target::nbd::handshake::Negotiated;
use headstack_target::nbd::protocol::{
    command, flag, Headers, EXTENDED_REQUEST_BYTES, EXTENDED_REQUEST_MAGIC, REQUEST_MAGIC,
};
use headstack_target::nbd::session::*;
use headstack_target::store::Store;
use headstack_testkit::XorShift;

const BYTES: u64 = 1 << 18;

/// What a client that sends these bytes in pieces gets, if every request is served at once.
fn replies(headers: Headers, bytes: &[u8], mut piece: impl FnMut() -> usize) -> (Vec<u8>, Vec<Request>, Event) {
    let negotiated = Negotiated { export: 0, headers, allocation: true };
    let (mut session, mut store) = (Session::new(negotiated), Store::memory());
    let (mut input, mut out, mut found) = (BytesMut::new(), BytesMut::new(), Vec::new());
    let (mut rest, mut last, mut all) = (bytes, Event::Wait, Vec::new());
    while !rest.is_empty() && last != Event::Leaves {
        let (now, later) = rest.split_at(piece().clamp(1, rest.len()));
        input.extend_from_slice(now);
        rest = later;
        loop {
            last = session.next(&mut input, BYTES);
            let Event::Request(request) = last else { break };
            found.push(request);
            if let Some(content) = session.content.take() {
                let (offset, length) = (request.offset, request.length);
                store.write(0, Bytes { offset, length }, &content).unwrap();
            }
            session.ended(&request, None);
            session.replies.fill(&mut out, &store, 256 << 10).unwrap();
            all.extend_from_slice(&out);
            out.clear();
        }
        session.replies.fill(&mut out, &store, 256 << 10).unwrap();
        all.extend_from_slice(&out);
        out.clear();
    }
    (all, found, last)
}

fn put(headers: Headers, bytes: &mut Vec<u8>, command: u16, offset: u64, length: u32, data: &[u8]) {
    let is_extended = headers == Headers::Extended;
    let (magic, flags) = match (is_extended, data) {
        (false, _) => (REQUEST_MAGIC, 0u16),
        (true, []) => (EXTENDED_REQUEST_MAGIC, 0),
        (true, _) => (EXTENDED_REQUEST_MAGIC, flag::PAYLOAD_LEN),
    };
    bytes.extend_from_slice(&magic.to_be_bytes());
    bytes.extend_from_slice(&flags.to_be_bytes());
    bytes.extend_from_slice(&command.to_be_bytes());
    bytes.extend_from_slice(&offset.to_be_bytes());
    bytes.extend_from_slice(&offset.to_be_bytes());
    if is_extended {
        bytes.extend_from_slice(&[0; 4]);
    }
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(data);
}

#[test]
fn pieces_do_not_matter() {
    let seed = 12;
    println!("seed {seed}");
    let mut rng = XorShift::seeded(seed);
    for headers in [Headers::Simple, Headers::Structured, Headers::Extended] {
        let mut bytes = Vec::new();
        for _ in 0..200 {
            let (offset, length) = (rng.below(BYTES + 100), rng.below(3000) as u32);
            let command = rng.below(8) as u16;
            // With extended headers data may follow any request; those that want none are refused.
            let stray = headers == Headers::Extended && rng.below(8) == 0;
            let has_data = command == command::WRITE || stray;
            let data = vec![rng.below(256) as u8; if has_data { length as usize } else { 0 }];
            if command != command::DISC {
                put(headers, &mut bytes, command, offset, length, &data);
            }
        }
        put(headers, &mut bytes, command::DISC, 0, 0, b"");
        let whole = replies(headers, &bytes, || usize::MAX);
        assert_eq!(whole.2, Event::Leaves);
        let n = whole.1.len();
        assert!(n > 70, "{headers:?}: {n} requests are right");
        assert!(whole == replies(headers, &bytes, || 1));
        let pieces = replies(headers, &bytes, || 1 + rng.below(5000) as usize);
        assert!(whole == pieces);
    }
}

#[test]
fn a_wrong_magic_ends_the_session() {
    for headers in [Headers::Structured, Headers::Extended] {
        let bytes = [0; EXTENDED_REQUEST_BYTES];
        let (all, found, last) = replies(headers, &bytes, || 7);
        assert_eq!((all.len(), found.len(), last), (0, 0, Event::Leaves));
    }
}

/// Every second page has data: what a search finds is bounded, and so are the searches of a turn.
#[test]
fn searches_are_work() {
    let negotiated = Negotiated { export: 0, headers: Headers::Structured, allocation: true };
    let (mut session, mut store) = (Session::new(negotiated), Store::memory());
    for i in 0..1000 {
        let (offset, content) = (i << 17, Content::Data(vec![1].into()));
        store.write(i, Bytes { offset, length: 1 }, &content).unwrap();
    }
    let mut bytes = Vec::new();
    put(Headers::Structured, &mut bytes, command::BLOCK_STATUS, 0, 1 << 27, &[]);
    let (mut input, mut out) = (BytesMut::from(&bytes.repeat(100)[..]), BytesMut::new());
    assert_eq!(session.next(&mut input, 1 << 40), Event::Wait);
    let work = session.replies.fill(&mut out, &store, 256 << 10).unwrap();
    assert!((256 << 10..512 << 10).contains(&work), "got {work}");
    // The head of a chunk, the number of the metadata, and 512 extents each.
    assert_eq!(out.len(), 2 * (20 + 4 + 512 * 8));
}
