//! Lower layers side by side: their units are the units of this layer.
//!
//! # Model
//! Unit `i` is the `i`-th unit of the layers below, counted through all of them. Requests pass unchanged.
//! # Source
//! The drives of a host without a volume manager.
//! # Validity
//! The layers share no bandwidth and no queue; see `link` for a shared port.

use super::{not_supported, Flow, Layer, LowerCount, Setting};
use headstack_schema::{SpecError, Table};

/// The layer's name.
pub(crate) const NAME: &str = "independent";

#[derive(Table)]
#[table(
    model = "lower layers side by side, each with units of its own",
    facts = LowerCount::Many, build = |Parameters, context| Ok(Box::new(Independent(context.members)))
)]
pub(super) struct Parameters;

/// Layers side by side, with units of these sizes.
pub(super) struct Independent(pub Vec<u64>);

impl Layer for Independent {
    fn name(&self) -> &str {
        NAME
    }

    fn units(&self) -> Vec<u64> {
        self.0.clone()
    }

    fn submit(&mut self, request: u32, flow: &mut Flow) {
        let (asked, tag) = (flow[request].request, flow[request].tag);
        let given = flow.open_as(tag, asked, request);
        flow.submit(flow[request].request.unit, given);
    }

    fn ended(&mut self, given: u32, flow: &mut Flow) {
        let request = flow.take_over(given);
        flow.end(request);
    }

    fn passes_on(&self) -> bool {
        true
    }

    fn set(&mut self, setting: &Setting, _flow: &mut Flow) -> Result<(), SpecError> {
        Err(not_supported(NAME, setting, &[]))
    }
}
