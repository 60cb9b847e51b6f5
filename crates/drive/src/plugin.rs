//! Registration of models: one `PLUGIN` constant in the model's file, one word in its folder's list.

use crate::spec::Params;
use headstack_engine::describe::{from_rest, missing};
use headstack_engine::{did_you_mean, SpecError};
use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::Value;

/// How a plug-in is built from its parameters. A plug-in that is made at run time captures what it needs.
pub type Build<T, C = Params> = dyn Fn(&C) -> Result<Box<T>, SpecError> + Send + Sync;

/// All parameters that a plug-in takes from a table, also those that the table leaves out.
pub type Taken<C = Params> = dyn Fn(&C) -> Params + Send + Sync;

/// One entry of a registry: name, one-line summary, and how to build it from parameters.
pub struct Plugin<T: ?Sized + 'static, C: 'static = Params> {
    /// The name in drive files and on the command line.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// A parameter table that works, as TOML, for documentation and contract tests.
    pub example: &'static str,
    /// All parameters that the model takes from a table, also those that the table leaves out; see [`taken`].
    pub parameters: &'static Taken<C>,
    /// Builds the model from its parameters.
    ///
    /// # Errors
    /// Unknown or missing keys, and values out of bounds.
    pub build: &'static Build<T, C>,
}

/// Declares the modules and the list `PLUGINS` from one list of file names.
macro_rules! plugins {
    (dyn $trait:ident: $($file:ident),+ $(,)?) => {
        $crate::plugin::plugins! { dyn $trait from $crate::spec::Params: $($file),+ }
    };
    (dyn $trait:ident from $config:ty: $($file:ident),+ $(,)?) => {
        $(pub mod $file;)+
        /// Every model of this folder.
        pub const PLUGINS: &[$crate::plugin::Plugin<dyn $trait, $config>] = &[$($file::PLUGIN),+];
    };
}
pub(crate) use plugins;

/// Finds the plug-in called `name`.
///
/// # Errors
/// The key, what was got, the known names and the nearest one.
pub fn find<'a, T: ?Sized, C>(
    plugins: &'a [Plugin<T, C>],
    key: &str,
    name: &str,
) -> Result<&'a Plugin<T, C>, SpecError> {
    plugins.iter().find(|p| p.name == name).ok_or_else(|| {
        let names: Vec<&str> = plugins.iter().map(|p| p.name).collect();
        let hint = did_you_mean(name, names.iter().copied());
        SpecError::new(
            key,
            format!("{name:?}"),
            format!("one of {}{hint}", names.join(", ")),
        )
    })
}

/// The name under `model` in the table of a plug-in. `what` is the kind of model, for errors.
///
/// # Errors
/// `model` is not text or absent; a key that may be a misspelt `model` is named.
pub fn model<'a>(table: &'a Params, what: &str) -> Result<&'a str, SpecError> {
    let need = format!("the name of a {what} model as text");
    match table.get("model") {
        Some(Value::String(name)) => Ok(name),
        Some(other) => Err(SpecError::new("model", other, need)),
        None => Err(missing(table, "model", &need, &[])),
    }
}

/// Reads a plug-in's parameter struct from its table. The caller adds the table's own place to errors.
///
/// # Errors
/// Unknown, missing or ill-formed keys, by name.
pub fn params<P: DeserializeOwned>(table: &Params) -> Result<P, SpecError> {
    params_beside(&[], table)
}

/// As [`params`], for a table that also has the keys `others`, which are not the plug-in's.
///
/// # Errors
/// As [`params`].
pub fn params_beside<P: DeserializeOwned>(others: &[&str], table: &Params) -> Result<P, SpecError> {
    let mut table = table.clone();
    for key in others {
        table.remove(*key);
    }
    from_rest(Value::Object(table), others)
}

