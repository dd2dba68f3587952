//! A place in a file that stands for a symbol: `path:line` or `path:line:column`, as compilers and editors write it.

use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::{RepoPath, syntax::Language, text};
use archway_symbols::Symbols;

use super::{
    confidence::Target,
    sources::{Content, Source, Sources},
};
use crate::tools::files::open_file;

/// A place in a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    path: RepoPath,
    line: u32,
    /// In characters, from 1.
    column: Option<u32>,
}

/// What stands at a place.
pub(super) enum Pointed {
    Definition(Target),
    /// The use of a name.
    Name(String),
}

impl Place {
    /// Reads a place. `None` if the text has no number of a line.
    ///
    /// # Errors
    /// `access_denied` for a path that leaves the project.
    pub(super) fn parse(symbol: &str) -> Result<Option<Place>, Failure> {
        let numbered = |text: &str| {
            let (before, number) = text.rsplit_once(':')?;
            let number: u32 = number.parse().ok()?;
            (!before.is_empty() && !before.ends_with(':')).then(|| (before.to_owned(), number))
        };
        let Some((path, number)) = numbered(symbol) else {
            return Ok(None);
        };
        let (path, line, column) = match numbered(&path) {
            Some((path, line)) => (path, line, Some(number)),
            None => (path, number, None),
        };
        let path = RepoPath::parse(&path)?;
        Ok(Some(Place { path, line, column }))
    }

    /// With a column, the name that stands there; else the definition whose name stands in the line, or the
    /// innermost one around it.
    ///
    /// # Errors
    /// What reading the file fails with, `invalid_line_range` for a line that the file has not, and
    /// `file_not_found` where no symbol stands.
    pub(super) fn resolve(&self, sources: &Sources<'_>) -> Result<Pointed, Failure> {
        // A path of no file, or one that may not be read, fails as read_file does.
        open_file(sources.repo, &self.path, sources.cancel)?;
        let source = match sources.content(&self.path)? {
            Content::Parsed(source) => source,
            Content::None(why) | Content::Failed(why) => return Err(self.nothing(&why)),
        };
        let text = sources.text(&source)?;
        let lines = text.split_inclusive(|byte| *byte == b'\n').count();
        if self.line == 0 || self.line as usize > lines {
            return Err(self.no_line(lines));
        }
        let symbols = &source.parsed.symbols;
        let numbered = || symbols.definitions.iter().enumerate();
        let Some(column) = self.column else {
            let named = numbered().find(|(_, it)| it.name_line == self.line);
            let is_around = |(first, last): (u32, u32)| first <= self.line && self.line <= last;
            let around = || numbered().rfind(|(_, it)| is_around(it.lines));
            let found = named.or_else(around).map(|(at, _)| at);
            return found
                .and_then(|at| self.target(&source, at))
                .ok_or_else(|| self.nothing("nothing is defined there"));
        };
        let name = name_at(&text, self.line, column);
        let name = name.ok_or_else(|| self.nothing("no name stands at that column"))?;
        // A `#` is part of a script's private name, and of no other name.
        for name in [&*name, name.trim_start_matches('#')] {
            let named = numbered().find(|(_, it)| it.name_line == self.line && *it.name == *name);
            if let Some(target) = named.and_then(|(at, _)| self.target(&source, at)) {
                return Ok(target);
            }
            if self.is_used(symbols, name) {
                return Ok(Pointed::Name(name.to_owned()));
            }
        }
        Err(self.nothing("the name at that column is no symbol"))
    }

    fn target(&self, source: &Source, at: usize) -> Option<Pointed> {
        let (language, symbols) = (source.parsed.language, &source.parsed.symbols);
        let target = Target::new(&self.path, language, symbols, u32::try_from(at).ok()?);
        target.map(Pointed::Definition)
    }

    fn is_used(&self, symbols: &Symbols, name: &str) -> bool {
        symbols.uses_of(name).any(|used| used.line == self.line)
    }

