//! The drives of a system, bare or under layers.

use crate::experiment::System;
use crate::layer::tree::{LayerSpec, Tree};
use crate::layer::LayerResult;
use crate::member::Member;
use crate::organisation::Organisation;
use crate::simulate::{simulate, Log, Options, Outcome, SimulateError};
use headstack_drive::Completion;
use headstack_engine::SpecError;
use headstack_trace::Requests;

/// What takes the requests of a system.
pub(crate) enum Drives<M> {
    /// Drives that do not influence each other.
    Bare(Vec<M>),
    /// One tree of layers over all of them.
    Layered(Box<Tree>),
}

impl<M: Member<Answer = Completion> + Send + 'static> Drives<M> {
    /// Drives under the layers that the system asks for, if any.
    pub fn of(system: &System, drives: Vec<M>) -> Result<Drives<M>, SpecError> {
        let specs = system.layers()?;
        Ok(match specs.is_empty() {
            true => Drives::Bare(drives),
            false => Drives::Layered(Box::new(Tree::new(drives, &specs)?)),
        })
    }

    /// Sizes of the units that the organisation sees as members.
    pub fn logical_units(&self) -> Vec<u64> {
        match self {
            Drives::Bare(drives) => drives.iter().flat_map(Member::logical_units).collect(),
            Drives::Layered(tree) => tree.logical_units(),
        }
    }

    /// Simulates a workload; the outcome has one member per drive.
    pub fn simulate<'a, 'l>(
        &'a mut self,
        source: &mut impl Requests,
        organisation: &'a dyn Organisation,
        options: &'a Options,
        log: Option<&'a mut Log<'l>>,
    ) -> Result<Outcome, SimulateError> {
        match self {
            Drives::Bare(drives) => simulate(source, drives, organisation, options, log),
            Drives::Layered(tree) => {
                let root = std::slice::from_mut(&mut **tree);
                let mut outcome = simulate(source, root, organisation, options, log)?;
                outcome.members = tree.drives(outcome.end);
                Ok(outcome)
            }
        }
    }

    /// What the layers counted, from the host down.
    pub fn layers(&self) -> Vec<LayerResult> {
        match self {
            Drives::Bare(_) => Vec::new(),
            Drives::Layered(tree) => tree.results(),
        }
    }
}

impl System {
    /// The layers over the drives, from the host down; none if there are none.
    ///
    /// # Errors
    /// An unknown layer, at `layers[i]`.
    pub fn layers(&self) -> Result<Vec<LayerSpec>, SpecError> {
        let read = |(i, value)| {
            LayerSpec::from_value(value).map_err(|e: SpecError| e.within(&format!("layers[{i}]")))
        };
        self.layers.iter().enumerate().map(read).collect()
    }
}
