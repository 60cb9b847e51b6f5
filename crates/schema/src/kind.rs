//! What a parameter is, as data: for help, tables of the guide and the JSON Schema.

use serde_json::Value;

/// What a value may be.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// `true` or `false`.
    Flag,
    /// A whole number from 0 to `most`.
    Whole {
        /// The largest number that the type holds.
        most: u64,
    },
    /// A whole number.
    Signed,
    /// A number.
    Number,
    /// Any text.
    Text,
    /// Text with a number and a unit.
    Quantity {
        /// With its article: "a length of time".
        what: &'static str,
        /// As messages list them: "one of s, ms".
        units: &'static str,
    },
    /// One of these words.
    Choice(Vec<Word>),
    /// A list.
    List {
        /// What its entries are.
        of: Box<Kind>,
        /// Its length, if that is fixed.
        length: Option<usize>,
    },
    /// A table with any keys.
    Map(Box<Kind>),
    /// A table with these keys.
    Table(TableSchema),
    /// One of several forms.
    OneOf(Vec<Kind>),
    /// The name of a model of this kind ("scheduler"). Its parameters are the other keys of the table, if that
    /// has such, or a field of [`Kind::Parameters`].
    Name(&'static str),
    /// The parameters of the model of this kind that another field names.
    Parameters(&'static str),
    /// A table whose key `model` names a model of this kind, with its parameters beside it.
    Model(&'static str),
    /// As [`Kind::Model`], with the name under another key.
    Keyed {
        /// The kind of model.
        of: &'static str,
        /// The key of its name.
        key: &'static str,
    },
    /// Text of a form that this sentence describes, with an example.
    Form {
        /// What is needed: "angles in turns, such as 0.25".
        need: &'static str,
        /// A value that is right.
        example: &'static str,
    },
    /// Anything; the code that reads it says what it needs.
    Any,
}

/// A word that stands for itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Word {
    /// As files have it.
    pub name: &'static str,
    /// What it means, one sentence.
    pub doc: &'static str,
}

/// The value of a parameter that a table leaves out.
#[derive(Debug, Clone, PartialEq)]
pub enum Usual {
    /// It may not be left out.
    Required,
    /// Nothing: its description says what that means.
    Nothing,
    /// This value.
    Value(Value),
}

/// The least and the most that a value may be, both included.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// As files write it.
    pub least: Value,
    /// As files write it.
    pub most: Value,
    /// Both, as messages show them: "1 to 1024".
    pub shown: String,
}

/// One parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// Another key that is taken for it.
    pub alias: Option<&'static str>,
    /// What it is, in sentences.
    pub doc: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// What it is where it is left out.
    pub usual: Usual,
    /// Its bounds; those of each entry where it is a list.
    pub bounds: Option<Bounds>,
}

/// A table of parameters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableSchema {
    /// The type's name.
    pub name: &'static str,
    /// What it describes, in sentences.
    pub doc: &'static str,
    /// Its parameters, in order.
    pub fields: Vec<Field>,
    /// Whether other keys may stand in it, which somebody else reads: what they are.
    pub others: Option<&'static str>,
}

impl Field {
    /// What it may be, as tables of documentation say it: its bounds, or else what is needed.
    pub fn need(&self) -> String {
        match &self.bounds {
            Some(bounds) => bounds.shown.clone(),
            None => self.kind.need(),
        }
    }

    /// Its default, if it has one.
    pub fn default(&self) -> Option<&Value> {
        match &self.usual {
            Usual::Value(value) => Some(value),
            Usual::Required | Usual::Nothing => None,
        }
    }
}

impl Kind {
    /// What is needed, in a few words, as messages and tables of documentation say it.
    pub fn need(&self) -> String {
        match self {
            Kind::Flag => "true or false".into(),
            Kind::Whole { most: u64::MAX } => "a whole number, 0 or more".into(),
            Kind::Whole { most } => format!("a whole number, 0 or more, at most {most}"),
            Kind::Signed => "a whole number".into(),
            Kind::Number => "a number".into(),
            Kind::Text => "text".into(),
            Kind::Quantity { what, units } => format!("{what} as text with its unit: {units}"),
            Kind::Choice(words) => {
                let names: Vec<&str> = words.iter().map(|w| w.name).collect();
                match names.as_slice() {
                    [one] => (*one).to_string(),
                    names => format!("one of {}", names.join(", ")),
                }
            }
            Kind::List { length: None, .. } => "a list".into(),
            Kind::List { length: Some(length), .. } => format!("a list of {length} entries"),
            Kind::Map(_) | Kind::Table(_) => "a table".into(),
            Kind::OneOf(kinds) => {
                let needs: Vec<String> = kinds.iter().map(Kind::need).collect();
                needs.join(", or ")
            }
            Kind::Name(kind) => name_of(kind),
            Kind::Parameters(kind) => format!("the parameters of the {kind}, as a table"),
            Kind::Model(kind) => format!("a table with the key model: {}", name_of(kind)),
            Kind::Keyed { of, key } => format!("a table with the key {key}: {}", name_of(of)),
            Kind::Form { need, .. } => (*need).to_string(),
            Kind::Any => "a value".into(),
        }
    }
}

/// "the name of a seek model", "the name of an elevator".
pub(crate) fn name_of(kind: &str) -> String {
    let article = match kind.starts_with(['a', 'e', 'i', 'o', 'u']) {
        true => "an",
        false => "a",
    };
    format!("the name of {article} {kind}")
}