    fn no_line(&self, lines: usize) -> Failure {
        let path = self.path.display();
        Failure::new(
            Fault::InvalidLineRange,
            format!("{} has no line {}", text::shown(&path), self.line),
            format!("the file has {lines} lines; call outline for its definitions, or give a name"),
        )
        .detail("lines", lines)
    }

    fn nothing(&self, why: &str) -> Failure {
        let (path, line) = (self.path.display(), self.line);
        let column = self.column.map(|it| format!(":{it}")).unwrap_or_default();
        Failure::new(
            Fault::FileNotFound,
            format!("no symbol at {}:{line}{column}: {why}", text::shown(&path)),
            "call outline for the definitions of a file, or give a name",
        )
    }
}

/// The identifier around a column of a line, both counted from 1, with a `#` before it.
fn name_at(text: &[u8], line: u32, column: u32) -> Option<String> {
    let line = text
        .split(|byte| *byte == b'\n')
        .nth((line as usize).checked_sub(1)?)?;
    let line: Vec<char> = String::from_utf8_lossy(line).chars().collect();
    let is_word = |c: &&char| c.is_alphanumeric() || **c == '_';
    let at = (column as usize).checked_sub(1)?;
    let at = at + usize::from(line.get(at) == Some(&'#'));
    let (before, after) = line.split_at_checked(at)?;
    let start = before.iter().rev().take_while(is_word).count();
    let end = after.iter().take_while(is_word).count();
    let first = before.len() - start;
    let sign = first
        .checked_sub(1)
        .filter(|it| line.get(*it) == Some(&'#'));
    let name = line.get(sign.unwrap_or(first)..before.len() + end)?;
    (end > 0).then(|| name.iter().collect())
}

/// The failure for a text that looks like a file: a file alone is no symbol.
pub(super) fn file_alone(text: &str) -> Option<Failure> {
    let path = text.split([':', '#']).next().unwrap_or_default();
    let is_file =
        path.contains('/') && RepoPath::parse(path).is_ok_and(|path| Language::of(&path).is_some());
    is_file.then(|| {
        Failure::new(
            Fault::InvalidArguments,
            format!("{:?} begins with a file", text::shown(text)),
            "give the name alone, with path_glob for the file, or a place as path:line",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_a_path_a_line_and_perhaps_a_column() {
        let place = |text: &str| {
            let place = Place::parse(text).unwrap()?;
            Some((place.path.display(), place.line, place.column))
        };
        assert_eq!(place("a/b.rs:4"), Some(("a/b.rs".to_owned(), 4, None)));
        assert_eq!(place("a.rs:4:7"), Some(("a.rs".to_owned(), 4, Some(7))));
        for name in ["Circuit::admit", "a.rs", "a.rs:", "a.rs:4-7", "::4", ""] {
            assert_eq!(place(name), None, "{name}");
        }
    }

    #[test]
    fn the_name_at_a_column_is_the_identifier_around_it() {
        let text = "fn größe(a: u32) {}\n  one.two();\n  it.#open + 1;\n".as_bytes();
        let name = |line, column| name_at(text, line, column);
        assert_eq!(name(1, 4), Some("größe".to_owned()));
        assert_eq!(name(1, 6), Some("größe".to_owned()));
        assert_eq!(name(2, 7), Some("two".to_owned()));
        for column in [6, 7, 10] {
            assert_eq!(name(3, column), Some("#open".to_owned()), "{column}");
        }
        for (line, column) in [(1, 3), (1, 900), (2, 6), (9, 1), (0, 1), (1, 0)] {
            assert_eq!(name(line, column), None, "{line}:{column}");
        }
    }

    #[test]
    fn a_file_alone_is_no_symbol() {
        for file in [
            "src/pass.rs",
            "src/pass.rs:4:",
            "src/a.py:10-12",
            "src/a.ts#L4",
        ] {
            assert!(file_alone(file).is_some(), "{file}");
        }
        for name in ["self.c", "fs/promises.readFile", "Circuit::admit", "a/b"] {
            assert!(file_alone(name).is_none(), "{name}");
        }
    }
}
