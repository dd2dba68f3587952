//! Which comment belongs to a declaration: the one directly above it, or the string it begins with.

use std::ops::Range;

use tree_sitter::Node;

use archway_repo::syntax::Language;

/// Lines of comments and attributes that stand directly above each other.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) bytes: Range<usize>,
    /// The comments among them.
    pub(super) doc: Option<Range<usize>>,
    /// The row, from 0, of its last line.
    row: usize,
}

/// What stands above the node that is visited next.
#[derive(Debug, Default)]
pub(super) struct Above {
    run: Option<Run>,
    /// Whether anything but comments was visited.
    has_begun: bool,
    /// Whether `run` says who may use the file.
    is_licence: bool,
}

pub(super) fn is_comment(kind: &str) -> bool {
    matches!(kind, "comment" | "line_comment" | "block_comment")
}

/// Whether a node belongs to what comes after it.
pub(super) fn is_attribute(kind: &str) -> bool {
    matches!(kind, "attribute_item" | "decorator")
}

impl Above {
    /// Notes a comment; gives what came before it, if it was a licence.
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
        self.is_licence |= !self.has_begun && says_who_may_use_it(words);
        licence
    }

    /// Notes an attribute, which may stand among comments.
    pub(super) fn attribute(&mut self, node: Node<'_>, text: &str) {
        self.has_begun = true;
        self.extend(node, text, false);
    }

    /// Notes that code begins; gives what came before it, if it was a licence.
    pub(super) fn code(&mut self, node: Node<'_>, is_import: bool) -> Option<Range<usize>> {
        // These stand before all else, licences included.
        let is_mark = matches!(node.kind(), "php_tag" | "hash_bang_line");
        if self.has_begun || is_mark || !node.is_named() {
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

    /// What stands directly above `node`, where only words of the same line may come before it.
    pub(super) fn take(&mut self, node: Node<'_>, text: &str) -> Option<Run> {
        let is_next = self.is_next(node);
        let between = |run: &Run| {
            text.get(run.bytes.end..node.start_byte())
                .unwrap_or_default()
        };
        self.run
            .take()
            .filter(|run| is_next && !between(run).trim_start().contains(['\n', ';']))
    }

    fn licence(&mut self) -> Option<Range<usize>> {
        let is_licence = std::mem::take(&mut self.is_licence);
        let run = self.run.take_if(|_| is_licence)?;
        Some(run.bytes)
    }

    /// Whether `node` begins on the line after the run, or on its last.
    fn is_next(&self, node: Node<'_>) -> bool {
        let row = node.start_position().row;
        self.run.as_ref().is_some_and(|run| row <= run.row + 1)
    }

    fn extend(&mut self, node: Node<'_>, text: &str, is_doc: bool) {
        let words = text.get(node.byte_range()).unwrap_or_default();
        let bytes = node.start_byte()..node.start_byte() + words.trim_end().len();
        // A comment of a line may end where the next line starts.
        let end = node.end_position();
        let row = if end.column == 0 {
            end.row.saturating_sub(1)
        } else {
            end.row
        };
        let next = self.is_next(node);
        let between = |run: &Run| {
            text.get(run.bytes.end..node.start_byte())
                .unwrap_or_default()
        };
        // An attribute may have been that of a field between them.
        let goes_on = |run: &Run| next && between(run).trim_start().is_empty();
        let mut run = self.run.take().filter(goes_on).unwrap_or(Run {
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

/// The string that Python's functions and classes begin with.
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

/// Whether nothing but white space stands before `at` on its line.
fn is_first_on_line(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let before = before.trim_end_matches([' ', '\t', '\u{feff}']);
    before.is_empty() || before.ends_with('\n')
}

/// Whether a comment at the start of a file is its licence: the same in all files, so that it
/// tells nothing about any.
fn says_who_may_use_it(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    words.contains("licen") || words.contains("copyright")
}
