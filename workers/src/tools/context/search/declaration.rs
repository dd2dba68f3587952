//! The declaration around a result: long ones are indexed in parts.

use std::ops::Range;

use archway_repo::{Cancel, Key, RepoPath, syntax::Language};
use archway_symbols::{Definition, SymbolCache, Symbols};
use schemars::JsonSchema;
use serde::Serialize;

/// Lines of a declaration that are shown with a comment that is all of a result.
const LINES_AFTER_COMMENT: u32 = 20;
/// How many lines below its comment a declaration may begin, for attributes.
const ATTRIBUTE_LINES: u32 = 5;

/// A declaration of which a result is a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Declaration {
    pub(super) start_line: u32,
    pub(super) end_line: u32,
    /// Unless the result begins with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) signature: Option<String>,
}

/// Where a piece stands in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) bytes: Range<usize>,
    /// First and last line, from 1.
    pub(super) lines: (u32, u32),
}

/// The extent that is shown of a piece of `text`, and the declaration of which it is a part. A piece that is a
/// comment alone is continued into what it documents. `symbol` is the name that the piece belongs to.
pub(super) fn in_declaration(
    (cache, project): (&SymbolCache, &Key),
    (path, text): (&RepoPath, &[u8]),
    (symbol, piece): (Option<&str>, Extent),
    cancel: &Cancel,
) -> (Extent, Option<Declaration>) {
    let language = Language::of(path);
    let (Some(symbol), Some(language)) = (symbol, language) else {
        return (piece, None);
    };
    // A file that cannot be parsed now is shown as it was indexed.
    match cache.parsed(project, language, text, cancel) {
        Ok(parsed) => around(&parsed.symbols, text, (symbol, piece)),
        Err(_unparsed) => (piece, None),
    }
}

fn around(
    symbols: &Symbols,
    text: &[u8],
    (symbol, mut piece): (&str, Extent),
) -> (Extent, Option<Declaration>) {
    let named = || symbols.definitions.iter().filter(|it| *it.name == *symbol);
    let (first, last) = piece.lines;
    let overlaps = |it: &&Definition| it.lines.0 <= last && first <= it.lines.1;
    let is_below = |it: &&Definition| last < it.lines.0 && it.lines.0 <= last + ATTRIBUTE_LINES;
    let found = named().find(overlaps);
    let Some(found) = found.or_else(|| named().find(is_below)) else {
        return (piece, None);
    };
    let (start, end) = found.lines;
    if start > last {
        piece.lines.1 = end.min(start + LINES_AFTER_COMMENT);
        piece.bytes.end = line_end(text, piece.lines.1);
    }
    let is_part = start < first || end > piece.lines.1;
    let declaration = Declaration {
        start_line: start,
        end_line: end,
        signature: (start < first).then(|| found.signature.to_string()),
    };
    (piece, is_part.then_some(declaration))
}

/// The byte after a line, which is counted from 1.
fn line_end(text: &[u8], line: u32) -> usize {
    let breaks = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let end = breaks.map(|(at, _)| at + 1).nth(line as usize - 1);
    end.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::cancel;

    use super::*;

    fn shown(text: &str, lines: (u32, u32)) -> (String, Option<(u32, u32, bool)>) {
        let symbols = Symbols::of(Language::Rust, text.as_bytes(), &cancel()).unwrap();
        let start = match lines.0 {
            1 => 0,
            line => line_end(text.as_bytes(), line - 1),
        };
        let bytes = start..line_end(text.as_bytes(), lines.1);
        let piece = Extent { bytes, lines };
        let (extent, part) = around(&symbols, text.as_bytes(), ("long", piece));
        let content = text.get(extent.bytes).unwrap().to_owned();
        let part = part.map(|it| (it.start_line, it.end_line, it.signature.is_some()));
        (content, part)
    }

    #[test]
    fn a_part_names_its_declaration_and_a_whole_one_does_not() {
        let text = "/// Doc.\nfn long() {\n    one();\n    two();\n}\nfn other() {}\n";
        let whole = shown(text, (1, 5));
        assert_eq!(whole.1, None);
        assert_eq!(shown(text, (1, 3)).1, Some((2, 5, false)));
        let later = shown(text, (4, 5));
        assert_eq!(later, ("    two();\n}\n".to_owned(), Some((2, 5, true))));
        assert_eq!(shown(text, (6, 6)).1, None);
    }

    #[test]
    fn a_comment_alone_is_joined_to_what_it_documents() {
        let text = "/// Doc.\n/// More.\n#[inline]\nfn long() {\n    one();\n}\n";
        assert_eq!(shown(text, (1, 2)), (text.to_owned(), None));
        let body = "    one();\n".repeat(50);
        let text = format!("/// Doc.\nfn long() {{\n{body}}}\n");
        let (content, part) = shown(&text, (1, 1));
        assert_eq!(content.lines().count(), 22);
        assert_eq!(part, Some((2, 53, false)));
    }
}
