//! A system in the time of whoever drives it, for emulators: its drives and layers, without a workload.

use crate::experiment::System;
use crate::layer::{compose, Branch, DriveLayer, LayerSpec, Tree};
use crate::run::{make_drive, Inputs};
use headstack_drive::DriveDesign;
use headstack_schema::SpecError;
use std::path::Path;

/// The organisation in which each device is a unit of a drive.
const INDEPENDENT: &str = "independent";

/// Builds a system as trees of layers. Each unit of each tree is a device; `base` is the folder of relative paths.
///
/// Organisations are layers here, also those that a simulation computes without layers.
///
/// # Errors
/// A drive, an organisation or a layer that does not fit. What only a simulation does: capping and changes.
pub fn live_system(
    system: &System,
    base: &Path,
    seed: u64,
    inputs: &Inputs,
) -> Result<Vec<Tree>, SpecError> {
    for (key, is_given) in [
        ("capping", !system.capping.is_empty()),
        ("change", !system.change.is_empty()),
    ] {
        if is_given {
            let need = "a system without it: it is not supported in real time";
            return Err(SpecError::new(key, "a table", need));
        }
    }
    let seed = system.seed.unwrap_or(seed);
    let mut drives: Vec<Branch> = Vec::new();
    for (i, kind) in system.kinds()?.iter().enumerate() {
        let key = match system.drives.is_empty() {
            true => "drive".into(),
            false => format!("drives[{i}].drive"),
        };
        let placed = |e: SpecError| e.within(&key);
        let spec = kind.drive_spec(base, inputs)?;
        let design = DriveDesign::new(&spec, &inputs.models).map_err(placed)?;
        for _ in 0..kind.count {
            let number = drives.len() as u32;
            let drive = make_drive(&design, kind, seed, number).map_err(placed)?;
            drives.push(DriveLayer::branch(drive, number));
        }
    }
    let specs = layers_of(system)?;
    let roots = compose(drives, &specs, &inputs.layers, &inputs.elevators)?;
    let tree = |root| Tree::over(vec![root]);
    Ok(roots.into_iter().map(tree).collect())
}

/// Organisation and layers of a system, from the host down.
fn layers_of(system: &System) -> Result<Vec<LayerSpec>, SpecError> {
    let (name, params) = system.organisation()?;
    let organisation = (name != INDEPENDENT).then_some(LayerSpec {
        name,
        of: None,
        params,
        is_organisation: true,
    });
    let listed = system.listed_layers()?;
    Ok(organisation.into_iter().chain(listed).collect())
}
