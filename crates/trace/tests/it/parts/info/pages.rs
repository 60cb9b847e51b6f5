use headstack_trace::info::mix;
use headstack_trace::info::pages::*;

#[test]
fn touches_and_windows_by_hand() {
    let mut pages = Pages::default();
    for (page, window) in [(1, 0), (2, 0), (1, 0), (1, 2), (3, 2), (1, 2), (1, 2)] {
        pages.touch(mix(page), window);
    }
    let reuse = pages.reuse(4096);
    assert_eq!((reuse.n_touches, pages.count()), (7, 3));
    assert_eq!(reuse.repeated_touches_ratio, 4.0 / 7.0);
    assert_eq!(reuse.pages_touched_again_ratio, 1.0 / 3.0);
    let classes: Vec<_> = (reuse.pages.iter()).map(|c| (c.up_to_touches, c.n_pages)).collect();
    // Pages 2 and 3 once, page 1 five times: above 4, up to 8.
    assert_eq!(classes, [(1, 2), (2, 0), (4, 0), (8, 1)]);
    // Windows 0 and 2 hold two pages each, window 1 none.
    let set = pages.working_set(60_000_000_000, 3, 4096);
    assert_eq!(set.window_s, 60.0);
    assert_eq!((set.mean, set.max), (4.0 * 4096.0 / 3.0, 2.0 * 4096.0));
}

/// Four million pages, every third of them touched twice, in two windows; memory stays bounded.
#[test]
fn samples_of_many_pages_are_near() {
    let mut pages = Pages::default();
    let n = 4_000_000u64;
    for page in 0..n {
        pages.touch(mix(page), page * 2 / n);
    }
    for page in (0..n).step_by(3) {
        pages.touch(mix(page), 1);
    }
    assert!(pages.is_estimate() && pages.kept.len() <= MOST);
    let near = |value: f64, expected: f64| {
        assert!((value / expected - 1.0).abs() < 0.01, "{value} {expected}");
    };
    near(pages.count() as f64, n as f64);
    let reuse = pages.reuse(4096);
    near(reuse.pages_touched_again_ratio, 1.0 / 3.0);
    near(reuse.repeated_touches_ratio, 0.25);
    // The second window has its own half, and a third of the other one.
    let set = pages.working_set(1_000_000_000, 2, 4096);
    near(set.max / 4096.0, n as f64 * (0.5 + 0.5 / 3.0));
}
