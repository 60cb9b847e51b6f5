mod by_address;

use headstack_block::layer::elevator::sorted::*;
use headstack_block::layer::elevator::Queued;
use headstack_units::{Span, Time};

/// A waiting request of the reference: deadline, turn, slot, direction.
type Waits = (Time, u64, u32, usize);

fn oldest_of(all: &[Waits], direction: usize) -> Option<(Time, u32)> {
    let mine = all.iter().filter(|w| w.3 == direction);
    mine.min().map(|w| (w.0, w.2))
}

/// Against a list that is searched: whatever is added, removed, moved and merged, the oldest is the same.
#[test]
fn the_oldest_is_that_of_a_list_which_is_searched() {
    let mut sorted = Sorted::new(Span::from_ms(5.0), Span::from_ms(50.0));
    let mut all: Vec<Waits> = Vec::new();
    let mut free: Vec<u32> = (0..200).collect();
    let mut x = 88_172_645_463_325_252u64;
    for step in 0..20_000u64 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        let now = Time(step / 3 * 1000);
        let pick = |n: usize| (x >> 20) as usize % n;
        match x % 5 {
            0 | 1 if !free.is_empty() => {
                let slot = free.swap_remove(pick(free.len()));
                let (write, lba) = (x >> 50 & 1 == 1, x >> 54);
                let blocks = 1;
                sorted.add(now, &Queued { slot, write, lba, blocks, sync: true, submitter: 0, ..Queued::default() });
                let direction = usize::from(write);
                all.push((now + sorted.expire[direction], step, slot, direction));
            }
            2 if !all.is_empty() => {
                let (.., slot, direction) = all.swap_remove(pick(all.len()));
                assert_eq!(sorted.remove(slot).map(|r| r.0), Some(direction));
                free.push(slot);
            }
            3 if !all.is_empty() => {
                let (.., slot, direction) = all[pick(all.len())];
                let (write, lba) = (direction == WRITE, x >> 54);
                sorted.resort(&Queued { slot, write, lba, blocks: 2, sync: true, submitter: 0, ..Queued::default() });
            }
            4 if all.len() > 1 => {
                let (a, b) = (pick(all.len()), pick(all.len() - 1));
                if a != b && all[a].3 == all[b].3 {
                    let gone = all[b];
                    sorted.absorb(all[a].2, gone.2);
                    if (gone.0, gone.1) < (all[a].0, all[a].1) {
                        (all[a].0, all[a].1) = (gone.0, gone.1);
                    }
                    all.swap_remove(b);
                    free.push(gone.2);
                }
            }
            _ => {}
        }
        for direction in [READ, WRITE] {
            let want = oldest_of(&all, direction);
            assert_eq!(sorted.oldest(direction), want, "step {step}");
            assert_eq!(sorted.waits(direction), want.is_some());
        }
        assert_eq!(sorted.len(), all.len());
    }
}
