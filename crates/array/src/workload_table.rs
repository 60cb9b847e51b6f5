//! Reads the table of a workload: its own keys and, beside them, those of the transformations of its trace.

use crate::experiment::Workload;
use headstack_drive::spec::Params;
use headstack_engine::describe::{from_rest, keys_of};
use headstack_engine::SpecError;
use headstack_trace::{Synthetic, Transform};
use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Value;

/// The table without the keys of the transformations.
#[derive(serde::Deserialize)]
struct Own(#[serde(with = "Workload")] Workload);

// Not `serde(flatten)`: its errors know only the keys of the inner table.
impl<'de> Deserialize<'de> for Workload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Workload, D::Error> {
        let table = Params::deserialize(deserializer)?;
        let known = keys_of::<Transform>();
        let (transform, own): (Params, Params) =
            (table.into_iter()).partition(|(key, _)| known.contains(key));
        check_synthetic(&own).map_err(D::Error::custom)?;
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let Own(workload) = from_rest(Value::Object(own), &known).map_err(D::Error::custom)?;
        Ok(Workload {
            transform,
            ..workload
        })
    }
}

/// Refuses keys of a synthetic workload outside its table.
fn check_synthetic(own: &Params) -> Result<(), SpecError> {
    let (own_keys, inside) = (keys_of::<Own>(), keys_of::<Synthetic>());
    let outside = own
        .keys()
        .find(|key| inside.contains(key) && !own_keys.contains(key));
    match outside {
        None => Ok(()),
        Some(key) => {
            let need = format!("it inside synthetic = {{ {key} = ... }}");
            Err(SpecError::new("", format!("key {key:?}"), need))
        }
    }
}
