use headstack_block::member::Member;
use headstack_drive::limits::CountsByLimit;
use headstack_drive::DriveRequest;
use headstack_drive::{Command, DriveDesign, DriveOptions, DurationLimit, Heeded, LimitsSpec, Models};
use headstack_experiment::window::recorded::*;
use headstack_experiment::window::{Records, Window};
use headstack_trace::{Ioprio, IoprioClass};
use headstack_units::Time;
use headstack_units::{Lba, Span};
use std::sync::Arc;

/// What a drive says of its limits, and has counted, is the same where it is recorded.
#[test]
fn limits_are_those_of_the_drive() {
    let mut spec = headstack_testkit::shipped::drive("ultrastar-hc570");
    let inactive = DurationLimit { inactive: Some(Span(50_000_000)), ..DurationLimit::default() };
    spec.duration_limits = LimitsSpec { enabled: Heeded::Limits, reads: vec![inactive], ..LimitsSpec::default() };
    let design = Arc::new(DriveDesign::new(&spec, &Models::builtin()).expect("a drive"));
    let make = || design.drive(&DriveOptions::default()).expect("a drive");
    let window = Window { system: 0, workload: 0, from: Time::ZERO, until: Time(1_000_000_000) };
    let mut plain = make();
    let mut recorded = Recorded::new(make(), 0, &window, Records::default());
    fn facts(member: &mut impl Member) -> (bool, Heeded, Option<CountsByLimit>) {
        // Twenty reads at once, all over the disk, with limit 1.
        for i in 0..20 {
            let request = DriveRequest {
                id: i,
                command: Command::Read,
                lba: Lba(i * 7919 % 20 * 1_000_000_000),
                blocks: 8,
                hint: member.hint(Ioprio::of(IoprioClass::BestEffort, 0, 1).expect("limit 1")),
            };
            member.submit(Time::ZERO, request, 0);
        }
        member.advance(Time(2_000_000_000), &mut |_| {});
        (member.has_limits(), member.heeded(), member.limit_counts())
    }
    let want = facts(&mut plain);
    let counted = want.2.is_some_and(|c| c[0][0].n_commands == 20);
    assert!(want.0 && want.1 == Heeded::Limits && counted, "{want:?}");
    assert_eq!(facts(&mut recorded), want);
}
