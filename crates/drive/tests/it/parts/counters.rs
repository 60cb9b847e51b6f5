use headstack_drive::counters::*;

/// Numbers of things add up. Stacks search their maps at the same time, so the longest search counts.
#[test]
fn counters_of_several_units() {
    let unit = |n_moved_blocks, recovery_scan_s| Counters { n_moved_blocks, recovery_scan_s, ..Counters::default() };
    let mut all = Counters::default();
    for one in [unit(3, None), unit(4, Some(0.5)), unit(0, Some(0.25))] {
        all.add(&one);
    }
    assert_eq!(all, unit(7, Some(0.5)));
}

/// A name says its unit, as everywhere in results. The description has the fields of the struct, in their order.
#[test]
fn names_tell_units() {
    let all = Counters { recovery_scan_s: Some(0.0), ..Counters::default() };
    let text = serde_json::to_string(&all).expect("JSON");
    let places = Counters::ALL.iter().map(|c| text.find(&format!("{:?}", c.name)));
    assert!(places.clone().all(|at| at.is_some()) && places.is_sorted(), "{text}");
    for counter in Counters::ALL {
        assert!(counter.sentence.ends_with('.') && !counter.sentence.starts_with(' '));
        let (start, end) = match counter.unit {
            "" => ("n_", ""),
            "s" => ("", "_s"),
            "B" => ("", "_bytes"),
            other => panic!("{}: got unit {other}", counter.name),
        };
        let fits = counter.name.starts_with(start) && counter.name.ends_with(end);
        assert!(fits, "{}: got unit {:?}", counter.name, counter.unit);
    }
}
