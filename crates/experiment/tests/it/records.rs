//! Runs requests and keeps what is logged of each; runs whole experiments.

use headstack_block::organisation::{Context, PLUGINS};
use headstack_block::Member;
use headstack_experiment::{run, Experiment, Inputs, RunError, RunOptions, RunResult};
use headstack_schema::Params;
use headstack_sim::simulate::{simulate, Log, Options, Outcome, Record};
use headstack_trace::{Each, Request};

/// Runs an experiment with the drives of the project.
#[allow(clippy::result_large_err)]
pub fn ran(experiment: &Experiment, options: &RunOptions) -> Result<RunResult, RunError> {
    run(experiment, &Inputs::new(vec![headstack_testkit::shipped::folder()]), options)
}

/// The same from TOML, on so many threads.
#[allow(clippy::result_large_err)]
pub fn ran_on(text: &str, threads: usize) -> Result<RunResult, RunError> {
    let options = RunOptions { threads: Some(threads), ..RunOptions::default() };
    ran(&Experiment::from_toml(text, "e.toml".as_ref())?, &options)
}

/// Runs requests on independent members; returns the record of each request, in their order, and the outcome.
pub fn records<M: Member>(members: &mut [M], requests: Vec<Request>, options: &Options) -> (Vec<Record>, Outcome) {
    let context =
        Context { member_blocks: members.iter().flat_map(Member::logical_units).collect(), ..Context::default() };
    let all = &*PLUGINS;
    let entry = all.get("independent").expect("an organisation");
    let organisation = entry.build(&Params::new(), &context).expect("an organisation");
    let mut records = Vec::new();
    let mut log = |r: &Record| {
        records.push(*r);
        Ok(())
    };
    let outcome = simulate(
        &mut Each(requests.into_iter().map(Ok)),
        members,
        organisation.as_ref(),
        options,
        Some(&mut log as &mut Log),
    )
    .unwrap_or_else(|e| panic!("{e}"));
    records.sort_by_key(|r| r.answer.id);
    (records, outcome)
}
