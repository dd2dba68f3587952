//! Parses and checks the service's answers.
//!
//! Parsing is lenient, since compatible servers leave out `usage`, `index` or `object`. Vectors are
//! checked strictly: a wrong one would distort searches for as long as the index exists.

use serde::Deserialize;

use crate::openai::Unreadable;

/// A shorter vector has no direction.
const MIN_LENGTH: f32 = 1e-12;

/// The parts of an answer that are used.
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

/// Why an answer does not hold the requested vectors. Quotes nothing of it.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// The body cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// The number of vectors is not the number of texts.
    #[error("it has {found} vectors for {asked} texts")]
    Count {
        /// Number of vectors.
        found: usize,
        /// Number of texts.
        asked: usize,
    },
    /// The indexes do not assign each vector to a text.
    #[error("its indexes of texts are not 0 to {last}, each once")]
    Order {
        /// Index of the last text.
        last: usize,
    },
    /// The vectors have other dimensions than configured.
    #[error(
        "its vectors have {found} numbers and not {wanted}: set --embedder-dimensions to the \
         model's, or --embedder-ask-dimensions if the model supports fewer"
    )]
    Dimensions {
        /// Dimensions of the answer.
        found: usize,
        /// Dimensions as configured.
        wanted: usize,
    },
    /// A vector is zero or not finite.
    #[error("the vector of text {index} has no direction")]
    Direction {
        /// The text, from 0.
        index: usize,
    },
}

impl Answer {
    /// Tokens that the service reports; 0 if it reports none.
    pub(super) fn tokens(&self) -> u64 {
        let usage = self.usage.as_ref();
        usage
            .and_then(|usage| usage.total_tokens.or(usage.prompt_tokens))
            .unwrap_or(0)
    }

    /// The vectors in the order of the texts, scaled to length 1.
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
            let slot = vectors.get_mut(index).filter(|slot| slot.is_empty());
            let last = texts.saturating_sub(1);
            let slot = slot.ok_or(AnswerError::Order { last })?;
            *slot = normalized(item.embedding, index, dimensions)?;
        }
        Ok(vectors)
    }
}

/// Scales a vector to length 1.
fn normalized(
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
    if !length.is_finite() || length < MIN_LENGTH {
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
    fn an_answer_without_optional_fields_is_accepted() {
        let answer = read(r#"{"data":[{"embedding":[1]},{"embedding":[-1]}]}"#).unwrap();
        assert_eq!(answer.tokens(), 0);
        assert_eq!(answer.vectors(2, 1).unwrap(), [[1.0], [-1.0]]);
    }

    #[test]
    fn an_answer_without_a_vector_for_each_text_is_rejected() {
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
            let message = refused(json).unwrap_err().to_string();
            assert!(message.contains(why), "{json}: {message}");
            assert!(!message.contains("sesame"), "{message}");
        }
    }

    proptest! {
        #[test]
        fn every_vector_has_length_1(numbers in prop::collection::vec(-1e30f32..1e30, 1..64)) {
            let dimensions = numbers.len();
            if let Ok(vector) = normalized(numbers, 0, dimensions) {
                let length: f32 = vector.iter().map(|number| number * number).sum();
                prop_assert!((length - 1.0).abs() < 1e-4, "{length}");
            }
        }
    }
}
