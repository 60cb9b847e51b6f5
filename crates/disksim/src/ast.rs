//! The contents of a parameter file: blocks, instances and the topology.

use crate::error::{Error, Position};

/// A file with all files that it sources, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Start of the file.
    pub at: Position,
    /// Top-level items in order.
    pub items: Vec<Item>,
}

/// One top-level item.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A definition.
    Block(Block),
    /// `instantiate [ names ] as of`.
    Instantiate(Instantiate),
    /// `topology kind name [ … ]`.
    Topology(Node),
}

/// Copies of a block, by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Instantiate {
    /// Names of the copies, ranges written out.
    pub names: Vec<String>,
    /// The block (or type) that is copied.
    pub of: String,
    /// Place in the file.
    pub at: Position,
}

/// `kind name { parameters }`.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Type, e.g. `disksim_disk`.
    pub kind: String,
    /// Name; values may be blocks without one.
    pub name: Option<String>,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Place in the file.
    pub at: Position,
}

/// One assignment; several names may share a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    /// Names, words joined by one blank.
    pub names: Vec<String>,
    /// The value.
    pub value: Value,
    /// Where the name is.
    pub at: Position,
}

/// A value and where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// The value.
    pub kind: ValueKind,
    /// Place in the file.
    pub at: Position,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueKind {
    /// `-12`, `0x1f`.
    Integer(i64),
    /// `0.5`; always finite.
    Real(f64),
    /// Any other word.
    Word(String),
    /// `[ … ]`, ranges written out.
    List(Vec<Value>),
    /// `kind { … }` or `kind name { … }`.
    Block(Block),
    /// `kind name [ … ]`.
    Node(Node),
}

/// A component in the topology with those below it.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Type, e.g. `disksim_bus`.
    pub kind: String,
    /// Name of the instance.
    pub name: String,
    /// Components directly below.
    pub children: Vec<Node>,
    /// Place in the file.
    pub at: Position,
}

impl Document {
    /// Top-level blocks in order.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.items.iter().filter_map(|item| match item {
            Item::Block(block) => Some(block),
            _ => None,
        })
    }

    /// The top-level block of this name.
    pub fn block(&self, name: &str) -> Option<&Block> {
        self.blocks().find(|b| b.name.as_deref() == Some(name))
    }

    /// Instantiations in order.
    pub fn instances(&self) -> impl Iterator<Item = &Instantiate> {
        self.items.iter().filter_map(|item| match item {
            Item::Instantiate(instance) => Some(instance),
            _ => None,
        })
    }

    /// The block that an instance copies.
    pub fn block_of_instance(&self, name: &str) -> Option<&Block> {
        let of = &self.instances().find(|i| i.names.iter().any(|n| n == name))?.of;
        self.block(of)
    }

    /// The innermost parameter whose value, or an entry of whose value, is at a place.
    pub(crate) fn parameter_at(&self, at: &Position) -> Option<String> {
        fn holds(value: &Value, at: &Position) -> bool {
            let below = match &value.kind {
                ValueKind::List(items) => items.iter().any(|v| holds(v, at)),
                _ => false,
            };
            below || value.at == *at
        }
        fn inside(value: &Value, at: &Position) -> Option<String> {
            match &value.kind {
                ValueKind::Block(block) => of(block, at),
                ValueKind::List(items) => items.iter().find_map(|v| inside(v, at)),
                _ => None,
            }
        }
        fn of(block: &Block, at: &Position) -> Option<String> {
            let own = |p: &Param| holds(&p.value, at).then(|| p.names.join(", "));
            let mut params = block.params.iter();
            params.find_map(|p| inside(&p.value, at).or_else(|| own(p)))
        }
        self.blocks().find_map(|block| of(block, at))
    }

    /// The components above `name` in the topology, nearest first; empty if it is not there.
    pub fn above(&self, name: &str) -> Vec<&Node> {
        fn find<'a>(node: &'a Node, name: &str, path: &mut Vec<&'a Node>) -> bool {
            if node.name == name || node.children.iter().any(|c| find(c, name, path)) {
                path.push(node);
                return true;
            }
            false
        }
        for item in &self.items {
            let Item::Topology(root) = item else { continue };
            let mut path = Vec::new();
            if find(root, name, &mut path) {
                path.remove(0);
                return path;
            }
        }
        Vec::new()
    }
}

impl Block {
    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let param = self.params.iter().find(|p| p.names.iter().any(|n| n == name));
        param.map(|p| &p.value)
    }
}

impl Value {
    /// The value as it is displayed in error messages and reports, shortened.
    pub fn show(&self) -> String {
        match &self.kind {
            ValueKind::Integer(n) => n.to_string(),
            ValueKind::Real(x) => x.to_string(),
            ValueKind::Word(w) => {
                let short: String = w.chars().take(60).collect();
                if short.len() < w.len() {
                    format!("{short}…")
                } else {
                    short
                }
            }
            ValueKind::List(items) => format!("a list of {}", items.len()),
            ValueKind::Block(b) => format!("a block {}", b.kind),
            ValueKind::Node(n) => format!("a node {}", n.kind),
        }
    }

    fn wrong<T>(&self, need: &str) -> Result<T, Error> {
        Err(Error::new(self.at.clone(), self.show(), need))
    }

    /// The value as a real number; integers count.
    ///
    /// # Errors
    /// A value of another kind.
    pub fn real(&self) -> Result<f64, Error> {
        match self.kind {
            ValueKind::Integer(n) => Ok(n as f64),
            ValueKind::Real(x) => Ok(x),
            _ => self.wrong("a number"),
        }
    }

    /// The value as an integer; reals without a fraction count.
    ///
    /// # Errors
    /// A value of another kind.
    pub fn integer(&self) -> Result<i64, Error> {
        match self.kind {
            ValueKind::Integer(n) => Ok(n),
            ValueKind::Real(x) if x.fract() == 0.0 && x.abs() < 9e15 => Ok(x as i64),
            _ => self.wrong("an integer"),
        }
    }

    /// The value as a word.
    ///
    /// # Errors
    /// A value of another kind.
    pub fn word(&self) -> Result<&str, Error> {
        match &self.kind {
            ValueKind::Word(w) => Ok(w),
            _ => self.wrong("a word"),
        }
    }

    /// The value as a list.
    ///
    /// # Errors
    /// A value of another kind.
    pub fn list(&self) -> Result<&[Value], Error> {
        match &self.kind {
            ValueKind::List(items) => Ok(items),
            _ => self.wrong("a list in brackets"),
        }
    }

    /// The value as a block.
    ///
    /// # Errors
    /// A value of another kind.
    pub fn block(&self) -> Result<&Block, Error> {
        match &self.kind {
            ValueKind::Block(block) => Ok(block),
            _ => self.wrong("a block in braces"),
        }
    }
}
