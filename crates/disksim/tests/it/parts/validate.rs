use headstack_disksim::validate::{classes, demerit, demerit_histogram, Class, Request};

#[test]
fn a_shift_is_its_own_demerit() {
    let a: Vec<f64> = (1..=2500).map(|i| i as f64 * 1e-5).collect();
    let b: Vec<f64> = a.iter().rev().map(|x| x + 3e-4).collect();
    assert!((demerit(&a, &b) - 3e-4).abs() < 1e-12);
    // The histogram's bins are 1 % wide at 25 ms, so the mean shift is exact to a part of a bin.
    assert!((demerit_histogram(&a, &b) - 3e-4).abs() < 2e-5);
    assert_eq!(demerit(&a, &a), 0.0);
    assert_eq!(demerit_histogram(&a, &a), 0.0);
}

#[test]
fn samples_of_different_size_compare_by_quantile() {
    // Half at 1 and half at 3 against all at 1: the root of half of 2².
    assert!((demerit(&[1.0, 3.0], &[1.0; 7]) - 2f64.sqrt()).abs() < 1e-12);
    assert!(demerit(&[], &[1.0]).is_nan());
    assert!(demerit_histogram(&[1.0], &[]).is_nan());
}

#[test]
fn classes_follow_the_request_before() {
    let request = |write, lba| Request { write, lba, blocks: 4 };
    let requests = [request(false, 0), request(false, 4), request(true, 8), request(false, 0)];
    let classes = classes(&requests, &[1.0; 4], &[2.0; 4]);
    let of = |op, prev, seq| {
        let class = |c: &&Class| (c.operation, c.previous, c.sequential) == (op, prev, seq);
        classes.iter().find(class).map(|c| c.n_requests)
    };
    assert_eq!(of("read", "read", false), Some(1));
    assert_eq!(of("read", "read", true), Some(1));
    assert_eq!(of("write", "read", true), Some(1));
    assert_eq!(of("read", "write", false), Some(1));
    assert_eq!(classes.len(), 4);
}
