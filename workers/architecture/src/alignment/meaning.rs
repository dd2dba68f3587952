//! What a sentence means, as the built-in embedder has it: a vector in a byte a dimension.

use std::sync::LazyLock;

use archway_index::embed::table::Table;

/// The built-in embedder; without it, meanings are left out and words alone decide.
static TABLE: LazyLock<Option<Table>> = LazyLock::new(|| Table::built_in().ok());

/// A vector of length 127.
#[derive(Clone, Debug)]
pub(super) struct Meaning(Box<[i8]>);

/// The vector of a word, and how long it was: how much the word tells.
pub(super) fn weighed(text: &str) -> Option<(Vec<f32>, f32)> {
    TABLE.as_ref()?.weighed(text)
}

impl Meaning {
    /// What a text means; `None` where it has no word that can be spelled.
    pub(super) fn of(text: &str) -> Option<Meaning> {
        let vector = TABLE.as_ref()?.encode(text)?;
        Some(Meaning::rounded(&vector))
    }

    /// The meaning that a vector of length 1 is.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a number of a vector of length 1 times 127 fits a byte"
    )]
    pub(super) fn rounded(vector: &[f32]) -> Meaning {
        let rounded = vector.iter().map(|value| (value * 127.0).round() as i8);
        Meaning(rounded.collect())
    }

    /// The cosine of two meanings; 0 where there is none.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a product of vectors of length 127 is small"
    )]
    pub(super) fn nearness(left: Option<&Meaning>, right: Option<&Meaning>) -> f32 {
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
