//! The words of a text, as code is read: `parseHttpHeader` is also parse, http and header.

/// A word, by its hash: what Qdrant calls an index of a sparse vector.
pub type Term = u32;

/// Which words a text has, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Each word once, in order, and how often it occurs.
    pub counts: Vec<(Term, u16)>,
    /// How many words there are in all.
    pub length: u32,
}
