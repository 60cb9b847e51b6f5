use headstack_sim::crew::*;

#[test]
fn each_item_is_worked_on_once_whoever_is_busy() {
    for (threads, busy) in [(1, 1), (2, 1), (2, 2), (4, 1), (4, 3), (0, 0)] {
        let crew = Crew::new(threads, busy);
        for n in [0, 1, 2, 100] {
            let mut items = vec![0; n];
            crew.each(&mut items, |item| *item += 1);
            assert_eq!(items, vec![1; n], "{threads} threads, {busy} busy");
        }
    }
}

/// Two items that wait for each other end only on two threads.
#[test]
fn idle_threads_work_at_the_same_time() {
    let meeting = std::sync::Barrier::new(2);
    let crew = Crew::new(2, 2);
    crew.leave();
    crew.each(&mut [(), ()], |()| {
        meeting.wait();
    });
}
