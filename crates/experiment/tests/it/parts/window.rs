use headstack_experiment::window::{record, Window};
use headstack_experiment::{Experiment, Inputs, RunOptions};
use headstack_testkit::shipped;
use headstack_units::Time;

/// A window of a system shows that system, whatever the tables of those before it are.
#[test]
fn a_window_is_of_any_system() {
    let system = |name: &str, drives: &str| format!("[[system]]\nname = \"{name}\"\n{drives}\n");
    let workload = "[[workload]]\nsynthetic = { n_requests = 50, devices = 2, rate = \"1000/s\" }\n";
    let one = system("one", "drive = \"ultrastar-7k4000\"\nqueue_depth = 1");
    let two = system("two", "drives = [{ drive = \"ultrastar-7k4000\" }, { drive = \"exos-x18\" }]");
    let shown = |text: &str, number| {
        let experiment = Experiment::from_toml(text, "test.toml".as_ref()).expect("an experiment");
        let window = Window { system: number, workload: 0, from: Time::ZERO, until: Time(100_000_000) };
        let inputs = Inputs::new(vec![shipped::folder()]);
        record(&experiment, &inputs, &window, &RunOptions::default()).expect("a window")
    };
    let alone = shown(&(two.clone() + workload), 0);
    assert_eq!((&alone.system[..], alone.drives.len()), ("two", 2));
    assert!(alone.drives.iter().all(|d| !d.commands.is_empty()));
    let second = shown(&(one + &two + workload), 1);
    assert_eq!(format!("{:?}", second.drives), format!("{:?}", alone.drives));
}
