//! Selects the texts of an index if the memory of a search holds only some of them.
//!
//! What is used comes first: notes, files that were read within 7 days, files that changed since the
//! last run, files that the index has already, and others. Generated and vendored files come last.
//! The size of a text that was never cut is estimated by its bytes. So texts are selected once more
//! after an upload, when their sizes are known.

use std::collections::{BTreeMap, HashMap, HashSet};

use archway_repo::is_generated;
use archway_store::{Blob, Document, RecordedText, Source, TextState};
use gix::ObjectId;

use super::texts::MAX_FILE;
use super::{DesiredIndex, Run, RunError};
use crate::vector_store::ProjectMemory;

/// Paths that count as read, at most.
const MAX_READ: i64 = 10_000;
/// Bytes of text in a chunk, about, and in each word that is counted: measured on source code.
const BYTES_PER_CHUNK: u64 = 900;
const BYTES_PER_WORD: u64 = 8;

/// The use of a document, most used first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    Note,
    Read,
    Changed,
    Indexed,
    Other,
    Generated,
}

impl Run<'_> {
    /// The texts that a search could not hold besides the more useful ones; empty if it holds all.
    ///
    /// # Errors
    /// If the repository or Postgres can't be read.
    pub(super) async fn left_out(
        &self,
        desired: &DesiredIndex,
        had: &[Document],
        texts: &HashMap<Blob, RecordedText>,
    ) -> Result<HashSet<Blob>, RunError> {
        let Some(memory) = self.indexer.parts.vector_store.project_memory() else {
            return Ok(HashSet::new());
        };
        let mut bytes: HashMap<Blob, u64> = HashMap::new();
        let mut unknown = Vec::new();
        for document in &desired.documents {
            match texts.get(&document.blob) {
                Some(text) if text.state != TextState::Uncertain => {
                    bytes.insert(document.blob, exact(memory, text));
                }
                Some(_) | None => unknown.push(document.blob),
            }
        }
        let most = bytes.values().sum::<u64>() + unknown.len() as u64 * estimate(memory, MAX_FILE);
        if most <= memory.limit {
            return Ok(HashSet::new());
        }
        bytes.extend(self.estimates(desired, unknown, memory).await?);
        if bytes.values().sum::<u64>() <= memory.limit {
            return Ok(HashSet::new());
        }
        let project = self.lease.project_key.project;
        let read = self.store().paths_read(project, MAX_READ).await?;
        let read: HashSet<Vec<u8>> = read.into_iter().map(String::into_bytes).collect();
        Ok(least_used(
            &desired.documents,
            had,
            &read,
            &bytes,
            memory.limit,
        ))
    }

    /// The estimated memory of texts that were never cut.
    async fn estimates(
        &self,
        desired: &DesiredIndex,
        blobs: Vec<Blob>,
        memory: ProjectMemory,
    ) -> Result<HashMap<Blob, u64>, RunError> {
        let repo = desired.repo.clone();
        let sizes = move || {
            let size = |blob: Blob| repo.blob_size(ObjectId::from(blob)).unwrap_or(0);
            // A larger file has no chunks.
            let estimate = |size: u64| {
                if size > MAX_FILE {
                    0
                } else {
                    estimate(memory, size)
                }
            };
            blobs
                .into_iter()
                .map(|blob| (blob, estimate(size(blob))))
                .collect()
        };
        Ok(self.indexer.thread.run(sizes).await?)
    }
}

fn exact(memory: ProjectMemory, text: &RecordedText) -> u64 {
    let chunks = u64::try_from(text.chunks).unwrap_or(0);
    memory.bytes(chunks, u64::try_from(text.words).unwrap_or(0))
}

fn estimate(memory: ProjectMemory, size: u64) -> u64 {
    memory.bytes(size / BYTES_PER_CHUNK + 1, size / BYTES_PER_WORD)
}

/// The texts that exceed `limit` bytes, if the most used ones are taken first, and among equals the
/// smallest.
fn least_used(
    documents: &[Document],
    had: &[Document],
    read: &HashSet<Vec<u8>>,
    bytes: &HashMap<Blob, u64>,
    limit: u64,
) -> HashSet<Blob> {
    let had: HashMap<(Source, &[u8]), Blob> = had
        .iter()
        .map(|document| ((document.source, &*document.name), document.blob))
        .collect();
    let mut uses: BTreeMap<Blob, Use> = BTreeMap::new();
    for document in documents {
        let found = use_of(document, &had, read);
        let known = uses.entry(document.blob).or_insert(found);
        *known = found.min(*known);
    }
    let size = |blob: &Blob| bytes.get(blob).copied().unwrap_or(0);
    let mut ordered: Vec<(Use, u64, Blob)> = uses
        .into_iter()
        .map(|(blob, found)| (found, size(&blob), blob))
        .collect();
    ordered.sort_unstable_by(|one, other| other.cmp(one));
    let mut total: u64 = ordered.iter().map(|(_, bytes, _)| bytes).sum();
    let excess = ordered.into_iter().take_while(|(_, bytes, _)| {
        let is_excess = total > limit;
        total -= bytes;
        is_excess
    });
    excess.map(|(_, _, blob)| blob).collect()
}

fn use_of(
    document: &Document,
    had: &HashMap<(Source, &[u8]), Blob>,
    read: &HashSet<Vec<u8>>,
) -> Use {
    if document.source != Source::File {
        return Use::Note;
    }
    if read.contains(&document.name) {
        return Use::Read;
    }
    if is_generated(&document.name) {
        return Use::Generated;
    }
    match had.get(&(document.source, &*document.name)) {
        Some(blob) if *blob == document.blob => Use::Indexed,
        Some(_changed) => Use::Changed,
        None => Use::Other,
    }
}
