use headstack_drive::command::{Command, DriveRequest};
use headstack_drive::queue::*;
use headstack_testkit::XorShift;
use headstack_units::{Lba, Time, Turn};

/// Arrival at `at`, admitted at once.
pub(super) fn arrival_at(at: u64) -> Arrival {
    Arrival { at: Time(at), decoding_since: Time(at), after_write: false }
}

/// What orders commands by age.
pub(super) fn age(w: &Waiting) -> (u64, u64) {
    (w.arrival.at.0, w.request.id)
}

fn push(queue: &mut Queue, id: u64, (cylinder, angle): (u32, u64), write: bool) {
    let request = DriveRequest {
        id,
        command: if write { Command::Write } else { Command::Read },
        lba: Lba(id),
        blocks: 8,
        ..DriveRequest::default()
    };
    queue.push(request, arrival_at(id), (id % 97, 8), |place| {
        place.cylinder = cylinder;
        place.angle = Turn(angle);
    });
}

const ALL: Needs = Needs { only_oldest: false, positions: true, cylinders: true, addresses: Addresses::Reads };

/// Compares all orders with the commands themselves.
fn check(queue: &mut Queue, model: &[u64]) {
    if model.len() == 1 && model[0] % 2 == 0 {
        // A single command may be removed without ever having been in the positions.
        return;
    }
    queue.place_lone();
    let queue = &*queue;
    let id = |i: usize| queue.items[i].request.id;
    assert_eq!(queue.len, model.len());
    assert!(queue.by_age().map(id).eq(model.iter().copied()));
    if !model.is_empty() {
        assert_eq!(id(queue.oldest()), model[0]);
    }
    let numbers: Vec<usize> = queue.by_age().collect();
    // Each command is in exactly one chunk, with its own place, within the bounds of the chunk.
    let positions = &queue.positions;
    let mut found = Vec::new();
    for rank in 0..positions.order.len() {
        let chunk = positions.piece(rank);
        for row in 0..chunk.len {
            let i = chunk.number[row] as usize;
            let w = &queue.items[i];
            let angle = (w.place.angle.0 >> (64 - ANGLE_BITS)) as u32;
            assert_eq!(chunk.cylinder[row], w.place.cylinder);
            assert_eq!(u32::from(chunk.angle[row] & !WRITE), angle);
            assert_eq!(chunk.angle[row] & WRITE != 0, w.request.command.writes());
            let key = (w.place.cylinder, angle);
            assert!(positions.least(rank) <= key && key <= positions.least(rank + 1));
            found.push(i);
        }
    }
    found.sort_unstable();
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    assert_eq!(found, sorted);
    let (by_cylinder, by_address) = (queue.by_cylinder(), queue.by_address());
    assert!(queue.len <= LONG || by_cylinder.is_some() && by_address.is_some());
    assert!(queue.len > LONG / 4 || by_cylinder.is_none() && by_address.is_none());
    if let (Some(cylinders), Some(addresses)) = (by_cylinder, by_address) {
        let mut want = numbers.clone();
        want.sort_by_key(|i| (queue.items[*i].place.cylinder, age(&queue.items[*i])));
        assert!(cylinders.within(0..u64::MAX).eq(want.iter().copied()));
        want.retain(|i| !queue.items[*i].request.command.writes());
        want.sort_by_key(|i| (queue.items[*i].sector, age(&queue.items[*i])));
        assert!(addresses.within(0..u64::MAX).eq(want.iter().copied()));
        for from in [0, 40, 96, 500] {
            let at = |i: &usize| queue.items[*i].sector;
            let first = want.iter().copied().find(|i| at(i) >= from);
            assert_eq!(addresses.first_from(from), first);
            let below = want.iter().filter(|i| at(i) < from).map(at).max();
            let last = want.iter().copied().find(|i| Some(at(i)) == below);
            assert_eq!(addresses.last_before(from), last);
            let within = want.iter().filter(|i| (from..from + 9).contains(&at(i)));
            assert!(addresses.within(from..from + 9).eq(within.copied()));
        }
    }
}

