//! Models by name: one [`Plugin`] for each, whatever its kind, and the lists in which files name them.
//!
//! A model's parameters are a struct with `#[derive(Table)]`, which declares each of them once, and, as
//! `#[table(model = "SUMMARY")]`, what it is and how it is built. Its file and the struct stand in its folder's list
//! ([`plugins!`](crate::plugins)).

use crate::kind::TableSchema;
use crate::parameter::Params;
use crate::reading::{fill, missing};
use crate::{unknown_name, SpecError, Table};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::{Debug, Formatter};
use std::ops::Index;
use std::sync::Arc;

/// What the models of one kind have in common; for the trait of the kind, as a type: `dyn Scheduler`.
pub trait ModelKind: 'static {
    /// What it is: "scheduler".
    const NAME: &'static str;

    /// The keys of the models' table that are not their parameters.
    const BESIDE: &'static [&'static str] = &[];

    /// The place of the table, if the models name keys of the whole description in their errors; else empty.
    const PLACE: &'static str = "";

    /// What a model is built for, besides its parameters.
    type For<'a>;

    /// What is known of a model before it is built.
    type Facts: Send + Sync;

    /// Why a model cannot be built.
    type Error: From<SpecError>;
}

type Schema = dyn Fn() -> TableSchema + Send + Sync;
type Effective = dyn Fn(&Params) -> Result<Params, SpecError> + Send + Sync;
type Build<T> = dyn Fn(&Params, <T as ModelKind>::For<'_>) -> Result<Box<T>, <T as ModelKind>::Error> + Send + Sync;
type Text = Cow<'static, str>;

/// A model that files can name. One that is made at run time captures what it needs.
pub struct Plugin<T: ?Sized + ModelKind> {
    name: Text,
    summary: Text,
    example: Text,
    /// What is known of it before it is built.
    pub facts: T::Facts,
    schema: Box<Schema>,
    effective: Box<Effective>,
    build: Box<Build<T>>,
}

/// No parameters.
#[derive(Debug, Clone, Copy, Table)]
pub struct NoParameters {}

fn written<P: Table + 'static>(parameters: &P) -> Params {
    match parameters.write() {
        Value::Object(all) => all,
        _ => Params::new(),
    }
}

impl<T: ?Sized + ModelKind> Plugin<T> {
    /// A model with the parameters `P`, which `build` makes of them.
    pub fn new<P: Table + 'static>(
        name: impl Into<Text>,
        summary: impl Into<Text>,
        example: impl Into<Text>,
        build: impl Fn(P, T::For<'_>) -> Result<Box<T>, T::Error> + Send + Sync + 'static,
    ) -> Self
    where
        T: ModelKind<Facts = ()>,
    {
        Self::with_facts(name, summary, example, (), build)
    }

    /// As [`Plugin::new`], of a kind of which more is known.
    pub fn with_facts<P: Table + 'static>(
        name: impl Into<Text>,
        summary: impl Into<Text>,
        example: impl Into<Text>,
        facts: T::Facts,
        build: impl Fn(P, T::For<'_>) -> Result<Box<T>, T::Error> + Send + Sync + 'static,
    ) -> Self {
        let build = move |table: &Params, of: T::For<'_>| {
            build(P::read_beside(T::BESIDE, table).map_err(|e| e.within(T::PLACE))?, of)
        };
        let plugin = Plugin {
            name: name.into(),
            summary: summary.into(),
            example: example.into(),
            facts,
            schema: Box::new(P::schema),
            effective: Box::new(|table| Ok(table.clone())),
            build: Box::new(build),
        };
        plugin.completed_by(|p: P| p)
    }

    /// The same with defaults that depend on other parameters: `complete` fills them in. The model is built
    /// from parameters that need not be complete.
    #[must_use]
    pub fn completed_by<P: Table + 'static>(mut self, complete: fn(P) -> P) -> Self {
        self.effective = Box::new(move |table| Ok(written(&complete(P::read_beside(T::BESIDE, table)?))));
        self
    }

    /// The name in files and on the command line.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One line for help texts.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Parameters that work, as TOML, for documentation and contract tests.
    pub fn example(&self) -> &str {
        &self.example
    }

    /// The parameters that it takes.
    pub fn parameters(&self) -> TableSchema {
        (self.schema)()
    }

    /// All parameters that it takes from a table, also those that the table leaves out.
    ///
    /// # Errors
    /// A table that does not fit.
    pub fn effective(&self, table: &Params) -> Result<Params, SpecError> {
        (self.effective)(table)
    }

    /// Builds the model from its table.
    ///
    /// # Errors
    /// Unknown or missing keys, values out of bounds, and what it is built for if that does not fit.
    pub fn build(&self, table: &Params, of: T::For<'_>) -> Result<Box<T>, T::Error> {
        (self.build)(table, of)
    }
}

/// The models of one kind, in the order in which help shows them. Copies share the models.
pub struct Plugins<T: ?Sized + ModelKind>(Vec<Arc<Plugin<T>>>);

impl<T: ?Sized + ModelKind> Clone for Plugins<T> {
    fn clone(&self) -> Self {
        Plugins(self.0.clone())
    }
}

impl<T: ?Sized + ModelKind> Debug for Plugins<T> {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl<T: ?Sized + ModelKind> Plugins<T> {
    /// A list of these.
    pub fn new(models: impl IntoIterator<Item = Plugin<T>>) -> Self {
        Plugins(models.into_iter().map(Arc::new).collect())
    }

    /// The same with another model, which replaces one of its name.
    #[must_use]
    pub fn with(mut self, model: Plugin<T>) -> Self {
        self.0.retain(|m| m.name != model.name);
        self.0.push(Arc::new(model));
        self
    }

