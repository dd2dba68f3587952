//! The documents of a project, found at the snapshot of a call.
//!
//! Documents are the markdown files of HEAD's commit beneath the folders of their kind, as the
//! path rules leave them; in a project without commits, those that its work tree lists. What was
//! read is kept by content, the whole library by commit, rules and folders. Of calls that come
//! together one reads a project's, and the others wait for it, each as long as it may; if its caller
//! goes, the next one goes on with what was read.

mod files;
mod changes;
mod left_out;
mod reading;
mod records;
mod slugs;

use std::sync::Arc;

use archway_repo::{Cancel, Folders, Key, Repo, RepoError, Rules};
use gix::ObjectId;
use moka::{policy::EvictionPolicy, sync::Cache};
use parking_lot::Mutex;
use tokio::time::Duration;

use super::document::{Content, Document, Kind};
use changes::Changes;
use files::Source;
use left_out::LeftOut;
use reading::Reading;

/// How many files of a project are documents, at most.
const MAX_FILES: usize = 2000;
/// How large one may be, in bytes.
pub(super) const MAX_BYTES: u64 = 1 << 20;
/// How large all may be together, in bytes.
const MAX_TOTAL: u64 = 8 << 20;

/// What is kept of texts that were read, in bytes.
const CACHE_BYTES: u64 = 64 << 20;
/// What is kept of libraries, in bytes: one that is as large as may be fits. A library keeps its
/// texts, so it weighs them too, even where those are kept by content as well.
const LIBRARIES_BYTES: u32 = 128 << 20;
/// How many projects' libraries may be read at once, each by one call.
const MAX_READ: u64 = 10_000;
/// How long a library is kept that nobody asks for.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// The libraries of all projects, as far as they are kept. Cheap to clone.
#[derive(Clone)]
pub struct Libraries {
    /// By project and blob; whether it was taken apart as a decision is part of what it is.
    contents: Cache<(Key, ObjectId, bool), Arc<Content>>,
    libraries: Cache<Key, Arc<Kept>>,
    /// Held by who reads a project's.
    turns: Cache<Key, Arc<Mutex<()>>>,
}

/// A library, and what it is of.
struct Kept {
    commit: ObjectId,
    rules: Arc<Rules>,
    folders: Folders,
    library: Arc<Library>,
}

/// The documents of one project.
#[derive(Debug, Default)]
pub struct Library {
    documents: Vec<Document>,
    left_out: Vec<String>,
    /// When they were last changed, once somebody asked.
    changes: Changes,
}

impl Default for Libraries {
    fn default() -> Libraries {
        Libraries::new()
    }
}

impl Libraries {
    /// None yet.
    pub fn new() -> Libraries {
        let contents = Cache::builder()
            .max_capacity(CACHE_BYTES)
            .weigher(|_: &(Key, ObjectId, bool), content: &Arc<Content>| cost(content))
            .time_to_idle(IDLE);
        let libraries = Cache::builder()
            .max_capacity(u64::from(LIBRARIES_BYTES))
            // One that weighs more than all may is kept alone: else each call would read it again.
            .weigher(|_: &Key, kept: &Arc<Kept>| kept.library.cost().min(LIBRARIES_BYTES))
            .eviction_policy(EvictionPolicy::lru())
            .time_to_idle(IDLE);
        Libraries {
            contents: contents.build(),
            libraries: libraries.build(),
            turns: Cache::builder()
                .max_capacity(MAX_READ)
                .time_to_idle(IDLE)
                .build(),
        }
    }

    /// The documents of a project as this snapshot has them.
    ///
    /// # Errors
    /// If the repository can't be read, or the call has to stop.
    pub fn of(&self, repo: &Repo, cancel: &Cancel) -> Result<Arc<Library>, RepoError> {
        let (manifest, rules) = (repo.manifest(), repo.rules());
        let folders = manifest.folders();
        // What nobody committed may be other files for each call: each reads them.
        let Some(commit) = repo.commit() else {
            return Ok(Arc::new(self.read(repo, folders, cancel)?));
        };
        let known = || {
            let kept = self.libraries.get(repo.key())?;
            let is_of = kept.commit == commit && kept.rules == rules && kept.folders == *folders;
            is_of.then(|| Arc::clone(&kept.library))
        };
        if let Some(library) = known() {
            return Ok(library);
        }
        let turn = self.turns.get_with_by_ref(repo.key(), Arc::default);
        let _turn = cancel.lock(&turn)?;
        if let Some(library) = known() {
            return Ok(library);
        }
        let library = Arc::new(self.read(repo, folders, cancel)?);
        let kept = Kept {
            commit,
            folders: folders.clone(),
            library: Arc::clone(&library),
            rules: Arc::clone(&rules),
        };
        self.libraries.insert(repo.key().clone(), Arc::new(kept));
        Ok(library)
    }

    fn read(&self, repo: &Repo, folders: &Folders, cancel: &Cancel) -> Result<Library, RepoError> {
        let source = Source::of(repo, folders, cancel)?;
        let mut reading = Reading {
            contents: &self.contents,
            repo,
            cancel,
            left_out: LeftOut::default(),
            room: MAX_TOTAL,
        };
        let mut documents = Vec::new();
        let files = source.files(&mut reading.left_out);
        for file in files {
            documents.extend(reading.document(file)?);
        }
        slugs::give(repo.name(), &mut documents);
        records::resolve(&mut documents);
        let left_out = reading.left_out.said();
        if !left_out.is_empty() {
            tracing::warn!(project = repo.name(), ?left_out, "documents are left out");
        }
        Ok(Library {
            documents,
            left_out,
            changes: Changes::default(),
        })
    }
}

impl Library {
    /// All documents: decisions, patterns, guidelines; of a kind in the order of its folders, then of
    /// their paths.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// The documents of a kind, in their order.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Document> {
        let documents = self.documents.iter();
        documents.filter(move |document| document.kind == kind)
    }

    /// The document that URIs call so.
    pub fn get(&self, kind: Kind, slug: &str) -> Option<&Document> {
        self.of_kind(kind).find(|document| document.slug == slug)
    }

    /// Which files are left out and why, a sentence each, safe to show.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    fn cost(&self) -> u32 {
        let costs = self.documents.iter();
        let costs = costs.map(|document| cost(&document.content).saturating_add(512));
        costs.fold(1024, u32::saturating_add)
    }
}

/// What a text and what was made of it hold, in bytes, about.
fn cost(content: &Arc<Content>) -> u32 {
    let blocks = content.markdown.sections.iter();
    let blocks: usize = blocks.map(|section| section.blocks.len() + 1).sum();
    // Their words may be as much again, and what a decision holds has a vector for each sentence.
    let held = if content.adr.is_some() {
        8 * content.text.len()
    } else {
        0
    };
    let bytes = 4 * content.text.len() + held + 256 * blocks + 1024;
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
