//! Where in a TOML file a value stands.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::ops::Range;
use toml::de::{DeTable, DeValue};
use toml::Spanned;

/// A place in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// The line with a mark under the value, as compilers show it.
    pub excerpt: String,
}

impl Place {
    /// The place of these bytes of a text, with `label` beside the mark.
    pub fn of(text: &str, bytes: Range<usize>, label: &str) -> Place {
        let before = text.get(..bytes.start).unwrap_or(text);
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.chars().rev().take_while(|c| *c != '\n').count();
        // A value of many lines is marked on its first.
        let marked = text.get(bytes.clone()).unwrap_or("");
        let first = marked.find('\n').unwrap_or(marked.len());
        let end = (bytes.start + first).min(text.len());
        let mark = AnnotationKind::Primary.span(bytes.start.min(end)..end).label(label);
        let snippet = Snippet::source(text).annotation(mark);
        let report = &[Level::ERROR.no_name().primary_title("").element(snippet)];
        let shown = Renderer::plain().render(report);
        // The first line is the title, which the error says itself.
        let excerpt = shown.split_once('\n').map_or("", |(_, rest)| rest);
        Place { line, column, excerpt: excerpt.trim_end().to_string() }
    }

    /// The place of the value with this dotted key (`system[0].drive`), or of the nearest table around it that
    /// stands in the text. With `inside`, the place of that key in the table. None for text that is not TOML.
    pub fn of_key(text: &str, key: &str, inside: Option<&str>, label: &str) -> Option<Place> {
        let document = DeTable::parse(text).ok()?;
        let mut at = At { table: Some(document.get_ref()), list: None, bytes: 0..0 };
        for step in Step::each(key).flatten() {
            // A list of one table may be written as the table.
            if matches!(step, Step::Index(0)) && at.table.is_some() {
                continue;
            }
            match at.enter(&step) {
                Some(next) => at = next,
                None => break,
            }
        }
        let bytes = inside.and_then(|name| at.key(name)).unwrap_or(at.bytes);
        (!bytes.is_empty()).then(|| Place::of(text, bytes, label))
    }
}

/// One step of a dotted key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A key of a table, or an index of a list if it is a number.
    Key(String),
    /// An index of a list, in brackets.
    Index(usize),
}

impl Step {
    /// The steps of `a.b[2].c`; `None` for each that cannot be read.
    pub fn each(key: &str) -> impl Iterator<Item = Option<Step>> + '_ {
        key.split('.').flat_map(|piece| {
            let mut parts = piece.split('[');
            let name = parts.next().filter(|name| !name.is_empty()).map(|name| Step::Key(name.into()));
            let indices = parts.map(|index| index.strip_suffix(']')?.parse().ok().map(Step::Index));
            std::iter::once(name).chain(indices)
        })
    }

    /// The index in a list.
    pub fn index(&self) -> Option<usize> {
        match self {
            Step::Index(index) => Some(*index),
            Step::Key(key) => key.parse().ok(),
        }
    }
}

/// Where the walk along a key stands.
struct At<'a, 'i> {
    table: Option<&'a DeTable<'i>>,
    list: Option<&'a [Spanned<DeValue<'i>>]>,
    bytes: Range<usize>,
}

impl<'a, 'i> At<'a, 'i> {
    fn enter(&self, step: &Step) -> Option<At<'a, 'i>> {
        let found = match (step, self.table) {
            (Step::Key(name), Some(table)) => table.iter().find(|(k, _)| k.get_ref() == name)?.1,
            // Overrides count entries of lists without brackets: `system.0.drive`.
            _ => self.list?.get(step.index()?)?,
        };
        let value = found.get_ref();
        Some(At { table: value.as_table(), list: value.as_array().map(|list| &list[..]), bytes: found.span() })
    }

    /// The place of a key itself.
    fn key(&self, name: &str) -> Option<Range<usize>> {
        let mut entries = self.table?.iter();
        let found = entries.find(|(k, _)| k.get_ref() == name);
        found.map(|(k, _)| k.span())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[workload]\ntrace = \"x\"\n\n[[system]]\nname = \"a\"\n[[system]]\n\
                        drives = [{ count = 2 }, { count = \"ä\", cuont = 3 }]\n[run]\n";

    #[test]
    fn values_and_keys_have_a_place() {
        for (key, inside, want) in [
            ("workload.trace", None, Some((2, 9))),
            // A list of one table may be written as the table.
            ("workload[0].trace", None, Some((2, 9))),
            ("system[1].drives[1].count", None, Some((7, 36))),
            ("system.1.drives.1.count", None, Some((7, 36))),
            ("system[1].drives[1]", Some("cuont"), Some((7, 41))),
            // What is left out is where its table is.
            ("system[0].drive.cache", None, Some((4, 1))),
            ("nothing.there", None, None),
        ] {
            let found = Place::of_key(TEXT, key, inside, "");
            assert_eq!(found.map(|p| (p.line, p.column)), want, "{key}");
        }
        assert_eq!(Place::of_key("a = = 2", "a", None, ""), None);
    }

    #[test]
    fn the_line_is_shown_with_a_mark() {
        let place = Place::of_key(TEXT, "system[0].name", None, "need a number");
        let want = "5 | name = \"a\"\n  |        ^^^ need a number";
        assert_eq!(place.map(|p| p.excerpt).as_deref(), Some(want));
    }
}
