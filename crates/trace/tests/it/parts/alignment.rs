use headstack_testkit::XorShift;
use headstack_trace::alignment::*;
use headstack_trace::request::{Command, Request};
use headstack_units::Lba;

fn of(requests: &[(u64, u32, Command)]) -> Alignment {
    let mut found = Alignment::default();
    for &(lba, blocks, op) in requests {
        found.add(&Request { lba: Lba(lba), blocks, op, ..Request::default() });
    }
    found
}

#[test]
fn counts_by_hand() {
    use Command::{Flush, Read, Write, WriteThrough};
    let found =
        of(&[(63, 8, Write), (71, 8, Read), (64, 8, WriteThrough), (64, 4, Write), (7, 1, Read), (0, 0, Flush)]);
    assert_eq!(found.offsets, [2, 0, 0, 0, 0, 0, 0, 3]);
    let mut parts = of(&[(63, 8, Write), (71, 8, Read), (64, 8, WriteThrough)]);
    parts.absorb(&of(&[(64, 4, Write), (7, 1, Read), (0, 0, Flush)]));
    assert_eq!(parts, found);
    assert_eq!((found.writes, found.partial_writes, found.plain_writes), (3, 2, 2));
    assert_eq!(found.shared_offset(), Some((7, 0.6)));
}

/// Many at a time and one by one, of batches with and without requests that cover sectors in part.
#[test]
fn counts_many_as_one_by_one() {
    let ops = [Command::Read, Command::Write, Command::WriteThrough, Command::Flush];
    let mut noise = XorShift::default();
    for round in 0..200 {
        let batch: Vec<Request> = (0..round % 40)
            .map(|_| {
                let x = noise.draw();
                let odd = u64::from(round % 2 == 0 && x % 16 == 0);
                Request {
                    lba: Lba((x >> 30) / 8 * 8 + odd * (x >> 20 & 7)),
                    blocks: 8 * (x >> 50 & 3) as u32 + (odd * (x >> 25 & 7)) as u32,
                    op: ops[(x >> 40 & 3) as usize],
                    ..Request::default()
                }
            })
            .collect();
        let (mut many, mut each) = (Alignment::default(), Alignment::default());
        many.add_all(&batch);
        batch.iter().for_each(|r| each.add(r));
        assert_eq!(many, each, "round {round}");
    }
}

#[test]
fn half_of_the_requests_share_no_offset() {
    let read = |lba| (lba, 8, Command::Read);
    assert_eq!(of(&[read(7), read(8)]).shared_offset(), None);
    assert_eq!(of(&[read(7), read(15), read(8)]).shared_offset(), Some((7, 2.0 / 3.0)));
    assert_eq!(of(&[read(16), read(8)]).shared_offset(), None);
    assert_eq!(of(&[]).shared_offset(), None);
}
