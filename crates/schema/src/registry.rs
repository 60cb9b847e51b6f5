//! Lists of models by name.

use crate::kind::TableSchema;
use crate::{did_you_mean, SpecError};
use std::ops::Index;
use std::sync::Arc;

/// What a list of models holds: anything with a name that files use.
pub trait Registered {
    /// The name in files and on the command line.
    fn name(&self) -> &str;

    /// One line for help texts.
    fn summary(&self) -> &str;

    /// Parameters that work, as TOML, for documentation and contract tests.
    fn example(&self) -> &str;

    /// The parameters that it takes.
    fn parameters(&self) -> TableSchema;
}

/// The models of one kind, in the order in which help shows them. Copies share the models.
#[derive(Debug)]
pub struct Registry<E> {
    kind: &'static str,
    entries: Vec<Arc<E>>,
}

impl<E> Clone for Registry<E> {
    fn clone(&self) -> Self {
        Registry { kind: self.kind, entries: self.entries.clone() }
    }
}

impl<E: Registered> Registry<E> {
    /// The models of `kind` ("scheduler").
    pub fn new(kind: &'static str, entries: impl IntoIterator<Item = E>) -> Self {
        let entries = entries.into_iter().map(Arc::new).collect();
        Registry { kind, entries }
    }

    /// The same with another model, which replaces one of its name.
    #[must_use]
    pub fn with(mut self, entry: E) -> Self {
        self.entries.retain(|e| e.name() != entry.name());
        self.entries.push(Arc::new(entry));
        self
    }

    /// What it lists: "scheduler".
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The models in order.
    pub fn iter(&self) -> impl Iterator<Item = &E> {
        self.entries.iter().map(AsRef::as_ref)
    }

    /// Number of models.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Their names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(Registered::name)
    }

    /// Their names, and their parameters with what each is.
    pub fn schemas(&self) -> Vec<(String, TableSchema)> {
        let schema = |e: &E| (e.name().to_string(), e.parameters());
        self.iter().map(schema).collect()
    }

    /// The model of this name, if there is one.
    pub fn get(&self, name: &str) -> Option<&E> {
        self.iter().find(|e| e.name() == name)
    }

    /// The model of this name; errors are at `key`.
    ///
    /// # Errors
    /// The known names and the nearest one.
    pub fn find(&self, key: &str, name: &str) -> Result<&E, SpecError> {
        self.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            let hint = did_you_mean(name, names.iter().copied());
            let need = format!("one of {}{hint}", names.join(", "));
            SpecError::new(key, format!("{name:?}"), need)
        })
    }
}

impl<E> Index<usize> for Registry<E> {
    type Output = E;

    fn index(&self, index: usize) -> &E {
        &self.entries[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Model(String);

    impl Registered for Model {
        fn name(&self) -> &str {
            &self.0
        }
        fn summary(&self) -> &'static str {
            "a model"
        }
        fn example(&self) -> &'static str {
            ""
        }
        fn parameters(&self) -> TableSchema {
            TableSchema::default()
        }
    }

    #[test]
    fn models_are_found_by_name() {
        let list = Registry::new("model", ["fcfs", "sptf"].map(|n| Model(n.into())));
        let own = list.clone().with(Model(format!("own-{}", 1)));
        assert_eq!(own.names().collect::<Vec<_>>(), ["fcfs", "sptf", "own-1"]);
        assert_eq!(list.names().count(), 2, "the first list is as it was");
        assert!(own.find("scheduler", "own-1").is_ok());
        let error = list.find("scheduler", "stpf").err().map(|e| e.to_string());
        let want = "scheduler: got \"stpf\", need one of fcfs, sptf; did you mean \"sptf\"?";
        assert_eq!(error.as_deref(), Some(want));
        assert_eq!(own.with(Model("fcfs".into())).names().count(), 3, "replaced, not twice");
    }
}
