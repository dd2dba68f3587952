//! Texts on their way home: cut, and how large they are.

use std::collections::HashMap;

use archway_repo::{Cancel, Repo, RepoPath, Stopped};
use archway_store::{AtHome, Document, Note, NoteId};
use gix::ObjectId;

use crate::prepare::Prepared;
use crate::thread::caught;
use crate::vector_store::Text;

/// The largest file that is indexed, in bytes.
const MAX_FILE: u64 = 1 << 20;

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
