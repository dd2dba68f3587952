//! Detects words in answers that their receiver must not see.

use std::collections::BTreeSet;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use e2e::http::Response;
use serde_json::Value;

use super::planted::{Kind, Planted};

/// The words that one tenant must not see: the other's, and its own closed ones.
pub(super) struct Witness {
    own: Planted,
    other: Planted,
    /// The other's names that it has sent itself, which answers may repeat.
    said: BTreeSet<String>,
}

impl Witness {
    pub(super) fn new(own: &Planted, other: &Planted) -> Witness {
        Witness {
            own: own.clone(),
            other: other.clone(),
            said: BTreeSet::new(),
        }
    }

    /// Records the words of a request before it is sent.
    pub(super) fn says(&mut self, request: &[u8]) {
        let request = String::from_utf8_lossy(request).into_owned();
        let told = self.other.told().filter(|word| request.contains(*word));
        self.said.extend(told.map(str::to_owned));
    }

    /// The places of words in an answer that it must not contain.
    pub(super) fn judge(&self, answer: &Response) -> Vec<String> {
        let shown = shown(answer);
        let foreign = self
            .other
            .words
            .iter()
            .filter(|word| !self.said.contains(&word.text));
        let shut = self.own.words.iter().filter(|word| word.kind == Kind::Shut);
        let seen = foreign
            .map(|word| ("the other's", word))
            .chain(shut.map(|word| ("its own shut", word)));
        seen.filter(|(_, word)| shown.contains(&word.text))
            .map(|(whose, word)| {
                format!(
                    "{} is shown {whose} {} ({})",
                    self.own.tenant, word.place, word.text
                )
            })
            .collect()
    }
}

/// All of an answer: headers, body, and decoded base64 in it.
fn shown(answer: &Response) -> String {
    let mut shown = answer.text();
    for (_, value) in &answer.headers {
        shown += &format!("\n{value}");
    }
    if let Ok(body) = serde_json::from_slice(&answer.body) {
        let mut encoded = String::new();
        decode(&body, &mut encoded);
        shown += &encoded;
    }
    shown
}

/// Adds the decoded form of each base64 text in a value.
fn decode(value: &Value, into: &mut String) {
    match value {
        Value::String(text) => {
            if let Ok(bytes) = STANDARD.decode(text) {
                *into += &format!("\n{}", String::from_utf8_lossy(&bytes));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| decode(item, into)),
        Value::Object(members) => members.values().for_each(|member| decode(member, into)),
        _ => {}
    }
}

#[test]
fn words_in_base64_are_detected() {
    let body = serde_json::json!({ "content": STANDARD.encode("a sesame b") });
    let answer = Response {
        status: 200,
        headers: vec![("x".to_owned(), "in a header".to_owned())],
        body: body.to_string().into_bytes(),
    };
    let shown = shown(&answer);
    assert!(
        shown.contains("sesame") && shown.contains("in a header"),
        "{shown}"
    );
}
