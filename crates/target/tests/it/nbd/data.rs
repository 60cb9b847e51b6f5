//! What is written is read, by whoever asks; wrong requests are refused.

use crate::nbd::client::{folder, options, Server, BLOCK_STATUS, CACHE, FLUSH, READ, TRIM, WRITE, WRITE_ZEROES};
use headstack_target::open::Kept;
use headstack_testkit::{cases, XorShift};

const SMALL: &str = "ibm-18es";

/// Random requests of several clients against a plain array of bytes.
fn as_an_array_of_bytes(store: impl Fn(&std::path::Path) -> Kept, may_lose_power: bool) {
    let folder = folder();
    let mut options = options(&folder, SMALL, 0.0);
    options.live.store = store(folder.path());
    options.live.losses.is_possible = may_lose_power;
    let server = Server::with(folder, &options);
    let mut clients = [server.client(false), server.client(true), server.client(true)];
    // A window in the middle of the drive that begins inside a page.
    let (base, size) = (server.bytes / 2 + 12_345, 400_000u64);
    let mut array = vec![0u8; size as usize];
    let seed = 20;
    println!("seed {seed}");
    let mut rng = XorShift::seeded(seed);
    for step in 0..cases(400) {
        let client = &mut clients[rng.below(3) as usize];
        let offset = rng.below(size);
        let length = 1 + rng.below((size - offset).min(150_000));
        let range = offset as usize..(offset + length) as usize;
        match rng.below(5) {
            0 | 1 => {
                let got = client.read(base + offset, length as u32);
                assert!(got == array[range], "step {step}");
            }
            2 | 3 => {
                let data: Vec<u8> = (0..length).map(|_| rng.below(256) as u8).collect();
                client.write(base + offset, &data);
                array[range].copy_from_slice(&data);
            }
            4 if step % 4 == 0 => assert_eq!(client.ask(FLUSH, 0, 0, b"").0, 0),
            _ => {
                let command = if rng.below(2) == 0 { TRIM } else { WRITE_ZEROES };
                let (error, _) = client.ask(command, base + offset, length as u32, b"");
                assert_eq!(error, 0);
                array[range].fill(0);
            }
        }
    }
    assert_eq!(clients[0].ask(FLUSH, 0, 0, b"").0, 0);
    assert!(clients[1].read(base, size as u32) == array);
}

#[test]
fn memory_is_an_array_of_bytes() {
    as_an_array_of_bytes(|_| Kept::Memory, false);
    as_an_array_of_bytes(|_| Kept::Memory, true);
}

#[test]
fn a_file_is_an_array_of_bytes() {
    as_an_array_of_bytes(|folder| Kept::File(folder.join("data")), false);
    as_an_array_of_bytes(|folder| Kept::File(folder.join("data")), true);
}

#[test]
fn data_outlive_the_server() {
    let kept = folder();
    let mut options = options(&kept, SMALL, 0.0);
    options.live.store = Kept::File(kept.path().join("data"));
    // Where it listens is not where its data are.
    let start = |options: &mut headstack_target::emulate::Options| {
        let folder = folder();
        options.nbd = self::options(&folder, SMALL, 0.0).nbd;
        Server::with(folder, options)
    };
    let server = start(&mut options);
    let bytes = server.bytes;
    server.client(false).write(bytes - 3, b"end");
    server.end();
    let server = start(&mut options);
    assert_eq!(server.client(true).read(bytes - 4, 4), b"\0end");
    drop(server);
}

