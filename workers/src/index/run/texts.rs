//! Texts on their way home: cut, and how large they are.

use std::collections::HashMap;

use gix::ObjectId;

use super::super::home::Text;
use super::super::prepare::Prepared;
use super::super::thread::caught;
use crate::repo::{Cancel, Repo, RepoPath, Stopped};
use crate::store::{AtHome, Document, Note, NoteId};

/// The largest file that is indexed, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// How many words a chunk is taken to have before the first was counted.
const FIRST_AVERAGE: f32 = 60.0;

/// With how many chunks a batch is full.
pub(super) const FULL: usize = 512;

/// Texts that were cut.
pub(super) struct Cut {
    pub(super) texts: Vec<Prepared>,
    /// Of how many documents: more than texts, where some can't be read now. Those are not noted to
    /// be at home, so the next run tries them again.
    pub(super) taken: usize,
}

/// The texts of the first of these documents, cut, until they have [`FULL`] chunks. One that is too
/// large is one without chunks.
pub(super) fn prepared(
    repo: &Repo,
    batch: &[Document],
    notes: &HashMap<NoteId, Note>,
    cancel: &Cancel,
) -> Result<Cut, Stopped> {
    let text = |document: &Document| {
        cancel.check()?;
        let blob = document.blob;
        if let Some(id) = document.note() {
            let note = notes.get(&id).map(|note| Prepared::note(blob, note));
            return Ok(Some(note.unwrap_or_else(|| Prepared::empty(blob))));
        }
        let id = ObjectId::from(blob);
        if let Some(content) = repo.blob(id, MAX_FILE) {
            return file(document, &content, cancel).map(Some);
        }
        let is_too_large = repo.blob_size(id).is_some_and(|size| size > MAX_FILE);
        Ok(is_too_large.then(|| Prepared::empty(blob)))
    };
    let mut cut = Cut {
        texts: Vec::new(),
        taken: 0,
    };
    let mut chunks = 0;
    for document in batch {
        let text = text(document)?;
        chunks += text.as_ref().map_or(0, |text| text.readings.len());
        cut.texts.extend(text);
        cut.taken += 1;
        if chunks >= FULL {
            break;
        }
    }
    Ok(cut)
}

/// A file, cut. One that nobody foresaw has no chunks, and is told once: the others shall be found.
fn file(document: &Document, content: &[u8], cancel: &Cancel) -> Result<Prepared, Stopped> {
    let path = RepoPath::trusted(&document.name);
    let cut = caught(|| Prepared::file(document.blob, &path, content, cancel));
    cut.unwrap_or_else(|error| {
        let blob = ObjectId::from(document.blob);
        tracing::error!(%blob, %error, "a file is not indexed");
        Ok(Prepared::empty(document.blob))
    })
}

/// A text, as it is noted to be at home, with the vectors that an embedder has for it or without.
pub(super) fn noted(text: &Text, has_vectors: bool) -> AtHome {
    let words: i64 = text
        .pieces
        .iter()
        .map(|piece| i64::from(piece.terms.length))
        .sum();
    AtHome {
        blob: text.blob,
        chunks: i32::try_from(text.pieces.len()).unwrap_or(i32::MAX),
        words,
        lacks_vectors: !has_vectors && !text.pieces.is_empty(),
    }
}

/// How many words a chunk of these texts has on average.
pub(super) fn first_average(texts: &[Text]) -> f32 {
    let noted: Vec<AtHome> = texts.iter().map(|text| noted(text, true)).collect();
    let chunks = noted.iter().map(|text| i64::from(text.chunks)).sum();
    average(chunks, noted.iter().map(|text| text.words).sum())
}

/// How many words a chunk has on average.
#[expect(clippy::cast_precision_loss, reason = "an average")]
pub(super) fn average(chunks: i64, words: i64) -> f32 {
    match chunks {
        0 => FIRST_AVERAGE,
        chunks => words as f32 / chunks as f32,
    }
}
