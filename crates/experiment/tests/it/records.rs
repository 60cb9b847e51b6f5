//! Runs requests and keeps what is logged of each.

use headstack_block::organisation::{Context, PLUGINS};
use headstack_block::Member;
use headstack_schema::Params;
use headstack_sim::simulate::{simulate, Log, Options, Outcome, Record};
use headstack_trace::{Each, Request};

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
    records.sort_by_key(|r| r.id);
    (records, outcome)
}
