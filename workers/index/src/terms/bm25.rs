//! BM25: how much a word that is in both says of how well a chunk answers a query.
//!
//! A chunk's score is the sum of [`weight`] × [`idf`] over the query's words. The first depends on
//! the chunk and can be kept with it; the second on all that are searched, so that it is for the
//! home to know. The form is Robertson's and Zaragoza's, with Lucene's + 1 in the logarithm, which
//! keeps a word that most chunks have above 0; Qdrant's IDF modifier is the same.

/// How soon further occurrences of a word count for nothing.
const SATURATION: f32 = 1.5;
/// How much of a word's weight a long chunk loses, 0 … 1.
const NORMALISATION: f32 = 0.75;

/// How many words a chunk is taken to have on average, in every project and at every home.
///
/// Qdrant keeps weights with their chunks. By a project's own average they would depend on what it
/// was when each came, and drift with each commit. Chunks are cut to a size, so that projects differ
/// little from one another: git's own repository has 63.
pub const AVERAGE: f32 = 60.0;

/// What a word weighs that occurs `count` times in a chunk of `length` words, where a chunk has
/// `average` words: 0 … 2.5. An average that is no number above 0 counts as the chunk's own length.
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

/// How telling a word is that is in `with` of `all` chunks, above 0.
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
    fn a_word_weighs_what_the_formula_says() {
        // 2 · 2.5 / (2 + 1.5 · (0.25 + 0.75 · 60 / 40))
        assert!(near(weight(2, 60, 40.0), 5.0 / 4.0625));
        assert!(near(weight(1, 40, 40.0), 1.0));
        assert!(near(weight(0, 40, 40.0), 0.0));
    }

    #[test]
    fn a_word_weighs_more_when_it_occurs_more_often_and_less_in_a_longer_chunk() {
        assert!(weight(3, 40, 40.0) > weight(2, 40, 40.0));
        assert!(weight(2, 80, 40.0) < weight(2, 40, 40.0));
        assert!(weight(u16::MAX, 40, 40.0) <= 2.5);
    }

    #[test]
    fn an_average_that_is_none_divides_nothing() {
        for average in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert!(near(weight(1, 40, average), 1.0), "{average}");
        }
    }

    #[test]
    fn a_rare_word_tells_more_and_one_that_all_have_still_something() {
        // ln((10 − 2 + 0.5) / (2 + 0.5) + 1)
        assert!(near(idf(10, 2), 4.4_f32.ln()));
        assert!(idf(1000, 1) > idf(1000, 10));
        assert!(idf(1000, 1000) > 0.0);
    }

    #[test]
    fn more_chunks_with_a_word_than_there_are_is_all_of_them() {
        assert!(near(idf(3, 5), idf(5, 5)));
    }
}