#[test]
fn holes_are_told() {
    let server = Server::start(SMALL, 0.0);
    let mut client = server.client(true);
    // Memory has pages of 64 KiB.
    client.write(1 << 16, &[1; 1 << 16]);
    let (error, extents) = client.ask(BLOCK_STATUS, 0, 4 << 16, b"");
    assert_eq!(error, 0);
    let numbers: Vec<u32> = extents.chunks(4).map(|c| u32::from_be_bytes(c.try_into().unwrap())).collect();
    assert_eq!(numbers, [1 << 16, 3, 1 << 16, 0, 2 << 16, 3]);
    // One extent is enough, if the client says so.
    client.send(1 << 3, BLOCK_STATUS, 1 << 16, 4 << 16, b"");
    let (_, extents) = client.reply();
    assert_eq!(extents, [[0, 1, 0, 0], [0; 4]].concat());
    // Power may be lost: what is not on the medium counts.
    let folder = folder();
    let mut options = options(&folder, "exos-x18", 0.0);
    options.live.losses.is_possible = true;
    let server = Server::with(folder, &options);
    let mut client = server.client(true);
    client.write(4096, &[1; 4096]);
    client.write(8192, &[1; 4096]);
    let (_, extents) = client.ask(BLOCK_STATUS, 0, 1 << 16, b"");
    let hole = [0, 0, 0, 3];
    let want = [[0, 0, 16, 0], hole, [0, 0, 32, 0], [0; 4], [0, 0, 208, 0], hole];
    assert_eq!(extents, want.concat());
}

#[test]
fn wrong_requests_are_refused_and_the_next_one_is_served() {
    let server = Server::start(SMALL, 0.0);
    let end = server.bytes;
    for structured in [false, true] {
        let mut client = server.client(structured);
        let big = vec![0; (32 << 20) + 1];
        for (flags, command, offset, length, data, error) in [
            (0, READ, end, 1, &b""[..], 22),
            (0, READ, end - 1, 2, b"", 22),
            (0, READ, u64::MAX, 2, b"", 22),
            (0, READ, 0, 0, b"", 22),
            (0, READ, 0, (32 << 20) + 1, b"", 75),
            (0, WRITE, end - 1, 2, b"ab", 28),
            (0, WRITE, u64::MAX, 2, b"ab", 28),
            (0, WRITE, 0, (32 << 20) + 1, &big, 22),
            (0, WRITE_ZEROES, end, 1, b"", 28),
            (0, TRIM, end, 1, b"", 22),
            (0, CACHE, end, 1, b"", 22),
            (0, FLUSH, 0, 1, b"", 22),
            (0, FLUSH, 1, 0, b"", 22),
            // Zeroes are no quicker than other data.
            (1 << 4, WRITE_ZEROES, 0, 1, b"", 95),
            (1 << 4, WRITE, 0, 1, b"a", 22),
            (0, 99, 0, 1, b"", 22),
            (1 << 9, READ, 0, 1, b"", 22),
            (1 << 9, WRITE, 0, 1, b"a", 22),
        ] {
            client.send(flags, command, offset, length, data);
            let (got, _) = client.reply();
            assert_eq!(got, error, "{command} at {offset}, {length} bytes");
        }
        // FUA may be on any request.
        client.send(1, READ, 0, 3, b"");
        assert_eq!(client.reply(), (0, vec![0; 3]));
        client.send(1, WRITE, 0, 3, b"abc");
        assert_eq!(client.reply().0, 0);
        assert_eq!(client.read(0, 3), b"abc");
        assert_eq!(client.ask(WRITE_ZEROES, 0, 3, b"").0, 0);
    }
    // Without the metadata having been selected.
    assert_eq!(server.client(false).ask(BLOCK_STATUS, 0, 1, b"").0, 22);
}

