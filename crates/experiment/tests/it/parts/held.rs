use headstack_sim::ended::Times;
use headstack_sim::held::*;
use headstack_sim::request_tracker::NO_THREAD;
use headstack_testkit::XorShift;
use headstack_units::Time;
use std::collections::VecDeque;

/// A request with the number `n` ends: arrivals and members at few different times, so that many are equal.
fn end(part: &mut Held, n: u64) {
    part.ended(Times { response_ns: n, service_ns: 0, kind: 0, class: 0, counts: true }, || NO_THREAD);
}

/// Against a search for the part whose next event has the least time and place: of equal ones, the first part.
#[test]
fn requests_of_parts_are_counted_in_the_order_of_the_whole() {
    let mut noise = XorShift::default();
    for n_parts in [1usize, 2, 3, 16, 17, 64] {
        let mut order = Order::new(0, n_parts);
        let mut parts: Vec<Held> = (0..n_parts).map(|_| Held::new(false)).collect();
        for step in 0..20u64 {
            let mut lists: Vec<VecDeque<(u64, usize, u64)>> = vec![VecDeque::new(); n_parts];
            let mut times = vec![step * 100; n_parts];
            for n in 0..300u64 {
                let x = noise.draw();
                let i = (x >> 20) as usize % n_parts;
                times[i] += x >> 40 & 1;
                // An arrival, or an event of one of the two members of this part.
                let place = match x >> 50 & 3 {
                    0 => 0,
                    own => 2 * i + own as usize % 2 + 1,
                };
                match place {
                    0 => parts[i].arrives(Time(times[i]), 0),
                    own => parts[i].reach(Time(times[i]), own - 1),
                }
                end(&mut parts[i], n);
                lists[i].push_back((times[i], place, n));
            }
            let mut want = Vec::new();
            let next = |lists: &[VecDeque<(u64, usize, u64)>]| {
                let heads = lists.iter().enumerate();
                let heads = heads.filter_map(|(i, l)| l.front().map(|f| (f.0, f.1, i)));
                heads.min().map(|first| first.2)
            };
            while let Some(i) = next(&lists) {
                want.extend(lists[i].pop_front().map(|f| f.2));
            }
            let mut got = Vec::new();
            let mut held: Vec<&mut Held> = parts.iter_mut().collect();
            order.count_ended(&mut held, |times| got.push(times.response_ns));
            assert_eq!(got, want, "{n_parts} parts, step {step}");
        }
    }
}
