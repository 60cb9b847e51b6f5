//! A random experiment as a list of features, which can be left out one by one.

use serde_json::{Map, Value};

/// The table of the experiment that a feature belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The experiment itself: `[run]`.
    Experiment,
    /// A workload, by number.
    Workload(usize),
    /// A system, by number.
    System(usize),
}

/// Values that are set together.
#[derive(Debug, Clone)]
pub struct Feature {
    pub scope: Scope,
    /// What it is, in one or a few words.
    pub name: String,
    /// Whether there is no experiment without it.
    pub needed: bool,
    /// Paths in the table of the scope with their values. A path has its steps between slashes; `+` adds to a list.
    pub edits: Vec<(String, Value)>,
}

/// A random experiment.
#[derive(Debug, Clone)]
pub struct Case {
    pub seed: u64,
    pub features: Vec<Feature>,
    /// The text of the trace, if a workload has one.
    pub trace: Option<String>,
}

/// The file name of a case's trace.
pub const TRACE: &str = "trace.csv";

impl Case {
    /// The numbers of the workloads or systems that have features.
    fn numbers(&self, of: impl Fn(Scope) -> Option<usize>) -> Vec<usize> {
        let mut numbers: Vec<usize> = self.features.iter().filter_map(|f| of(f.scope)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The workloads, then the systems.
    pub fn scopes(&self) -> [Vec<Scope>; 2] {
        let workload = |s| match s {
            Scope::Workload(i) => Some(i),
            _ => None,
        };
        let system = |s| match s {
            Scope::System(i) => Some(i),
            _ => None,
        };
        let workloads = self.numbers(workload).into_iter();
        let systems = self.numbers(system).into_iter();
        [workloads.map(Scope::Workload).collect(), systems.map(Scope::System).collect()]
    }

    /// The experiment as a document.
    pub fn document(&self) -> Value {
        let mut document = self.table(Scope::Experiment);
        let [workloads, systems] = self.scopes();
        for (key, scopes) in [("workload", workloads), ("system", systems)] {
            let tables: Vec<Value> = scopes.into_iter().map(|s| self.table(s)).collect();
            document[key] = Value::Array(tables);
        }
        document
    }

    fn table(&self, scope: Scope) -> Value {
        let mut table = Value::Object(Map::new());
        for feature in self.features.iter().filter(|f| f.scope == scope) {
            for (path, value) in &feature.edits {
                put(&mut table, path, value.clone());
            }
        }
        table
    }

    /// The experiment as text for a file.
    pub fn toml(&self) -> String {
        toml::to_string(&self.document()).unwrap_or_else(|e| format!("# {e}\n{}", self.document()))
    }

    /// Leaves out the feature that an error is probably about: of those that may be left out, the one that shares most
    /// words with the error; the last of several. False if none is left.
    pub fn drop_refused(&mut self, error: &str) -> bool {
        let shared = |f: &Feature| {
            let words = f.edits.iter().flat_map(|(path, _)| path.split(['/', '.']));
            let mut words: Vec<&str> = words.filter(|w| w.len() > 2).collect();
            words.sort_unstable();
            words.dedup();
            words.iter().filter(|w| error.contains(**w)).count()
        };
        let features = self.features.iter().enumerate();
        let droppable = features.filter(|(_, f)| !f.needed);
        let Some((i, _)) = droppable.max_by_key(|(_, f)| shared(f)) else {
            return false;
        };
        self.features.remove(i);
        true
    }
}

/// Sets one value of a table; tables and lists on the way are made.
fn put(table: &mut Value, path: &str, value: Value) {
    let mut at = table;
    for step in path.split('/') {
        at = match (at, step) {
            (list @ (Value::Array(_) | Value::Null), "+") => {
                if list.is_null() {
                    *list = Value::Array(Vec::new());
                }
                let list = list.as_array_mut().expect("a list");
                list.push(Value::Null);
                list.last_mut().expect("an entry")
            }
            (table, step) => {
                if !table.is_object() {
                    *table = Value::Object(Map::new());
                }
                &mut table[step]
            }
        };
    }
    *at = value;
}