#[test]
fn several_requests_of_one_client_are_served_at_once() {
    // A drive that reorders what it has.
    let server = Server::start("exos-x18", 0.0);
    let (mut client, bytes) = (server.client(false), server.bytes);
    let sorted: Vec<u64> = (0..100).map(|i| client.send(0, READ, bytes / 100 * (i * 37 % 100), 512, b"")).collect();
    let mut seen = Vec::new();
    for _ in 0..100 {
        let (cookie, error, data) = client.next_reply().unwrap();
        assert_eq!((error, data.len()), (0, 512));
        seen.push(cookie);
    }
    assert_ne!(seen, sorted);
    seen.sort_unstable();
    assert_eq!(seen, sorted);
    // Their record is in order of arrival, as a simulation wants it.
    server.end_and(|folder| {
        let rows = std::fs::read_to_string(folder.join("record.csv")).unwrap();
        let first = |row: &str| row.split(',').next().unwrap().parse::<u64>().unwrap();
        let times: Vec<u64> = rows.lines().skip(1).map(first).collect();
        assert!(times.len() == 100 && times.is_sorted(), "{times:?}");
        let lbas: Vec<&str> = rows.lines().skip(1).map(|row| row.split(',').nth(2).unwrap()).collect();
        let sent = |i: u64| bytes / 100 * (i * 37 % 100) / 512;
        assert!((0..100).map(|i| sent(i).to_string()).eq(lbas));
    });
}

/// What a read beside a write sees of a sector is old or new; one that is sent after the answer sees the new.
#[test]
fn a_read_beside_a_write_sees_whole_sectors() {
    let server = Server::start("exos-x18", 0.0);
    let (mut writer, mut reader) = (server.client(false), server.client(true));
    // Longer than what is sent at once, from within a sector.
    let (at, length) = (7, 1_000_000u32);
    for round in 1..=10u8 {
        writer.send(0, WRITE, at, length, &vec![round; length as usize]);
        reader.send(0, READ, at, length, b"");
        let (error, seen) = reader.reply();
        assert_eq!((error, writer.reply().0), (0, 0));
        let (begun, whole) = seen.split_at(512 - at as usize);
        for sector in std::iter::once(begun).chain(whole.chunks(512)) {
            let is_one = sector.iter().all(|b| *b == sector[0]);
            assert!(is_one && [round - 1, round].contains(&sector[0]), "round {round}");
        }
        assert!(reader.read(at, length).iter().all(|b| *b == round));
    }
}

#[test]
fn long_reads_come_in_chunks_and_holes_are_not_sent() {
    let server = Server::start(SMALL, 0.0);
    let mut client = server.client(true);
    client.write(1 << 20, &vec![7; 600_000]);
    // Memory has pages of 64 KiB: 1 MiB of nothing, ten pages of data, nothing.
    let data = 10 << 16;
    let all = client.read(0, 4 << 20);
    assert!(all[1 << 20..][..600_000] == vec![7; 600_000]);
    assert!(all.iter().filter(|b| **b != 0).count() == 600_000);
    let sent: usize = client.chunks.iter().filter(|c| c.0 == 1).map(|c| c.1 - 8).sum();
    assert_eq!(sent, data);
    assert_eq!((client.chunks[0], client.chunks.last()), ((2, 12), Some(&(2, 12))));
    // With DF there is one chunk with everything in it.
    for length in [100_000u32, 4 << 20] {
        client.send(1 << 2, READ, 0, length, b"");
        assert!(client.reply() == (0, all[..length as usize].to_vec()));
        let mut chunks = client.chunks.iter();
        assert_eq!(chunks.next(), Some(&(1, length as usize + 8)));
        assert!(chunks.all(|c| *c == (0, 0)));
    }
}

#[test]
fn what_will_be_read_soon_is_read_into_the_buffer() {
    let server = Server::start("exos-x18", 0.0);
    let mut client = server.client(true);
    assert_eq!(client.ask(CACHE, 1 << 30, 64 << 10, b"").0, 0);
    assert_eq!(client.read(1 << 30, 64 << 10), vec![0; 64 << 10]);
    server.end_and(|folder| {
        let rows = std::fs::read_to_string(folder.join("record.csv")).unwrap();
        let times: Vec<u64> =
            (rows.lines().skip(1)).map(|row| row.rsplit(',').next().unwrap().parse().unwrap()).collect();
        // The first waits for the platter; the second comes from the buffer, at the speed of the link.
        assert_eq!(times.len(), 2);
        assert!(times[1] < 1_000_000 && times[1] < times[0], "{times:?} ns");
    });
}
