//! Ranks matches for display: recently read files count more, and superseded notes come after their
//! successors.

use std::collections::HashMap;

use archway_index::chunk_text::short_hash;
use archway_index::fuse::{Boosts, Candidate, Reads, rank, spread};
use archway_index::role::Role;
use archway_index::vector_store::ChunkLocation;
use archway_proto::chain::Chain;
use archway_repo::RepoPath;
use archway_store::{Note, NoteId, Source};
use uuid::Uuid;

use super::matches::DocumentMatch;
use super::reads::FoundReads;
use crate::tools::ToolContext;
use crate::tools::files::module;

/// How many more notes are read than shown: erased ones are dropped, and superseded ones move back.
const SPARE_NOTES: usize = 20;
/// Other matches, and tests, that are named under a result.
const MAX_MORE: usize = 5;
const MAX_TESTS: usize = 3;

/// A ranked match.
pub(super) struct Ranked {
    pub(super) id: String,
    /// The index of its project.
    pub(super) project: usize,
    pub(super) source: Source,
    /// A path, or the id of a note.
    pub(super) name: String,
    /// The path as git has it.
    pub(super) path: Option<RepoPath>,
    pub(super) module: Option<String>,
    pub(super) session: Option<String>,
    pub(super) candidate: Candidate,
    pub(super) boosts: Boosts,
    pub(super) score: f32,
    pub(super) last_read: Option<i64>,
    pub(super) times: u32,
    pub(super) note: Option<Note>,
    /// Other matches in its file, which are not shown.
    pub(super) more: Vec<ChunkLocation>,
    /// Test files that matched, too, and are called like its file.
    pub(super) tested_by: Vec<String>,
}

/// The document that a candidate is shown as, and its recorded reads.
struct Document {
    project: usize,
    source: Source,
    name: Vec<u8>,
    last_read: Option<i64>,
    times: u32,
}

impl Document {
    fn of(self, candidate: Candidate) -> Ranked {
        let path = (self.source == Source::File).then(|| RepoPath::trusted(&self.name));
        let name = shown(&self.name);
        let blob = gix::ObjectId::from(candidate.blob);
        Ranked {
            id: match &path {
                Some(_) => format!("{blob}:{}", candidate.position),
                None => name.clone(),
            },
            project: self.project,
            source: self.source,
            module: path.as_ref().map(|_| module(&name).to_owned()),
            name,
            path,
            session: None,
            candidate,
            boosts: Boosts::of(Reads::default()),
            score: 0.0,
            last_read: self.last_read,
            times: self.times,
            note: None,
            more: Vec::new(),
            tested_by: Vec::new(),
        }
    }
}

/// Ranks matches, with boosts for recent reads.
pub(super) async fn ranked(cx: &ToolContext, documented: Vec<DocumentMatch>) -> Vec<Ranked> {
    let mut projects: Vec<Uuid> = documented.iter().map(DocumentMatch::owner).collect();
    projects.sort_unstable();
    projects.dedup();
    let files = documented.iter();
    let files = files.filter(|found| found.source == Source::File);
    let files: Vec<(Uuid, String)> = files
        .map(|found| (found.owner(), shown(&found.name)))
        .collect();
    let recent = FoundReads::of(cx, &projects, &files).await;
    let weighed = documented.into_iter().map(|found| {
        let (reads, last) = match found.source {
            Source::File => recent.of_file(found.owner(), &shown(&found.name)),
            // The parent of a note is its module.
            Source::Discovery | Source::Entry => {
                let module = found.candidate.location.parent.as_deref();
                (recent.of_note(found.owner(), module), None)
            }
        };
        let document = Document {
            project: found.project,
            source: found.source,
            name: found.name,
            last_read: last,
            times: reads.times,
        };
        (found.candidate, Boosts::of(reads), document)
    });
    let ranked = rank(weighed.collect()).into_iter();
    let ranked = ranked.map(|(score, candidate, boosts, document)| Ranked {
        boosts,
        score,
        ..document.of(candidate)
    });
    ranked.collect()
}

