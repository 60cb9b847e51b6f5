//! Registration of models: one function `plugin` in the model's file, one word in its folder's list.
//!
//! A model's parameters are a struct with `#[derive(Table)]`, which declares each of them once: type, default,
//! bounds and a sentence. From it come reading and checking, what a description leaves out, and the schema of drive
//! files.

use headstack_schema::{fill, missing, Params, Registered, Registry, SpecError, Table, TableSchema};
use serde_json::Value;
use std::borrow::Cow;

/// What the models of one kind have in common; for the trait of the kind, as a type: `dyn Scheduler`.
pub trait ModelKind {
    /// What it is: "scheduler".
    const NAME: &'static str;

    /// The keys of the models' table that are not their parameters.
    const BESIDE: &'static [&'static str] = &[];

    /// The place of the table, if the models name keys of the whole description in their errors; else empty.
    const PLACE: &'static str = "";

    /// What a model is built for, besides its parameters.
    type For: ?Sized;
}

/// How a model is built. A model that is made at run time captures what it needs.
type Build<T> = dyn Fn(&Params, &<T as ModelKind>::For) -> Result<Box<T>, SpecError> + Send + Sync;

/// All parameters that a model takes from its table, also those that the table leaves out.
type EffectiveParameters = dyn Fn(&Params) -> Result<Value, SpecError> + Send + Sync;

/// One entry of a registry: name, one-line summary, parameters, and how to build the model from them.
pub struct Plugin<T: ?Sized + ModelKind + 'static> {
    name: Cow<'static, str>,
    summary: Cow<'static, str>,
    example: Cow<'static, str>,
    schema: fn() -> TableSchema,
    effective: Box<EffectiveParameters>,
    build: Box<Build<T>>,
}

/// Several models of one kind.
pub type Plugins<T> = Registry<Plugin<T>>;

impl<T: ?Sized + ModelKind> Plugin<T> {
    /// A model with the parameters `P`, which `build` makes of them.
    pub fn new<P: Table>(
        name: impl Into<Cow<'static, str>>,
        summary: impl Into<Cow<'static, str>>,
        example: impl Into<Cow<'static, str>>,
        build: impl Fn(P, &T::For) -> Result<Box<T>, SpecError> + Send + Sync + 'static,
    ) -> Self {
        Plugin {
            name: name.into(),
            summary: summary.into(),
            example: example.into(),
            schema: P::schema,
            effective: Box::new(|table| Ok(P::read_beside(T::BESIDE, table)?.write())),
            build: Box::new(move |table, of| {
                let read = P::read_beside(T::BESIDE, table);
                build(read.map_err(|e| e.within(T::PLACE))?, of)
            }),
        }
    }

    /// The same with defaults that depend on other parameters: `complete` fills them in. The model is built
    /// from parameters that need not be complete.
    #[must_use]
    pub fn completed_by<P: Table + 'static>(mut self, complete: fn(P) -> P) -> Self {
        let effective = move |table: &Params| Ok(complete(P::read_beside(T::BESIDE, table)?).write());
        self.effective = Box::new(effective);
        self
    }

    /// The name in drive files and on the command line.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One line for help texts.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// A parameter table that works, as TOML, for documentation and contract tests.
    pub fn example(&self) -> &str {
        &self.example
    }

    /// Builds the model from its table.
    ///
    /// # Errors
    /// Unknown or missing keys, and values out of bounds.
    pub fn build(&self, table: &Params, of: &T::For) -> Result<Box<T>, SpecError> {
        (self.build)(table, of)
    }
}

impl<T: ?Sized + ModelKind> Registered for Plugin<T> {
    fn name(&self) -> &str {
        &self.name
    }
    fn summary(&self) -> &str {
        &self.summary
    }
    fn example(&self) -> &str {
        &self.example
    }
    fn parameters(&self) -> TableSchema {
        (self.schema)()
    }
}

/// Declares the modules and the list `PLUGINS` from one list of file names.
macro_rules! plugins {
    (dyn $trait:ident: $($file:ident),+ $(,)?) => {
        $(pub mod $file;)+
        /// Every model of this folder.
        pub static PLUGINS: std::sync::LazyLock<$crate::plugin::Plugins<dyn $trait>> =
            std::sync::LazyLock::new(|| {
                let kind = <dyn $trait as $crate::plugin::ModelKind>::NAME;
                headstack_schema::Registry::new(kind, [$($file::plugin()),+])
            });
    };
}
pub(crate) use plugins;

/// The name of a model, which is text under `key` in its table. `what` is the kind of model, for errors.
///
/// # Errors
/// The name is not text or absent; a key that may be a misspelt `key` is named.
pub fn name_in<'a>(table: &'a Params, key: &str, what: &str) -> Result<&'a str, SpecError> {
    let need = format!("the name of a {what} as text");
    match table.get(key) {
        Some(Value::String(name)) => Ok(name),
        Some(other) => Err(SpecError::new(key, other, need)),
        None => Err(missing(table, key, &need, &[])),
    }
}

/// `table` with all parameters that the model called `name` takes from it. A table that does not fit the model
/// stays as it is.
#[doc(hidden)]
pub fn filled<T: ?Sized + ModelKind>(models: &Plugins<T>, name: &str, table: &Params) -> Params {
    let mut filled = table.clone();
    if let Some(Ok(Value::Object(all))) = models.get(name).map(|m| (m.effective)(table)) {
        fill(&mut filled, &all);
    }
    filled
}
