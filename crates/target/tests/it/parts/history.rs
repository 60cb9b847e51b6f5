use headstack_target::content::Content;
use headstack_target::extents::Extents;
use headstack_target::history::*;
use std::collections::BTreeSet;

/// What sector 0 may have after a loss of power, over many seeds. It had 0 on the medium. Write `n` puts `n` there;
/// `change` says what happens, and returns the writes that are still at the drive.
fn outcomes(change: impl Fn(&mut History, &mut u8) -> Vec<u64>) -> Vec<u8> {
    let outcome = |seed| {
        let (mut h, mut medium) = (History::default(), 0);
        let at_drive = change(&mut h, &mut medium);
        let at_drive = at_drive.into_iter().map(|by| (0..1, write(by))).collect();
        let (kept, torn, lost) = h.tear(at_drive, &mut Dice::new(seed));
        assert_eq!(torn.lost, lost.len() as u64);
        assert!(h.is_empty());
        settle(kept, &mut medium);
        medium
    };
    let all: BTreeSet<u8> = (0..200).map(outcome).collect();
    all.into_iter().collect()
}

fn write(by: u64) -> Written {
    let content = Content::Data(vec![by as u8; SECTOR as usize].into());
    Written { by, content }
}

fn zeroes(by: u64) -> Written {
    let content = Content::Zeroes { keep: false };
    Written { by, content }
}

fn settle(writes: Writes, medium: &mut u8) {
    if let Some((_, last)) = writes.last() {
        *medium = last.by as u8;
    }
}

#[test]
fn what_is_on_the_medium_stays() {
    assert_eq!(outcomes(|_, _| vec![1]), [0, 1], "at the drive");
    let ended = |h: &mut History| h.ended(0..1, write(1));
    let in_buffer = |h: &mut History, _: &mut u8| {
        ended(h);
        vec![]
    };
    assert_eq!(outcomes(in_buffer), [0, 1]);
    let settled = |h: &mut History, medium: &mut u8| {
        ended(h);
        settle(h.settle(0..9), medium);
        assert!(h.is_empty());
        vec![]
    };
    assert_eq!(outcomes(settled), [1]);
}

#[test]
fn a_buffer_has_one_version_and_a_write_at_the_drive_is_another() {
    let begins = |h: &mut History, _: &mut u8| {
        h.ended(0..1, write(1));
        h.ended(0..1, write(2));
        vec![3]
    };
    assert_eq!(outcomes(begins), [0, 2, 3]);
    let destaged = |h: &mut History, medium: &mut u8| {
        let at_drive = begins(h, medium);
        settle(h.settle(0..1), medium);
        at_drive
    };
    assert_eq!(outcomes(destaged), [2, 3]);
}

#[test]
fn a_flush_settles_what_had_ended_before_it() {
    // Write 1 ends, the flush is request 2, write 3 ends while it is under way.
    let flushed = |good: bool| {
        move |h: &mut History, medium: &mut u8| {
            h.ended(0..1, write(1));
            h.flush_begins(2);
            h.ended(0..1, write(3));
            settle(h.flush_ends(2, good), medium);
            vec![4]
        }
    };
    assert_eq!(outcomes(flushed(true)), [1, 3, 4]);
    // The buffer has one version again.
    assert_eq!(outcomes(flushed(false)), [0, 3, 4]);
}

#[test]
fn a_write_may_be_torn_anywhere() {
    let mut seen = BTreeSet::new();
    for seed in 0..3000 {
        let all = vec![(0..4, zeroes(1))];
        let (_, torn, lost) = History::default().tear(all, &mut Dice::new(seed));
        assert_eq!(torn.kept + torn.lost, 4);
        seen.insert(lost);
    }
    assert_eq!(seen.len(), 16, "every subset of four sectors");
}

/// A flush costs what is new: neither what earlier ones settled nor the lengths of writes count.
#[test]
fn a_flush_meets_what_was_written_since_the_last_one() {
    let mut h = History::default();
    let flush = |h: &mut History, number| {
        h.flush_begins(number);
        h.flush_ends(number, true).len()
    };
    for i in 0..1_000u64 {
        h.ended(i << 22..(i + 1) << 22, zeroes(i));
    }
    assert_eq!(h.versions().map(Extents::len).sum::<usize>(), 1_000);
    assert_eq!(flush(&mut h, 1_000), 1_000);
    h.ended(7..8, zeroes(1_001));
    assert_eq!((flush(&mut h, 1_002), flush(&mut h, 1_003)), (1, 0));
    assert!(h.is_empty());
}
