use headstack_experiment::warnings::words::*;

#[test]
fn numbers_are_short() {
    for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (12_345_678, "12,345,678")] {
        assert_eq!(count(n), text);
    }
    for (blocks, text) in [
        (0, "0 B"),
        (1, "512 B"),
        (2, "1.02 kB"),
        (30_000_000_000_000 / 512, "30 TB"),
        (18_000_207_937_536 / 512, "18 TB"),
        (750_156_374_016 / 512, "750 GB"),
        (999_600_000_000 / 512, "1 TB"),
    ] {
        assert_eq!(size(blocks), text);
    }
    assert_eq!(share(396, 1000), "39.6 %");
    assert_eq!(share(0, 0), "0.0 %");
    assert_eq!(names(["a", "b, c"]), "\"a\", \"b, c\"");
    assert_eq!(names(["a", "b", "c", "d", "e"]), "\"a\", \"b\", \"c\", \"d\" and 1 more");
}
