//! Reads texts and cuts them into chunks.

use std::collections::HashMap;

use archway_repo::{Cancel, Repo, RepoPath, Stopped};
use archway_store::{Document, Note, NoteId, StoredText};
use gix::ObjectId;

use crate::prepare::PreparedText;
use crate::thread::catch_panic;
use crate::vector_store::IndexedText;

/// Largest file to index, in bytes.
pub(super) const MAX_FILE: u64 = 1 << 20;

/// Number of chunks that fill a batch.
pub(super) const BATCH_CHUNKS: usize = 512;

/// Texts that were cut.
pub(super) struct ChunkedTexts {
    pub(super) texts: Vec<PreparedText>,
    /// Number of documents read; some texts may be missing because they cannot be read now. Those are
    /// not recorded, so the next run retries them.
    pub(super) taken: usize,
}

/// Cuts the texts of these documents until they have [`BATCH_CHUNKS`] chunks. A text that is too
/// large gets no chunks.
pub(super) fn cut_batch(
    repo: &Repo,
    batch: &[Document],
    notes: &HashMap<NoteId, Note>,
    cancel: &Cancel,
) -> Result<ChunkedTexts, Stopped> {
    let text = |document: &Document| {
        cancel.check()?;
        let blob = document.blob;
        if let Some(id) = document.note() {
            let note = notes.get(&id).map(|note| PreparedText::note(blob, note));
            return Ok(Some(note.unwrap_or_else(|| PreparedText::empty(blob))));
        }
        let id = ObjectId::from(blob);
        if let Some(content) = repo.blob(id, MAX_FILE) {
            return file(document, &content, cancel).map(Some);
        }
        let is_too_large = repo.blob_size(id).is_some_and(|size| size > MAX_FILE);
        Ok(is_too_large.then(|| PreparedText::empty(blob)))
    };
    let mut cut = ChunkedTexts {
        texts: Vec::new(),
        taken: 0,
    };
    let mut chunks = 0;
    for document in batch {
        let text = text(document)?;
        chunks += text.as_ref().map_or(0, |text| text.inputs.len());
        cut.texts.extend(text);
        cut.taken += 1;
        if chunks >= BATCH_CHUNKS {
            break;
        }
    }
    Ok(cut)
}

/// Cuts a file. One that makes the parser panic gets no chunks, and is logged; the others stay
/// searchable.
fn file(document: &Document, content: &[u8], cancel: &Cancel) -> Result<PreparedText, Stopped> {
    let path = RepoPath::trusted(&document.name);
    let cut = catch_panic(|| PreparedText::file(document.blob, &path, content, cancel));
    cut.unwrap_or_else(|error| {
        let blob = ObjectId::from(document.blob);
        tracing::error!(%blob, %error, "could not index a file");
        Ok(PreparedText::empty(document.blob))
    })
}

/// The record of an uploaded text.
pub(super) fn stored_text(text: &IndexedText, has_vectors: bool) -> StoredText {
    let words: i64 = text
        .chunks
        .iter()
        .map(|chunk| i64::from(chunk.terms.length))
        .sum();
    StoredText {
        blob: text.blob,
        chunks: i32::try_from(text.chunks.len()).unwrap_or(i32::MAX),
        words,
        lacks_vectors: !has_vectors && !text.chunks.is_empty(),
    }
}
