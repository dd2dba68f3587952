//! Maps byte offsets of a document to line numbers.

/// The start offsets of a document's lines.
pub(super) struct LineIndex(Vec<usize>);

impl LineIndex {
    pub(super) fn of(text: &str) -> LineIndex {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes());
        LineIndex(std::iter::once(0).chain(ends.map(|end| end + 1)).collect())
    }

    /// The 1-based line of a byte offset.
    pub(super) fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset).max(1)
    }
}
