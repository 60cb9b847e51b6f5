//! Splits text into tokens, and inserts the tokens of sourced files.

use crate::error::{Error, Position};
use crate::loader::Loader;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::str::Chars;
use std::sync::Arc;

/// Maximum depth of nested `source`: that of DiskSim.
const MAX_NESTING: usize = 32;
/// Limits of files and bytes in one document, so that files that source each other twice end.
const MAX_FILES: usize = 1024;
const MAX_BYTES: usize = 64 << 20;

/// One token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    /// One of `{ } [ ] , =`.
    Punct(char),
    /// Any other text; `number` is set if it is a number.
    Word { text: String, number: Option<Number> },
}

/// A word that is a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    Integer(i64),
    Real(f64),
}

/// A token and its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Located {
    pub token: Token,
    file: u32,
    line: u32,
    column: u32,
}

/// All tokens of a file and the files that it sources.
#[derive(Debug)]
pub(crate) struct Tokens {
    files: Vec<Arc<PathBuf>>,
    pub list: Vec<Located>,
}

impl Tokens {
    /// The place of a token; beyond the last one, the place of the last one.
    pub fn position(&self, index: usize) -> Position {
        match self.list.get(index).or(self.list.last()) {
            Some(t) => Position { file: self.files[t.file as usize].clone(), line: t.line, column: t.column },
            None => Position::start(self.files.first().map_or(Path::new(""), |f| f.as_path())),
        }
    }
}

/// Reads a file and all files that it sources.
pub(crate) fn tokenize(path: &Path, loader: &dyn Loader) -> Result<Tokens, Error> {
    let name = path.to_string_lossy();
    let (found, text) =
        loader.load(&name, None).map_err(|why| Error::new(Position::start(path), why, "a readable file"))?;
    let mut lexer =
        Lexer { loader, tokens: Tokens { files: Vec::new(), list: Vec::new() }, open: Vec::new(), bytes: 0 };
    lexer.file(found, &text, Position::start(path))?;
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    loader: &'a dyn Loader,
    tokens: Tokens,
    open: Vec<PathBuf>,
    bytes: usize,
}

impl Lexer<'_> {
    /// Refuses a file that sources itself, and too many or too large ones. Files that it is to be read after are open.
    fn admit(&mut self, path: &PathBuf, text: &str, from: Position) -> Result<(), Error> {
        if self.open.contains(path) {
            let got = format!("{} sourcing itself", path.display());
            return Err(Error::new(from, got, "files without a cycle"));
        }
        self.bytes += text.len();
        for (got, limit, what) in [
            (self.open.len() + 1, MAX_NESTING, "levels of sourced files"),
            (self.tokens.files.len() + 1, MAX_FILES, "sourced files"),
            (self.bytes, MAX_BYTES, "bytes in all files"),
        ] {
            if got > limit {
                return Err(Error::new(from, got.to_string(), format!("at most {limit} {what}")));
            }
        }
        Ok(())
    }

    fn file(&mut self, path: PathBuf, text: &str, from: Position) -> Result<(), Error> {
        self.admit(&path, text, from)?;
        let file = self.tokens.files.len() as u32;
        let shared = Arc::new(path.clone());
        self.tokens.files.push(shared.clone());
        self.open.push(path.clone());
        let mut sourcing = false;
        let mut place = (1u32, 1u32);
        let mut chars = text.chars().peekable();
        while let Some(&c) = chars.peek() {
            let at = place;
            let position = || Position { file: shared.clone(), line: at.0, column: at.1 };
            if c == '\n' {
                place = (place.0 + 1, 1);
                chars.next();
                continue;
            }
            place.1 += 1;
            chars.next();
            if c.is_whitespace() || c == '\0' {
                continue;
            }
            if c == '#' {
                while chars.next_if(|&c| c != '\n').is_some() {
                    place.1 += 1;
                }
                continue;
            }
            if matches!(c, ';' | '?' | ':') {
                return Err(Error::new(position(), format!("{c:?}"), "a word, number, or one of {}[],="));
            }
            let token = if is_punct(c) {
                Token::Punct(c)
            } else {
                let text = word(c, &mut chars);
                // The first character is counted already.
                place.1 += text.chars().count() as u32 - 1;
                Token::Word { number: number(&text), text }
            };
            if sourcing {
                sourcing = false;
                let Token::Word { text: name, .. } = token else {
                    let got = format!("{c:?}");
                    return Err(Error::new(position(), got, "a file name after source"));
                };
                self.source(&name, &path, position())?;
            } else if matches!(&token, Token::Word { text, .. } if text == "source") {
                sourcing = true;
            } else {
                self.tokens.list.push(Located { token, file, line: at.0, column: at.1 });
            }
        }
        if sourcing {
            let end = Position { file: shared, line: place.0, column: place.1 };
            return Err(Error::new(end, "the end of the file", "a file name after source"));
        }
        self.open.pop();
        Ok(())
    }

    /// Reads the file of that name, which the file `by` names at `at`.
    fn source(&mut self, name: &str, by: &Path, at: Position) -> Result<(), Error> {
        let (found, text) = self.loader.load(name, Some(by)).map_err(|why| {
            let got = format!("{name:?}: {why}");
            Error::new(at.clone(), got, "a readable file to source")
        })?;
        self.file(found, &text, at)
    }
}

/// The word that begins with `first`.
fn word(first: char, chars: &mut Peekable<Chars>) -> String {
    let goes_on = |c: &char| !c.is_whitespace() && *c != '\0' && !is_punct(*c) && !matches!(c, ';' | '?' | ':');
    let mut word = String::from(first);
    while let Some(c) = chars.next_if(goes_on) {
        word.push(c);
    }
    word
}

fn is_punct(c: char) -> bool {
    matches!(c, '{' | '}' | '[' | ']' | ',' | '=')
}

/// The value of a word that is a number: finite, in digits.
pub fn number(word: &str) -> Option<Number> {
    let digits = word.strip_prefix('-').unwrap_or(word);
    if let Some(hex) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        if hex.starts_with(['+', '-']) {
            return None;
        }
        let n = i64::from_str_radix(hex, 16).ok()?;
        return Some(Number::Integer(if word.starts_with('-') { -n } else { n }));
    }
    let first = digits.trim_start_matches('.').chars().next()?;
    if !first.is_ascii_digit() {
        return None;
    }
    if let Ok(n) = word.parse::<i64>() {
        return Some(Number::Integer(n));
    }
    word.parse::<f64>().ok().filter(|x| x.is_finite()).map(Number::Real)
}