/// Adds the notes' content to the first `limit` matches, and moves superseded ones after their
/// successors. Returns false if notes could not be read: then they are left out.
pub(super) async fn with_notes(
    cx: &ToolContext,
    mut ranked: Vec<Ranked>,
    limit: usize,
) -> (Vec<Ranked>, bool) {
    let mut notes_left = limit + SPARE_NOTES;
    ranked.retain(|found| {
        let is_kept = found.path.is_some() || notes_left > 0;
        notes_left = notes_left.saturating_sub(usize::from(found.path.is_none()));
        is_kept
    });
    let mut all_read = true;
    let ids = ranked.iter();
    let ids: Vec<(Uuid, NoteId)> = ids
        .filter_map(|found| Some((found.candidate.project, found.note_id()?)))
        .collect();
    let mut notes: HashMap<(Uuid, NoteId), Note> = HashMap::new();
    if !ids.is_empty() {
        match cx.store().notes(&ids).await {
            Ok(read) => {
                let read = read.into_iter();
                notes.extend(read.map(|note| ((note.project, note.id.clone()), note)));
            }
            Err(error) => {
                tracing::warn!(error = %Chain(&error), "notes that were found are left out");
                all_read = false;
            }
        }
    }
    ranked.retain_mut(|found| {
        let Some(id) = found.note_id() else {
            return true;
        };
        let note = notes.remove(&(found.candidate.project, id));
        found.module = note.as_ref().and_then(|note| note.module.clone());
        found.session = note
            .as_ref()
            .map(|note| session(cx.tenant(), &note.principal));
        found.note = note;
        found.note.is_some()
    });
    move_superseded_back(&mut ranked);
    (page(ranked, limit), all_read)
}

/// The results to show: few of one file, with the names of its others and of its tests.
fn page(ranked: Vec<Ranked>, limit: usize) -> Vec<Ranked> {
    let tests: Vec<(usize, String)> = ranked
        .iter()
        .filter(|found| found.path.is_some() && Role::of(&found.name) == Role::Test)
        .map(|found| (found.project, found.name.clone()))
        .collect();
    let file = |found: &Ranked| {
        Some((
            found.project,
            found.path.as_ref().map(|_| found.name.clone())?,
        ))
    };
    let (mut shown, passed) = spread(ranked, file, limit);
    for (first, passed) in passed {
        let first = shown.get_mut(first);
        if let Some(first) = first.filter(|first| first.more.len() < MAX_MORE) {
            first.more.push(passed.candidate.location);
        }
    }
    for found in &mut shown {
        if found.path.is_none() || Role::of(&found.name) != Role::Code {
            continue;
        }
        for (project, test) in &tests {
            let is_new = !found.tested_by.contains(test) && found.tested_by.len() < MAX_TESTS;
            if is_new && *project == found.project && tested_stem(test) == tested_stem(&found.name)
            {
                found.tested_by.push(test.clone());
            }
        }
    }
    shown
}

/// The name of a file without extensions, in lower case, and without what marks it as a test:
/// `test_cache.py`, `cache.test.ts` and `CacheTest.java` test `cache`.
fn tested_stem(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let stem = name.split('.').next().unwrap_or_default();
    let stem = stem.strip_prefix("test_").unwrap_or(stem);
    let ends = ["_test", "-test", "_spec", "-spec", "tests", "test"];
    let stripped = ends.iter().find_map(|end| stem.strip_suffix(end));
    stripped
        .filter(|stem| !stem.is_empty())
        .unwrap_or(stem)
        .to_owned()
}

/// Moves a discovery after the one that superseded it, if both were found.
fn move_superseded_back(ranked: &mut Vec<Ranked>) {
    for _ in 0..ranked.len() {
        let position = |id: &str, project| {
            ranked
                .iter()
                .position(|found| found.project == project && found.name == id)
        };
        let misplaced = ranked.iter().enumerate().find_map(|(at, found)| {
            let successor = found.note.as_ref()?.superseded_by?.to_string();
            let successor = position(&successor, found.project)?;
            (successor > at).then_some((at, successor))
        });
        let Some((at, successor)) = misplaced else {
            return;
        };
        let mut superseded = ranked.remove(at);
        // The successor moved up by one.
        superseded.score = ranked.get(successor - 1).map_or(0.0, |found| found.score);
        ranked.insert(successor, superseded);
    }
}

impl Ranked {
    fn note_id(&self) -> Option<NoteId> {
        let is_note = self.source != Source::File;
        is_note.then(|| NoteId {
            source: self.source,
            name: self.name.clone(),
        })
    }
}

/// Identifies the author of a note to others: a hash that is the same for the same author.
fn session(tenant: Uuid, principal: &str) -> String {
    short_hash(&format!("{tenant} {principal}"))
}

fn shown(name: &[u8]) -> String {
    RepoPath::trusted(name).display()
}

#[cfg(test)]
mod tests {
    use super::tested_stem;

    #[test]
    fn a_test_is_called_like_what_it_tests() {
        for test in [
            "tests/test_cache.py",
            "cache_test.go",
            "a/Cache.test.ts",
            "b/CacheTest.java",
        ] {
            assert_eq!(tested_stem(test), tested_stem("src/cache.rs"), "{test}");
        }
        assert_ne!(tested_stem("tests/other.rs"), tested_stem("src/cache.rs"));
        assert_eq!(tested_stem("test.go"), "test");
    }
}