/// The queue grows and shrinks several times: over many cylinders, few cylinders, and one place only.
#[test]
fn orders_name_every_command() {
    for (cylinders, angles) in [(10_000, u64::MAX), (3, u64::MAX), (1, 2)] {
        let mut queue = Queue::new(ALL);
        let mut model: Vec<u64> = Vec::new();
        let mut noise = XorShift::default();
        println!("{cylinders} cylinders, seed of XorShift::default");
        for id in 0..4_000u64 {
            let grow = id / 500 % 2 == 0;
            if model.is_empty() || (noise.below(10) < 8) == grow {
                let place = (noise.below(cylinders) as u32, noise.below(angles));
                push(&mut queue, id, place, noise.below(3) == 0);
                model.push(id);
            } else {
                let rank = noise.below(model.len() as u64) as usize;
                let i = queue.by_age().nth(rank).expect("a command");
                assert_eq!(queue.items[i].request.id, model.remove(rank));
                queue.remove(i);
            }
            if id % 7 == 0 || model.len() < 3 {
                check(&mut queue, &model);
            }
        }
        while !model.is_empty() {
            let rank = noise.below(model.len() as u64) as usize;
            let i = queue.by_age().nth(rank).expect("a command");
            queue.remove(i);
            model.remove(rank);
            check(&mut queue, &model);
        }
    }
}

/// A command keeps its number while others are added and removed.
#[test]
fn numbers_stay() {
    let mut queue = Queue::new(ALL);
    push(&mut queue, 0, (5, 7), false);
    let first = queue.oldest();
    for id in 1..300 {
        push(&mut queue, id, (id as u32, 0), false);
        assert_eq!(queue.items[first].request.id, 0);
    }
    let others: Vec<usize> = queue.by_age().skip(1).collect();
    for i in others {
        queue.remove(i);
        assert_eq!(queue.items[first].request.id, 0);
        assert_eq!(queue.oldest(), first);
    }
}

/// An empty queue keeps no orders; nor does the queue of a scheduler that takes the oldest command.
#[test]
fn orders_are_allocated_when_needed() {
    let queue = Queue::new(ALL);
    assert_eq!(queue.positions.memory(), 0);
    let mut in_order = Queue::new(Needs { only_oldest: true, ..Needs::default() });
    let mut long = Queue::new(ALL);
    for id in 0..10_000 {
        push(&mut in_order, id, (id as u32, 0), false);
        push(&mut long, id, (id as u32, 0), false);
    }
    assert_eq!(in_order.positions.memory(), 0);
    assert!(in_order.by_cylinder().is_none() && in_order.by_address().is_none());
    assert!(long.positions.memory() >= 10_000 * 16);
    // A queue that was long keeps one chunk when it is short again.
    for _ in 0..9_990 {
        long.remove(long.oldest());
    }
    assert!(long.positions.memory() <= 2 * 4 * CHUNK * 5);
}

#[test]
fn order_of_age_survives_any_removals() {
    // Removes five commands in every possible order, and compares with a plain list.
    fn orders(n: usize) -> Vec<Vec<usize>> {
        if n == 0 {
            return vec![vec![]];
        }
        let mut all = Vec::new();
        for rest in orders(n - 1) {
            for first in 0..n {
                let mut order = vec![first];
                order.extend(&rest);
                all.push(order);
            }
        }
        all
    }
    for order in orders(5) {
        let mut queue = Queue::new(Needs::default());
        let mut model: Vec<u64> = (0..5).collect();
        model.iter().for_each(|id| push(&mut queue, *id, (0, 0), false));
        for rank in order {
            let id = model.remove(rank);
            let named = |i: &usize| queue.items[*i].request.id == id;
            let at = queue.by_age().find(named).expect("a command");
            queue.remove(at);
            let ages: Vec<u64> = queue.by_age().map(|i| queue.items[i].request.id).collect();
            assert_eq!(ages, model);
        }
        push(&mut queue, 9, (0, 0), false);
        let left = queue.by_age().map(|i| queue.items[i].request.id);
        assert_eq!(left.collect::<Vec<_>>(), [9]);
        assert!(queue.oldest() < 5, "numbers are used again");
    }
}
