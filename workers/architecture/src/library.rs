//! The documents of a project at a snapshot.
//!
//! Documents are the markdown files of HEAD's commit in the folders of each kind, if the path rules
//! admit them. In a project without commits they are files that the work tree lists. Parsed texts
//! are cached by content; whole libraries are cached by commit, rules and folders. Of concurrent
//! calls for a project, one reads the library and the others wait for it, each up to its own
//! deadline. If the reading call is cancelled, the next one continues with the cached texts.

mod candidates;
mod change_times;
mod omitted_files;
mod document_reader;
mod records;
mod slugs;

use std::sync::Arc;

use archway_repo::{Cancel, Folders, Key, Repo, RepoError, Rules};
use gix::ObjectId;
use moka::{policy::EvictionPolicy, sync::Cache};
use parking_lot::Mutex;
use tokio::time::Duration;

use super::document::{Content, Document, Kind};
use candidates::Candidates;
use change_times::ChangeTimes;
use document_reader::DocumentReader;
use omitted_files::OmittedFiles;

/// At most this many files of a project are documents.
const MAX_FILES: usize = 2000;
/// The largest document, in bytes.
pub(super) const MAX_BYTES: u64 = 1 << 20;
/// The largest total size of a project's documents, in bytes.
const MAX_TOTAL: u64 = 8 << 20;

/// The size of the cache of parsed texts, in bytes.
const CACHE_BYTES: u64 = 64 << 20;
/// The size of the cache of libraries, in bytes: a library of the maximum size fits. A library
/// holds its texts, so its weight includes them, even if the other cache holds them as well.
const LIBRARIES_BYTES: u32 = 128 << 20;
/// At most this many projects have a lock for reading.
const MAX_LOCKS: u64 = 10_000;
/// Entries expire if they are not used for this long.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// The cached libraries of all projects. Cheap to clone.
#[derive(Clone)]
pub struct Libraries {
    /// Parsed texts by project and blob. The flag says whether a text was parsed as a decision.
    contents: Cache<(Key, ObjectId, bool), Arc<Content>>,
    libraries: Cache<Key, Arc<CachedLibrary>>,
    /// Held while one call reads the project's library.
    read_locks: Cache<Key, Arc<Mutex<()>>>,
}

/// A library with its cache validators.
struct CachedLibrary {
    commit: ObjectId,
    rules: Arc<Rules>,
    folders: Folders,
    library: Arc<Library>,
}

/// The documents of one project.
#[derive(Debug, Default)]
pub struct Library {
    documents: Vec<Document>,
    omitted: Vec<String>,
    /// When the documents last changed, computed by the first query.
    changes: ChangeTimes,
}

impl Default for Libraries {
    fn default() -> Libraries {
        Libraries::new()
    }
}

impl Libraries {
    /// Creates empty caches.
    pub fn new() -> Libraries {
        let contents = Cache::builder()
            .max_capacity(CACHE_BYTES)
            .weigher(|_: &(Key, ObjectId, bool), content: &Arc<Content>| cost(content))
            .time_to_idle(IDLE);
        let libraries = Cache::builder()
            .max_capacity(u64::from(LIBRARIES_BYTES))
            // An oversized library is still cached, as the only one: otherwise each call would read
            // it again.
            .weigher(|_: &Key, cached: &Arc<CachedLibrary>| {
                cached.library.cost().min(LIBRARIES_BYTES)
            })
            .eviction_policy(EvictionPolicy::lru())
            .time_to_idle(IDLE);
        Libraries {
            contents: contents.build(),
            libraries: libraries.build(),
            read_locks: Cache::builder()
                .max_capacity(MAX_LOCKS)
                .time_to_idle(IDLE)
                .build(),
        }
    }

    /// The documents of a project at this snapshot.
    ///
    /// # Errors
    /// If the repository can't be read, or the call is cancelled.
    pub fn of(&self, repo: &Repo, cancel: &Cancel) -> Result<Arc<Library>, RepoError> {
        let (manifest, rules) = (repo.manifest(), repo.rules());
        let folders = manifest.folders();
        // Uncommitted files may differ between calls, so each call reads them.
        let Some(commit) = repo.commit() else {
            return Ok(Arc::new(self.read(repo, folders, cancel)?));
        };
        let cached = || {
            let cached = self.libraries.get(repo.key())?;
            let is_current =
                cached.commit == commit && cached.rules == rules && cached.folders == *folders;
            is_current.then(|| Arc::clone(&cached.library))
        };
        if let Some(library) = cached() {
            return Ok(library);
        }
        let lock = self.read_locks.get_with_by_ref(repo.key(), Arc::default);
        let _guard = cancel.lock(&lock)?;
        if let Some(library) = cached() {
            return Ok(library);
        }
        let library = Arc::new(self.read(repo, folders, cancel)?);
        let cached = CachedLibrary {
            commit,
            folders: folders.clone(),
            library: Arc::clone(&library),
            rules: Arc::clone(&rules),
        };
        self.libraries.insert(repo.key().clone(), Arc::new(cached));
        Ok(library)
    }

    fn read(&self, repo: &Repo, folders: &Folders, cancel: &Cancel) -> Result<Library, RepoError> {
        let candidates = Candidates::of(repo, folders, cancel)?;
        let mut reader = DocumentReader {
            contents: &self.contents,
            repo,
            cancel,
            omitted: OmittedFiles::default(),
            remaining_bytes: MAX_TOTAL,
        };
        let mut documents = Vec::new();
        let files = candidates.files(&mut reader.omitted);
        for file in files {
            documents.extend(reader.document(file)?);
        }
        slugs::make_unique(repo.name(), &mut documents);
        records::resolve(&mut documents);
        let omitted = reader.omitted.into_messages();
        if !omitted.is_empty() {
            tracing::warn!(project = repo.name(), ?omitted, "documents are left out");
        }
        Ok(Library {
            documents,
            omitted,
            changes: ChangeTimes::default(),
        })
    }
}

impl Library {
    /// All documents: decisions, patterns, guidelines. Within a kind they are ordered by folder,
    /// then by path.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// The documents of a kind, in order.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Document> {
        let documents = self.documents.iter();
        documents.filter(move |document| document.kind == kind)
    }

    /// The document with this name in URIs.
    pub fn get(&self, kind: Kind, slug: &str) -> Option<&Document> {
        self.of_kind(kind).find(|document| document.slug == slug)
    }

    /// The omitted files with reasons, one sentence each, safe to show.
    pub fn omitted(&self) -> &[String] {
        &self.omitted
    }

    fn cost(&self) -> u32 {
        let costs = self.documents.iter();
        let costs = costs.map(|document| cost(&document.content).saturating_add(512));
        costs.fold(1024, u32::saturating_add)
    }
}

/// The approximate memory of a parsed text, in bytes.
fn cost(content: &Arc<Content>) -> u32 {
    let blocks = content.markdown.sections.iter();
    let blocks: usize = blocks.map(|section| section.blocks.len() + 1).sum();
    // The indexed words may take as much again, and a decision has a vector per sentence.
    let positions_bytes = if content.adr.is_some() {
        8 * content.text.len()
    } else {
        0
    };
    let bytes = 4 * content.text.len() + positions_bytes + 256 * blocks + 1024;
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
