use headstack_control::ultrastar_7k4000::*;

#[test]
fn a_look_up_is_exact_at_the_points_and_half_way_at_the_geometric_mean() {
    for (i, host) in NR_REQUESTS.iter().enumerate() {
        for (j, depth) in QUEUE_DEPTH.iter().enumerate() {
            let got = look_up(&IOPS, f64::from(*host), f64::from(*depth));
            assert!((got - IOPS[i][j]).abs() < 1e-9, "({depth}, {host}): {got}");
        }
    }
    let got = look_up(&IOPS, 128f64.sqrt() * 8.0, 1.0);
    assert!((got - (139.0 + 147.0) / 2.0).abs() < 1e-9, "{got}");
    assert_eq!(look_up(&IOPS, 1.0, 1.0), 83.0);
    assert!((look_up(&IOPS, 1e6, 1e6) - 198.0).abs() < 1e-9);
}

/// A longer expiry takes a seek from each batch, so a long queue with a short one at the drive gets faster and draws
/// less. Queues that are served before anything expires do not change: 1 % in the throughput of the other tables'
/// model, 0.1 W in its power.
#[test]
fn a_longer_expiry_matters_for_long_queues_only() {
    for tables in &LONGER {
        for depth in QUEUE_DEPTH.map(f64::from) {
            let iops = Longer::look_up(&tables.iops, 16.0, depth);
            assert!((iops / look_up(&IOPS, 16.0, depth) - 1.0).abs() < 0.01, "{iops}");
            let watts = Longer::look_up(&tables.power_w, 16.0, depth);
            assert!((watts - look_up(&POWER_W, 16.0, depth)).abs() < 0.1, "{watts}");
        }
    }
    let [.., longest] = &LONGER;
    for depth in [2.0, 4.0, 8.0] {
        let iops = Longer::look_up(&longest.iops, 128.0, depth);
        assert!(iops > 1.08 * look_up(&IOPS, 128.0, depth), "{depth}: {iops}");
        let watts = Longer::look_up(&longest.power_w, 128.0, depth);
        assert!(watts < look_up(&POWER_W, 128.0, depth) - 0.2, "{depth}: {watts}");
    }
}
