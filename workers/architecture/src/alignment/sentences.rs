//! The sentences of a decision that a verdict can be based on.

use super::Decision;
use super::positions::Kind;
use crate::adr::Passage;

/// Longer sentences, in bytes, are omitted: a sentence is quoted whole or not at all.
const MAX_SENTENCE: usize = 800;

impl Decision<'_> {
    /// The rules, then the sentences about rejected options: without duplicates, as written with
    /// whitespace collapsed, and at most `max_bytes` bytes in total.
    pub fn sentences(&self, max_bytes: usize) -> Vec<String> {
        let mut seen: Vec<&Passage> = Vec::new();
        let (mut quoted, mut budget) = (Vec::new(), max_bytes);
        for passage in self
            .passages(Kind::Rule)
            .chain(self.passages(Kind::Rejected))
        {
            if seen.contains(&passage) {
                continue;
            }
            seen.push(passage);
            let sentence = passage.verbatim(self.markdown, self.source);
            if sentence.is_empty() || sentence.len() > MAX_SENTENCE || sentence.len() > budget {
                continue;
            }
            budget -= sentence.len();
            quoted.push(sentence);
        }
        quoted
    }

    fn passages(&self, kind: Kind) -> impl Iterator<Item = &Passage> {
        let of_kind = self
            .positions
            .statements
            .iter()
            .filter(move |one| one.kind == kind);
        of_kind.map(|one| &one.passage)
    }
}
