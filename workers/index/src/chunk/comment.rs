//! Finds the comment of a declaration: directly above it, or a string at the start of its body.

use std::ops::Range;

use tree_sitter::Node;

use archway_repo::syntax::Language;

/// Adjacent lines of comments and attributes.
#[derive(Debug)]
pub(super) struct CommentRun {
    pub(super) bytes: Range<usize>,
    /// The range of its comments.
    pub(super) doc: Option<Range<usize>>,
    /// Its last row, from 0.
    row: usize,
}

/// The comments directly above the next node.
#[derive(Debug, Default)]
pub(super) struct CommentsAbove {
    run: Option<CommentRun>,
    /// Whether anything but comments was visited.
    has_begun: bool,
    /// Whether `run` is a licence.
    is_licence: bool,
}

pub(super) fn is_comment(kind: &str) -> bool {
    matches!(kind, "comment" | "line_comment" | "block_comment")
}

/// Whether a node belongs to the declaration after it.
pub(super) fn is_attribute(kind: &str) -> bool {
    matches!(kind, "attribute_item" | "decorator")
}

impl CommentsAbove {
    /// Adds a comment. Returns the range of the comments before it if they were a licence.
    pub(super) fn comment(
        &mut self,
        node: Node<'_>,
        text: &str,
        language: Language,
    ) -> Option<Range<usize>> {
        let words = text.get(node.byte_range()).unwrap_or_default();
        let licence = if self.is_next(node) {
            None
        } else {
            self.licence()
        };
        let is_inner =
            language == Language::Rust && (words.starts_with("//!") || words.starts_with("/*!"));
        if is_inner || !is_first_on_line(text, node.start_byte()) {
            self.forget();
            return licence;
        }
        self.extend(node, text, true);
        self.is_licence |= !self.has_begun && mentions_licence(words);
        licence
    }

    /// Adds an attribute, which may be between comments.
    pub(super) fn attribute(&mut self, node: Node<'_>, text: &str) {
        self.has_begun = true;
        self.extend(node, text, false);
    }

    /// Records the start of code. Returns the range of the comments before it if they were a licence.
    pub(super) fn code(&mut self, node: Node<'_>, is_import: bool) -> Option<Range<usize>> {
        // These come first in a file, even before licences.
        let is_mark = || matches!(node.kind(), "php_tag" | "hash_bang_line");
        if self.has_begun || !node.is_named() || is_mark() {
            return None;
        }
        self.has_begun = true;
        if !is_import && self.is_next(node) {
            return None;
        }
        self.licence()
    }

    pub(super) fn forget(&mut self) {
        self.run = None;
        self.is_licence = false;
    }

    /// Takes the comments directly above `node`, whose macros may begin at a byte before it; only code on
    /// the same line may be in between.
    pub(super) fn take(&mut self, node: Node<'_>, start: usize, text: &str) -> Option<CommentRun> {
        let macros = text.get(start..node.start_byte()).unwrap_or_default();
        let row = node.start_position().row - macros.matches('\n').count();
        let is_next = self.is_row_next(row);
        let between = |run: &CommentRun| text.get(run.bytes.end..start).unwrap_or_default();
        self.run
            .take()
            .filter(|run| is_next && !between(run).trim_start().contains(['\n', ';']))
    }

    fn licence(&mut self) -> Option<Range<usize>> {
        let is_licence = std::mem::take(&mut self.is_licence);
        let run = self.run.take_if(|_| is_licence)?;
        Some(run.bytes)
    }

    /// Whether `node` starts on the last row of the run or the one after.
    fn is_next(&self, node: Node<'_>) -> bool {
        self.is_row_next(node.start_position().row)
    }

    fn is_row_next(&self, row: usize) -> bool {
        self.run.as_ref().is_some_and(|run| row <= run.row + 1)
    }

    fn extend(&mut self, node: Node<'_>, text: &str, is_doc: bool) {
        let words = text.get(node.byte_range()).unwrap_or_default();
        let bytes = node.start_byte()..node.start_byte() + words.trim_end().len();
        // The node of a line comment may end at the start of the next line.
        let end = node.end_position();
        let row = if end.column == 0 {
            end.row.saturating_sub(1)
        } else {
            end.row
        };
        let next = self.is_next(node);
        let between = |run: &CommentRun| {
            text.get(run.bytes.end..node.start_byte())
                .unwrap_or_default()
        };
        // Code in between ends the run: the attribute was that of a field, for example.
        let goes_on = |run: &CommentRun| next && between(run).trim_start().is_empty();
        let mut run = self.run.take().filter(goes_on).unwrap_or(CommentRun {
            bytes: bytes.clone(),
            doc: None,
            row,
        });
        run.bytes.end = bytes.end;
        run.row = row;
        if is_doc {
            let start = run.doc.map_or(bytes.start, |doc| doc.start);
            run.doc = Some(start..bytes.end);
        }
        self.run = Some(run);
    }
}

/// The string at the start of a Python function or class.
pub(super) fn docstring(body: Node<'_>) -> Option<Range<usize>> {
    if body.kind() != "block" {
        return None;
    }
    let first = body.named_child(0)?;
    let string = match first.kind() {
        "expression_statement" => first.named_child(0)?,
        _ => first,
    };
    (string.kind() == "string").then(|| string.byte_range())
}

/// Whether only white space precedes `at` on its line.
fn is_first_on_line(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let before = before.trim_end_matches([' ', '\t', '\u{feff}']);
    before.is_empty() || before.ends_with('\n')
}

/// Whether a comment at the start of a file is a licence, which says nothing about the file.
fn mentions_licence(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    words.contains("licen") || words.contains("copyright")
}
