//! Maps byte offsets of a document to line numbers.

/// The start offsets of a document's lines.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn of(text: &str) -> Lines {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes());
        Lines(std::iter::once(0).chain(ends.map(|end| end + 1)).collect())
    }

    /// The 1-based line of a byte offset.
    pub(super) fn at(&self, place: usize) -> usize {
        self.0.partition_point(|start| *start <= place).max(1)
    }
}
