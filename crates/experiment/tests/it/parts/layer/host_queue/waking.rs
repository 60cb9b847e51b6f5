use headstack_block::layer::host_queue::admission::Process;
use headstack_block::layer::host_queue::waking::*;
use headstack_units::Time;
use std::collections::VecDeque;

/// By hand: at one time the lowest queue submits first, and of one queue the process that was woken first.
#[test]
fn woken_processes_submit_in_order_of_time_then_of_queues() {
    let mut all = VecDeque::new();
    for (process, (at, queue)) in [(5, 1), (5, 2), (5, 0), (5, 1), (7, 2), (7, 0)].into_iter().enumerate() {
        let (at, process) = (Time(at), process as Process);
        add(&mut all, Waking { at, queue, process });
    }
    let order: Vec<Process> = all.iter().map(|w| w.process).collect();
    assert_eq!(order, [2, 0, 3, 1, 5, 4]);
}
