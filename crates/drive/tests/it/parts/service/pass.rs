use crate::parts::fixtures::small_drive;
use headstack_drive::mechanics::Arm;
use headstack_drive::service::pass::*;
use headstack_testkit::XorShift;
use headstack_units::{Span, Time, Turn};

/// A pass that can take the short way gives the same result on the long way.
#[test]
fn plain_passes_are_passes() {
    let spec = small_drive("head_switch = \"0.7 ms\"\nwrite_settle = \"0.3 ms\"");
    let m = headstack_drive::Models::builtin().mechanics(&spec, &spec.geometry, Turn(1 << 61)).expect("mechanics");
    let mut noise = XorShift::default();
    let mut draw = |limit| noise.below(limit);
    let (mut arm, mut scratch) = (Arm::default(), Scratch::default());
    let mut plain = [0; 2];
    for _ in 0..20_000 {
        let start = draw(1 << 40);
        let write = draw(2) == 0;
        let order = AccessRequest {
            place: None,
            reversal_cylinder: None,
            sector: draw(m.layout.capacity()),
            count: draw(40) as u32,
            write,
            start: Time(start),
            minimum_move: Span((draw(2) * draw(3_000_000)) as i64),
            on_arrival: draw(2) == 0,
            watermark: draw(30) as u32,
            // A sector takes 88 us.
            link_ns: [0.0, 20e3, 88.4e3, 130e3][draw(4) as usize],
            supply: write.then(|| Supply {
                start: Time(start + draw(6_000_000)),
                gate: draw(20) as u32,
                buffer: 20 + draw(30),
            }),
        };
        let place = m.layout.locate(order.sector).expect("below the capacity");
        if !order.is_plain(&place) {
            continue;
        }
        plain[write as usize] += 1;
        let mut other = arm;
        run_pieces(&m, &mut LayoutPlaces, &mut other, order, Some(place), &mut scratch, None);
        let long = scratch.pass;
        let mut short = run(&m, &mut LayoutPlaces, &mut arm, &order, &mut scratch, None);
        assert_eq!(arm, other);
        if write {
            (short.ready, short.link_bound) = (long.ready, long.link_bound);
        }
        assert_eq!(short, long, "{order:?}");
    }
    assert!(plain.iter().all(|n| *n > 6_000), "{plain:?}");
}
