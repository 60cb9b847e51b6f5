use headstack_drive::{Command, Hint};
use headstack_target::live::Access;
use headstack_target::record::*;
use headstack_units::Time;

#[test]
fn rows_wait_for_earlier_requests_but_not_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.csv");
    let mut record = Record::new(&path, false).unwrap();
    let access = Access { device: 0, command: Command::Flush, hint: Hint::None, offset: 0, length: 0 };
    // The first takes too long, the third is lost, the fifth is under way at the end.
    let n = MOST_WAITING as u64 + 4;
    (1..=5).for_each(|number| record.begin(&access, Time(number * 10)));
    record.end(3, None).unwrap();
    for number in (1..=n).filter(|n| ![1, 3, 5].contains(n)) {
        if number > 5 {
            record.begin(&access, Time(number * 10));
        }
        record.end(number, Some(Time(number * 10 + 3))).unwrap();
    }
    record.finish().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let mut want = "time_ns,device,lba,blocks,op,response_ns\n10,0,0,0,F,\n".to_string();
    for number in (2..=n).filter(|n| ![3, 5].contains(n)) {
        want.push_str(&format!("{number}0,0,0,0,F,3\n"));
    }
    assert!(text == want);
}
