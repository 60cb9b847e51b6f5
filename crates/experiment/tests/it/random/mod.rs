//! Random experiments over all features. Whatever is combined, what `checks` states must hold.
//!
//! `HEADSTACK_THOROUGH` multiplies the number of experiments (0: one), `HEADSTACK_SEED` is the first seed. An
//! experiment that fails is made smaller as long as it still fails; the message then has its seed and the folder with its
//! files, which `headstack run` takes.

// A test whose preparation fails must fail.
#![allow(clippy::expect_used, clippy::panic)]

mod case;
mod checks;
mod digests;
mod draw;
mod found;
mod log;
mod trial;

use case::{Case, Feature, Scope};
use headstack_engine::Progress;
use headstack_testkit::smaller;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::Mutex;
use std::time::Duration;
use tempfile::TempDir;
use trial::{run_case, Finding, Outcome};

/// Experiments in one run of the tests.
const USUAL: u64 = 150;
/// The first seed of a usual run.
const FIRST: u64 = 1;
/// Most findings that are made smaller and shown.
const SHOWN: usize = 10;

/// A folder that is removed at the end.
fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder")
}

/// Runs a case; features that the experiment refuses are left out. The case that ran, or `None` if nothing is left
/// to leave out, with the errors.
fn accepted(seed: u64, folder: &Path, progress: &Progress) -> (Option<(Case, Outcome)>, Vec<String>) {
    let mut case = draw::case(seed);
    let mut errors = Vec::new();
    loop {
        match run_case(&case, folder, progress) {
            Outcome::Refused(error) => {
                // Words of the folder's name are not what the error is about.
                let error = error.replace(&folder.display().to_string(), "");
                let is_smaller = case.drop_refused(&error);
                errors.push(error);
                if !is_smaller {
                    return (None, errors);
                }
            }
            outcome => return (Some((case, outcome)), errors),
        }
    }
}

/// An experiment takes a second of processor time at most. One that takes so long does not end, and is cancelled.
const PATIENCE: Duration = Duration::from_secs(600);

/// Does some work, and cancels it if it does not end.
fn watched<T>(seed: u64, progress: &Progress, work: impl FnOnce() -> T) -> T {
    let (done, is_done) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if is_done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                println!("seed {seed} runs for more than {PATIENCE:?}");
                progress.cancel();
            }
        });
        let result = work();
        drop(done);
        result
    })
}

/// The smallest case found that fails in the same check.
fn smallest(mut case: Case, mut finding: Finding, folder: &Path) -> (Case, Finding) {
    let fails = |smaller: &Case, finding: &mut Finding| {
        let progress = Progress::new();
        let outcome = watched(smaller.seed, &progress, || run_case(smaller, folder, &progress));
        match outcome {
            Outcome::Failed(found) if found.check == finding.check => {
                *finding = found;
                true
            }
            _ => false,
        }
    };
    // Whole workloads and systems first.
    for scopes in case.scopes() {
        let of = |kept: &[Scope]| {
            let kept = case.features.iter().filter(|f| !scopes.contains(&f.scope) || kept.contains(&f.scope));
            Case { features: kept.cloned().collect(), ..case.clone() }
        };
        let kept = smaller(scopes.clone(), |kept| !kept.is_empty() && fails(&of(kept), &mut finding));
        case = of(&kept);
    }
    let (needed, others): (Vec<Feature>, Vec<Feature>) = case.features.iter().cloned().partition(|f| f.needed);
    let of = |kept: &[Feature]| Case { features: [&needed, kept].concat(), ..case.clone() };
    let kept = smaller(others, |kept| fails(&of(kept), &mut finding));
    (of(&kept), finding)
}

/// Results of all cases.
#[derive(Default)]
struct Tally {
    findings: Vec<(Case, Finding)>,
    passed: u64,
    /// Seeds of which nothing could be run.
    lost: Vec<(u64, String)>,
    /// How often each feature was in a case that ran.
    features: BTreeMap<String, u64>,
    /// How often each error was the reason to leave something out.
    refused: BTreeMap<String, u64>,
}

impl Tally {
    fn add(&mut self, seed: u64, ran: Option<(Case, Outcome)>, errors: Vec<String>) {
        for error in &errors {
            *self.refused.entry(error.clone()).or_default() += 1;
        }
        let Some((case, outcome)) = ran else {
            self.lost.push((seed, errors.join("; ")));
            return;
        };
        for feature in &case.features {
            let words = feature.name.split(['{', ':']).next().unwrap_or_default();
            *self.features.entry(words.trim().to_string()).or_default() += 1;
        }
        match outcome {
            Outcome::Failed(finding) => {
                let text: String = finding.text.chars().take(200).collect();
                println!("seed {seed}: {}: {text}", finding.check);
                self.findings.push((case, finding));
            }
            _ => self.passed += 1,
        }
    }
}

