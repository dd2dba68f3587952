//! Selects the texts of an index if the memory of a search holds only some of them.
//!
//! What is used comes first: notes, files that were read within 7 days, files that were added or
//! changed since the indexed commit, files that the index has already, and others. Generated and vendored files come last.
//! The size of a text that was never cut is estimated by its bytes. So texts are selected once more
//! after an upload, when their sizes are known.

use std::collections::{BTreeMap, HashMap, HashSet};

use archway_proto::chain::Chain;
use archway_repo::is_generated;
use archway_store::{Blob, Document, RecordedText, Source};
use gix::ObjectId;

use super::texts::MAX_FILE;
use super::{DesiredIndex, Run, RunError, cancel};
use crate::vector_store::ProjectMemory;

/// Paths that count as read, at most.
const MAX_READ: i64 = 10_000;
/// Bytes of text in a chunk, and for each word that is counted: rough, since exact sizes follow.
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

/// Selects texts of one run. What it learns about them serves each selection.
pub(super) struct Selection<'a> {
    run: &'a Run<'a>,
    desired: &'a DesiredIndex,
    /// The documents of the last edition.
    had: &'a [Document],
    /// The estimated bytes of texts that were never cut.
    estimates: HashMap<Blob, u64>,
    /// The use of each text, known once a selection is needed.
    uses: Option<BTreeMap<Blob, Use>>,
}

impl<'a> Selection<'a> {
    pub(super) fn new(
        run: &'a Run<'a>,
        desired: &'a DesiredIndex,
        had: &'a [Document],
    ) -> Selection<'a> {
        Selection {
            run,
            desired,
            had,
            estimates: HashMap::new(),
            uses: None,
        }
    }

    /// The texts that a search could not hold besides the more useful ones; empty if it holds all.
    ///
    /// # Errors
    /// If the repository or Postgres can't be read.
    pub(super) async fn left_out(
        &mut self,
        texts: &HashMap<Blob, RecordedText>,
    ) -> Result<HashSet<Blob>, RunError> {
        let Some(memory) = self.run.indexer.parts.vector_store.project_memory() else {
            return Ok(HashSet::new());
        };
        let mut bytes: HashMap<Blob, u64> = HashMap::new();
        let mut unknown = Vec::new();
        for document in &self.desired.documents {
            match texts.get(&document.blob).filter(|text| text.is_stored()) {
                Some(text) => {
                    bytes.insert(document.blob, exact(memory, text));
                }
                None => unknown.push(document.blob),
            }
        }
        let most = bytes.values().sum::<u64>() + unknown.len() as u64 * estimate(memory, MAX_FILE);
        if most <= memory.limit {
            return Ok(HashSet::new());
        }
        self.estimate(&unknown, memory).await?;
        let estimated = |blob: Blob| Some((blob, *self.estimates.get(&blob)?));
        bytes.extend(unknown.into_iter().filter_map(estimated));
        if bytes.values().sum::<u64>() <= memory.limit {
            return Ok(HashSet::new());
        }
        Ok(least_used(self.uses().await?, &bytes, memory.limit))
    }

    /// Estimates the memory of texts that were never cut, except for known ones.
    async fn estimate(&mut self, blobs: &[Blob], memory: ProjectMemory) -> Result<(), RunError> {
        let is_new = |blob: &&Blob| !self.estimates.contains_key(*blob);
        let blobs: Vec<Blob> = blobs.iter().filter(is_new).copied().collect();
        let repo = self.desired.repo.clone();
        let estimates = move || {
            // A larger file has no chunks.
            let size = |blob| repo.blob_size(ObjectId::from(blob));
            let bytes = |blob| size(blob).filter(|size| *size <= MAX_FILE);
            let estimate = |blob| bytes(blob).map_or(0, |bytes| estimate(memory, bytes));
            let estimates = blobs.into_iter().map(|blob| (blob, estimate(blob)));
            estimates.collect::<Vec<_>>()
        };
        let estimates = self.run.indexer.thread.run(estimates).await?;
        self.estimates.extend(estimates);
        Ok(())
    }

    /// The use of each text.
    async fn uses(&mut self) -> Result<&BTreeMap<Blob, Use>, RunError> {
        if self.uses.is_none() {
            let known = KnownUse {
                had: self.had.iter().map(of_name).collect(),
                read: self.read().await,
                changed: self.changed().await?,
            };
            self.uses = Some(known.of_all(&self.desired.documents));
        }
        Ok(self.uses.get_or_insert_default())
    }

    /// The files that were read. Without an answer none: it only orders the files.
    async fn read(&self) -> HashSet<Vec<u8>> {
        let project = self.run.lease.project_key.project;
        let read = self.run.store().paths_read(project, MAX_READ).await;
        let read = read.unwrap_or_else(|error| {
            tracing::warn!(error = %Chain(&error), "a selection of files ignores what was read");
            Vec::new()
        });
        read.into_iter().map(String::into_bytes).collect()
    }

    /// The files that were added or changed since the indexed commit. None if there is no such
    /// commit, or if it can't be read.
    async fn changed(&self) -> Result<HashSet<Vec<u8>>, RunError> {
        let indexed = self.run.project.indexed.as_ref().and_then(Option::as_deref);
        let Some(commit) = indexed.and_then(|id| ObjectId::from_hex(id.as_bytes()).ok()) else {
            return Ok(HashSet::new());
        };
        let (repo, stop) = (self.desired.repo.clone(), self.run.stop.clone());
        let files = move || {
            let before = repo
                .as_of(commit)
                .and_then(|it| it.committed(&cancel(stop.clone())));
            let before = before.ok()?.into_iter().map(|file| (file.path, file.blob));
            let before: HashMap<_, _> = before.collect();
            let now = repo.committed(&cancel(stop)).ok()?.into_iter();
            let changed = now.filter(|file| before.get(&file.path) != Some(&file.blob));
            Some(changed.map(|file| file.path.as_bytes().to_vec()).collect())
        };
        Ok((self.run.indexer.thread.run(files).await?).unwrap_or_default())
    }
}