/// All parameters that a model takes from a table: those that the table leaves out have the values that the
/// model gives them. `P` is the model's parameter struct; the keys `others` of the table are not the model's.
/// Empty if the table does not fit.
pub fn taken<P: DeserializeOwned + Serialize>(others: &[&str], table: &Params) -> Params {
    let read = params_beside::<P>(others, table).ok();
    match read.and_then(|p| serde_json::to_value(p).ok()) {
        Some(Value::Object(taken)) => taken,
        _ => Params::new(),
    }
}

/// `table` with all parameters that the plug-in called `name` takes from it.
pub(crate) fn filled<T: ?Sized>(plugins: &[Plugin<T>], name: &str, table: &Params) -> Params {
    let plugin = plugins.iter().find(|p| p.name == name);
    let mut filled = table.clone();
    if let Some(plugin) = plugin {
        fill(&mut filled, &(plugin.parameters)(table));
    }
    filled
}

/// Adds to a table what it leaves out of `all`, also in the tables inside it. Returns the dotted keys of what
/// was added.
pub fn fill(table: &mut Params, all: &Params) -> Vec<String> {
    let mut added = Vec::new();
    for (key, value) in all.iter().filter(|(_, value)| !value.is_null()) {
        match (table.get_mut(key), value) {
            (Some(Value::Object(inner)), Value::Object(all)) => {
                let inside = fill(inner, all);
                added.extend(inside.iter().map(|k| format!("{key}.{k}")));
            }
            (None | Some(Value::Null), Value::Object(all)) => {
                let mut inner = Params::new();
                let inside = fill(&mut inner, all);
                added.extend(inside.iter().map(|k| format!("{key}.{k}")));
                table.insert(key.clone(), Value::Object(inner));
            }
            (None | Some(Value::Null), value) => {
                table.insert(key.clone(), value.clone());
                added.push(key.clone());
            }
            _ => {}
        }
    }
    added
}

/// Tests that every folder of plug-ins runs.
#[cfg(test)]
pub(crate) mod contract {
    use super::Plugin;
    use crate::spec::Params;
    use headstack_testkit::plugins::folder_matches;

    /// The example of a plug-in, as a parameter table.
    pub fn example<T: ?Sized>(plugin: &Plugin<T>) -> Params {
        toml::from_str(plugin.example).unwrap_or_else(|e| panic!("example of {}: {e}", plugin.name))
    }

    /// The folder's files and its list name the same plug-ins, and each file has the sections Model, Source
    /// and Validity.
    pub fn folder_matches_list<T: ?Sized, C>(folder: &str, plugins: &[Plugin<T, C>]) {
        folder_matches_list_but(folder, &[], plugins);
    }

    /// As [`folder_matches_list`]; the files `shared` are code that several plug-ins use.
    pub fn folder_matches_list_but<T: ?Sized, C>(
        folder: &str,
        shared: &[&str],
        plugins: &[Plugin<T, C>],
    ) {
        let mut others = vec!["mod", "tests"];
        others.extend(shared);
        let names: Vec<&str> = plugins.iter().map(|p| p.name).collect();
        let folder = format!("src/{folder}");
        folder_matches(env!("CARGO_MANIFEST_DIR"), &folder, &others, &names);
    }

    /// The example builds, also with all parameters that it leaves out; an unknown key is refused by name.
    pub fn refuses_unknown_keys<T: ?Sized>(plugins: &[Plugin<T>]) {
        for plugin in plugins {
            let mut table = example(plugin);
            if let Err(e) = (plugin.build)(&table) {
                panic!("example of {}: {e}", plugin.name);
            }
            // What the table leaves out can be said, and then nothing is left out.
            let whole = super::filled(plugins, plugin.name, &table);
            if let Err(e) = (plugin.build)(&whole) {
                panic!("all parameters of {}: {e}", plugin.name);
            }
            let again = super::filled(plugins, plugin.name, &whole);
            assert_eq!(again, whole, "{}", plugin.name);
            table.insert("no_such_key".into(), 1.into());
            let error = (plugin.build)(&table)
                .err()
                .map(|e| e.to_string())
                .unwrap_or_default();
            assert!(error.contains("no_such_key"), "{}: {error:?}", plugin.name);
        }
    }
}
