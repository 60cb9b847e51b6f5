//! Every policy with actuators that refuse, are late or lie, and meters that lie.

use crate::common::plant::Kind;
use crate::common::{build_for, drives_of, random, with_expiry};
use headstack_control::policy::PLUGINS;
use headstack_control::{Actuator, Command, Controller, Device, Held, Progress, Sample, Sensor};
use headstack_units::{Span, Time, Watts};
use proptest::prelude::*;

/// What a drive does with a command.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Answer {
    Take,
    /// It refuses; it may be tried again after so many seconds.
    Refuse(u8),
    /// It takes the command after so many polls.
    Late(u8),
    /// It says that it has taken the command, and has not.
    Lie,
}

struct Drives {
    device: Device,
    answer: Answer,
    is: Vec<Command>,
    /// What is under way, and how many polls until it is done.
    pending: Vec<Option<(Command, u8)>>,
}

impl Actuator for Drives {
    fn apply(&mut self, drive: usize, command: &Command) -> Progress {
        assert!(self.device.accepts(command), "{command:?}");
        assert!(self.pending[drive].is_none(), "a second command to drive {drive}");
        match self.answer {
            Answer::Take => self.is[drive] = *command,
            Answer::Lie => {}
            Answer::Late(polls) => {
                self.pending[drive] = Some((*command, polls));
                return Progress::Pending;
            }
            Answer::Refuse(seconds) => {
                let retry_after = Span(i64::from(seconds) * 1_000_000_000);
                return Progress::Failed { retry_after };
            }
        }
        Progress::Done
    }

    fn poll(&mut self, drive: usize) -> Progress {
        match &mut self.pending[drive] {
            None => Progress::Done,
            Some((_, polls)) if *polls > 0 => {
                *polls -= 1;
                Progress::Pending
            }
            Some((command, _)) => {
                self.is[drive] = *command;
                self.pending[drive] = None;
                Progress::Done
            }
        }
    }

    fn read(&mut self, drive: usize, command: &Command) -> Held {
        match self.is[drive] == *command {
            true => Held::Same,
            false => Held::Other,
        }
    }
}

struct Meter(Option<f64>);

impl Sensor for Meter {
    fn read(&mut self, now: Time) -> Sample {
        self.0.map_or(Sample::missing(now), |w| Sample::new(now, Watts(w)))
    }
}

fn any_answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        3 => Just(Answer::Take),
        1 => (0u8..20).prop_map(Answer::Refuse),
        1 => (0u8..20).prop_map(Answer::Late),
        1 => Just(Answer::Lie),
    ]
}

/// What the meter adds to the truth; `None`: nothing is read.
fn any_lie() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        4 => Just(Some(0.0)),
        1 => (-5.0..5.0f64).prop_map(Some),
        1 => Just(None),
        1 => Just(Some(f64::NAN)),
        1 => Just(Some(1e9)),
    ]
}

proptest! {
    #![proptest_config(random(24))]

    /// While faults last, no drive gets a second command while one is under way, and none that it does not accept. When they
    /// end, every drive has its command within a minute, also those that lied, because it is read back; and at the end all have
    /// their settings of before.
    #[test]
    fn faults_of_drives_and_meters_end(
        faults in prop::collection::vec((any_answer(), any_lie(), 1u64..8), 1..20),
        cap in 7.5..10.0f64,
    ) {
        for plugin in PLUGINS.iter() {
            let n = drives_of(plugin);
            let device = Device { can_limit: true, ..with_expiry() };
            let policy = build_for(plugin.name(), plugin.example(), &vec![device; n]);
            let mut controller = Controller::new(policy, &vec![device; n]);
            let mut drives = Drives {
                device,
                answer: Answer::Take,
                is: vec![device.open; n],
                pending: vec![None; n],
            };
            let cap = Some(Watts(cap * n as f64));
            let mut now = Time::ZERO;
            let mut step = |controller: &mut Controller, drives: &mut Drives, lie: Option<f64>| {
                now += Span(1_000_000_000);
                let truth: f64 = drives.is.iter().map(|c| Kind::default().watts(c)).sum();
                controller.step(now, cap, &mut Meter(lie.map(|l| truth + l)), drives);
                now
            };
            for (answer, lie, seconds) in &faults {
                drives.answer = *answer;
                for _ in 0..*seconds {
                    step(&mut controller, &mut drives, *lie);
                }
            }
            drives.answer = Answer::Take;
            let mut end = Time::ZERO;
            for _ in 0..60 {
                end = step(&mut controller, &mut drives, Some(0.0));
            }
            let in_force: Vec<Option<Command>> = controller.in_force().collect();
            for (i, is) in drives.is.iter().enumerate() {
                prop_assert_eq!(in_force[i], Some(*is), "{}: drive {}", plugin.name(), i);
            }
            prop_assert!(controller.release(end, &mut drives), "{}", plugin.name());
            prop_assert!(drives.is.iter().all(|is| *is == device.open), "{}", plugin.name());
        }
    }
}
