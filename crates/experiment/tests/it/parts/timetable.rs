use headstack_block::timetable::*;
use headstack_testkit::XorShift;
use headstack_units::Time;

#[test]
fn agrees_with_a_search_through_all() {
    let mut noise = XorShift::default();
    for n in [1, 2, 3, 4, 5, 16, 17, 32, 64, 65, 1000] {
        let mut table = Timetable::new(n);
        let mut list = vec![Time::NEVER; n];
        assert_eq!(table.first(), (Time::NEVER, 0));
        for step in 0..5000 {
            let x = noise.draw();
            let i = (x >> 20) as usize % n;
            let time = match x % 7 {
                0 => Time::NEVER,
                _ => Time(x >> 40 & 15),
            };
            table.set(i, time);
            list[i] = time;
            let want = (0..n).map(|i| (list[i], i)).min().expect("a time");
            assert_eq!(table.first(), want, "{n} times, step {step}");
            assert_eq!(table.earliest, want.0, "{n} times, step {step}");
            assert_eq!(table.get(i), time);
            let others = (0..n).filter(|i| *i != want.1).map(|i| list[i]);
            let second = others.min().unwrap_or(Time::NEVER);
            assert_eq!(table.second(), second, "{n} times, step {step}");
        }
    }
}
/// Against a list that is searched; a third of the nodes are drives, or none, or all.
#[test]
fn drives_and_other_nodes_are_in_one_order() {
    let mut noise = XorShift::default();
    for (n, every) in [(1, 1), (2, 2), (3, 9), (9, 3), (50, 3), (50, 1)] {
        let mut order = Order::new((0..n).map(|i| i % every == every - 1));
        let mut list = vec![Time::NEVER; n];
        for step in 0..5000 {
            let x = noise.draw();
            let i = (x >> 20) as usize % n;
            list[i] = Time(x >> 40 & 7);
            order.set(i as u32, list[i]);
            let want = (0..n).map(|i| (list[i], i)).min().expect("a time");
            let got = (order.earliest(), order.first() as usize);
            assert_eq!(got, want, "{n} nodes, step {step}");
            let from = (x >> 30) as usize % n;
            let found = (from..n).find(|i| list[*i] == want.0);
            let got = order.first_in(from as u32..n as u32);
            assert_eq!(got.map(|i| i as usize), found, "{n} nodes, step {step}");
        }
    }
}
