//! The declaration around a result: long ones are indexed in parts.

use std::ops::Range;

use archway_index::chunk::DeclarationPlace;
use schemars::JsonSchema;
use serde::Serialize;

use crate::tools::markdown::cut;

/// Lines of a declaration that are shown with a comment that is all of a result.
const LINES_AFTER_COMMENT: u32 = 20;
/// How many lines below its comment a declaration may begin, for attributes.
const ATTRIBUTE_LINES: u32 = 5;
/// Longest signature, in bytes.
const MAX_SIGNATURE: usize = 200;

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

/// The extent that is shown of a piece of `text`, and the declaration of which it is a part. A piece that is the end
/// of a comment is continued into what it documents.
pub(super) fn in_declaration(
    text: &[u8],
    mut piece: Extent,
    of: DeclarationPlace,
) -> (Extent, Option<Declaration>) {
    let (first, last) = piece.lines;
    let (start, end) = of.lines;
    if start > last && start <= last + ATTRIBUTE_LINES {
        piece.lines.1 = end.min(start + LINES_AFTER_COMMENT);
        piece.bytes.end = line_end(text, piece.lines.1);
    }
    let is_part = start < first || end > piece.lines.1;
    let shows_start = first <= start && start <= piece.lines.1;
    let declaration = Declaration {
        start_line: start,
        end_line: end,
        signature: (!shows_start).then(|| signature(text, of)),
    };
    (piece, is_part.then_some(declaration))
}

/// What stands before the body of a declaration, on one line.
fn signature(text: &[u8], of: DeclarationPlace) -> String {
    let head = text.get(of.bytes.0 as usize..of.body as usize);
    let head = String::from_utf8_lossy(head.unwrap_or_default());
    let words: Vec<&str> = head.split_whitespace().take(MAX_SIGNATURE).collect();
    let line = words.join(" ");
    cut(
        line.trim_end_matches(['{', ':', '=', '>', ' ']),
        MAX_SIGNATURE,
    )
    .to_owned()
}

/// The byte after a line, which is counted from 1.
fn line_end(text: &[u8], line: u32) -> usize {
    let breaks = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let end = breaks.map(|(at, _)| at + 1).nth(line as usize - 1);
    end.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use archway_index::chunk::{Chunk, chunks};
    use archway_repo::{RepoPath, testing::cancel};

    use super::*;

    fn cut_up(path: &str, text: &str) -> Vec<Chunk> {
        let path = RepoPath::parse(path).unwrap();
        chunks(&path, text.as_bytes(), &cancel()).unwrap()
    }

    /// What is shown of a chunk that is a part.
    fn shown<'a>(text: &'a str, chunk: &Chunk) -> (&'a str, Option<Declaration>) {
        let small = |number: &usize| u32::try_from(*number).unwrap();
        let piece = Extent {
            bytes: chunk.bytes.clone(),
            lines: (small(chunk.lines.start()), small(chunk.lines.end())),
        };
        let of = chunk.declaration.unwrap();
        let (extent, part) = in_declaration(text.as_bytes(), piece, of);
        (text.get(extent.bytes).unwrap(), part)
    }

    fn part(lines: (u32, u32), signature: Option<&str>) -> Option<Declaration> {
        Some(Declaration {
            start_line: lines.0,
            end_line: lines.1,
            signature: signature.map(str::to_owned),
        })
    }

    #[test]
    fn a_part_names_its_declaration_and_a_whole_one_does_not() {
        let body = "    one();\n".repeat(500);
        let text = format!(
            "/// Doc.\nfn short() {{}}\n\n/// Doc.\nfn long(\n    it: u8,\n) {{\n{body}}}\n"
        );
        let chunks = cut_up("a.rs", &text);
        assert!(chunks.len() > 2, "{chunks:?}");
        for chunk in &chunks {
            match chunk.symbol.as_deref() {
                Some("long") => {
                    let is_later = chunk.doc.is_none();
                    let signature = is_later.then_some("fn long( it: u8, )");
                    assert_eq!(shown(&text, chunk).1, part((5, 508), signature));
                }
                _ => assert_eq!(chunk.declaration, None, "{chunk:?}"),
            }
        }
    }

    #[test]
    fn the_end_of_a_comment_is_joined_to_what_it_documents() {
        let comment = "/// A sentence about it.\n".repeat(400);
        let body = "    one();\n".repeat(50);
        let text = format!("{comment}fn long() {{\n{body}}}\n");
        let chunks = cut_up("a.rs", &text);
        assert!(*chunks[0].lines.end() < 300, "{chunks:?}");
        let (content, of) = shown(&text, &chunks[0]);
        assert!(!content.contains("fn long"), "{content}");
        assert_eq!(of, part((401, 452), Some("fn long()")));
        let end = Chunk {
            bytes: comment.len() - 100..comment.len(),
            lines: 397..=400,
            ..chunks[0].clone()
        };
        let (content, of) = shown(&text, &end);
        assert!(content.contains("fn long() {\n    one();"), "{content}");
        assert_eq!(of, part((401, 452), None));
    }

    #[test]
    fn the_lines_of_a_declaration_end_where_its_code_does() {
        let value = "    step(x); \\\n".repeat(300);
        let text = format!("#define WALK(x) do {{ \\\n{value}}} while (0)\nint next;\n");
        for chunk in cut_up("a.c", &text) {
            if chunk.symbol.as_deref() == Some("WALK") {
                let of = shown(&text, &chunk).1.expect("a part");
                assert_eq!((of.start_line, of.end_line), (1, 302));
            }
        }
    }
}
