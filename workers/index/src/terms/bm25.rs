//! BM25: how well a chunk matches a query by their common words.
//!
//! A chunk's score is the sum of [`weight`] × [`idf`] over the query's words. The weight depends on
//! the chunk alone and can be stored with it; the IDF depends on all searched chunks, so the store
//! computes it. The formula is Robertson's and Zaragoza's, with Lucene's + 1 in the logarithm, which
//! keeps words of most chunks above 0. Qdrant's IDF modifier is the same.

/// How soon repetitions of a word stop to count (`k1`).
const SATURATION: f32 = 1.5;
/// How much a long chunk reduces a word's weight, 0 to 1 (`b`).
const NORMALISATION: f32 = 0.75;

/// The average number of words per chunk that all projects and stores assume.
///
/// Qdrant stores weights with their chunks. With a project's own average they would depend on the
/// time of indexing and drift with each commit. Since chunks are cut to size, projects differ
/// little: git's own repository has 63.
pub const AVERAGE: f32 = 60.0;

/// The weight of a word that occurs `count` times in a chunk of `length` words, 0 to 2.5. If `average`
/// is not a finite number above 0, the chunk's own length is taken.
pub fn weight(count: u16, length: u32, average: f32) -> f32 {
    let count = f32::from(count);
    #[expect(
        clippy::cast_precision_loss,
        reason = "a chunk has thousands of words, not millions"
    )]
    let length = length as f32;
    let relative = if average > 0.0 && average.is_finite() {
        length / average
    } else {
        1.0
    };
    let norm = SATURATION * (1.0 - NORMALISATION + NORMALISATION * relative);
    count * (SATURATION + 1.0) / (count + norm)
}

/// The rarity of a word that occurs in `with` of `all` chunks, above 0.
pub fn idf(all: u64, with: u64) -> f32 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a logarithm of counts needs no more than 24 bits of them"
    )]
    let (all, with) = (all.max(with) as f32, with as f32);
    ((all - with + 0.5) / (with + 0.5)).ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: f32, right: f32) -> bool {
        (left - right).abs() < 1e-4
    }

    #[test]
    fn a_weight_follows_the_formula() {
        // 2 · 2.5 / (2 + 1.5 · (0.25 + 0.75 · 60 / 40))
        assert!(near(weight(2, 60, 40.0), 5.0 / 4.0625));
        assert!(near(weight(1, 40, 40.0), 1.0));
        assert!(near(weight(0, 40, 40.0), 0.0));
    }

    #[test]
    fn weights_grow_with_repetition_and_shrink_with_length() {
        assert!(weight(3, 40, 40.0) > weight(2, 40, 40.0));
        assert!(weight(2, 80, 40.0) < weight(2, 40, 40.0));
        assert!(weight(u16::MAX, 40, 40.0) <= 2.5);
    }

    #[test]
    fn an_invalid_average_is_ignored() {
        for average in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert!(near(weight(1, 40, average), 1.0), "{average}");
        }
    }

    #[test]
    fn rare_words_weigh_more_and_common_ones_above_0() {
        // ln((10 − 2 + 0.5) / (2 + 0.5) + 1)
        assert!(near(idf(10, 2), 4.4_f32.ln()));
        assert!(idf(1000, 1) > idf(1000, 10));
        assert!(idf(1000, 1000) > 0.0);
    }

    #[test]
    fn more_chunks_with_a_word_than_chunks_count_as_all() {
        assert!(near(idf(3, 5), idf(5, 5)));
    }
}
