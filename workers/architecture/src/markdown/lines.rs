//! Which line of a document a place stands on.

/// Where the lines of a document begin.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn of(text: &str) -> Lines {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes());
        Lines(std::iter::once(0).chain(ends.map(|end| end + 1)).collect())
    }

    /// The line of a byte, 1-based.
    pub(super) fn at(&self, place: usize) -> usize {
        self.0.partition_point(|start| *start <= place).max(1)
    }
}