    /// The models in order.
    pub fn iter(&self) -> impl Iterator<Item = &Plugin<T>> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// Number of models.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(Plugin::name)
    }

    /// Their names, and their parameters with what each is.
    pub fn schemas(&self) -> Vec<(String, TableSchema)> {
        self.iter().map(|m| (m.name().to_string(), m.parameters())).collect()
    }

    /// The model of this name, if there is one.
    pub fn get(&self, name: &str) -> Option<&Plugin<T>> {
        self.iter().find(|m| m.name == name)
    }

    /// The model of this name; errors are at `key`.
    ///
    /// # Errors
    /// The known names and the nearest one.
    pub fn find(&self, key: &str, name: &str) -> Result<&Plugin<T>, SpecError> {
        self.get(name).ok_or_else(|| unknown_name(key, name, &self.names().collect::<Vec<_>>()))
    }

    /// Builds the model whose name is text under `key` in its table, which is at `place`.
    ///
    /// # Errors
    /// As [`name_in`], [`Plugins::find`] and [`Plugin::build`].
    pub fn build(&self, place: &str, key: &str, table: &Params, of: T::For<'_>) -> Result<Box<T>, SpecError>
    where
        T: ModelKind<Error = SpecError>,
    {
        let within = |e: SpecError| e.within(place);
        let name = name_in(table, key, T::NAME).map_err(within)?;
        self.find(&format!("{place}.{key}"), name)?.build(table, of).map_err(within)
    }

    /// Builds the model called `name`, which stands under `key`, from its table under `key` with `_parameters`.
    ///
    /// # Errors
    /// As [`Plugins::find`] and [`Plugin::build`].
    pub fn build_named(&self, key: &str, name: &str, table: &Params, of: T::For<'_>) -> Result<Box<T>, SpecError>
    where
        T: ModelKind<Error = SpecError>,
    {
        let built = self.find(key, name)?.build(table, of);
        built.map_err(|e| e.within(&format!("{key}_parameters")))
    }

    /// `table` with all parameters that the model called `name` takes from it. A table that does not fit the model
    /// stays as it is.
    #[doc(hidden)]
    pub fn filled(&self, name: &str, table: &Params) -> Params {
        let mut filled = table.clone();
        if let Some(Ok(all)) = self.get(name).map(|m| m.effective(table)) {
            fill(&mut filled, &all);
        }
        filled
    }
}

impl<T: ?Sized + ModelKind> Index<usize> for Plugins<T> {
    type Output = Plugin<T>;

    fn index(&self, index: usize) -> &Plugin<T> {
        &self.0[index]
    }
}

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

/// Declares a kind of models, the modules of a folder, and the list `PLUGINS` of them: `plugins! { dyn Layout = "layout",
/// for<'a> &'a GeometrySpec; banded: Banded, extents: Map }`. Each has the name of its file, and there a struct of its
/// parameters with `#[table(model = "SUMMARY")]`. Between are, in this order and as far as they are not the usual ones,
/// the constants and types of [`ModelKind`].
#[macro_export]
macro_rules! plugins {
    (@for) => { type For<'a> = (); };
    (@for $life:lifetime $for:ty) => { type For<$life> = $for; };
    (@facts) => { type Facts = (); };
    (@facts $facts:ty) => { type Facts = $facts; };
    (@error) => { type Error = $crate::SpecError; };
    (@error $error:ty) => { type Error = $error; };
    (
        $kind:ty = $name:literal
        $(, beside $beside:expr)? $(, place $place:expr)?
        $(, for<$life:lifetime> $for:ty)? $(, facts $facts:ty)? $(, error $error:ty)?;
        $($file:ident: $model:ident),* $(,)?
    ) => {
        $(pub mod $file;)*

        /// What the files of this folder are.
        pub(crate) type ModelOfFolder = $kind;

        impl $crate::ModelKind for $kind {
            const NAME: &'static str = $name;
            $(const BESIDE: &'static [&'static str] = $beside;)?
            $(const PLACE: &'static str = $place;)?
            $crate::plugins! { @for $($life $for)? }
            $crate::plugins! { @facts $($facts)? }
            $crate::plugins! { @error $($error)? }
        }

        /// Every model of this folder.
        pub static PLUGINS: std::sync::LazyLock<$crate::Plugins<$kind>> = std::sync::LazyLock::new(|| {
            $crate::Plugins::new([$($file::$model::plugin(stringify!($file).replace('_', "-"))),*])
        });
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    trait Model {}

    impl Model for () {}

    impl ModelKind for dyn Model {
        const NAME: &'static str = "model";
        type For<'a> = ();
        type Facts = ();
        type Error = SpecError;
    }

    fn model(name: impl Into<Text>) -> Plugin<dyn Model> {
        Plugin::<dyn Model>::new(name, "a model", "", |NoParameters {}, ()| Ok(Box::new(())))
    }

    #[test]
    fn models_are_found_by_name() {
        let list = Plugins::new(["fcfs", "sptf"].map(model));
        let own = list.clone().with(model(format!("own-{}", 1)));
        assert_eq!(own.names().collect::<Vec<_>>(), ["fcfs", "sptf", "own-1"]);
        assert_eq!(list.names().count(), 2, "the first list is as it was");
        assert!(own.find("scheduler", "own-1").is_ok());
        let error = list.find("scheduler", "stpf").err().map(|e| e.to_string());
        let want = "scheduler: got \"stpf\", need one of fcfs, sptf; did you mean \"sptf\"?";
        assert_eq!(error.as_deref(), Some(want));
        assert_eq!(own.with(model("fcfs")).names().count(), 3, "replaced, not twice");
    }
}
