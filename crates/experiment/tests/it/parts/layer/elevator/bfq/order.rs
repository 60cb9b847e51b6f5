use headstack_block::layer::elevator::bfq::order::*;

/// Queues that always have requests get service in proportion to their weights: the theorem of fair queueing, within
/// one budget of each.
#[test]
fn service_is_in_proportion_to_weights() {
    let (weights, budget) = ([10, 20, 70, 300], 512);
    let mut order = Order::default();
    for (queue, weight) in (0..).zip(weights) {
        order.add(weight);
        order.share_mut(queue).budget = budget;
        order.activate(queue, false, 1);
    }
    let mut got = [0u64; 4];
    for _ in 0..10_000 {
        let queue = order.next().expect("all wait");
        // Some turns end early.
        let used = if queue == 2 { 100 } else { budget };
        order.serve(queue, used);
        got[queue as usize] += used;
        order.end_turn(queue, budget);
    }
    let all: u64 = got.iter().sum();
    for (got, weight) in got.iter().zip(weights) {
        let fair = all as f64 * weight as f64 / 400.0;
        let off = (*got as f64 - fair).abs();
        assert!(off <= 2.0 * budget as f64, "{got} of {all}, weight {weight}");
    }
}

/// With equal weights, queues have their turns in the order in which they came.
#[test]
fn equal_queues_take_turns() {
    let mut order = Order::default();
    for queue in 0..3 {
        order.add(40);
        order.share_mut(queue).budget = 512;
        order.activate(queue, false, 1);
    }
    let mut turns = Vec::new();
    for _ in 0..7 {
        let queue = order.next().expect("all wait");
        order.serve(queue, 8);
        order.end_turn(queue, 512);
        turns.push(queue);
    }
    assert_eq!(turns, [0, 1, 2, 0, 1, 2, 0]);
}

/// A queue that was without requests does not get what it has missed.
#[test]
fn an_idle_queue_saves_nothing() {
    let mut order = Order::default();
    for queue in 0..2 {
        order.add(40);
        order.share_mut(queue).budget = 100;
    }
    order.activate(0, false, 1);
    for _ in 0..50 {
        assert_eq!(order.next(), Some(0));
        order.serve(0, 100);
        order.end_turn(0, 100);
    }
    order.activate(1, false, 1);
    let mut got = [0u64; 2];
    for _ in 0..20 {
        let queue = order.next().expect("both wait");
        order.serve(queue, 100);
        got[queue as usize] += 100;
        order.end_turn(queue, 100);
    }
    assert_eq!(got, [1000, 1000]);
    order.deactivate(1);
    assert_eq!(order.next(), Some(0));
}
