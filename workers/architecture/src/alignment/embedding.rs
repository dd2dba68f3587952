//! Sentence embeddings from the built-in embedder, with one byte per dimension.

use std::sync::LazyLock;

use archway_index::embed::table::Table;

/// The built-in embedder. Without it, embeddings are omitted and only equal words match.
static TABLE: LazyLock<Option<Table>> = LazyLock::new(|| Table::built_in().ok());

/// A vector of length 127.
#[derive(Clone, Debug)]
pub(super) struct Embedding(Box<[i8]>);

impl Embedding {
    /// The embedding of a text; `None` if the table can't spell any of its words.
    pub(super) fn of(text: &str) -> Option<Embedding> {
        let vector = TABLE.as_ref()?.encode(text)?;
        Some(Embedding::rounded(&vector))
    }

    /// Quantizes a vector of length 1.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a number of a vector of length 1 times 127 fits a byte"
    )]
    fn rounded(vector: &[f32]) -> Embedding {
        let rounded = vector.iter().map(|value| (value * 127.0).round() as i8);
        Embedding(rounded.collect())
    }

    /// The cosine similarity; 0 if either is absent.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a product of vectors of length 127 is small"
    )]
    pub(super) fn similarity(left: Option<&Embedding>, right: Option<&Embedding>) -> f32 {
        let (Some(left), Some(right)) = (left, right) else {
            return 0.0;
        };
        let both = left.0.iter().zip(right.0.iter());
        let product: i32 = both
            .map(|(left, right)| i32::from(*left) * i32::from(*right))
            .sum();
        product as f32 / (127.0 * 127.0)
    }
}