/// A document's blob by its source and name.
fn of_name(document: &Document) -> ((Source, &[u8]), Blob) {
    ((document.source, &*document.name), document.blob)
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
fn least_used(uses: &BTreeMap<Blob, Use>, bytes: &HashMap<Blob, u64>, limit: u64) -> HashSet<Blob> {
    let size = |blob: &Blob| bytes.get(blob).copied().unwrap_or(0);
    let mut ordered: Vec<(Use, u64, Blob)> = uses
        .iter()
        .map(|(blob, found)| (*found, size(blob), *blob))
        .collect();
    ordered.sort_unstable_by(|one, other| other.cmp(one));
    let mut total: u64 = bytes.values().sum();
    let excess = ordered.into_iter().take_while(|(_, bytes, _)| {
        let is_excess = total > limit;
        total -= bytes;
        is_excess
    });
    excess.map(|(_, _, blob)| blob).collect()
}

/// What decides the use of a document.
struct KnownUse<'a> {
    /// The documents of the last edition.
    had: HashMap<(Source, &'a [u8]), Blob>,
    /// The paths of files that were read.
    read: HashSet<Vec<u8>>,
    /// The paths of files that were added or changed.
    changed: HashSet<Vec<u8>>,
}

impl KnownUse<'_> {
    /// The use of each text: the highest of its documents.
    fn of_all(&self, documents: &[Document]) -> BTreeMap<Blob, Use> {
        let mut uses: BTreeMap<Blob, Use> = BTreeMap::new();
        for document in documents {
            let found = self.of(document);
            let known = uses.entry(document.blob).or_insert(found);
            *known = found.min(*known);
        }
        uses
    }

    fn of(&self, document: &Document) -> Use {
        let name = &*document.name;
        if document.source != Source::File {
            Use::Note
        } else if self.read.contains(name) {
            Use::Read
        } else if is_generated(name) {
            Use::Generated
        } else if self.changed.contains(name) {
            Use::Changed
        } else if self.had.get(&(document.source, name)) == Some(&document.blob) {
            Use::Indexed
        } else {
            Use::Other
        }
    }
}