#[test]
fn random_experiments_keep_what_holds_for_every_run() {
    let count = headstack_testkit::cases(USUAL);
    let first = headstack_testkit::first_seed(FIRST);
    println!("seeds {first} to {}", first + count - 1);
    let (next, tally) = (AtomicU64::new(first), Mutex::new(Tally::default()));
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (next, tally, folder) = (&next, &tally, folder());
            scope.spawn(move || loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= first + count {
                    return;
                }
                let progress = Progress::new();
                let (ran, errors) = watched(seed, &progress, || accepted(seed, folder.path(), &progress));
                tally.lock().expect("no panic").add(seed, ran, errors);
            });
        }
    });
    let mut tally = tally.into_inner().expect("no panic");
    report(&tally);
    assert!(tally.lost.is_empty(), "refused as a whole: {:?}", tally.lost);
    tally.findings.sort_by_key(|(case, _)| case.seed);
    let n = tally.findings.len();
    let shown: Vec<String> = tally.findings.into_iter().take(SHOWN).map(told).collect();
    assert!(n == 0, "{n} of {count} experiments failed\n\n{}", shown.join("\n\n"));
    assert_eq!(tally.passed, count);
}

/// A finding as text, with its smallest experiment, whose files are kept.
fn told((case, finding): (Case, Finding)) -> String {
    let folder = folder().keep();
    let (case, finding) = smallest(case, finding, &folder);
    trial::write(&case.toml(), case.trace.as_deref(), &folder);
    let experiment = folder.join(trial::EXPERIMENT);
    format!(
        "HEADSTACK_SEED={} HEADSTACK_THOROUGH=0 fails: {}: {}\nheadstack run {}\n{}",
        case.seed,
        finding.check,
        finding.text,
        experiment.display(),
        case.toml()
    )
}

fn report(tally: &Tally) {
    println!("{} passed, {} found", tally.passed, tally.findings.len());
    println!("features: {:?}", tally.features);
    let refused = tally.refused.iter();
    refused.for_each(|(error, n)| println!("  refused {n}: {error}"));
}

/// What is drawn covers every entry of the registries and every kind of feature.
#[test]
fn every_entry_of_a_registry_is_drawn() {
    let models = headstack_drive::Models::builtin();
    let mut names: Vec<String> = Vec::new();
    let mut add = |kind: &str, name: &str| names.push(format!("{kind}\"{name}\""));
    models.schedulers.iter().for_each(|p| add("scheduler\":", p.name()));
    models.layouts.iter().skip(1).for_each(|p| add("layout\":", p.name()));
    models.seek.iter().for_each(|p| add("model\":", p.name()));
    models.power.iter().for_each(|p| add("model\":", p.name()));
    models.policies.iter().for_each(|p| add("policy\":", p.name()));
    models.cleaning.iter().for_each(|p| add("policy\":", p.name()));
    models.roles.iter().for_each(|p| add("policy\":", p.name()));
    headstack_drive::mapping::MODELS.iter().for_each(|m| add("model\":", m.0));
    headstack_block::layer::PLUGINS.iter().for_each(|e| add("name\":", e.name()));
    headstack_block::layer::elevator::PLUGINS.iter().for_each(|e| add("elevator\":", e.name()));
    headstack_block::organisation::PLUGINS.iter().for_each(|e| add("name\":", e.name()));
    headstack_control::policy::PLUGINS.iter().for_each(|p| add("policy\":", p.name()));
    let cases = (FIRST..FIRST + 10 * USUAL).map(|seed| draw::case(seed).document().to_string());
    let all = cases.collect::<Vec<_>>().concat();
    let missing: Vec<&String> = names.iter().filter(|n| !all.contains(n.as_str())).collect();
    assert!(missing.is_empty(), "never drawn: {missing:?}");
    assert!(all.contains("\"F\"") || draw_has_flushes(), "no flushes");
}

/// Whether some trace has flushes.
fn draw_has_flushes() -> bool {
    let traces = (FIRST..FIRST + USUAL).filter_map(|seed| draw::case(seed).trace);
    traces.into_iter().any(|t| t.contains(",F,"))
}

/// Leaving features out keeps the other tables, and a needed feature is not left out.
#[test]
fn a_case_loses_the_feature_that_an_error_names() {
    let mut case =
        (FIRST..).map(draw::case).find(|c| c.features.iter().any(|f| f.name == "cache.segments")).expect("a case");
    let before = case.features.len();
    assert!(case.drop_refused("system[0].cache.segments: got 0, need 1 to 1024"));
    assert_eq!(case.features.len(), before - 1);
    assert!(case.features.iter().all(|f| f.name != "cache.segments"));
    while case.drop_refused("") {}
    assert!(case.features.iter().all(|f| f.needed));
    assert!(case.features.iter().any(|f| matches!(f.scope, Scope::System(0))));
}
