//! Parses tokens into a [`Document`].

use crate::ast::{Block, Document, Instantiate, Item, Node, Param, Value, ValueKind};
use crate::error::{Error, Position};
use crate::lexer::{tokenize, Number, Token, Tokens};
use crate::loader::Loader;
use std::collections::HashSet;
use std::path::Path;

/// Maximum depth of blocks and lists; real files have six levels.
const MAX_DEPTH: usize = 64;
/// Most names that the ranges of one document may expand to.
const MAX_RANGE_NAMES: u64 = 100_000;

/// Reads a parameter file and all files that it sources through a loader.
///
/// # Errors
/// Unreadable files and text outside the grammar, with file, line and column.
pub fn parse(path: &Path, loader: &dyn Loader) -> Result<Document, Error> {
    let tokens = tokenize(path, loader)?;
    let mut parser = Parser { tokens, next: 0, depth: 0, range_names: 0 };
    let mut items = Vec::new();
    while parser.next < parser.tokens.list.len() {
        items.push(parser.item()?);
    }
    Ok(Document { at: Position::start(path), items })
}

struct Parser {
    tokens: Tokens,
    next: usize,
    depth: usize,
    range_names: u64,
}

impl Parser {
    fn peek(&self, ahead: usize) -> Option<&Token> {
        self.tokens.list.get(self.next + ahead).map(|t| &t.token)
    }

    fn at(&self) -> Position {
        self.tokens.position(self.next)
    }

    fn is_punct(&self, ahead: usize, c: char) -> bool {
        self.peek(ahead) == Some(&Token::Punct(c))
    }

    fn is_word(&self, ahead: usize) -> bool {
        matches!(self.peek(ahead), Some(Token::Word { .. }))
    }

    fn fail<T>(&self, need: impl Into<String>) -> Result<T, Error> {
        let got = match self.peek(0) {
            Some(Token::Punct(c)) => format!("{c:?}"),
            Some(Token::Word { text, .. }) => {
                format!("{:?}", text.chars().take(60).collect::<String>())
            }
            None => "the end of the file".into(),
        };
        Err(Error::new(self.at(), got, need))
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.is_punct(0, c);
        self.next += found as usize;
        found
    }

    fn expect(&mut self, c: char, why: &str) -> Result<(), Error> {
        if self.eat(c) {
            Ok(())
        } else {
            self.fail(format!("{c:?} {why}"))
        }
    }

    fn word(&mut self, what: &str) -> Result<String, Error> {
        match self.peek(0) {
            Some(Token::Word { text, .. }) => {
                let text = text.clone();
                self.next += 1;
                Ok(text)
            }
            _ => self.fail(what),
        }
    }

    fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth == MAX_DEPTH {
            return self.fail(format!("at most {MAX_DEPTH} levels of brackets"));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    fn item(&mut self) -> Result<Item, Error> {
        let at = self.at();
        let first = self.word("a block type, instantiate or topology")?;
        match first.as_str() {
            "instantiate" => {
                self.expect('[', "before the names of instances")?;
                let mut names = Vec::new();
                for value in self.deeper(Self::items)? {
                    names.push(value.word()?.to_string());
                }
                if self.word("as")? != "as" {
                    self.next -= 1;
                    return self.fail("as");
                }
                let of = self.word("the block to instantiate")?;
                Ok(Item::Instantiate(Instantiate { names, of, at }))
            }
            "topology" => Ok(Item::Topology(self.node()?)),
            _ => {
                let name = self.word("the block's name")?;
                self.expect('{', "after type and name of a block")?;
                Ok(Item::Block(self.block(first, Some(name), at)?))
            }
        }
    }

    /// Parses a block after its opening brace.
    fn block(&mut self, kind: String, name: Option<String>, at: Position) -> Result<Block, Error> {
        let params = self.deeper(|p| {
            let mut params = Vec::new();
            let mut seen = HashSet::new();
            while !p.eat('}') {
                let at = p.at();
                let names = p.names()?;
                for name in &names {
                    if !seen.insert(name.clone()) {
                        let got = format!("{name:?} a second time");
                        return Err(Error::new(at, got, "each parameter once in a block"));
                    }
                }
                p.expect('=', "after the name of a parameter")?;
                let value = p.value()?;
                params.push(Param { names, value, at });
                if !p.eat(',') && !p.is_punct(0, '}') {
                    return p.fail("',' or '}' after a value");
                }
            }
            Ok(params)
        })?;
        Ok(Block { kind, name, params, at })
    }

    fn name(&mut self) -> Result<String, Error> {
        let mut name = self.word("the name of a parameter or '}'")?;
        while self.is_word(0) {
            name.push(' ');
            name.push_str(&self.word("")?);
        }
        Ok(name)
    }

    fn names(&mut self) -> Result<Vec<String>, Error> {
        if !self.eat('[') {
            return Ok(vec![self.name()?]);
        }
        let mut names = vec![self.name()?];
        while self.eat(',') {
            if self.is_punct(0, ']') {
                break;
            }
            names.push(self.name()?);
        }
        self.expect(']', "after a list of names")?;
        Ok(names)
    }

    fn value(&mut self) -> Result<Value, Error> {
        let at = self.at();
        if self.eat('[') {
            let items = self.deeper(Self::items)?;
            return Ok(Value { kind: ValueKind::List(items), at });
        }
        let Some(Token::Word { text, number }) = self.peek(0).cloned() else { return self.fail("a value") };
        let kind = if self.is_punct(1, '{') {
            self.next += 2;
            ValueKind::Block(self.block(text, None, at.clone())?)
        } else if self.is_word(1) && self.is_punct(2, '{') {
            self.next += 1;
            let name = self.word("the block's name")?;
            self.next += 1;
            ValueKind::Block(self.block(text, Some(name), at.clone())?)
        } else if self.is_word(1) && self.is_punct(2, '[') {
            ValueKind::Node(self.node()?)
        } else {
            self.next += 1;
            match number {
                Some(Number::Integer(n)) => ValueKind::Integer(n),
                Some(Number::Real(x)) => ValueKind::Real(x),
                None => ValueKind::Word(text),
            }
        };
        Ok(Value { kind, at })
    }

    /// Parses a list after its opening bracket.
    fn items(&mut self) -> Result<Vec<Value>, Error> {
        let mut items = Vec::new();
        while !self.eat(']') {
            let value = self.value()?;
            if matches!(self.peek(0), Some(Token::Word { text, .. }) if text == "..") {
                self.next += 1;
                let at = self.at();
                let last = self.word("the last name of a range")?;
                let first = value.word()?.to_string();
                for name in self.range(&first, &last, at.clone())? {
                    items.push(Value { kind: ValueKind::Word(name), at: at.clone() });
                }
            } else {
                items.push(value);
            }
            if !self.eat(',') && !self.is_punct(0, ']') {
                return self.fail("',' or ']' after an item");
            }
        }
        Ok(items)
    }

    fn range(&mut self, first: &str, last: &str, at: Position) -> Result<Vec<String>, Error> {
        let split = |name: &str| {
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
            name[stem.len()..].parse::<u64>().ok().map(|n| (stem.to_string(), n))
        };
        let got = format!("{first} .. {last}");
        let (Some((stem, from)), Some((other, to))) = (split(first), split(last)) else {
            return Err(Error::new(at, got, "two names that end in numbers"));
        };
        if stem != other || from > to {
            return Err(Error::new(at, got, "equal prefixes and rising numbers"));
        }
        self.range_names = self.range_names.saturating_add((to - from).saturating_add(1));
        if self.range_names > MAX_RANGE_NAMES {
            return Err(Error::new(at, got, format!("ranges of at most {MAX_RANGE_NAMES} names")));
        }
        Ok((from..=to).map(|n| format!("{stem}{n}")).collect())
    }

    fn node(&mut self) -> Result<Node, Error> {
        let at = self.at();
        let kind = self.word("a component type")?;
        let name = self.word("the name of an instance")?;
        self.expect('[', "before what is connected below")?;
        let children = self.deeper(|p| {
            let mut children = Vec::new();
            while !p.eat(']') {
                children.push(p.node()?);
                p.eat(',');
            }
            Ok(children)
        })?;
        Ok(Node { kind, name, children, at })
    }
}
