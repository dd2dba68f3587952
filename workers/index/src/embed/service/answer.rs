//! What the service answers, and whether it is what was asked for.
//!
//! Only what is needed is read, and leniently: servers that speak the same API leave out `usage`,
//! `index` or `object`. What a vector must be is checked strictly: a wrong one would be found, or
//! not, for as long as the index lives.

use serde::Deserialize;

use crate::openai::Unreadable;

/// A vector shorter than this has no direction.
const SHORTEST: f32 = 1e-12;

/// What is read of an answer.
#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    data: Vec<Item>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
struct Item {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Debug, Deserialize)]
struct Usage {
    #[serde(default)]
    total_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens: Option<u64>,
}

/// Why an answer is not the vectors that were asked for. Quotes nothing of it.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// It can't be read at all.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// Not a vector for each text.
    #[error("it has {found} vectors for {asked} texts")]
    Count {
        /// Vectors.
        found: usize,
        /// Texts.
        asked: usize,
    },
    /// It does not say which vector is which text's.
    #[error("its numbers of the texts are not 0 to {last}, each once")]
    Order {
        /// The last text's.
        last: usize,
    },
    /// Vectors of another length than the model has.
    #[error(
        "its vectors have {found} numbers and not {wanted}: set --embedder-dimensions to what the \
         model has, or --embedder-ask-dimensions if it can be asked for fewer"
    )]
    Dimensions {
        /// Numbers in one.
        found: usize,
        /// As configured.
        wanted: usize,
    },
    /// Numbers that are none, or all 0.
    #[error("the vector of text {index} has no direction")]
    Direction {
        /// Which text, from 0.
        index: usize,
    },
}

impl Answer {
    /// How many tokens it says that it read; 0 where it says nothing.
    pub(super) fn tokens(&self) -> u64 {
        let usage = self.usage.as_ref();
        usage
            .and_then(|usage| usage.total_tokens.or(usage.prompt_tokens))
            .unwrap_or(0)
    }

    /// The vectors in the order of the texts, each of length 1.
    pub(super) fn vectors(
        self,
        texts: usize,
        dimensions: usize,
    ) -> Result<Vec<Vec<f32>>, AnswerError> {
        let found = self.data.len();
        if found != texts {
            let asked = texts;
            return Err(AnswerError::Count { found, asked });
        }
        let mut vectors: Vec<Vec<f32>> = vec![Vec::new(); texts];
        for (position, item) in self.data.into_iter().enumerate() {
            let index = item.index.unwrap_or(position);
            let place = vectors.get_mut(index).filter(|place| place.is_empty());
            let last = texts.saturating_sub(1);
            let place = place.ok_or(AnswerError::Order { last })?;
            *place = directed(item.embedding, index, dimensions)?;
        }
        Ok(vectors)
    }
}

/// The vector with length 1.
fn directed(
    mut vector: Vec<f32>,
    index: usize,
    dimensions: usize,
) -> Result<Vec<f32>, AnswerError> {
    if vector.len() != dimensions {
        return Err(AnswerError::Dimensions {
            found: vector.len(),
            wanted: dimensions,
        });
    }
    let square: f64 = vector.iter().map(|number| f64::from(*number).powi(2)).sum();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "lengths of f32 vectors, rounded"
    )]
    let length = square.sqrt() as f32;
    if !length.is_finite() || length < SHORTEST {
        return Err(AnswerError::Direction { index });
    }
    vector.iter_mut().for_each(|number| *number /= length);
    Ok(vector)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(json: &str) -> Result<Answer, AnswerError> {
        Ok(serde_json::from_str(json).map_err(Unreadable::from)?)
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts_and_with_length_1() {
        let answer = r#"{"object":"list","model":"m","usage":{"prompt_tokens":7,"total_tokens":9},"data":[
            {"object":"embedding","index":1,"embedding":[0,2]},
            {"object":"embedding","index":0,"embedding":[3,4]}]}"#;
        let answer = read(answer).unwrap();
        assert_eq!(answer.tokens(), 9);
        let vectors = answer.vectors(2, 2).unwrap();
        assert_eq!(vectors, [vec![0.6, 0.8], vec![0.0, 1.0]]);
    }

    #[test]
    fn a_server_that_leaves_out_what_is_not_needed_is_understood() {
        let answer = read(r#"{"data":[{"embedding":[1]},{"embedding":[-1]}]}"#).unwrap();
        assert_eq!(answer.tokens(), 0);
        assert_eq!(answer.vectors(2, 1).unwrap(), [[1.0], [-1.0]]);
    }

    #[test]
    fn what_is_no_vector_for_each_text_is_refused() {
        let refused = |json: &str| read(json)?.vectors(2, 2);
        for (json, why) in [
            ("no json", "line 1, column"),
            (r#"{"data":"sesame"}"#, "line 1, column"),
            (r#"{"data":[{"embedding":[NaN,1]}]}"#, "line 1, column"),
            (r#"{"data":[{"embedding":[null,1]}]}"#, "line 1, column"),
            (r#"{"data":[{"embedding":[1,0]}]}"#, "1 vectors for 2 texts"),
            (
                r#"{"data":[{"index":0,"embedding":[1,0]},{"index":0,"embedding":[1,0]}]}"#,
                "0 to 1, each once",
            ),
            (
                r#"{"data":[{"index":0,"embedding":[1,0]},{"index":2,"embedding":[1,0]}]}"#,
                "0 to 1, each once",
            ),
            (
                r#"{"data":[{"embedding":[1,0]},{"embedding":[1,0,0]}]}"#,
                "3 numbers and not 2",
            ),
            (
                r#"{"data":[{"embedding":[1,0]},{"embedding":[0,0]}]}"#,
                "text 1 has no direction",
            ),
            (
                r#"{"data":[{"embedding":[3e38,3e38]},{"embedding":[1,0]}]}"#,
                "text 0 has no direction",
            ),
        ] {
            let told = refused(json).unwrap_err().to_string();
            assert!(told.contains(why), "{json}: {told}");
            assert!(!told.contains("sesame"), "{told}");
        }
    }

    proptest! {
        #[test]
        fn no_vector_has_another_length_than_1(numbers in prop::collection::vec(-1e30f32..1e30, 1..64)) {
            let dimensions = numbers.len();
            if let Ok(vector) = directed(numbers, 0, dimensions) {
                let length: f32 = vector.iter().map(|number| number * number).sum();
                prop_assert!((length - 1.0).abs() < 1e-4, "{length}");
            }
        }
    }
}
